/**
 * Items of Responses: what OpenAI's newer API takes as `input` and gives as `output`.
 *
 * A message is the items of one step: what the model put out (thoughts, text, calls), or what it is given next. Items that
 * only the API understands, such as those of its own tools, are carried and go back as they were.
 */
import type { Json, JsonArray, JsonObject } from "../../../storage/json.ts"
import type {
  FilePart,
  GenericMessage,
  GenericPart,
  Loss,
  ProviderMetadata,
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
  messagesOf,
  metadata,
  outputText,
  ownFields,
  urlOf,
  without,
} from "../fields.ts"
import { provider, readArguments, responsesFormat, takenId, writeArguments } from "./calls.ts"

export interface OpenAiInputText {
  type: "input_text"
  text: string
}
export interface OpenAiInputImage {
  type: "input_image"
  image_url: string
  detail: "low" | "high" | "auto"
}
export interface OpenAiInputFile {
  type: "input_file"
  file_data?: string
  file_url?: string
  filename?: string
}
export type OpenAiInput = OpenAiInputText | OpenAiInputImage | OpenAiInputFile

/** An item for the API: assignable to `ResponseInputItem` of package `openai`. */
export type OpenAiItem =
  | { role: "user" | "system" | "developer" | "assistant"; content: string | Array<OpenAiInput> }
  | {
      type: "reasoning"
      id: string
      summary: Array<{ type: "summary_text"; text: string }>
      encrypted_content?: string
    }
  | { type: "function_call"; call_id: string; name: string; arguments: string }
  | { type: "custom_tool_call"; call_id: string; name: string; input: string }
  | { type: "function_call_output"; call_id: string; output: string | Array<OpenAiInput> }
  | { type: "custom_tool_call_output"; call_id: string; output: string | Array<OpenAiInput> }

/** The items of a body: a list of them, one by itself, or a whole response. */
export const itemsOf = (body: Json): ReadonlyArray<JsonObject> | undefined => {
  if (isArray(body)) return body.length > 0 && body.every(isItem) ? (body as ReadonlyArray<JsonObject>) : undefined
  if (!isObject(body)) return undefined
  if (body["object"] === "response") return isArray(body["output"]) ? itemsOf(body["output"]) : undefined
  return isItem(body) ? [body] : undefined
}

const isItem = (item: Json): item is JsonObject => isObject(item) && (isMessage(item) || isString(item["type"]))

const isMessage = ({ content, role, type }: JsonObject): boolean =>
  (type === undefined || type === "message") && isRole(role) && (isString(content) || isArray(content))

const isRole = (role: Json | undefined): boolean =>
  role === "user" || role === "assistant" || role === "system" || role === "developer"

/** Whether the API takes the items as they are, as far as their calls go. */
export const areTaken = (items: ReadonlyArray<JsonObject>): boolean =>
  items.every(({ call_id: id }) => id === undefined || !isString(id) || takenId.test(id))

/** Who speaks, as far as the items say: tools where all of them are results. */
export const speakerOf = (items: ReadonlyArray<JsonObject>): Role => {
  const message = items.find(isMessage)
  if (message !== undefined) return roleOf(message)
  return items.every(({ type }) => isString(type) && isOutput.test(type)) ? "tool" : "assistant"
}

const isOutput = /_output$/

const roleOf = ({ role }: JsonObject): Role => (role === "user" || role === "assistant" ? role : "system")

/** Reads items. Each message of a user or the system is one by itself; what an assistant puts out is read together. */
export const readItems = (items: ReadonlyArray<JsonObject>): ReadonlyArray<GenericMessage> => {
  const turns: Array<{ readonly role: Role; readonly content: Array<GenericPart>; readonly own: JsonObject }> = []
  for (const item of items) {
    const role = isMessage(item) ? roleOf(item) : speakerOf([item])
    const given = role === "user" || role === "system"
    const turn = turns.at(-1)
    if (turn === undefined || given || turn.role === "user" || turn.role === "system") {
      const fields = given ? without(item, "content", ...(item["role"] === role ? ["role"] : [])) : {}
      turns.push({ role, content: readItem(item, given), own: fields })
    } else turn.content.push(...readItem(item, false))
  }
  return turns.flatMap(({ content, own, role }) => messagesOf(content, role, metadata(responsesFormat, own)))
}

