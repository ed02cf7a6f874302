/**
 * ModelMessages of the AI SDK, versions 5 to 7: what its functions take as `messages`.
 *
 * Read as they come out of JSON: bytes in them are base64, URLs are text. Parts that only the SDK understands (approvals,
 * custom parts) or that it gets later are carried and written again as they were. Files in the results of tools are
 * written as versions 6 and 7 have them.
 */
import type { Json, JsonObject } from "../../../storage/json.ts"
import type {
  FilePart,
  GenericMessage,
  GenericPart,
  Loss,
  OtherPart,
  ProviderMetadata,
  Role,
  TextPart,
  ToolCallPart,
  ToolResultPart,
  Written,
} from "../../dialect.ts"
import {
  asRead,
  describePart,
  exactIn,
  fileAt,
  isArray,
  isObject,
  isRole,
  isString,
  metadata,
  othersMetadata,
  ownFields,
  without,
} from "../fields.ts"

/** JSON as the SDK's own types have it. */
export type SdkJson = null | string | number | boolean | Array<SdkJson> | { [key: string]: SdkJson }
export type SdkProviderOptions = Record<string, { [key: string]: SdkJson }>

interface Options {
  providerOptions?: SdkProviderOptions
}
export interface SdkTextPart extends Options {
  type: "text"
  text: string
}
export interface SdkReasoningPart extends Options {
  type: "reasoning"
  text: string
}
export interface SdkFilePart extends Options {
  type: "file"
  mediaType: string
  filename?: string
  /** Base64 or a URL. */
  data: string
}
export interface SdkToolCallPart extends Options {
  type: "tool-call"
  toolCallId: string
  toolName: string
  input: unknown
  providerExecuted?: boolean
}
export interface SdkToolResultPart extends Options {
  type: "tool-result"
  toolCallId: string
  toolName: string
  output: SdkToolOutput
}
export type SdkToolOutput =
  | { type: "text"; value: string }
  | { type: "json"; value: SdkJson }
  | { type: "error-text"; value: string }
  | { type: "error-json"; value: SdkJson }
  | { type: "content"; value: Array<SdkOutputItem> }
export type SdkOutputItem =
  | { type: "text"; text: string }
  | { type: "file-data"; data: string; mediaType: string; filename?: string }
  | { type: "image-data"; data: string; mediaType: string }
  | { type: "file-url"; url: string; mediaType: string }
  | { type: "image-url"; url: string }

/** A message for the SDK's functions: assignable to `ModelMessage` of package `ai`. */
export type SdkModelMessage =
  | ({ role: "system"; content: string } & Options)
  | ({ role: "user"; content: string | Array<SdkTextPart | SdkFilePart> } & Options)
  | ({ role: "assistant"; content: string | Array<SdkAssistantPart> } & Options)
  | ({ role: "tool"; content: Array<SdkToolResultPart> } & Options)
export type SdkAssistantPart = SdkTextPart | SdkReasoningPart | SdkFilePart | SdkToolCallPart | SdkToolResultPart

/** The owner of the fields that only ModelMessages have. */
export const modelFormat = "ai-sdk"
/** The owner of the fields that only UIMessages have. */
export const uiFormat = "ai-sdk-ui"

/** What the SDK says where a person forbade a call and gave no reason. */
export const denied = "Tool call execution denied."

/** A body that the SDK's functions can be given. Parts are theirs to check; `role` and the kind of `content` are not. */
export const isModelMessage = (body: Json): body is JsonObject & SdkModelMessage => {
  // With parts it is a UIMessage, whatever else older versions have put beside them.
  if (!isObject(body) || isArray(body["parts"])) return false
  const { role, content } = body
  if (role === "system") return isString(content)
  if (role === "tool") return isArray(content)
  return isRole(role) && (isString(content) || isArray(content))
}

