/**
 * Tool rounds: which message makes a call, and which one answers it. One needs them to see where a path may be cut.
 */
import type { GenericMessage } from "./dialect.ts"

/** A call that a message makes, or the result of one, under the id of the call. */
export interface ToolUse {
  readonly type: "call" | "result"
  readonly id: string
}

/** The calls and results of messages, in the order they stand in. */
export const toolUses = (messages: ReadonlyArray<GenericMessage>): ReadonlyArray<ToolUse> =>
  messages
    .flatMap((message) => message.content)
    .flatMap((part): ReadonlyArray<ToolUse> => {
      if (part.type === "tool-call") return [{ type: "call", id: part.id }]
      return part.type === "tool-result" ? [{ type: "result", id: part.callId }] : []
    })

/** One call: where on a path it is made, and where it is answered. Absent: it is not. */
export interface Round {
  readonly call: number
  readonly result?: number
}

/**
 * The rounds of a path, in the order of their calls. `path` says what each place uses.
 *
 * A result answers the latest unanswered call of its id, for some providers use one id again and again. That is also how
 * results are given to the model (see `pairing.ts`).
 */
export const roundsOf = (path: ReadonlyArray<ReadonlyArray<ToolUse>>): ReadonlyArray<Round> => {
  const rounds: Array<{ call: number; result?: number }> = []
  const unanswered = new Map<string, Array<{ call: number; result?: number }>>()
  for (const [place, uses] of path.entries()) {
    for (const { type, id } of uses) {
      if (type === "result") {
        const round = unanswered.get(id)?.pop()
        if (round !== undefined) round.result = place
        continue
      }
      const round = { call: place }
      rounds.push(round)
      const same = unanswered.get(id)
      if (same === undefined) unanswered.set(id, [round])
      else same.push(round)
    }
  }
  return rounds
}