/** @param given  what was given to the model: the fields of its item are the message's, not each part's */
const readItem = (item: JsonObject, given: boolean): Array<GenericPart> => {
  const { call_id: callId, content, name, type } = item
  if (isMessage(item)) {
    const fields = without(item, "content", "role")
    const about = given || Object.keys(fields).length === 0 ? {} : { item: fields }
    return isString(content)
      ? [{ type: "text", text: content, ...metadata(responsesFormat, about) }]
      : (content as JsonArray).map((part) => readPart(part, about))
  }
  if (type === "reasoning" && isString(item["id"]) && isArray(item["summary"])) return readThought(item)
  if (isString(callId) && isString(name) && (type === "function_call" || type === "custom_tool_call")) {
    const custom = type === "custom_tool_call"
    const { input, own } = custom ? { input: item["input"] ?? "", own: { type } } : readArguments(item["arguments"])
    const fields = without(item, "type", "call_id", "name", "id", custom ? "input" : "arguments")
    return [{ type: "tool-call", id: callId, name, input, ...about(item["id"], { ...fields, ...own }) }]
  }
  if (isString(callId) && (type === "function_call_output" || type === "custom_tool_call_output")) {
    return [readResult(item, callId)]
  }
  return [{ type: "other", format: responsesFormat, value: item }]
}

/** The id of an item, under the name that the AI SDK has for it, what is sealed in it, and what else it says. */
const about = (id: Json | undefined, own: JsonObject, sealed: JsonObject = {}) => {
  const known = { ...(isString(id) ? { itemId: id } : {}), ...sealed }
  const fields = isString(id) || id === undefined ? own : { ...own, id }
  return metadata(responsesFormat, fields, Object.keys(known).length === 0 ? undefined : { [provider]: known })
}

const readThought = (item: JsonObject): Array<GenericPart> => {
  const { encrypted_content: encrypted, id, summary } = item
  const texts = (summary as JsonArray).map((part) => (isObject(part) ? part["text"] : undefined))
  const plain = (summary as JsonArray).every((part) => isObject(part) && Object.keys(part).length === 2)
  if (!plain || !texts.every(isString)) return [{ type: "other", format: responsesFormat, value: item }]
  const sealed: JsonObject = isString(encrypted) ? { reasoningEncryptedContent: encrypted } : {}
  const own = without(item, "type", "id", "summary", ...(isString(encrypted) ? ["encrypted_content"] : []))
  const part = (text: string, i: number): ReasoningPart => ({
    type: "reasoning",
    text,
    ...about(id, i === 0 ? own : {}, sealed),
  })
  return texts.length === 0 ? [part("", 0)] : texts.map(part)
}

const readPart = (part: Json, about: JsonObject): GenericPart => {
  const other: GenericPart = { type: "other", format: responsesFormat, value: { ...about, part } }
  if (!isObject(part)) return other
  const { refusal, text, type } = part
  switch (type) {
    case "input_text":
    case "output_text": {
      const own = type === "output_text" ? { type, ...without(part, "type", "text") } : without(part, "type", "text")
      return isString(text) ? { type: "text", text, ...metadata(responsesFormat, { ...own, ...about }) } : other
    }
    case "refusal":
      return isString(refusal)
        ? { type: "text", text: refusal, ...metadata(responsesFormat, { type, ...about }) }
        : other
    default:
      return readFile(part) ?? other
  }
}

const readFile = (part: JsonObject): FilePart | undefined => {
  const { file_data: data, file_url: fileUrl, filename, image_url: imageUrl, type } = part
  if (type === "input_image" && isString(imageUrl)) {
    const { detail } = part
    const own = without(part, "type", "image_url", ...(detail === "auto" ? ["detail"] : []))
    return { type: "file", ...fileAt(mimeOf(imageUrl) ?? "image/*", imageUrl), ...metadata(responsesFormat, own) }
  }
  const url = isString(data) ? data : fileUrl
  if (type !== "input_file" || !isString(url)) return undefined
  const mime = isString(data) ? mimeOf(data) : "application/pdf"
  if (mime === undefined) return undefined
  const named = isString(filename) ? { name: filename } : {}
  const own = without(
    part,
    "type",
    isString(data) ? "file_data" : "file_url",
    ...Object.keys(named).map(() => "filename"),
  )
  return { type: "file", ...fileAt(mime, url), ...named, ...metadata(responsesFormat, own) }
}

