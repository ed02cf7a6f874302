/**
 * The dialect of Anthropic: what its Messages API takes as `messages`.
 *
 * Results of tools are blocks in a user's message. They are read as messages of tools, and the results of one round leave
 * in one message, directly behind the calls and before anything else that is said there: the API takes them nowhere else.
 * Thoughts keep their signatures, under the names that the AI SDK has for them too.
 *
 * An answer may be stored as the API gave it. Its id, model and usage stay in the store, for the API refuses them in a
 * request, as it does blank text.
 *
 * Not promised: what the API has no place for. Thoughts that it did not sign, other kinds of files and calls that another
 * provider ran are left out and named; the metadata of other providers is left out, for it is for them alone.
 */
import { base64, bytesOfBase64 } from "../../base64.ts"
import type { Json, JsonArray, JsonObject } from "../../storage/json.ts"
import { summaryText, textOf } from "../dialect.ts"
import type {
  Dialect,
  FilePart,
  GenericMessage,
  GenericPart,
  Loss,
  ProviderMetadata,
  Readable,
  ReasoningPart,
  Role,
  TextPart,
  ToolCallPart,
  ToolResultPart,
  Unreadable,
  Written,
} from "../dialect.ts"
import {
  acceptedId,
  asRead,
  describePart,
  exactIn,
  isArray,
  isObject,
  isString,
  messagesOf,
  metadata,
  outputText,
  ownFields,
  usableId,
  without,
} from "./fields.ts"
import type { FilePlace } from "./fields.ts"

const name = "anthropic"

/** The owner of fields that only these messages have. What models need is the provider's own, under `anthropic`. */
const format = "anthropic-messages"

interface Cached {
  cache_control?: { type: "ephemeral"; ttl?: "5m" | "1h" } | null
}
export interface AnthropicText extends Cached {
  type: "text"
  text: string
}
export interface AnthropicThinking {
  type: "thinking"
  thinking: string
  signature: string
}
export interface AnthropicRedactedThinking {
  type: "redacted_thinking"
  data: string
}
export interface AnthropicImage extends Cached {
  type: "image"
  source: { type: "base64"; media_type: AnthropicImageType; data: string } | { type: "url"; url: string }
}
export type AnthropicImageType = "image/jpeg" | "image/png" | "image/gif" | "image/webp"
export interface AnthropicDocument extends Cached {
  type: "document"
  source:
    | { type: "base64"; media_type: "application/pdf"; data: string }
    | { type: "text"; media_type: "text/plain"; data: string }
    | { type: "url"; url: string }
  title?: string | null
}
export interface AnthropicToolUse extends Cached {
  type: "tool_use"
  id: string
  name: string
  input: unknown
}
export interface AnthropicToolResult extends Cached {
  type: "tool_result"
  tool_use_id: string
  content?: string | Array<AnthropicText | AnthropicImage | AnthropicDocument>
  is_error?: boolean
}
type UserBlock = AnthropicText | AnthropicImage | AnthropicDocument | AnthropicToolResult
type AssistantBlock = AnthropicText | AnthropicThinking | AnthropicRedactedThinking | AnthropicToolUse

/** A message for the API: assignable to `MessageParam` of package `@anthropic-ai/sdk`. */
export type AnthropicMessage =
  | { role: "user"; content: string | Array<UserBlock> }
  | { role: "assistant"; content: string | Array<AssistantBlock> }
  | { role: "system"; content: string | Array<AnthropicText> }

type Block = UserBlock | AssistantBlock
type MessageRole = AnthropicMessage["role"]

const isMessageRole = (role: Json | undefined): role is MessageRole =>
  role === "user" || role === "assistant" || role === "system"

const read = (body: Json): Readable<AnthropicMessage> | Unreadable => {
  if (!isObject(body)) return { unreadable: "no message of Anthropic's: not an object" }
  const { role, content } = body
  if (!isMessageRole(role) || !(isString(content) || isArray(content))) {
    return { unreadable: "no message of Anthropic's: role or content are not what its API knows" }
  }
  const parts = isString(content) ? [{ type: "text" as const, text: content }] : content.map(readBlock)
  const messages = messagesOf(parts, role, {
    ...(isString(body["id"]) ? { id: body["id"] } : {}),
    ...metadata(format, without(body, "role", "content", "id")),
  })
  return isTaken(body, content) ? { messages, native: body as unknown as AnthropicMessage } : { messages }
}

