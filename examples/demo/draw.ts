/**
 * Sessions, messages and their tree, as lines of text.
 */
import type { Message } from "@skein/core/message"
import type { ListedSession } from "@skein/core/session"
import { cut, fit } from "./terminal.ts"
import type { Style } from "./terminal.ts"

const time = new Intl.DateTimeFormat("en-GB", {
  day: "numeric",
  month: "short",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  timeZone: "UTC",
})

/** A table of sessions, as a list gives them. */
export const table = (sessions: ReadonlyArray<ListedSession>, style: Style): ReadonlyArray<string> => [
  style.dim(`${fit("project", 11)} ${fit("title", 34)} ${fit("status", 12)} ${fit("messages", 9)} last activity`),
  ...sessions.map((one) => {
    const colour = one.status === "idle" ? style.green : one.status === "failed" ? style.red : style.yellow
    const title = one.title === undefined ? style.dim(fit("untitled", 34)) : style.bold(fit(one.title, 34))
    const count = fit(String(one.counts.messages).padStart(4), 9)
    return `${fit(one.projectName ?? "", 11)} ${title} ${colour(fit(one.status, 12))} ${count} ${style.dim(time.format(one.activityAt))}`
  }),
]

interface Part {
  readonly type?: unknown
  readonly text?: unknown
  readonly id?: unknown
  readonly name?: unknown
  readonly callId?: unknown
  readonly isError?: unknown
  readonly value?: { readonly type?: unknown; readonly message?: unknown }
}

/** A body in the generic dialect, in one line: what was said, the calls and how they ended, the files. */
const lineOf = (body: unknown): string => {
  if (typeof body === "string") return body
  const { content } = body as { readonly content: string | ReadonlyArray<Part> }
  if (typeof content === "string") return content
  const failed = new Set(content.filter(({ isError }) => isError === true).map(({ callId }) => callId))
  return content
    .flatMap((part): ReadonlyArray<string> => {
      switch (part.type) {
        case "text":
          return [String(part.text)]
        case "tool-call":
          return [`[${String(part.name)} ${failed.has(part.id) ? "✗" : "✓"}]`]
        case "file":
          return [`[${String(part.name)}]`]
        case "other":
          return part.value?.type === "error" ? [`[${String(part.value.message)}]`] : []
        default:
          return []
      }
    })
    .join(" ")
}

/** One message in one line. */
export const line = (message: Message, columns: number, style: Style, head?: string | null): string => {
  const isHead = message.id === head
  const { compaction, role } = message
  const mark = compaction !== undefined ? style.yellow("◆") : isHead ? style.green("●") : style.dim("○")
  const who = compaction !== undefined ? "compacted" : role === "user" ? "you" : role
  const colour = role === "user" ? style.cyan : style.dim
  const said = compaction === undefined ? lineOf(message.display) : compaction.summary
  return `${mark} ${colour(fit(who, 9))} ${cut(said, columns)}${isHead ? style.green(" ← head") : ""}`
}

/** A branch of a session: its name, and the way from the root to its end. */
export interface Way {
  readonly branch: number
  readonly name: string
  readonly messages: ReadonlyArray<Message>
}

/** The tree of a session: what several branches share stands once, and where they part each goes its own way. */
export const tree = (
  ways: ReadonlyArray<Way>,
  head: string | null,
  style: Style,
  indent = "",
): ReadonlyArray<string> => {
  const [first, ...others] = ways
  if (first === undefined) return []
  const shared = first.messages.findIndex((message, i) => others.some(({ messages }) => messages[i]?.id !== message.id))
  const length = others.length === 0 || shared < 0 ? first.messages.length : shared
  const trunk = first.messages
    .slice(0, length)
    .map((message) => indent + line(message, 76 - indent.length, style, head))
  const rests = ways
    .map((way) => ({ ...way, messages: way.messages.slice(length) }))
    .filter(({ messages }) => messages.length > 0)
  const nexts = [...new Set(rests.map(({ messages }) => messages[0]?.id))]
  const groups = nexts.map((id) => rests.filter(({ messages }) => messages[0]?.id === id))
  return [...trunk, ...groups.flatMap((group, i) => fork(group, head, style, indent, i === groups.length - 1))]
}

/** One way on from where branches part. */
const fork = (
  group: ReadonlyArray<Way>,
  head: string | null,
  style: Style,
  indent: string,
  isLast: boolean,
): ReadonlyArray<string> => {
  const names = group.map(({ branch, name }) => `branch ${branch}: ${name}`).join(", ")
  const inner = `${indent}${isLast ? " " : "│"}  `
  return [`${indent}${isLast ? "└" : "├"}─ ${style.bold(names)}`, ...tree(group, head, style, inner)]
}
