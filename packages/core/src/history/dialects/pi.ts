/**
 * The dialect of pi: messages of the packages that pi's agents are made of (`pi-ai`).
 *
 * Users and results have text and images, assistants have text, thinking and tool calls; each result is a message of its
 * own. There are no system messages: one that comes from another dialect is given as a user's.
 *
 * pi leaves out answers that ended in an error or were aborted, and not the results that follow them. Such an answer is
 * read as stored while nothing depends on it; one with calls is replayed as an answer that ended in calls, so that they
 * keep their results.
 */
import type { Json, JsonObject } from "../../storage/json.ts"
import { summaryText, textOf } from "../dialect.ts"
import type {
  Dialect,
  GenericMessage,
  GenericPart,
  Loss,
  MessageFacts,
  ProviderMetadata,
  Readable,
  Role,
  TextPart,
  ToolCallPart,
  ToolResultPart,
  Unreadable,
  Written,
} from "../dialect.ts"
import {
  asRead,
  describePart,
  isArray,
  isObject,
  isString,
  metadata,
  othersMetadata,
  ownFields,
  without,
} from "./fields.ts"

const name = "pi"

/** Metadata of others on its way through pi, which does not look at it. */
interface Carried {
  providerMetadata?: JsonObject
}
export interface PiText extends Carried {
  type: "text"
  text: string
}
export interface PiThinking extends Carried {
  type: "thinking"
  thinking: string
}
export interface PiImage extends Carried {
  type: "image"
  /** Base64. */
  data: string
  mimeType: string
}
export interface PiToolCall extends Carried {
  type: "toolCall"
  id: string
  name: string
  arguments: { [key: string]: Json }
}
export interface PiUsage {
  input: number
  output: number
  cacheRead: number
  cacheWrite: number
  totalTokens: number
  cost: { input: number; output: number; cacheRead: number; cacheWrite: number; total: number }
}
/** A message for pi: assignable to `Message` of its package. */
export type PiMessage =
  | { role: "user"; content: string | Array<PiText | PiImage>; timestamp: number }
  | {
      role: "assistant"
      content: Array<PiText | PiThinking | PiToolCall>
      api: string
      provider: string
      model: string
      usage: PiUsage
      stopReason: "stop" | "length" | "toolUse" | "error" | "aborted"
      timestamp: number
    }
  | {
      role: "toolResult"
      toolCallId: string
      toolName: string
      content: Array<PiText | PiImage>
      details?: Json
      isError: boolean
      timestamp: number
    }

const isPiMessage = (body: Json): body is JsonObject & PiMessage => {
  if (!isObject(body)) return false
  const { role, content } = body
  if (role === "user") return isString(content) || isArray(content)
  if (role === "toolResult") return isArray(content) && isString(body["toolCallId"])
  return role === "assistant" && isArray(content)
}

const read = (body: Json): Readable<PiMessage> | Unreadable => {
  if (!isPiMessage(body)) return { unreadable: "no message of pi: role or content are not what pi knows" }
  const message = readMessage(body)
  const calls = message.content.some((part) => part.type === "tool-call")
  return calls && isLeftOut(body["stopReason"]) ? { messages: [message] } : { messages: [message], native: body }
}

/** pi leaves out answers that ended like this. */
const isLeftOut = (stopReason: Json | undefined): boolean => stopReason === "error" || stopReason === "aborted"

const readMessage = (body: JsonObject): GenericMessage => {
  const { role, content, timestamp } = body
  const blocks = isArray(content) ? content.map(readBlock) : [{ type: "text" as const, text: String(content) }]
  const at = typeof timestamp === "number" ? { at: timestamp } : {}
  if (role === "toolResult") return { ...at, role: "tool", content: [readResult(body, blocks)] }
  return {
    ...at,
    ...metadata(name, without(body, "role", "content", "timestamp")),
    role: role === "user" ? role : "assistant",
    content: blocks,
  }
}

