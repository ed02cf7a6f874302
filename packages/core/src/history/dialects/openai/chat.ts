/**
 * Messages of Chat Completions, of OpenAI and of all who offer the same API.
 *
 * Refusals are text. What a compatible server tells of its model's thoughts beside the content (`reasoning_content`,
 * `reasoning`) is read as thoughts, and goes back into the same field.
 */
import type { Json, JsonObject } from "../../../storage/json.ts"
import type {
  FilePart,
  GenericMessage,
  GenericPart,
  Loss,
  ReasoningPart,
  Role,
  TextPart,
  ToolCallPart,
  ToolResultPart,
  Written,
} from "../../dialect.ts"
import {
  acceptedId,
  asRead,
  describePart,
  exactIn,
  fileAt,
  isArray,
  isObject,
  isString,
  metadata,
  outputText,
  ownFields,
  urlOf,
  without,
} from "../fields.ts"
import { chatFormat, readArguments, takenId, writeArguments } from "./calls.ts"

export interface OpenAiText {
  type: "text"
  text: string
}
export interface OpenAiRefusal {
  type: "refusal"
  refusal: string
}
export interface OpenAiImage {
  type: "image_url"
  image_url: { url: string }
}
export interface OpenAiAudio {
  type: "input_audio"
  input_audio: { data: string; format: "wav" | "mp3" }
}
export interface OpenAiFile {
  type: "file"
  file: { file_data?: string; filename?: string }
}
export type OpenAiToolCall =
  | { type: "function"; id: string; function: { name: string; arguments: string } }
  | { type: "custom"; id: string; custom: { name: string; input: string } }

/** A message for the API: assignable to `ChatCompletionMessageParam` of package `openai`. */
export type OpenAiMessage =
  | { role: "system" | "developer"; content: string | Array<OpenAiText> }
  | { role: "user"; content: string | Array<OpenAiText | OpenAiImage | OpenAiAudio | OpenAiFile> }
  | {
      role: "assistant"
      content?: string | Array<OpenAiText | OpenAiRefusal> | null
      refusal?: string | null
      tool_calls?: Array<OpenAiToolCall>
    }
  | { role: "tool"; tool_call_id: string; content: string | Array<OpenAiText> }

/** Whether a body is a message of Chat Completions. Parts are the API's to check. */
export const isChatMessage = (body: Json): body is JsonObject & OpenAiMessage => {
  if (!isObject(body) || body["type"] !== undefined) return false
  const { content, role } = body
  const said = isString(content) || isArray(content)
  if (isArray(content) && content.some(isOfResponses)) return false
  if (role === "tool") return said && isString(body["tool_call_id"])
  if (role === "assistant") return said || content === null || isArray(body["tool_calls"]) || isString(body["refusal"])
  return said && (role === "system" || role === "developer" || role === "user")
}

const isOfResponses = (part: Json): boolean =>
  isObject(part) && isString(part["type"]) && /^(output_text|input_(text|image|file))$/.test(part["type"])

/** Whether the API takes the message as it is, as far as its calls go. */
export const isTaken = (body: JsonObject): boolean => {
  const { tool_call_id: callId, tool_calls: calls } = body
  const ids = isArray(calls) ? calls.map((call) => (isObject(call) ? call["id"] : undefined)) : []
  return [...ids, ...(callId === undefined ? [] : [callId])].every((id) => isString(id) && takenId.test(id))
}

/** The fields of compatible servers for what a model thought. */
const thoughtFields = ["reasoning_content", "reasoning"]

export const readChatMessage = (body: JsonObject & OpenAiMessage): GenericMessage => {
  const { content, refusal, tool_calls: calls } = body as JsonObject
  const said: ReadonlyArray<GenericPart> = isArray(content)
    ? content.map(readPart)
    : isString(content)
      ? [{ type: "text", text: content }]
      : []
  if (body.role === "tool") return { role: "tool", content: [readResult(body, said)] }
  const thoughtField = body.role === "assistant" ? thoughtFields.find((field) => isString(body[field])) : undefined
  const thought = thoughtField === undefined ? undefined : body[thoughtField]
  const known = [
    "role",
    "content",
    ...(isString(refusal) ? ["refusal"] : []),
    ...(isArray(calls) ? ["tool_calls"] : []),
    ...(thoughtField === undefined ? [] : [thoughtField]),
  ]
  return {
    role: roleOf(body.role),
    content: [
      ...(isString(thought)
        ? [{ type: "reasoning" as const, text: thought, ...metadata(chatFormat, { field: thoughtField! }) }]
        : []),
      ...said,
      ...(isString(refusal)
        ? [{ type: "text" as const, text: refusal, ...metadata(chatFormat, { field: "refusal" }) }]
        : []),
      ...(isArray(calls) ? calls.map(readCall) : []),
    ],
    ...metadata(chatFormat, { ...without(body, ...known), ...(body.role === "developer" ? { role: body.role } : {}) }),
  }
}

