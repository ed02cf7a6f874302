/**
 * UIMessages of the AI SDK, versions 5 to 7: what a page shows and what `useChat` sends.
 *
 * One UIMessage is a whole answer: its steps stand one after another, and a result is inside the part of its call. It is
 * read as the messages the SDK itself would make of it, step by step: what the assistant said, then the results.
 *
 * Calls whose input was still arriving are no calls yet; they, sources, data parts and step marks are for the page alone.
 */
import type { Json, JsonObject } from "../../../storage/json.ts"
import type {
  GenericMessage,
  GenericPart,
  Loss,
  OtherPart,
  ProviderMetadata,
  Role,
  ToolCallPart,
  ToolResultPart,
  Written,
} from "../../dialect.ts"
import {
  describePart,
  fileAt,
  isArray,
  isObject,
  isString,
  metadata,
  othersMetadata,
  ownFields,
  urlOf,
  without,
} from "../fields.ts"
import { denied, modelFormat, uiFormat } from "./model-message.ts"
import type { SdkProviderOptions } from "./model-message.ts"

interface Metadata {
  providerMetadata?: SdkProviderOptions
}
export interface SdkUiTextPart extends Metadata {
  type: "text"
  text: string
}
export interface SdkUiReasoningPart extends Metadata {
  type: "reasoning"
  text: string
}
export interface SdkUiFilePart extends Metadata {
  type: "file"
  mediaType: string
  filename?: string
  /** A URL, `data:` included. */
  url: string
}
interface SdkUiToolCall {
  type: `tool-${string}`
  toolCallId: string
  input: unknown
  providerExecuted?: boolean
  callProviderMetadata?: SdkProviderOptions
}
export type SdkUiToolPart = SdkUiToolCall &
  (
    | { state: "input-available" }
    | { state: "output-available"; output: unknown; resultProviderMetadata?: SdkProviderOptions }
    | { state: "output-error"; errorText: string; resultProviderMetadata?: SdkProviderOptions }
  )
export type SdkUiPart = SdkUiTextPart | SdkUiReasoningPart | SdkUiFilePart | SdkUiToolPart | { type: "step-start" }

/** A message of a page: assignable to `UIMessage` of package `ai`. */
export interface SdkUiMessage {
  id: string
  role: "system" | "user" | "assistant"
  parts: Array<SdkUiPart>
}

/** A body that a page can be given. Its parts are the page's to check; `id`, `role` and that there are parts are not. */
export const isUiMessage = (body: Json): body is JsonObject & SdkUiMessage => {
  if (!isObject(body)) return false
  const { id, role, parts } = body
  return isString(id) && (role === "system" || role === "user" || role === "assistant") && isArray(parts)
}

/** Reads what has `parts`; `undefined` when it has none. */
export const readUiMessage = (body: JsonObject, role: Role): ReadonlyArray<GenericMessage> | undefined => {
  const { id, parts } = body
  if (!isArray(parts)) return undefined
  const about = {
    ...(isString(id) ? { id } : {}),
    ...metadata(uiFormat, without(body, "id", "role", "parts")),
  }
  if (role !== "assistant") return [{ ...about, role, content: parts.map(readPart) }]
  return readSteps(parts, about)
}

type About = Pick<GenericMessage, "id" | "providerMetadata">

const readSteps = (parts: ReadonlyArray<Json>, about: About): ReadonlyArray<GenericMessage> => {
  const messages: Array<GenericMessage> = []
  let said: Array<GenericPart> = []
  let results: Array<GenericPart> = []
  const endStep = () => {
    if (said.length > 0) messages.push({ ...about, role: "assistant", content: said })
    if (results.length > 0) messages.push({ ...about, role: "tool", content: results })
    said = []
    results = []
  }
  for (const part of parts) {
    const type = isObject(part) ? part["type"] : undefined
    if (type === "step-start" || type === "steering-message") endStep()
    if (isSteering(part)) {
      messages.push(readSteering(part, about))
    } else if (isTool(part) && part["state"] !== "input-streaming") {
      readTool(part, said, results)
    } else {
      said.push(readPart(part))
    }
  }
  endStep()
  return messages.length === 0 ? [{ ...about, role: "assistant", content: [] }] : messages
}