/** Whether the API takes a message as it is, as far as this dialect knows. */
const isTaken = (body: JsonObject, content: string | JsonArray): boolean => {
  if (Object.keys(body).length > 2) return false
  return isString(content) ? !isBlank(content) : content.length > 0 && content.every(isTakenBlock)
}

const isTakenBlock = (block: Json): boolean => {
  if (!isObject(block)) return false
  switch (block["type"]) {
    case "text":
      return isString(block["text"]) && !isBlank(block["text"])
    case "thinking":
      return isString(block["signature"]) && block["signature"] !== ""
    case "tool_use":
      return isString(block["id"]) && takenId.test(block["id"]) && isObject(block["input"])
    case "tool_result": {
      const { content, tool_use_id: id } = block
      return isString(id) && takenId.test(id) && (!isArray(content) || content.every(isTakenBlock))
    }
    default:
      return true
  }
}

const isBlank = (text: string): boolean => text.trim() === ""

const takenId = /^[a-zA-Z0-9_-]+$/

const readBlock = (block: Json): GenericPart =>
  (isObject(block) ? readKnown(block) : undefined) ?? { type: "other", format, value: block }

/** A block that this dialect knows, as a part. */
const readKnown = (block: JsonObject): GenericPart | undefined => {
  const { type } = block
  switch (type) {
    case "text":
      return isString(block["text"]) ? { type, text: block["text"], ...about(block, ["text"]) } : undefined
    case "thinking": {
      const { signature, thinking } = block
      if (!isString(thinking)) return undefined
      return { type: "reasoning", text: thinking, ...about(block, ["thinking", "signature"], { signature }) }
    }
    case "redacted_thinking": {
      const { data } = block
      return isString(data)
        ? { type: "reasoning", text: "", ...about(block, ["data"], { redactedData: data }) }
        : undefined
    }
    case "image":
    case "document":
      return readFile(block)
    case "tool_use":
    case "server_tool_use":
    case "mcp_tool_use": {
      const { id, input, name } = block
      if (!isString(id) || !isString(name)) return undefined
      const call = { type: "tool-call" as const, id, name, input: input ?? {} }
      const known = ["id", "name", "input"]
      return type === "tool_use"
        ? { ...call, ...about(block, known) }
        : { ...call, providerExecuted: true, ...about(block, known, {}, { type }) }
    }
    case "tool_result":
      return readResult(block)
    default:
      return isString(type) && type.endsWith("_tool_result") ? readProviderResult(block) : undefined
  }
}

/** What a block says beyond its part: for the provider under the names that the AI SDK has, the rest for this format. */
const about = (
  block: JsonObject,
  known: ReadonlyArray<string>,
  provider: { readonly [field: string]: Json | undefined } = {},
  own: JsonObject = {},
): { readonly providerMetadata?: ProviderMetadata } => {
  const { cache_control: cacheControl } = block
  const cached = isObject(cacheControl) ? { cacheControl } : {}
  const fields = { ...cached, ...provider }
  const given = Object.entries<Json | undefined>(fields).filter(isGiven)
  const rest = without(block, "type", ...known, ...Object.keys(cached).map(() => "cache_control"))
  return metadata(format, { ...rest, ...own }, given.length === 0 ? undefined : { [name]: Object.fromEntries(given) })
}

const isGiven = (field: [string, Json | undefined]): field is [string, Json] => field[1] !== undefined

const readFile = (block: JsonObject): FilePart | undefined => {
  const { source, title } = block
  const place = isObject(source)
    ? placeOf(source, block["type"] === "image" ? "image/*" : "application/pdf")
    : undefined
  if (place === undefined) return undefined
  const named = isString(title) ? { name: title } : {}
  return { type: "file", ...place, ...named, ...about(block, ["source", ...(isString(title) ? ["title"] : [])]) }
}

/** Where a file is; `undefined` where only the API knows, or something would be lost. */
const placeOf = (source: JsonObject, mime: string): FilePlace | undefined => {
  const { data, media_type: mediaType, type, url } = source
  if (type === "url" && isString(url) && Object.keys(source).length === 2) return { mime, url }
  if (!isString(mediaType) || !isString(data) || Object.keys(source).length !== 3) return undefined
  if (type === "base64") return { mime: mediaType, data }
  return type === "text" ? { mime: mediaType, data: base64(new TextEncoder().encode(data)) } : undefined
}

