/**
 * The family on the store under test: operations and what is seen of it, through the services.
 */
import type { Services } from "@skein/core"
import { Attachments } from "@skein/core/attachment"
import { Deletions } from "@skein/core/deletion"
import { Forks } from "@skein/core/fork"
import { Heads } from "@skein/core/head"
import { History } from "@skein/core/history"
import { Messages } from "@skein/core/message"
import type { MessageInput } from "@skein/core/message"
import { Rewinds } from "@skein/core/rewind"
import { Sessions } from "@skein/core/session"
import type { Session } from "@skein/core/session"
import * as Effect from "effect/Effect"
import { everything } from "../../everything.ts"
import { outcomeOf } from "../../outcome.ts"
import type { Answer, Made, NewMessage, Operation } from "./oracle.ts"

/** What is said, with its file put before. */
const inputOf = (session: string) =>
  Effect.fnUntraced(function* ({ file, id, kind }: NewMessage) {
    const role = kind === "answered" ? "assistant" : "user"
    const body = { role, content: id }
    const message: MessageInput = kind === "given" ? { id, role, model: body } : { id, role, body }
    if (file === undefined) return message
    // Some files are one and the same.
    const data = new TextEncoder().encode(file.slice(0, 2))
    const attachment = yield* Attachments.use((attachments) =>
      attachments.put(session, { name: file, mime: "text/plain", data }),
    )
    return { ...message, attachments: [attachment] }
  })

const idsOf = (messages: ReadonlyArray<{ readonly id: string }>) => messages.map(({ id }) => id)
const toMade = ({ head, id, title }: Session): Made => ({ id, head, title })

const call = (operation: Operation) =>
  Effect.gen(function* () {
    const deletions = yield* Deletions
    const forks = yield* Forks
    const heads = yield* Heads
    const messages = yield* Messages
    const rewinds = yield* Rewinds
    const { session } = operation
    switch (operation.do) {
      case "append":
        return idsOf(yield* messages.appendMany(session, yield* Effect.forEach(operation.messages, inputOf(session))))
      case "checkout":
        return yield* heads.checkout(session, operation.to)
      case "undo":
        return yield* heads.undo(session)
      case "redo":
        return yield* heads.redo(session)
      case "fork":
        return toMade(yield* forks.fork(session, operation.at === undefined ? {} : { at: operation.at }))
      case "side":
        return toMade(yield* forks.side(session))
      case "edit":
        return yield* rewinds.edit(session, operation.message)
      case "retry":
        return yield* rewinds.retry(session, operation.message)
      case "rewind": {
        const { from, to } = yield* rewinds.rewind(session, operation.message)
        return { from, to }
      }
      case "delete":
        yield* deletions.delete(session)
        return "deleted"
      case "prune":
        yield* deletions.prune(session)
        return "pruned"
    }
  })

/** Never fails: how the operation ended is the answer. */
export const answerTo = (operation: Operation): Effect.Effect<Answer, never, Services> => outcomeOf(call(operation))

/** What is seen of one session. */
export const glance = (id: string) =>
  outcomeOf(
    Effect.gen(function* () {
      const { counts, head, preview, title } = yield* Sessions.use((sessions) => sessions.get(id))
      const page = yield* Messages.use((messages) => messages.page(id, { limit: 500 }))
      const read = yield* History.use((history) => history.read(id))
      const files = yield* Attachments.use((attachments) => attachments.list(id, { limit: 100 }))
      const prompts = yield* Messages.use((messages) => messages.prompts(id, { limit: 500 }))
      return {
        head,
        title,
        preview,
        counts,
        shown: idsOf(page.messages),
        degraded: page.degraded || read.degraded,
        replayed: read.messages.map((message) => textIn(message)),
        prompts: idsOf(prompts),
        files: files.attachments.map(({ name }) => name),
      }
    }),
  )

/** The one text in a message that the model is given. */
const textIn = (message: unknown): string => {
  const { content } = message as { readonly content: unknown }
  return typeof content === "string" ? content : JSON.stringify(content)
}

/** Those of some messages that a session sees. */
export const seenOf = (id: string, ids: ReadonlyArray<string>) =>
  outcomeOf(
    Effect.map(
      Messages.use((messages) => messages.getMany(id, ids)),
      idsOf,
    ),
  )

/** The ids of all entries, in order, and how many rows of sessions and their trees there are beside them. */
export const stored = Effect.map(everything, (found) => ({
  ids: (found["entry"] ?? []).map(({ id }) => String(id)).toSorted(),
  others: ["session", "tree", "branch", "head_move"].reduce((sum, name) => sum + (found[name]?.length ?? 0), 0),
}))