/** Reads what has `content`, text or parts; `undefined` when there is none. */
export const readModelMessage = (body: JsonObject, role: Role): GenericMessage | undefined => {
  const { content } = body
  if (!isString(content) && !isArray(content)) return undefined
  return {
    role,
    content: isString(content) ? [{ type: "text", text: content }] : readParts(content, role),
    ...metadata(modelFormat, without(body, "role", "content", "providerOptions"), body["providerOptions"]),
  }
}

const readParts = (content: ReadonlyArray<Json>, role: Role): ReadonlyArray<GenericPart> => {
  // Only calls say who runs them. A result in an assistant message is the provider's unless its call says otherwise.
  const ordinary = new Set(content.filter((part) => isObject(part) && part["providerExecuted"] !== true).map(callIdOf))
  return content.map((part): GenericPart => {
    const other: OtherPart = { type: "other", format: modelFormat, value: part }
    if (!isObject(part)) return other
    if (part["type"] === "tool-result") {
      const executed = role === "assistant" && !ordinary.has(part["toolCallId"])
      return readResult(part, executed) ?? other
    }
    return readPart(part) ?? other
  })
}

const callIdOf = (part: Json): Json | undefined =>
  isObject(part) && part["type"] === "tool-call" ? part["toolCallId"] : undefined

const readPart = (part: JsonObject): GenericPart | undefined => {
  const { type, text, providerOptions } = part
  switch (type) {
    case "text":
    case "reasoning":
      if (!isString(text)) return undefined
      return { type, text, ...metadata(modelFormat, without(part, "type", "text", "providerOptions"), providerOptions) }
    case "image":
    case "file":
      return readFile(part)
    case "tool-call": {
      const { toolCallId, toolName, input, providerExecuted } = part
      if (!isString(toolCallId) || !isString(toolName)) return undefined
      const fields = without(
        part,
        "type",
        "toolCallId",
        "toolName",
        "input",
        "args",
        "providerExecuted",
        "providerOptions",
      )
      return {
        type,
        id: toolCallId,
        name: toolName,
        input: input ?? null,
        ...(providerExecuted === true ? { providerExecuted } : {}),
        ...metadata(modelFormat, fields, providerOptions),
      }
    }
    default:
      return undefined
  }
}

/** A file or image part; `undefined` where its bytes are neither here nor at a URL. */
const readFile = (part: JsonObject): FilePart | undefined => {
  const { mediaType, filename, providerOptions } = part
  const mime = isString(mediaType) ? mediaType : part["type"] === "image" ? "image/*" : undefined
  const place = placeOf(part["type"] === "image" ? part["image"] : part["data"])
  if (mime === undefined || place === undefined) return undefined
  const fields = without(part, "type", "image", "data", "mediaType", "filename", "providerOptions")
  return {
    type: "file",
    ...(isUrl(place) ? fileAt(mime, place) : { mime, data: place }),
    ...(isString(filename) ? { name: filename } : {}),
    ...metadata(modelFormat, fields, providerOptions),
  }
}

/** Base64 or URL, bare or in the tagged form of version 7. */
const placeOf = (data: Json | undefined): string | undefined => {
  if (isString(data)) return data
  if (!isObject(data)) return undefined
  const tagged = data["type"] === "url" ? data["url"] : data["type"] === "data" ? data["data"] : undefined
  return isString(tagged) ? tagged : undefined
}

// Base64 has no colon.
const isUrl = (place: string): boolean => /^[a-z][a-z0-9+.-]*:/i.test(place.slice(0, 64))

const readResult = (part: JsonObject, providerExecuted: boolean): ToolResultPart | undefined => {
  const { toolCallId, toolName, output, providerOptions } = part
  if (!isString(toolCallId) || output === undefined) return undefined
  const { exact, ...read } = readOutput(output)
  const fields = without(part, "type", "toolCallId", "toolName", "output", "providerOptions")
  return {
    type: "tool-result",
    callId: toolCallId,
    ...(isString(toolName) ? { name: toolName } : {}),
    ...read,
    ...(providerExecuted ? { providerExecuted } : {}),
    ...(exact ? {} : { exact: { format: modelFormat, value: output } }),
    ...metadata(modelFormat, fields, providerOptions),
  }
}