const readResult = (block: JsonObject): ToolResultPart | undefined => {
  const { content, is_error: isError, tool_use_id: callId } = block
  if (!isString(callId)) return undefined
  const parts = isArray(content) ? content.map(readBlock).filter(isShown) : []
  const plain = isString(content) || content === undefined
  // Blocks that only the API knows.
  const more = !plain && !(isArray(content) && parts.length === content.length)
  return {
    type: "tool-result",
    callId,
    output: isString(content) ? content : textsOf(parts),
    ...(plain ? {} : { parts }),
    ...(more ? { exact: { format, value: content } } : {}),
    ...(isError === true ? { isError } : {}),
    ...about(block, ["tool_use_id", "is_error", "content"]),
  }
}

const isShown = (part: GenericPart): part is TextPart | FilePart => part.type === "text" || part.type === "file"

const textsOf = (parts: ReadonlyArray<TextPart | FilePart>): string =>
  parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n")

/** The result of a call that Anthropic ran. */
const readProviderResult = (block: JsonObject): ToolResultPart | undefined => {
  const { content, tool_use_id: callId } = block
  if (!isString(callId)) return undefined
  const failed = isObject(content) && isString(content["type"]) && content["type"].endsWith("_error")
  return {
    type: "tool-result",
    callId,
    output: content ?? null,
    providerExecuted: true,
    ...(failed || block["is_error"] === true ? { isError: true } : {}),
    ...about(block, ["tool_use_id", "content"], {}, { type: block["type"] ?? null }),
  }
}

type Lose = (what: string) => []

const write = (messages: ReadonlyArray<GenericMessage>): Written<AnthropicMessage> => {
  const lost: Array<Loss> = []
  const turns: Array<{ readonly last: GenericMessage; readonly role: MessageRole; readonly blocks: Array<Block> }> = []
  for (const message of messages) {
    const role = roleOf(message)
    const blocks = message.content.flatMap((part) =>
      writePart(part, role, (what) => {
        lost.push({ message, what })
        return []
      }),
    )
    if (blocks.length === 0) continue
    const turn = turns.at(-1)
    if (turn !== undefined && goesOn(turn.last, message)) {
      turns[turns.length - 1] = { ...turn, last: message, blocks: inOrder([...turn.blocks, ...blocks]) }
    } else turns.push({ last: message, role, blocks: inOrder(blocks) })
  }
  return { messages: turns.map(({ blocks, role }) => asMessage(role, blocks)), lost }
}

const roleOf = ({ content, role }: GenericMessage): MessageRole => {
  if (role === "assistant" || content.some((part) => part.type === "tool-call")) return "assistant"
  return role === "system" ? "system" : "user"
}

/** Whether a message is part of the one before: results of one round, and what was stored together with them. */
const goesOn = (before: GenericMessage, { id, role }: GenericMessage): boolean =>
  before.role === "tool" && (role === "tool" || (role === "user" && id !== undefined && id === before.id))

/** Results come first: the API refuses a message in which something else stands before them. */
const inOrder = (blocks: Array<Block>): Array<Block> => {
  const isResult = (block: Block) => block.type === "tool_result"
  return [...blocks.filter(isResult), ...blocks.filter((block) => !isResult(block))]
}

const asMessage = (role: MessageRole, blocks: Array<Block>): AnthropicMessage => {
  const [first, ...more] = blocks
  const plain = first?.type === "text" && more.length === 0 && Object.keys(first).length === 2
  // Each block was written for this role.
  return { role, content: plain ? first.text : blocks } as AnthropicMessage
}

const writePart = (part: GenericPart, role: MessageRole, lose: Lose): ReadonlyArray<Block> => {
  if (part.type === "other" && part.format === format) return [asRead<Block>(part.value)]
  if (part.type === "text") return writeText(part)
  switch (role) {
    case "user":
      if (part.type === "file") return writeFile(part, lose)
      if (part.type === "tool-result" && part.providerExecuted !== true) return [writeResult(part, lose)]
      break
    case "assistant":
      if (part.type === "reasoning") return writeReasoning(part, lose)
      if (part.type === "tool-call") return writeCall(part, lose)
      if (part.type === "tool-result" && isString(ownFields(part, format)["type"])) return [writeProviderResult(part)]
      break
    case "system":
  }
  return lose(describePart(part))
}

/** What a part says beyond its kind, as fields of a block. */
const fields = (from: { readonly providerMetadata?: ProviderMetadata }): Cached => {
  const { cacheControl } = ownFields(from, name)
  return { ...ownFields(from, format), ...(isObject(cacheControl) ? { cache_control: asRead(cacheControl) } : {}) }
}

const writeText = (part: TextPart): Array<AnthropicText> =>
  isBlank(part.text) ? [] : [{ ...fields(part), type: "text", text: part.text }]

