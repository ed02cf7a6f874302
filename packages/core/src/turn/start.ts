/**
 * What a turn begins with: from what a caller gives to what the program of a turn takes.
 */
import * as Effect from "effect/Effect"
import * as z from "zod/mini"
import { checkId } from "../id.ts"
import { checkInput } from "../input.ts"
import { toEntry } from "../message/body.ts"
import type { Makers, MessageInput } from "../message/body.ts"
import type { NewEntry } from "../message/placement.ts"
import { Name } from "../session/input.ts"
import { InvalidInput } from "../storage/error.ts"
import type { NewTurn, Start } from "./program.ts"

/**
 * What a turn begins with, in one commit with the beginning: a new prompt; an item of the queue, or what is `next` in it;
 * another wording of a prompt (`edit`), beside it; an answer to be given again (`retry`: the message, or the prompt that it
 * answers), beside it; what a turn waited for (`answer`); or nothing new.
 */
export type TurnStart =
  | { readonly prompt: MessageInput }
  | { readonly item: string }
  | { readonly next: NextItem }
  | { readonly edit: string; readonly content: MessageInput }
  | { readonly retry: string }
  | { readonly answer: MessageInput | ReadonlyArray<MessageInput> }
  | Readonly<Record<string, never>>

/** Which item of a queue is next. */
export interface NextItem {
  /** Only an item from one of these sources; others do not stand in its way. Default: any. */
  readonly sources?: ReadonlyArray<string>
  /** Default `false`. When true the first item is sent though the queue is paused, and the pause stays. */
  readonly continuePaused?: boolean
  /** An item that was tried so often is `OperationConflict`. Default: no limit. */
  readonly maxAttempts?: number
}

/** What kind of start it is, and what the program takes. */
export interface Started {
  readonly kind: NewTurn["start"]
  readonly start: Start
}

/** Checks what a turn is to begin with, and makes the entries of it. */
export const toStart = Effect.fnUntraced(function* (makers: Makers, given: TurnStart, now: number) {
  const { answer, content, edit, item, next, prompt, retry } = yield* checkInput(TurnStartInput, given, "start")
  const made = (message: unknown, name: string) => toEntry(makers, message as MessageInput, now, `start.${name}`)
  const said = Effect.fnUntraced(function* (message: unknown, name: string) {
    const asked = typeof message === "object" && message !== null ? { role: "user" as const, ...message } : message
    const entry = yield* made(asked, name)
    if (entry.role === "user") return entry
    const problem = "must be user: other messages are appended, and a turn begun with {}"
    return yield* Effect.fail(new InvalidInput({ field: `start.${name}.role`, value: entry.role, problem }))
  })
  const started = (kind: Started["kind"], start: Start): Started => ({ kind, start })
  if (prompt !== undefined) {
    return started("prompt", { _tag: "Prompt", entry: yield* said(prompt, "prompt") })
  }
  if (item !== undefined) {
    const wanted = { itemId: yield* checkId("start.item", item) }
    return started("item", { _tag: "Item", wanted, maxAttempts: Infinity })
  }
  if (next !== undefined) {
    const { maxAttempts = Infinity, ...wanted } = yield* checkInput(NextItemInput, next, "start.next")
    return started("item", { _tag: "Item", wanted, maxAttempts })
  }
  if (edit !== undefined) {
    const message = yield* checkId("start.edit", edit)
    return started("edit", { _tag: "Edit", message, entry: yield* said(content, "content") })
  }
  if (retry !== undefined) {
    return started("retry", { _tag: "Retry", message: yield* checkId("start.retry", retry) })
  }
  if (answer === undefined) return started("none", { _tag: "None" })
  const entries: Array<NewEntry> = []
  const answers: ReadonlyArray<unknown> = Array.isArray(answer) ? answer : [answer]
  if (answers.length === 0) {
    return yield* Effect.fail(new InvalidInput({ field: "start.answer", value: answer, problem: "must not be empty" }))
  }
  for (const [i, one] of answers.entries()) entries.push(yield* made(one, `answer[${i}]`))
  return started("answer", { _tag: "Answer", entries })
}) satisfies (makers: Makers, given: TurnStart, now: number) => Effect.Effect<Started, InvalidInput>

const NextItemInput = z.strictObject({
  sources: z.optional(z.array(Name)),
  continuePaused: z.optional(z.boolean()),
  maxAttempts: z.optional(z.int().check(z.positive())),
})

const startFields = ["prompt", "item", "next", "edit", "retry", "answer"] as const
const TurnStartInput = z
  .strictObject({
    prompt: z.optional(z.unknown()),
    item: z.optional(z.unknown()),
    next: z.optional(z.unknown()),
    edit: z.optional(z.unknown()),
    content: z.optional(z.unknown()),
    retry: z.optional(z.unknown()),
    answer: z.optional(z.unknown()),
  })
  .check(
    z.refine(
      (start) => startFields.filter((field) => start[field] !== undefined).length <= 1,
      "must be one of { prompt }, { item }, { next }, { edit, content }, { retry }, { answer }",
    ),
    z.refine(
      ({ content, edit }) => (content === undefined) === (edit === undefined),
      "must have `edit` and `content` together",
    ),
  )