export const roleOf = (role: OpenAiMessage["role"]): Role => (role === "developer" ? "system" : role)

const readPart = (part: Json): GenericPart =>
  (isObject(part) ? readKnown(part) : undefined) ?? { type: "other", format: chatFormat, value: part }

const readKnown = (part: JsonObject): GenericPart | undefined => {
  const { type } = part
  const rest = (own: JsonObject = {}) => metadata(chatFormat, { ...without(part, "type", String(type)), ...own })
  switch (type) {
    case "text":
      return isString(part["text"]) ? { type, text: part["text"], ...rest() } : undefined
    case "refusal":
      return isString(part["refusal"]) ? { type: "text", text: part["refusal"], ...rest({ type }) } : undefined
    case "image_url": {
      const { image_url: image } = part
      if (!isObject(image) || !isString(image["url"])) return undefined
      const { url } = image
      const details = without(image, "url")
      const own = Object.keys(details).length === 0 ? {} : { image_url: details }
      return { type: "file", ...fileAt(mimeOf(url) ?? "image/*", url), ...rest(own) }
    }
    case "input_audio": {
      const { input_audio: audio } = part
      if (!isObject(audio) || !isString(audio["data"]) || !isString(audio["format"])) return undefined
      const mime = audio["format"] === "mp3" ? "audio/mpeg" : `audio/${audio["format"]}`
      return { type: "file", mime, data: audio["data"], ...rest() }
    }
    case "file": {
      const { file } = part
      if (!isObject(file) || !isString(file["file_data"])) return undefined
      const { file_data: url, filename } = file
      const mime = mimeOf(url)
      if (mime === undefined || Object.keys(without(file, "file_data", "filename")).length > 0) return undefined
      return { type: "file", ...fileAt(mime, url), ...(isString(filename) ? { name: filename } : {}), ...rest() }
    }
    default:
      return undefined
  }
}

const mimeOf = (url: string): string | undefined => /^data:([^;,]+);base64,/.exec(url.slice(0, 200))?.[1]

const readCall = (call: Json): GenericPart => {
  const other: GenericPart = { type: "other", format: chatFormat, value: { tool_calls: [call] } }
  if (!isObject(call) || !isString(call["id"])) return other
  const { custom, function: called, id } = call
  if (isObject(called) && isString(called["name"])) {
    const { input, own } = readArguments(called["arguments"])
    const rest = without(call, "id", "type", "function")
    return { type: "tool-call", id, name: called["name"], input, ...metadata(chatFormat, { ...rest, ...own }) }
  }
  if (!isObject(custom) || !isString(custom["name"])) return other
  const rest = { ...without(call, "id", "custom"), type: "custom" }
  return { type: "tool-call", id, name: custom["name"], input: custom["input"] ?? "", ...metadata(chatFormat, rest) }
}

const readResult = (body: JsonObject, said: ReadonlyArray<GenericPart>): ToolResultPart => {
  const { content = null } = body
  const texts = said.filter((part) => part.type === "text")
  return {
    type: "tool-result",
    callId: String(body["tool_call_id"]),
    output: texts.map(({ text }) => text).join("\n"),
    ...(isArray(content) ? { parts: texts } : {}),
    ...(texts.length === said.length ? {} : { exact: { format: chatFormat, value: content } }),
    ...metadata(chatFormat, without(body, "role", "tool_call_id", "content")),
  }
}

type Lose = (what: string) => []

export const writeChatMessages = (messages: ReadonlyArray<GenericMessage>): Written<OpenAiMessage> => {
  const lost: Array<Loss> = []
  const written = messages.flatMap((message) =>
    writeMessage(message, (what) => {
      lost.push({ message, what })
      return []
    }),
  )
  return { messages: written, lost }
}

const writeMessage = (message: GenericMessage, lose: Lose): ReadonlyArray<OpenAiMessage> => {
  const { content, role } = message
  const own = ownFields(message, chatFormat)
  if (role === "assistant" || content.some((part) => part.type === "tool-call")) return writeAssistant(message, lose)
  if (role === "tool") {
    return content.flatMap((part) =>
      part.type === "tool-result" ? [writeResult(part, lose)] : lose(describePart(part)),
    )
  }
  const said = content.flatMap((part) => (role === "user" ? writeGiven(part, lose) : writeShown(part, lose)))
  if (said.length === 0) return []
  return [{ ...own, role: own["role"] === "developer" ? "developer" : role, content: plain(said) } as OpenAiMessage]
}