/** What a person said while the answer was being written: part of the page's message, a message of its own for the model. */
const isSteering = (part: Json): part is JsonObject => isObject(part) && part["type"] === "steering-message"

const readSteering = (part: JsonObject, about: About): GenericMessage => ({
  ...about,
  ...metadata(uiFormat, { ...ownFields(about, uiFormat), steering: without(part, "parts") }),
  role: "user",
  content: isArray(part["parts"]) ? part["parts"].map(readPart) : [],
})

const isTool = (part: Json): part is JsonObject & { readonly toolCallId: string; readonly type: string } => {
  if (!isObject(part) || !isString(part["toolCallId"]) || !isString(part["type"])) return false
  return part["type"] === "dynamic-tool" ? isString(part["toolName"]) : part["type"].startsWith("tool-")
}

const readTool = (
  part: JsonObject & { readonly toolCallId: string; readonly type: string },
  said: Array<GenericPart>,
  results: Array<GenericPart>,
): void => {
  const dynamic = part.type === "dynamic-tool"
  const name = dynamic ? String(part["toolName"]) : part.type.slice("tool-".length)
  const executed: { readonly providerExecuted?: true } =
    part["providerExecuted"] === true ? { providerExecuted: true } : {}
  // With its state the part keeps what it said about providers, to be written again as it was.
  const fields = without(part, "toolCallId", "input", "rawInput", "output", "errorText", "providerExecuted")
  const { state, callProviderMetadata, resultProviderMetadata } = part
  said.push({
    type: "tool-call",
    id: part.toolCallId,
    name,
    input: part["input"] ?? part["rawInput"] ?? {},
    ...executed,
    ...metadata(
      uiFormat,
      without(fields, ...(dynamic ? ["toolName"] : ["type"])),
      callProviderMetadata ?? (state === "output-error" ? resultProviderMetadata : undefined),
    ),
  })
  const { approval } = part
  if (isObject(approval)) {
    said.push(approvalRequest(part.toolCallId, approval))
    if (approval["approved"] !== undefined) results.push(approvalResponse(approval, executed))
  }
  const outcome = outcomeOf(part)
  if (outcome === undefined) return
  const result: ToolResultPart = { type: "tool-result", callId: part.toolCallId, name, ...outcome, ...executed }
  // The provider's own results stay in its message and in its form.
  if (result.providerExecuted === true) {
    const value = { type: "error-json", value: result.output }
    const form = result.isError === true ? { exact: { format: modelFormat, value } } : {}
    said.push({ ...result, ...form, ...metadata(modelFormat, {}, resultProviderMetadata ?? callProviderMetadata) })
  } else {
    results.push({ ...result, ...metadata(modelFormat, {}, callProviderMetadata) })
  }
}

/** What the tool gave back, or `undefined` where it has not. */
const outcomeOf = (part: JsonObject): Pick<ToolResultPart, "output" | "isError"> | undefined => {
  const approval = isObject(part["approval"]) ? part["approval"] : {}
  const refusal = isString(approval["reason"]) ? approval["reason"] : denied
  switch (part["state"]) {
    case "output-available":
      return { output: part["output"] ?? null }
    case "output-error":
      return { output: part["errorText"] ?? "", isError: true }
    case "output-denied":
      return { output: refusal, isError: true }
    case "approval-responded":
      return approval["approved"] === false ? { output: refusal, isError: true } : undefined
    default:
      return undefined
  }
}

const approvalRequest = (toolCallId: string, approval: JsonObject): OtherPart => {
  const { id, requestReason, isAutomatic, signature, inputSchemaInput } = approval
  return {
    type: "other",
    format: modelFormat,
    value: {
      type: "tool-approval-request",
      approvalId: id ?? "",
      toolCallId,
      ...(isAutomatic === undefined ? {} : { isAutomatic }),
      ...(requestReason === undefined ? {} : { reason: requestReason }),
      ...(inputSchemaInput === undefined ? {} : { inputSchemaInput }),
      ...(signature === undefined ? {} : { signature }),
    },
  }
}

