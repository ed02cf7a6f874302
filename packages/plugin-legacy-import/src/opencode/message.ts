/**
 * Messages of opencode, as messages of Skein: one for one, in the generic dialect.
 *
 * An answer of opencode is one message for each step of the model, with calls and results inside. So is it here: what was
 * said first, the results behind it. Where people and model were given the same, one body serves both.
 *
 * A compaction is two messages there: the question, which becomes a note, and the answer, which becomes the compaction.
 */
import type { ImportedMessage, Remark } from "@skein/core/import"
import type { Json, JsonObject } from "@skein/core/storage"
import { lost, repaired } from "../source.ts"
import { objectIn, parseObject, pick, textIn, timeOf } from "./fields.ts"
import { convertPart, other } from "./part.ts"
import type { Converted } from "./part.ts"

/** A message as it is stored there. */
export interface StoredMessage {
  readonly id: string
  readonly createdAt: Json
  readonly data: string
  readonly parts: ReadonlyArray<StoredPart>
}

export interface StoredPart {
  readonly id: string
  readonly data: string
}

/** What has to be known of other messages of the session. */
export interface Surroundings {
  /** The data of the part that asked for a compaction, in the message with this id. */
  readonly compactionIn: (messageId: string) => JsonObject | undefined
  /** Whether a message stands before another one. */
  readonly isBefore: (messageId: string, other: string) => boolean
}

export interface ConvertedMessage {
  /** Absent: it could not be read. */
  readonly message?: ImportedMessage
  readonly remarks: ReadonlyArray<Remark>
}

export const convertMessage = (stored: StoredMessage, surroundings: Surroundings): ConvertedMessage => {
  const position = `message ${stored.id}`
  const info = parseObject(stored.data)
  if (typeof info === "string") return { remarks: [lost(position, `its data ${info}`)] }
  const { role } = info
  if (role !== "user" && role !== "assistant" && role !== "system") {
    return { remarks: [lost(position, `its role is ${JSON.stringify(role ?? null)}`)] }
  }
  const remarks: Array<Remark> = []
  const parts = readParts(stored, remarks)
  const converted = parts.flatMap(({ data, id }) => convertPart(data, id))
  for (const { repaired: what } of converted) if (what !== undefined) remarks.push(repaired(position, what))
  const base = {
    id: stored.id,
    role,
    createdAt: timeOf(objectIn(info, "time")["created"]) ?? timeOf(stored.createdAt) ?? 0,
    metadata: { opencode: metadataOf(info) },
  } as const
  const failure = errorOf(info)
  const shown = arranged(converted, "shown").concat(failure === undefined ? [] : [other({ type: "error", ...failure })])
  const replayed = arranged(converted, "replayed")
  const message = (kind: "message" | "note", bodies: Partial<ImportedMessage>): ImportedMessage => ({
    ...base,
    kind,
    ...bodies,
  })

  if (parts.some(({ data }) => data["type"] === "compaction") && replayed.length === 0) {
    return { message: message("note", { display: bodyOf(role, shown) }), remarks }
  }
  if (info["summary"] === true) {
    const display = bodyOf(role, shown)
    const compaction = compactionOf(info, stored.id, replayed, surroundings)
    if (compaction !== undefined) return { message: { ...base, display, compaction }, remarks }
    const reason = "a compaction that did not come to its end: it is shown, and the history before it is left as it was"
    return { message: message("note", { display }), remarks: [...remarks, repaired(position, reason)] }
  }
  return { message: message("message", bodiesOf(role, shown, replayed)), remarks }
}

interface ReadPart {
  readonly id: string
  readonly data: JsonObject
}

const readParts = ({ id, parts }: StoredMessage, remarks: Array<Remark>): ReadonlyArray<ReadPart> =>
  parts.flatMap((part) => {
    const data = parseObject(part.data)
    if (typeof data !== "string") return [{ id: part.id, data }]
    remarks.push(lost(`message ${id}, part ${part.id}`, `its data ${data}`))
    return []
  })

/** Parts for one kind of reader: what was said, then the results. */
const arranged = (converted: ReadonlyArray<Converted>, reader: "shown" | "replayed"): ReadonlyArray<JsonObject> => {
  const forReader = (results: boolean) =>
    converted.flatMap((one) => {
      const part = one[reader]
      return part === undefined || (one.isResult === true) !== results ? [] : [part]
    })
  return [...forReader(false), ...forReader(true)]
}

const bodyOf = (role: string, content: ReadonlyArray<JsonObject>): JsonObject => {
  const [first, ...more] = content
  const isPlain = first?.["type"] === "text" && first["providerMetadata"] === undefined && more.length === 0
  return { role, content: isPlain ? (first["text"] ?? "") : content }
}

const bodiesOf = (
  role: string,
  shown: ReadonlyArray<JsonObject>,
  replayed: ReadonlyArray<JsonObject>,
): Partial<ImportedMessage> => {
  if (replayed.length === 0) return { display: bodyOf(role, shown) }
  const model = bodyOf(role, replayed)
  if (shown.length === 0) return { model }
  const isSame = shown.length === replayed.length && shown.every((part, i) => part === replayed[i])
  return isSame ? { body: model } : { display: bodyOf(role, shown), model }
}

/** The compaction that a message is the answer to; `undefined` when it is none, or did not come to its end. */
const compactionOf = (
  info: JsonObject,
  id: string,
  replayed: ReadonlyArray<JsonObject>,
  { compactionIn, isBefore }: Surroundings,
): ImportedMessage["compaction"] => {
  const question = textIn(info, "parentID")
  const asked = question === undefined ? undefined : compactionIn(question)
  const summary = replayed.flatMap((part) => (part["type"] === "text" ? [part["text"]] : [])).join("\n")
  const isDone = objectIn(info, "time")["completed"] !== undefined && info["error"] === undefined
  if (question === undefined || asked === undefined || !isDone || summary.trim() === "") return undefined
  const tail = textIn(asked, "tail_start_id")
  if (tail === undefined) return { summary }
  return isBefore(tail, question) && isBefore(question, id) ? { summary, keepFrom: tail } : undefined
}

/** What is known of a message beside its content. Of an error only what says what happened: headers and bodies may hold keys. */
const metadataOf = (info: JsonObject): JsonObject => {
  const error = errorOf(info)
  return {
    ...pick(info, "parentID", "mode", "agent", "providerID", "modelID", "variant", "model", "path", "cost", "tokens"),
    ...pick(info, "time", "finish", "structured", "format", "system", "tools"),
    ...(error !== undefined && { error }),
  }
}

/** An error of a model's answer. */
export const errorOf = (info: JsonObject): JsonObject | undefined => {
  const error = objectIn(info, "error")
  const name = textIn(error, "name")
  return name === undefined
    ? undefined
    : { name, ...pick(objectIn(error, "data"), "message", "statusCode", "isRetryable") }
}