/** Text alone is a text. */
const plain = <Part extends Given | OpenAiRefusal>(parts: Array<Part>): string | Array<Part> => {
  const [first, ...more] = parts
  return first?.type === "text" && more.length === 0 && Object.keys(first).length === 2 ? first.text : parts
}

const writeAssistant = (message: GenericMessage, lose: Lose): ReadonlyArray<OpenAiMessage> => {
  const said: Array<OpenAiText | OpenAiRefusal> = []
  const calls: Array<OpenAiToolCall> = []
  const beside: { [field: string]: string } = {}
  for (const part of message.content) {
    const { field } = ownFields(part, chatFormat)
    if (part.type === "text" && field === "refusal") beside[field] = part.text
    else if (part.type === "reasoning") addThought(part, field, beside, lose)
    else if (part.type === "tool-call") calls.push(...writeCall(part, lose))
    else if (part.type === "other" && part.format === chatFormat && isCall(part.value)) {
      calls.push(...asRead<Array<OpenAiToolCall>>(part.value["tool_calls"]))
    } else said.push(...writeText(part, lose))
  }
  if (said.length === 0 && calls.length === 0 && beside["refusal"] === undefined) return []
  return [
    {
      ...ownFields(message, chatFormat),
      ...beside,
      role: "assistant",
      content: said.length === 0 ? null : plain(said),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    },
  ]
}

const addThought = (
  part: ReasoningPart,
  field: Json | undefined,
  beside: { [field: string]: string },
  lose: Lose,
): void => {
  if (isString(field)) beside[field] = part.text
  else lose(describePart(part))
}

const isCall = (value: Json): value is { readonly tool_calls: ReadonlyArray<Json> } =>
  isObject(value) && isArray(value["tool_calls"])

const writeCall = (part: ToolCallPart, lose: Lose): ReadonlyArray<OpenAiToolCall> => {
  if (part.providerExecuted === true) return lose(describePart(part))
  const own = ownFields(part, chatFormat)
  const id = acceptedId(part.id, takenId)
  if (own["type"] === "custom" && isString(part.input)) {
    return [{ ...own, id, type: "custom", custom: { name: part.name, input: part.input } }]
  }
  const called = { name: part.name, arguments: writeArguments(part.input, own) }
  return [{ ...without(own, "arguments"), id, type: "function", function: called }]
}

const writeResult = (part: ToolResultPart, lose: Lose): OpenAiMessage => {
  if (part.isError === true) lose(`that ${describePart(part)} is an error`)
  const exact = exactIn(part, chatFormat)
  const said = part.parts?.flatMap((inner) => writeShown(inner, lose))
  return {
    ...ownFields(part, chatFormat),
    role: "tool",
    tool_call_id: acceptedId(part.callId, takenId),
    content: exact === undefined ? (said ?? outputText(part)) : asRead<Array<OpenAiText>>(exact),
  }
}

const writeText = (part: GenericPart, lose: Lose): ReadonlyArray<OpenAiText | OpenAiRefusal> => {
  if (part.type === "text") return [textPart(part)]
  return part.type === "other" && part.format === chatFormat
    ? [asRead<OpenAiText>(part.value)]
    : lose(describePart(part))
}

const textPart = (part: TextPart): OpenAiText | OpenAiRefusal => {
  const { type, ...own } = ownFields(part, chatFormat)
  return type === "refusal" ? { ...own, type, refusal: part.text } : { ...own, type: "text", text: part.text }
}

type Given = OpenAiText | OpenAiImage | OpenAiAudio | OpenAiFile

/** What others than assistants say: they have no refusals. */
const writeShown = (part: GenericPart, lose: Lose): ReadonlyArray<OpenAiText> =>
  writeText(part, lose) as ReadonlyArray<OpenAiText>

const writeGiven = (part: GenericPart, lose: Lose): ReadonlyArray<Given> =>
  part.type === "file" ? writeFile(part, lose) : writeShown(part, lose)

const writeFile = (part: FilePart, lose: Lose): ReadonlyArray<Given> => {
  const { data, mime, name } = part
  const { image_url: details, ...own } = ownFields(part, chatFormat)
  if (mime.startsWith("image/")) {
    return [{ ...own, type: "image_url", image_url: { ...(isObject(details) ? details : {}), url: urlOf(part) } }]
  }
  if (data === undefined) return lose(describePart(part))
  const format = audioFormats[mime]
  if (format !== undefined) return [{ ...own, type: "input_audio", input_audio: { data, format } }]
  const file = { file_data: urlOf(part), ...(name === undefined ? {} : { filename: name }) }
  return [{ ...own, type: "file", file }]
}

const audioFormats: { readonly [mime: string]: "wav" | "mp3" | undefined } = {
  "audio/wav": "wav",
  "audio/mpeg": "mp3",
}