const readBlock = (block: Json): GenericPart => {
  const other: GenericPart = { type: "other", format: name, value: block }
  if (!isObject(block)) return other
  const { type, providerMetadata } = block
  const rest = (...fields: ReadonlyArray<string>) =>
    metadata(name, without(block, "type", "providerMetadata", ...fields), providerMetadata)
  switch (type) {
    case "text":
      return isString(block["text"]) ? { type, text: block["text"], ...rest("text") } : other
    case "thinking":
      return isString(block["thinking"]) ? { type: "reasoning", text: block["thinking"], ...rest("thinking") } : other
    case "image": {
      const { data, mimeType } = block
      if (!isString(data) || !isString(mimeType)) return other
      return { type: "file", mime: mimeType, data, ...rest("data", "mimeType") }
    }
    case "toolCall": {
      const { id, name } = block
      if (!isString(id) || !isString(name)) return other
      return { type: "tool-call", id, name, input: block["arguments"] ?? {}, ...rest("id", "name", "arguments") }
    }
    default:
      return other
  }
}

const readResult = (body: JsonObject, blocks: ReadonlyArray<GenericPart>): ToolResultPart => {
  const { toolCallId, toolName, isError, providerMetadata } = body
  const parts = blocks.filter((part) => part.type === "text" || part.type === "file")
  const [first, ...more] = parts
  const text = parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n")
  const plain = more.length === 0 && first?.type !== "file" && first?.providerMetadata === undefined
  const value = valueOf(body, text)
  const known = ["role", "toolCallId", "toolName", "content", "isError", "timestamp", "providerMetadata"]
  return {
    type: "tool-result",
    callId: String(toolCallId),
    ...(isString(toolName) ? { name: toolName } : {}),
    output: value === undefined ? text : value,
    ...(plain ? {} : { parts }),
    ...(isError === true ? { isError } : {}),
    ...metadata(name, without(body, ...known, ...(value === undefined ? [] : ["details"])), providerMetadata),
  }
}

/** A value that stands in `details` and, for the model, as text in `content`: how results that are no text are written. */
const valueOf = ({ details }: JsonObject, text: string): Json | undefined =>
  details !== undefined && !isString(details) && JSON.stringify(details) === text ? details : undefined

type Lose = (what: string) => []

const write = (messages: ReadonlyArray<GenericMessage>): Written<PiMessage> => {
  const lost: Array<Loss> = []
  const written = messages.flatMap((message) =>
    writeMessage(message, (what) => {
      lost.push({ message, what })
      return []
    }),
  )
  return { messages: written, lost }
}

const writeMessage = (message: GenericMessage, lose: Lose): ReadonlyArray<PiMessage> => {
  const timestamp = message.at ?? 0
  switch (message.role) {
    case "system":
      lose("that it is a system message")
      return writeUser(message, timestamp, lose)
    case "user":
      return writeUser(message, timestamp, lose)
    case "assistant":
      return writeAssistant(message, timestamp, lose)
    case "tool":
      return message.content.flatMap((part) =>
        part.type === "tool-result" ? [writeResult(part, timestamp, lose)] : lose(describePart(part)),
      )
  }
}

const writeUser = (message: GenericMessage, timestamp: number, lose: Lose): ReadonlyArray<PiMessage> => {
  const content = message.content.flatMap((part) => writeShown(part, lose))
  const [first, ...more] = content
  if (first === undefined) return []
  const plain = more.length === 0 && first.type === "text" && Object.keys(first).length === 2
  return [{ ...ownFields(message, name), role: "user", content: plain ? first.text : content, timestamp }]
}

const unknownUsage = (): PiUsage => ({
  input: 0,
  output: 0,
  cacheRead: 0,
  cacheWrite: 0,
  totalTokens: 0,
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
})

