/**
 * Parts of opencode's messages, as parts that every dialect of Skein understands.
 *
 * A part is shown, replayed, both or neither. Neither are marks of steps, snapshots, patches, mentions of agents and
 * retries: they say nothing that was said. A part of an unknown type is shown as it is, unread.
 */
import type { Json, JsonObject } from "@skein/core/storage"
import { isObject, objectIn, pick, textIn } from "./fields.ts"

/** A part in the generic dialect, for those who see it and for the model. Absent: not for them. */
export interface Converted {
  readonly shown?: JsonObject
  readonly replayed?: JsonObject
  /** It is the result of a call: it stands behind what was said. */
  readonly isResult?: boolean
  /** What is otherwise than it was. */
  readonly repaired?: string
}

const nothing: ReadonlyArray<Converted> = []

/** Converts one part. `fallbackId` names a call that has no id of its own. */
export const convertPart = (part: JsonObject, fallbackId: string): ReadonlyArray<Converted> => {
  switch (part["type"]) {
    case "text":
      return convertText(part)
    case "reasoning":
      return textIn(part, "text") === undefined && metadataOf(part) === undefined
        ? nothing
        : both({ type: "reasoning", text: textIn(part, "text") ?? "", ...withMetadata(part) })
    case "file":
      return convertFile(part)
    case "tool":
      return convertTool(part, fallbackId)
    case "subtask":
      return both({
        type: "text",
        text: textIn(part, "prompt") ?? "",
        providerMetadata: { opencode: { subtask: pick(part, "description", "agent", "command") } },
      })
    case "compaction":
      return [{ shown: other({ type: "compaction", ...pick(part, "auto", "overflow") }) }]
    case "step-start":
    case "step-finish":
    case "snapshot":
    case "patch":
    case "agent":
    case "retry":
      return nothing
    default:
      return [
        { shown: other(part), repaired: `a part of the unknown type ${JSON.stringify(part["type"])} is kept unread` },
      ]
  }
}

const both = (part: JsonObject): ReadonlyArray<Converted> => [{ shown: part, replayed: part }]

/** A part that means nothing to other programs. */
export const other = (value: Json): JsonObject => ({ type: "other", format: "opencode", value })

const convertText = (part: JsonObject): ReadonlyArray<Converted> => {
  const text = textIn(part, "text")
  if (text === undefined) return nothing
  const converted: JsonObject = { type: "text", text, ...withMetadata(part) }
  // Synthetic text tells the model what a person sees elsewhere; what is ignored is for people alone.
  const isShown = part["synthetic"] !== true
  const isReplayed = part["ignored"] !== true
  return [{ ...(isShown && { shown: converted }), ...(isReplayed && { replayed: converted }) }]
}

/** Files whose content the model has been given as text, beside them. */
const givenAsText = new Set(["text/plain", "application/x-directory"])

const convertFile = (part: JsonObject): ReadonlyArray<Converted> => {
  const file = fileOf(part)
  if (file === undefined) return [{ shown: other(part), repaired: "a file without type or place is kept unread" }]
  return givenAsText.has(textIn(part, "mime") ?? "") ? [{ shown: file }] : both(file)
}

const fileOf = (part: JsonObject): JsonObject | undefined => {
  const mime = textIn(part, "mime")
  const url = textIn(part, "url")
  if (mime === undefined || url === undefined) return undefined
  const name = textIn(part, "filename")
  const inline = `data:${mime};base64,`
  return {
    type: "file",
    mime,
    ...(name !== undefined && { name }),
    ...(url.startsWith(inline) ? { data: url.slice(inline.length) } : { url }),
  }
}

const convertTool = (part: JsonObject, fallbackId: string): ReadonlyArray<Converted> => {
  const state = objectIn(part, "state")
  const id = textIn(part, "callID") ?? fallbackId
  const name = textIn(part, "tool") ?? "unknown"
  const providerExecuted = objectIn(part, "metadata")["providerExecuted"] === true ? { providerExecuted: true } : {}
  const call: JsonObject = {
    type: "tool-call",
    id,
    name,
    input: state["input"] ?? {},
    ...providerExecuted,
    ...withMetadata(part),
  }
  const result: JsonObject = { type: "tool-result", callId: id, name, ...providerExecuted }
  // A result of the provider's own stands where the provider put it.
  const isResult = providerExecuted.providerExecuted !== true
  const answered = (answer: JsonObject): Converted => {
    const part = { ...result, ...answer, ...aboutResult(state) }
    return { shown: part, replayed: part, isResult }
  }
  switch (state["status"]) {
    case "completed": {
      const answer = answered(outputOf(state))
      // opencode gives the model this in the place of an output that it has cleared.
      const isCleared = objectIn(state, "time")["compacted"] !== undefined
      const cleared = { replayed: { ...result, output: "[Old tool result content cleared]" } }
      return [...both(call), isCleared ? { ...answer, ...cleared } : answer]
    }
    case "error": {
      const output = textIn(state, "error") ?? "The tool failed without saying why."
      return [...both(call), answered({ output, isError: true })]
    }
    default: {
      const repaired = `the call ${id} (${JSON.stringify(state["status"] ?? null)}) had no result and gets an error`
      return [...both(call), { ...answered({ output: interrupted, isError: true }), repaired }]
    }
  }
}

/** What stands in the place of a result that never came. */
const interrupted = "opencode was interrupted before this call gave a result. Whether it took effect is unknown."

const outputOf = (state: JsonObject): JsonObject => {
  const output = state["output"] ?? ""
  const attachments = state["attachments"]
  const files = (Array.isArray(attachments) ? attachments : []).flatMap((file: Json) => {
    const converted = isObject(file) ? fileOf(file) : undefined
    return converted === undefined ? [] : [converted]
  })
  if (files.length === 0) return { output }
  const text = typeof output === "string" && output !== "" ? [{ type: "text", text: output }] : []
  return { output, parts: [...text, ...files] }
}

/** What a page shows beside a result: its title, its times, and what the tool said of it, less the copy of its output. */
const aboutResult = (state: JsonObject): JsonObject => {
  const { output: _, ...metadata } = objectIn(state, "metadata")
  const about = { ...pick(state, "title", "time"), ...(Object.keys(metadata).length > 0 && { metadata }) }
  return Object.keys(about).length === 0 ? {} : { providerMetadata: { opencode: about } }
}

/** Opaque data of model providers, kept exactly: signatures of thoughts for instance. */
const metadataOf = (part: JsonObject): JsonObject | undefined => {
  const owners = Object.entries(objectIn(part, "metadata")).filter(([, value]) => isObject(value))
  return owners.length === 0 ? undefined : Object.fromEntries(owners)
}

const withMetadata = (part: JsonObject): JsonObject => {
  const providerMetadata = metadataOf(part)
  return providerMetadata === undefined ? {} : { providerMetadata }
}