type ReadOutput = Pick<ToolResultPart, "output" | "parts" | "isError"> & {
  /** Writing what was read gives the same output again. */
  readonly exact: boolean
}

const readOutput = (output: Json): ReadOutput => {
  if (!isObject(output)) return { output, exact: false }
  const { type, value } = output
  const plain = Object.keys(output).length === 2
  switch (type) {
    case "text":
    case "error-text":
      if (!isString(value)) break
      return { output: value, exact: plain, ...(type === "error-text" ? { isError: true } : {}) }
    case "json":
    case "error-json":
      if (value === undefined) break
      return { output: value, exact: plain && !isString(value), ...(type === "error-json" ? { isError: true } : {}) }
    case "execution-denied":
      return { output: isString(output["reason"]) ? output["reason"] : denied, isError: true, exact: false }
    case "content": {
      if (!isArray(value)) break
      const parts = value.flatMap(readItem)
      const text = parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n")
      return { output: text, parts, exact: false }
    }
    default:
  }
  return { output, exact: false }
}

const readItem = (item: Json): ReadonlyArray<TextPart | FilePart> => {
  if (!isObject(item)) return []
  const { type, text, mediaType, filename } = item
  if (type === "text") return isString(text) ? [{ type, text }] : []
  if (!isString(type) || !/^(file|image|media)/.test(type)) return []
  const place = isString(item["url"]) ? item["url"] : placeOf(item["data"])
  const mime = isString(mediaType) ? mediaType : type.startsWith("image") ? "image/*" : undefined
  if (place === undefined || mime === undefined) return []
  return [
    {
      type: "file",
      ...(isUrl(place) ? fileAt(mime, place) : { mime, data: place }),
      ...(isString(filename) ? { name: filename } : {}),
    },
  ]
}

export const writeModelMessages = (messages: ReadonlyArray<GenericMessage>): Written<SdkModelMessage> => {
  const lost: Array<Loss> = []
  return { messages: messages.flatMap((message) => writeMessage(message, lost)), lost }
}

/** Empty messages are left out: providers refuse them. */
const writeMessage = (message: GenericMessage, lost: Array<Loss>): ReadonlyArray<SdkModelMessage> => {
  const lose = (what: string): [] => {
    lost.push({ message, what })
    return []
  }
  const fields = { ...ownFields(message, modelFormat), ...options(message) }
  switch (message.role) {
    case "system": {
      const content = message.content.flatMap((part) => (part.type === "text" ? [part.text] : lose(describePart(part))))
      return content.length === 0 ? [] : [{ ...fields, role: "system", content: content.join("\n") }]
    }
    case "user": {
      const content = message.content.flatMap((part): ReadonlyArray<SdkTextPart | SdkFilePart> => {
        if (part.type === "text") return [writeText(part)]
        return part.type === "file" ? [writeFile(part)] : carried<SdkFilePart>(part, lose)
      })
      return content.length === 0 ? [] : [{ ...fields, role: "user", content }]
    }
    case "assistant": {
      const content = message.content.flatMap((part): ReadonlyArray<SdkAssistantPart> => {
        switch (part.type) {
          case "text":
          case "reasoning":
            return [writeText(part)]
          case "file":
            return [writeFile(part)]
          case "tool-call":
            return [writeCall(part)]
          case "tool-result":
            return [writeResult(part)]
          case "other":
            return carried<SdkTextPart>(part, lose)
        }
      })
      return content.length === 0 ? [] : [{ ...fields, role: "assistant", content }]
    }
    case "tool": {
      const content = message.content.flatMap((part) =>
        part.type === "tool-result" ? [writeResult(part)] : carried<SdkToolResultPart>(part, lose),
      )
      return content.length === 0 ? [] : [{ ...fields, role: "tool", content }]
    }
  }
}