const approvalResponse = (approval: JsonObject, executed: { readonly providerExecuted?: boolean }): OtherPart => {
  const { id, approved, reason } = approval
  return {
    type: "other",
    format: modelFormat,
    value: {
      type: "tool-approval-response",
      approvalId: id ?? "",
      approved: approved === true,
      ...(reason === undefined ? {} : { reason }),
      ...executed,
    },
  }
}

const readPart = (part: Json): GenericPart => {
  const other: OtherPart = { type: "other", format: uiFormat, value: part }
  if (!isObject(part)) return other
  const { type, text, mediaType, url, filename, providerMetadata } = part
  switch (type) {
    case "text":
    case "reasoning":
      if (!isString(text)) return other
      return { type, text, ...metadata(uiFormat, without(part, "type", "text", "providerMetadata"), providerMetadata) }
    case "file":
      if (!isString(mediaType) || !isString(url)) return other
      return {
        type,
        ...fileAt(mediaType, url),
        ...(isString(filename) ? { name: filename } : {}),
        ...metadata(
          uiFormat,
          without(part, "type", "mediaType", "url", "filename", "providerMetadata"),
          providerMetadata,
        ),
      }
    default:
      return other
  }
}

/** Writes the messages of one answer as one UIMessage: its steps, which have one id, and the results that follow them. */
export const writeUiMessages = (messages: ReadonlyArray<GenericMessage>): Written<SdkUiMessage> => {
  const lost: Array<Loss> = []
  const pages: Array<Page> = []
  for (const message of messages) {
    const last = pages.at(-1)
    const continues = last !== undefined && isContinued(last.message, message)
    const page = continues ? last : newPage(message, pages.length)
    if (!continues) pages.push(page)
    add(page, message, (what) => lost.push({ message, what }))
  }
  return { messages: pages.map((page) => page.message).filter((message) => message.parts.length > 0), lost }
}

/** A UIMessage in the making. */
interface Page {
  readonly message: SdkUiMessage
  /** Where the calls are, for the results to come. */
  readonly calls: Map<string, { readonly at: number; readonly call: ToolCallPart }>
  /** Ids of the approvals that the parts of calls tell about. */
  readonly approvals: Set<Json>
}

type Lose = (what: string) => void

const newPage = (message: GenericMessage, index: number): Page => ({
  message: {
    ...without(ownFields(message, uiFormat), "steering"),
    id: message.id ?? `message-${index}`,
    role: message.role === "tool" || isSteered(message) ? "assistant" : message.role,
    parts: [],
  },
  calls: new Map(),
  approvals: new Set(),
})

const isContinued = (page: SdkUiMessage, message: GenericMessage): boolean => {
  if (page.role !== "assistant") return false
  return message.role === "tool" || (page.id === message.id && (message.role === "assistant" || isSteered(message)))
}

const isSteered = (message: GenericMessage): boolean => ownFields(message, uiFormat)["steering"] !== undefined

const add = (page: Page, message: GenericMessage, lose: Lose): void => {
  const { parts } = page.message
  if (message.role === "user" && page.message.role === "assistant") {
    const inner = newPage(message, 0)
    for (const part of message.content) addPart(inner, part, lose)
    const { steering } = ownFields(message, uiFormat)
    parts.push(asUiPart({ ...(isObject(steering) ? steering : {}), parts: inner.message.parts }))
    return
  }
  if (message.role === "assistant" && needsMark(parts, message)) parts.push({ type: "step-start" })
  for (const part of message.content) addPart(page, part, lose)
}

