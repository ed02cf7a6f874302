/**
 * Redaction: what stays of a body whose content must go.
 *
 * Guarantee: who speaks, the ids of tool calls, the names of tools and which result answers which call stay, so that the
 * conversation can still be replayed; of everything else nothing does. A body that its dialect cannot read is replaced as a
 * whole.
 */
import type { Json } from "../storage/json.ts"
import type { Dialect, Dialects, GenericMessage, GenericPart, Role } from "./dialect.ts"
import { generic } from "./dialects/generic.ts"

/** Bodies by their names, and the dialect and version that they are in. */
export interface Redacted {
  readonly bodies: Readonly<Record<string, Json>>
  readonly format: { readonly dialect: string; readonly version: number }
}

/**
 * Bodies of one entry without their content.
 *
 * @param text  what stands for what was said
 */
export const redacted = (
  bodies: Readonly<Record<string, Json>>,
  role: Role,
  dialectName: string,
  dialects: Dialects,
  text: string,
): Redacted => {
  const dialect = dialects.get(dialectName)
  const read = Object.entries(bodies).map(([name, body]) => ({ name, messages: messagesIn(dialect, body, role, text) }))
  const written = dialect && read.map(({ messages, name }) => [name, inOne(dialect, messages)] as const)
  if (dialect !== undefined && written?.every(([, body]) => body !== undefined)) {
    const format = { dialect: dialect.name, version: dialect.version }
    return { bodies: Object.fromEntries(written) as Record<string, Json>, format }
  }
  // In generic messages everything can be said in one body.
  const whole = read.map(({ messages, name }): [string, Json] => [
    name,
    { role, content: messages.flatMap(({ content }) => content) },
  ])
  return { bodies: Object.fromEntries(whole), format: { dialect: generic.name, version: generic.version } }
}

/** What stays of a body, as messages. */
const messagesIn = (
  dialect: Dialect<unknown> | undefined,
  body: Json,
  role: Role,
  text: string,
): ReadonlyArray<GenericMessage> => {
  const nothing: ReadonlyArray<GenericMessage> = [{ role, content: [{ type: "text", text }] }]
  try {
    const reading = dialect?.read(body, role)
    if (reading === undefined || "unreadable" in reading || reading.messages.length === 0) return nothing
    return reading.messages.map((message): GenericMessage => {
      const links = message.content.flatMap((part) => linkOf(part, text))
      const speaks = message.content.some(({ type }) => type === "text") || links.length === 0
      return {
        role: message.role,
        content: speaks ? [{ type: "text", text }, ...links] : links,
        ...(message.id !== undefined && { id: message.id }),
        ...(message.at !== undefined && { at: message.at }),
      }
    })
  } catch {
    return nothing
  }
}

/** A call without what it was given, and a result without what came of it. */
const linkOf = (part: GenericPart, text: string): ReadonlyArray<GenericPart> => {
  if (part.type !== "tool-call" && part.type !== "tool-result") return []
  const executed = part.providerExecuted === true && { providerExecuted: true }
  if (part.type === "tool-call") return [{ type: "tool-call", id: part.id, name: part.name, input: {}, ...executed }]
  const { callId, isError, name } = part
  return [
    {
      type: "tool-result",
      callId,
      ...(name !== undefined && { name }),
      output: text,
      ...(isError === true && { isError }),
      ...executed,
    },
  ]
}

/** Messages as one body; `undefined` where the dialect needs more than one, or cannot write them. */
const inOne = (dialect: Dialect<unknown>, messages: ReadonlyArray<GenericMessage>): Json | undefined => {
  try {
    const { messages: written } = dialect.write(messages)
    return written.length === 1 ? (written[0] as Json) : undefined
  } catch {
    return undefined
  }
}