const writeReasoning = (
  part: ReasoningPart,
  lose: Lose,
): ReadonlyArray<AnthropicThinking | AnthropicRedactedThinking> => {
  const { redactedData, signature } = ownFields(part, name)
  if (isString(redactedData)) return [{ ...fields(part), type: "redacted_thinking", data: redactedData }]
  if (!isString(signature) || signature === "") return lose("a thought that Anthropic did not sign")
  return [{ ...fields(part), type: "thinking", thinking: part.text, signature }]
}

const writeCall = (part: ToolCallPart, lose: Lose): ReadonlyArray<AnthropicToolUse> => {
  const { type = "tool_use" } = ownFields(part, format)
  if (part.providerExecuted === true && type === "tool_use") return lose(describePart(part))
  if (!isObject(part.input)) lose(`that the input of ${describePart(part)} is no object`)
  return [
    {
      ...fields(part),
      type: asRead<"tool_use">(type),
      id: acceptedId(part.id, takenId),
      name: part.name,
      input: isObject(part.input) ? part.input : { input: part.input },
    },
  ]
}

const writeResult = (part: ToolResultPart, lose: Lose): AnthropicToolResult => {
  const exact = exactIn(part, format)
  const content = part.parts === undefined ? outputText(part) : writeShown(part.parts, lose)
  return {
    ...fields(part),
    type: "tool_result",
    tool_use_id: acceptedId(part.callId, takenId),
    ...(exact !== undefined ? { content: asRead<string>(exact) } : content === "" ? {} : { content }),
    ...(part.isError === true ? { is_error: true } : {}),
  }
}

const writeShown = (
  parts: ReadonlyArray<TextPart | FilePart>,
  lose: Lose,
): Array<AnthropicText | AnthropicImage | AnthropicDocument> =>
  parts.flatMap((part): ReadonlyArray<AnthropicText | AnthropicImage | AnthropicDocument> =>
    part.type === "text" ? writeText(part) : writeFile(part, lose),
  )

const writeProviderResult = (part: ToolResultPart): Block =>
  asRead<Block>({
    ...(fields(part) as JsonObject),
    tool_use_id: acceptedId(part.callId, takenId),
    content: part.output,
  })

const writeFile = (part: FilePart, lose: Lose): ReadonlyArray<AnthropicImage | AnthropicDocument> => {
  const image = part.mime.startsWith("image/")
  const source = image ? imageSource(part) : documentSource(part)
  if (source === undefined) return lose(describePart(part))
  const title = image || part.name === undefined ? {} : { title: part.name }
  const type = image ? ("image" as const) : ("document" as const)
  return [{ ...fields(part), ...title, type, source } as AnthropicImage | AnthropicDocument]
}

const imageSource = ({ data, mime, url }: FilePart): AnthropicImage["source"] | undefined => {
  if (data === undefined) return isWeb(url) ? { type: "url", url } : undefined
  return isImageType(mime) ? { type: "base64", media_type: mime, data } : undefined
}

const isImageType = (mime: string): mime is AnthropicImageType => /^image\/(jpeg|png|gif|webp)$/.test(mime)

const documentSource = ({ data, mime, url }: FilePart): AnthropicDocument["source"] | undefined => {
  if (mime === "application/pdf") {
    if (data !== undefined) return { type: "base64", media_type: mime, data }
    return isWeb(url) ? { type: "url", url } : undefined
  }
  const text = data === undefined || !mime.startsWith("text/") ? undefined : textOfBase64(data)
  return text === undefined ? undefined : { type: "text", media_type: "text/plain", data: text }
}

const isWeb = (url: string): boolean => /^https?:/i.test(url)

const textOfBase64 = (data: string): string | undefined => {
  const bytes = bytesOfBase64(data)
  return bytes === undefined ? undefined : new TextDecoder().decode(bytes)
}

/** Messages of Anthropic's API. To have your version's own type for them, name it: `Skein.open<MessageParam>(…)`. */
export const anthropic: Dialect<AnthropicMessage> = {
  name,
  version: 1,
  role: (body): Role | undefined => {
    const reading = read(body)
    if ("unreadable" in reading) return undefined
    return reading.messages.some(({ role }) => role === "tool") ? "tool" : reading.messages[0]?.role
  },
  text: (body) => {
    const reading = read(body)
    return "unreadable" in reading ? "" : textOf(reading.messages)
  },
  id: (body) => (isObject(body) ? usableId(body["id"]) : undefined),
  prompt: (text) => ({ role: "user", content: text }),
  summary: (text) => ({ role: "user", content: summaryText(text) }),
  read,
  write,
  resultsTogether: true,
}