const writeAssistant = (message: GenericMessage, timestamp: number, lose: Lose): ReadonlyArray<PiMessage> => {
  const content = message.content.flatMap((part): ReadonlyArray<PiText | PiThinking | PiToolCall> => {
    switch (part.type) {
      case "text":
        return [writeText(part)]
      case "reasoning":
        return [{ ...ownFields(part, name), type: "thinking", thinking: part.text, ...carried(part) }]
      case "tool-call":
        // pi has no place for calls that the provider runs itself.
        return part.providerExecuted === true ? lose(describePart(part)) : [writeCall(part, lose)]
      default:
        return part.type === "other" && part.format === name ? [asRead<PiText>(part.value)] : lose(describePart(part))
    }
  })
  if (content.length === 0) return []
  const own = ownFields(message, name)
  const calls = content.some((block) => block.type === "toolCall")
  const stop = isLeftOut(own["stopReason"]) && calls ? undefined : own["stopReason"]
  return [
    {
      api: "unknown",
      provider: "unknown",
      model: "unknown",
      usage: unknownUsage(),
      ...own,
      role: "assistant",
      content,
      stopReason: stop === undefined ? (calls ? "toolUse" : "stop") : asRead(stop),
      timestamp,
    },
  ]
}

const writeText = (part: TextPart): PiText => ({
  ...ownFields(part, name),
  type: "text",
  text: part.text,
  ...carried(part),
})

const writeCall = (part: ToolCallPart, lose: Lose): PiToolCall => {
  if (!isObject(part.input)) lose(`that the input of ${describePart(part)} is no object`)
  return {
    ...ownFields(part, name),
    type: "toolCall",
    id: part.id,
    name: part.name,
    arguments: isObject(part.input) ? part.input : { input: part.input },
    ...carried(part),
  }
}

/** What users and results may have. */
const writeShown = (part: GenericPart, lose: Lose): ReadonlyArray<PiText | PiImage> => {
  if (part.type === "text") return [writeText(part)]
  if (part.type === "file" && part.data !== undefined && part.mime.startsWith("image/")) {
    return [{ ...ownFields(part, name), type: "image", data: part.data, mimeType: part.mime, ...carried(part) }]
  }
  return part.type === "other" && part.format === name ? [asRead<PiText>(part.value)] : lose(describePart(part))
}

const writeResult = (part: ToolResultPart, timestamp: number, lose: Lose): PiMessage => {
  const { output, parts } = part
  const value = isString(output) || parts !== undefined ? {} : { details: output }
  const text = isString(output) ? output : JSON.stringify(output)
  return {
    ...value,
    ...ownFields(part, name),
    role: "toolResult",
    toolCallId: part.callId,
    toolName: part.name ?? "unknown",
    content: parts === undefined ? [{ type: "text", text }] : parts.flatMap((inner) => writeShown(inner, lose)),
    isError: part.isError === true,
    timestamp,
    ...carried(part),
  }
}

const carried = (from: { readonly providerMetadata?: ProviderMetadata }): Carried => {
  const providerMetadata = othersMetadata(from, name)
  return providerMetadata === undefined ? {} : { providerMetadata }
}

const roleOf = (body: Json): Role | undefined => {
  const role = isObject(body) ? body["role"] : undefined
  if (role === "toolResult") return "tool"
  return role === "user" || role === "assistant" ? role : undefined
}

const user = (content: string, facts: MessageFacts | undefined): PiMessage => ({
  role: "user",
  content,
  timestamp: facts?.at ?? 0,
})

/**
 * Messages of pi. Give `prompt` and `summary` a time: pi's messages have one, and it is 0 otherwise.
 */
export const pi: Dialect<PiMessage> = {
  name,
  version: 1,
  role: roleOf,
  text: (body) => {
    const reading = read(body)
    return "unreadable" in reading ? "" : textOf(reading.messages)
  },
  prompt: user,
  summary: (text, facts) => user(summaryText(text), facts),
  read,
  write,
}