const writeText = <Type extends "text" | "reasoning">(
  part: GenericPart & { readonly type: Type; readonly text: string },
): Options & { type: Type; text: string } => ({
  ...ownFields(part, modelFormat),
  type: part.type,
  text: part.text,
  ...options(part),
})

const writeFile = (part: FilePart): SdkFilePart => {
  // Files that a page has uploaded to the provider are named by the provider's reference, from version 7 on.
  const { providerReference: reference } = ownFields(part, uiFormat)
  return {
    ...ownFields(part, modelFormat),
    type: "file",
    mediaType: part.mime,
    data: isObject(reference) ? asRead<string>({ type: "reference", reference }) : (part.data ?? part.url),
    ...(part.name === undefined ? {} : { filename: part.name }),
    ...options(part),
  }
}

const writeCall = (part: ToolCallPart): SdkToolCallPart => ({
  ...ownFields(part, modelFormat),
  type: "tool-call",
  toolCallId: part.id,
  toolName: part.name,
  input: part.input,
  ...(part.providerExecuted === true ? { providerExecuted: true } : {}),
  ...options(part),
})

const writeResult = (part: ToolResultPart): SdkToolResultPart => {
  const output = exactIn(part, modelFormat)
  return {
    ...ownFields(part, modelFormat),
    type: "tool-result",
    toolCallId: part.callId,
    toolName: part.name ?? "unknown",
    output: output === undefined ? writeOutput(part) : asRead<SdkToolOutput>(output),
    ...options(part),
  }
}

const writeOutput = ({ output, parts, isError }: ToolResultPart): SdkToolOutput => {
  if (isString(output) && isError === true) return { type: "error-text", value: output }
  if (isError === true) return { type: "error-json", value: sdkJson(output) }
  if (parts !== undefined) return { type: "content", value: parts.map(writeItem) }
  return isString(output) ? { type: "text", value: output } : { type: "json", value: sdkJson(output) }
}

const writeItem = (part: TextPart | FilePart): SdkOutputItem => {
  if (part.type === "text") return { type: "text", text: part.text }
  const image = part.mime.startsWith("image/")
  if (part.url !== undefined) {
    return image ? { type: "image-url", url: part.url } : { type: "file-url", url: part.url, mediaType: part.mime }
  }
  if (image) return { type: "image-data", data: part.data, mediaType: part.mime }
  const name = part.name === undefined ? {} : { filename: part.name }
  return { type: "file-data", data: part.data, mediaType: part.mime, ...name }
}

/** A part that only the SDK knows, of a ModelMessage or of a UIMessage, as a ModelMessage has it. */
const carried = <Part>(part: GenericPart, lose: (what: string) => []): ReadonlyArray<Part> => {
  if (part.type !== "other") return lose(describePart(part))
  if (part.format === modelFormat) return [asRead<Part>(part.value)]
  if (part.format !== uiFormat || !isObject(part.value)) return lose(describePart(part))
  const { type, kind, mediaType, url, providerMetadata } = part.value
  const providerOptions = providerMetadata === undefined ? {} : { providerOptions: providerMetadata }
  if (type === "custom") return [asRead<Part>({ type, kind: kind ?? null, ...providerOptions })]
  if (type === "reasoning-file") {
    return [asRead<Part>({ type, data: url ?? null, mediaType: mediaType ?? null, ...providerOptions })]
  }
  // The others (sources, data parts, step marks, calls that have not fully arrived) are for the page alone.
  return []
}

const options = (from: { readonly providerMetadata?: ProviderMetadata }): Options => {
  const others = othersMetadata(from, modelFormat, uiFormat)
  return others === undefined ? {} : { providerOptions: asRead<SdkProviderOptions>(others) }
}

/** The SDK's types have no read-only arrays. */
const sdkJson = (value: Json): SdkJson => value as SdkJson
