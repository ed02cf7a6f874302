/**
 * Amendments: tool results that the model is given otherwise than they are stored.
 *
 * A result may be as long as a whole conversation and of use for one answer. An amendment is an entry behind it that says
 * how it is given from there on: trimmed, archived, or as it is stored again. It belongs to its branch like every entry, so
 * that going back before it takes it back.
 *
 * Guarantee: pure. Ids of calls stay, so that a result keeps its call; of several amendments of one result the newest
 * rules.
 */
import type { Amendment } from "../message/model.ts"
import type { GenericMessage, GenericPart, ToolResultPart } from "./dialect.ts"

export interface Amended {
  readonly messages: ReadonlyArray<GenericMessage>
  /** What is given otherwise than it is stored, in words for a log. */
  readonly results: ReadonlyArray<string>
}

/** Messages as the model is given them; `amendments` are those of their entry, the newest last. */
export const amended = (messages: ReadonlyArray<GenericMessage>, amendments: ReadonlyArray<Amendment>): Amended => {
  const results: Array<string> = []
  const given = (part: GenericPart): GenericPart => {
    if (!isAmendable(part)) return part
    const ruling = amendments.findLast(({ call }) => call === undefined || call === part.callId)
    const next = ruling === undefined ? part : amendedResult(part, ruling)
    if (next !== part) results.push(`The result of the call ${part.callId} is given as it was amended.`)
    return next
  }
  const changed = messages.map((message) => ({ ...message, content: message.content.map(given) }))
  return results.length === 0 ? { messages, results } : { messages: changed, results }
}

/**
 * Whether a part is a result that may be given otherwise. One of a call that the provider ran itself may not: the provider
 * takes it in its own form only.
 */
export const isAmendable = (part: GenericPart): part is ToolResultPart =>
  part.type === "tool-result" && part.providerExecuted !== true

const amendedResult = (part: ToolResultPart, { archive, trim }: Amendment): ToolResultPart => {
  const { exact: _, parts, ...plain } = part
  if (archive !== undefined) return { ...plain, output: archive }
  const text = typeof part.output === "string" ? part.output : JSON.stringify(part.output)
  if (trim === undefined || (text.length <= trim && parts === undefined)) return part
  return { ...plain, output: text.length <= trim ? part.output : trimmed(text, trim) }
}

const trimmed = (text: string, length: number): string => {
  const end = /[\ud800-\udbff]/.test(text.charAt(length - 1)) ? length - 1 : length
  return `${text.slice(0, end)}\n[${text.length - end} more characters are left out]`
}
