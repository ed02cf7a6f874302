/**
 * Which events of a turn were applied, in little room: how many, and digests of the newest.
 *
 * Guarantee: an event that comes again is known as the same one, or as another one under its number or id, as long as it
 * is among the newest that were applied. Events are numbered from 1 without gaps, so that none is missing without being
 * noticed.
 *
 * Not promised: that an older one is compared. It is taken for what it says it is, a repetition.
 */
import { digest } from "../value.ts"
import type { Applied } from "./model.ts"

/** How many events are remembered one by one. */
export const remembered = 32

/** An event as it is remembered: its number in its turn, and a digest of its id and of its content. */
export interface EventMark {
  readonly sequence: number
  readonly mark: string
}

/** Of 48 bits each: by chance an event is taken for another one once in 10¹² events. */
const digits = 12

export const markOf = (sequence: number, id: string, content: unknown): EventMark => ({
  sequence,
  mark: digest(id).slice(0, digits) + digest(content).slice(0, digits),
})

/** Why an event can be neither applied nor be a repetition. */
export type Conflict =
  /** It was applied with other content. */
  | "content"
  /** Another event was applied under this number. */
  | "sequence"
  /** Another number has an event of this id. */
  | "id"
  /** Events before it have not come. */
  | "gap"

/** What an event is to a turn: the next one, one that was applied, or neither. */
export const judge = (applied: Applied | undefined, { mark, sequence }: EventMark): "next" | "duplicate" | Conflict => {
  const { last, recent } = applied ?? nothing
  if (sequence <= last) {
    const same = recent[sequence - 1 - last + recent.length]
    if (same === mark) return "duplicate"
    if (same !== undefined) return idOf(same) === idOf(mark) ? "content" : "sequence"
    return hasId(recent, mark) ? "id" : "duplicate"
  }
  if (hasId(recent, mark)) return "id"
  return sequence === last + 1 ? "next" : "gap"
}

/** With the next event. */
export const withApplied = (applied: Applied | undefined, { mark, sequence }: EventMark): Applied => ({
  last: sequence,
  recent: [...(applied ?? nothing).recent, mark].slice(-remembered),
})

const nothing: Applied = { last: 0, recent: [] }

const hasId = (recent: ReadonlyArray<string>, mark: string): boolean => recent.some((one) => idOf(one) === idOf(mark))

const idOf = (mark: string): string => mark.slice(0, digits)