const mimeOf = (url: string): string | undefined => /^data:([^;,]+);base64,/.exec(url.slice(0, 200))?.[1]

const readResult = (item: JsonObject, callId: string): ToolResultPart => {
  const { output = null, type } = item
  const read = isArray(output) ? output.map((part) => readPart(part, {})) : []
  const parts = read.filter((part) => part.type === "text" || part.type === "file")
  const more = !isString(output) && !(isArray(output) && parts.length === output.length)
  const own = without(item, "type", "call_id", "id", "output")
  return {
    type: "tool-result",
    callId,
    output: isString(output) ? output : textsOf(parts),
    ...(isString(output) ? {} : { parts }),
    ...(more ? { exact: { format: responsesFormat, value: output } } : {}),
    ...about(item["id"], type === "function_call_output" ? own : { ...own, type: type ?? null }),
  }
}

const textsOf = (parts: ReadonlyArray<TextPart | FilePart>): string =>
  parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n")

type Lose = (what: string) => []

export const writeItems = (messages: ReadonlyArray<GenericMessage>): Written<Array<OpenAiItem>> => {
  const lost: Array<Loss> = []
  const written = messages.flatMap((message) => {
    const items = writeMessage(message, (what) => {
      lost.push({ message, what })
      return []
    })
    return items.length === 0 ? [] : [items]
  })
  return { messages: written, lost }
}

const writeMessage = (message: GenericMessage, lose: Lose): Array<OpenAiItem> => {
  const { content, role } = message
  if (role === "tool") {
    // What is no result would stand between a call and its result.
    return content.flatMap((part) =>
      part.type === "tool-result" || part.type === "other" ? writeSteps([part], lose) : lose(describePart(part)),
    )
  }
  const steps = role === "assistant" || content.some(({ type }) => type === "tool-call" || type === "tool-result")
  if (steps) return writeSteps(content, lose)
  const parts = content.flatMap((part) => writeGiven(part, lose))
  return parts.length === 0
    ? []
    : [{ role, ...ownFields(message, responsesFormat), content: plain(parts) } as OpenAiItem]
}

const plain = (parts: Array<OpenAiInput>): string | Array<OpenAiInput> => {
  const [first, ...more] = parts
  return first?.type === "input_text" && more.length === 0 && Object.keys(first).length === 2 ? first.text : parts
}

/** An item on its way, and what it was made of: parts that were one item are one again. */
interface Made {
  readonly key: Json | undefined
  readonly item: JsonObject
}

/** What an assistant puts out and tools answer, item by item. */
const writeSteps = (content: ReadonlyArray<GenericPart>, lose: Lose): Array<OpenAiItem> => {
  const made: Array<Made> = []
  for (const part of content) {
    const next = writeStep(part, lose)
    if (next === undefined) continue
    const last = made.at(-1)
    if (last?.key !== undefined && next.key !== undefined && isSame(last.key, next.key)) {
      made[made.length - 1] = { key: last.key, item: joined(last.item, next.item) }
    } else made.push(next)
  }
  return made.map(({ item }) => asRead<OpenAiItem>(item))
}

const isSame = (one: Json, other: Json): boolean => JSON.stringify(one) === JSON.stringify(other)

const joined = (one: JsonObject, other: JsonObject): JsonObject => {
  const field = isArray(one["summary"]) ? "summary" : "content"
  return { ...other, ...one, [field]: [...(one[field] as JsonArray), ...(other[field] as JsonArray)] }
}

