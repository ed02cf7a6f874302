/**
 * Sessions of opencode, as sessions of Skein.
 *
 * Titles that opencode gives to a session before anything was said are no titles. A session that another one started is a
 * task of it. What was left running is interrupted: it never shows as running.
 */
import type { ImportedSession, Remark } from "@skein/core/import"
import type { Json, JsonObject } from "@skein/core/storage"
import { repaired } from "../source.ts"
import type { Described } from "../source.ts"
import { errorOf } from "./message.ts"
import { isObject, parseObject, pick, textIn, timeOf } from "./fields.ts"

/** What is known of a session beside its row. */
export interface SessionFacts {
  readonly id: string
  readonly fingerprint: string
  readonly messages: number
  /** When the last message was made. */
  readonly lastMessageAt: number | undefined
  /** Data of the last message of the model that has been read. */
  readonly lastAnswer: JsonObject | undefined
  /** Whether the session that started it is there. */
  readonly hasParent: boolean
  /** The message before the one that a staged revert begins with, `null` where that is the first. Absent: no revert. */
  readonly head: string | null | undefined
  readonly todos: ReadonlyArray<JsonObject>
}

export const describeSession = (row: JsonObject, facts: SessionFacts): Described => {
  const position = `session ${facts.id}`
  const remarks: Array<Remark> = []
  const createdAt = timeOf(row["time_created"])
  if (createdAt === undefined) remarks.push(repaired(position, "it has no time of creation: 1970 stands for it"))
  const parentId = textIn(row, "parent_id")
  if (parentId !== undefined && !facts.hasParent) {
    remarks.push(repaired(position, `the session ${parentId} that started it is not there: it stands for itself`))
  }
  const title = titleOf(textIn(row, "title"))
  const workspace = fitting(textIn(row, "directory"), 4_096)
  const agent = fitting(textIn(row, "agent") ?? (facts.lastAnswer && textIn(facts.lastAnswer, "agent")), 200)
  const model = modelOf(jsonIn(row, "model") ?? facts.lastAnswer)
  const isTask = parentId !== undefined && facts.hasParent
  const archived = row["time_archived"]
  const session: ImportedSession = {
    id: facts.id,
    fingerprint: facts.fingerprint,
    messages: facts.messages,
    createdAt: createdAt ?? 0,
    updatedAt: timeOf(row["time_updated"]) ?? createdAt ?? 0,
    activityAt: facts.lastMessageAt ?? createdAt ?? 0,
    kind: isTask ? "task" : "conversation",
    ...(isTask && { parentId }),
    ...(title !== undefined && { title }),
    ...(workspace !== undefined && { workspace }),
    ...(agent !== undefined && { agent }),
    ...(model !== undefined && { model }),
    ...(facts.head !== undefined && { head: facts.head }),
    archived: typeof archived === "number" && archived !== 0,
    ...outcomeOf(facts.lastAnswer),
    metadata: { opencode: metadataOf(row, facts) },
  }
  if (facts.head !== undefined) {
    remarks.push(
      repaired(position, "a staged revert: the session stands before it, and the messages behind it are kept"),
    )
  }
  return { session, remarks }
}

/** JSON in a column, where there is an object. */
const jsonIn = (row: JsonObject, column: string): JsonObject | undefined => {
  const text = textIn(row, column)
  const value = text === undefined ? undefined : parseObject(text)
  return typeof value === "string" ? undefined : value
}

const untitled = /^(?:(?:New|Child) session - \d{4}-\d\d-\d\dT[\d:.]+Z|Untitled|New conversation)$/

/** How long titles may be, in UTF-16 units. */
const titleLength = 500

const titleOf = (title: string | undefined): string | undefined =>
  title === undefined || untitled.test(title.trim()) ? undefined : fitting(title, titleLength)

/** Text that may be stored as a name: well-formed, without NUL, not blank and not too long. */
const fitting = (text: string | undefined, length: number): string | undefined => {
  const fit = text?.slice(0, length).replace(/\0|\p{Surrogate}/gu, "")
  return fit === undefined || fit.trim() === "" ? undefined : fit
}

/** A model, as sessions (`id`) or messages (`modelID`) name it. */
const modelOf = (from: JsonObject | undefined): ImportedSession["model"] => {
  const provider = from && textIn(from, "providerID")
  const model = from && (textIn(from, "modelID") ?? textIn(from, "id"))
  if (provider === undefined || model === undefined) return undefined
  const variant = textIn(from!, "variant")
  return { provider, model, ...(variant !== undefined && { variant }) }
}

/** How the last run ended. */
const outcomeOf = (answer: JsonObject | undefined): Pick<ImportedSession, "status" | "error"> => {
  if (answer === undefined) return { status: "idle" }
  const error = errorOf(answer)
  if (error !== undefined) {
    const code = textIn(error, "name") ?? "UnknownError"
    if (code === "MessageAbortedError") return { status: "aborted" }
    return { status: "failed", error: { message: textIn(error, "message") ?? code, code, source: "opencode" } }
  }
  const time = answer["time"]
  const isDone = (isObject(time) && time["completed"] !== undefined) || answer["finish"] !== undefined
  return { status: isDone ? "idle" : "interrupted" }
}

const metadataOf = (row: JsonObject, { todos }: SessionFacts): JsonObject => {
  const revert = jsonIn(row, "revert")
  const metadata = jsonIn(row, "metadata")
  const columns: ReadonlyArray<readonly [string, Json | undefined]> = [
    ["slug", textIn(row, "slug")],
    ["version", textIn(row, "version")],
    ["projectID", textIn(row, "project_id")],
    ["path", textIn(row, "path")],
    ["revert", revert && pick(revert, "messageID", "partID", "snapshot")],
    ["metadata", metadata],
    ["todos", todos.length === 0 ? undefined : todos],
  ]
  const summary = pick(row, "summary_additions", "summary_deletions", "summary_files")
  return {
    ...Object.fromEntries(columns.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]))),
    ...(Object.keys(summary).length > 0 && { summary }),
  }
}