/** Steps are told apart by a mark, their own or one of ours; what a person said between them does as well. */
const needsMark = (parts: ReadonlyArray<SdkUiPart>, message: GenericMessage): boolean => {
  const last: string | undefined = parts.at(-1)?.type
  const [first] = message.content
  const marked = first?.type === "other" && isObject(first.value) && first.value["type"] === "step-start"
  return last !== undefined && last !== "steering-message" && !marked
}

const addPart = (page: Page, part: GenericPart, lose: Lose): void => {
  const { parts } = page.message
  switch (part.type) {
    case "text":
    case "reasoning": {
      const { type, text } = part
      parts.push({ ...ownFields(part, uiFormat), type, text, ...provided("providerMetadata", part) })
      return
    }
    case "file":
      parts.push({
        ...ownFields(part, uiFormat),
        type: "file",
        mediaType: part.mime,
        url: urlOf(part),
        ...(part.name === undefined ? {} : { filename: part.name }),
        ...provided("providerMetadata", part),
      })
      return
    case "tool-call":
      page.calls.set(part.id, { at: parts.length, call: part })
      page.approvals.add(approvalOf(part)["id"] ?? null)
      parts.push(toolPart(part, undefined))
      return
    case "tool-result": {
      const made = page.calls.get(part.callId)
      if (made === undefined) return lose(describePart(part))
      if (part.parts?.some((inner) => inner.type === "file") === true) lose(`the files in ${describePart(part)}`)
      parts[made.at] = toolPart(made.call, part)
      return
    }
    case "other":
      if (part.format === uiFormat) parts.push(asUiPart(part.value))
      else if (!isTold(page, part)) lose(describePart(part))
  }
}

/** An approval is a part of its own in ModelMessages; in UIMessages the part of the call tells about it. */
const isTold = (page: Page, { format, value }: OtherPart): boolean =>
  format === modelFormat && isObject(value) && isString(value["approvalId"]) && page.approvals.has(value["approvalId"])

const approvalOf = (call: ToolCallPart): JsonObject => {
  const { approval } = ownFields(call, uiFormat)
  return isObject(approval) ? approval : {}
}

const toolPart = (call: ToolCallPart, result: ToolResultPart | undefined): SdkUiPart => {
  const { type, state, approval: _, ...fields } = ownFields(call, uiFormat)
  const approval = approvalOf(call)
  const told = approval["id"] === undefined ? {} : { approval }
  const allowed = approval["approved"] === true ? told : {}
  const part = {
    ...fields,
    ...(type === undefined ? { type: `tool-${call.name}` } : { type, toolName: call.name }),
    toolCallId: call.id,
    input: call.input,
    ...(call.providerExecuted === true ? { providerExecuted: true } : {}),
    ...(state === undefined ? provided("callProviderMetadata", call) : {}),
  }
  if (result === undefined) return asUiPart({ ...part, ...told, state: waitingState(approval) })
  const known = { ...part, ...(state === undefined ? provided("resultProviderMetadata", result) : {}) }
  if (result.isError !== true) {
    return asUiPart({ ...known, ...allowed, state: "output-available", output: result.output })
  }
  if (approval["approved"] === false) return asUiPart({ ...part, ...told, state: "output-denied" })
  const errorText = isString(result.output) ? result.output : JSON.stringify(result.output)
  return asUiPart({ ...known, ...allowed, state: "output-error", errorText })
}

const waitingState = (approval: JsonObject): string => {
  if (approval["id"] === undefined) return "input-available"
  return approval["approved"] === undefined ? "approval-requested" : "approval-responded"
}

/** What providers gave with a part, under the name that the SDK has for it there. */
const provided = <Name extends string>(
  name: Name,
  from: { readonly providerMetadata?: ProviderMetadata },
): { [key in Name]?: SdkProviderOptions } => {
  const others = othersMetadata(from, modelFormat, uiFormat)
  return others === undefined ? {} : ({ [name]: others } as { [key in Name]: SdkProviderOptions })
}

/** The parts of tools have more forms than it helps to spell out; what is written here is one of them. */
const asUiPart = (part: unknown): SdkUiPart => part as SdkUiPart