const writeStep = (part: GenericPart, lose: Lose): Made | undefined => {
  const own = ownFields(part, responsesFormat)
  switch (part.type) {
    case "text": {
      const { item, ...fields } = own
      const type = isString(own["type"]) ? own["type"] : "output_text"
      const said = { ...fields, type, [type === "refusal" ? "refusal" : "text"]: part.text }
      if (isObject(item)) return { key: item, item: { ...item, role: "assistant", content: [said] } }
      const bare = own["type"] === undefined && Object.keys(fields).length === 0
      return { key: undefined, item: { role: "assistant", content: bare ? part.text : [said] } }
    }
    case "reasoning":
      return writeThought(part, own, lose)
    case "tool-call":
      return part.providerExecuted === true ? lost(part, lose) : { key: undefined, item: writeCall(part, own) }
    case "tool-result":
      return part.providerExecuted === true ? lost(part, lose) : { key: undefined, item: writeResult(part, own, lose) }
    case "other": {
      if (part.format !== responsesFormat || !isObject(part.value)) return lost(part, lose)
      const { item, part: inner } = part.value
      if (isObject(item) && inner !== undefined)
        return { key: item, item: { ...item, role: "assistant", content: [inner] } }
      return { key: undefined, item: part.value }
    }
    case "file":
      return lost(part, lose)
  }
}

const lost = (part: GenericPart, lose: Lose): undefined => {
  lose(describePart(part))
  return undefined
}

const idOf = (part: { readonly providerMetadata?: ProviderMetadata }): JsonObject => {
  const { itemId } = ownFields(part, provider)
  return isString(itemId) ? { id: itemId } : {}
}

const writeThought = (part: ReasoningPart, own: JsonObject, lose: Lose): Made | undefined => {
  const { itemId, reasoningEncryptedContent: encrypted } = ownFields(part, provider)
  if (!isString(itemId)) {
    lose("a thought that is no item of OpenAI's")
    return undefined
  }
  const summary = part.text === "" ? [] : [{ type: "summary_text", text: part.text }]
  const sealed: JsonObject = isString(encrypted) ? { encrypted_content: encrypted } : {}
  return { key: itemId, item: { ...own, type: "reasoning", id: itemId, summary, ...sealed } }
}

const writeCall = (part: ToolCallPart, own: JsonObject): JsonObject => {
  const called = { ...idOf(part), call_id: acceptedId(part.id, takenId), name: part.name }
  const { type, ...fields } = own
  if (type === "custom_tool_call" && isString(part.input)) return { ...fields, type, ...called, input: part.input }
  return {
    ...without(fields, "arguments"),
    type: "function_call",
    ...called,
    arguments: writeArguments(part.input, own),
  }
}

const writeResult = (part: ToolResultPart, own: JsonObject, lose: Lose): JsonObject => {
  if (part.isError === true) lose(`that ${describePart(part)} is an error`)
  const { type = "function_call_output", ...fields } = own
  const parts = part.parts?.flatMap((inner) => writeGiven(inner, lose)) as JsonArray | undefined
  return {
    ...fields,
    type,
    ...idOf(part),
    call_id: acceptedId(part.callId, takenId),
    output: exactIn(part, responsesFormat) ?? parts ?? outputText(part),
  }
}

/** What a model is given: by users, and as results. */
const writeGiven = (part: GenericPart, lose: Lose): ReadonlyArray<OpenAiInput> => {
  const own = ownFields(part, responsesFormat)
  switch (part.type) {
    case "text":
      return [{ ...without(own, "item"), type: "input_text", text: part.text }]
    case "file":
      return writeFile(part, own)
    case "other":
      if (part.format === responsesFormat && isObject(part.value) && part.value["part"] !== undefined) {
        return [asRead<OpenAiInput>(part.value["part"])]
      }
      return lose(describePart(part))
    default:
      return lose(describePart(part))
  }
}

const writeFile = (part: FilePart, own: JsonObject): ReadonlyArray<OpenAiInput> => {
  if (part.mime.startsWith("image/")) {
    return [{ detail: "auto", ...own, type: "input_image", image_url: urlOf(part) }]
  }
  const place = part.data === undefined ? { file_url: part.url } : { file_data: urlOf(part) }
  const named = part.name === undefined ? {} : { filename: part.name }
  return [{ ...own, type: "input_file", ...place, ...named }]
}
