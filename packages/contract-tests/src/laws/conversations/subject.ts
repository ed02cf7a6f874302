/**
 * The conversation on the store under test: operations and questions, through the services.
 */
import type { Services } from "@skein/core"
import { Heads } from "@skein/core/head"
import { History } from "@skein/core/history"
import { Messages } from "@skein/core/message"
import type { MessageInput, MessagePage } from "@skein/core/message"
import { Sessions } from "@skein/core/session"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { outcomeOf } from "../../outcome.ts"
import type { Sample } from "./expect.ts"
import type { Answer } from "./oracle.ts"
import type { Draft, Expected, Operation } from "./operation.ts"

const sessionId = "s"

const seenHead = ({ head, version }: Expected) => ({
  ...(head !== undefined && { expectedHead: head }),
  ...(version !== undefined && { expectedVersion: version }),
})

const inputOf = ({ id, kind, text }: Draft): MessageInput => {
  const role = kind === "said" || kind === "given" ? "user" : "assistant"
  const body = { role, content: text }
  if (kind === "shown") return { id, role, display: body }
  return kind === "given" ? { id, role, model: body } : { id, role, body }
}

const idsOf = (messages: ReadonlyArray<{ readonly id: string }>) => messages.map(({ id }) => id)

const call = (operation: Operation) =>
  Effect.gen(function* () {
    const heads = yield* Heads
    const messages = yield* Messages
    const history = yield* History
    switch (operation.do) {
      case "append": {
        const { at, expected } = operation
        const options = { ...seenHead(expected), ...(at !== undefined && { at, moveHead: false as const }) }
        return idsOf(yield* messages.appendMany(sessionId, operation.messages.map(inputOf), options))
      }
      case "checkout":
        return yield* heads.checkout(sessionId, operation.to, seenHead(operation.expected))
      case "undo":
        return yield* heads.undo(sessionId, seenHead(operation.expected))
      case "redo":
        return yield* heads.redo(sessionId, seenHead(operation.expected))
      case "compact": {
        const { expected, keepFrom, summary } = operation
        const input = { summary, ...seenHead(expected), ...(keepFrom !== undefined && { keepFrom }) }
        return (yield* history.compact(sessionId, input)).id
      }
      case "delete branch": {
        const { branch, expected, moveTo } = operation
        const options = { ...seenHead(expected), ...(moveTo !== undefined && { moveTo }) }
        return yield* heads.deleteBranch(sessionId, branch, options)
      }
      case "name branch": {
        const { automatic, branch, name } = operation
        return yield* heads.nameBranch(sessionId, branch, name, { automatic })
      }
      case "page":
        return idsOf((yield* messages.page(sessionId, { limit: operation.limit })).messages)
    }
  })

/** Begins the conversation; answers the versions that it begins with. */
export const begin = Sessions.use((sessions) => sessions.create({ id: sessionId }))

/** Never fails: how the operation ended is the answer. */
export const answerTo = (operation: Operation): Effect.Effect<Answer, never, Services> => {
  const called = Effect.map(call(operation), (done): Answer => ({ done }))
  const told = Effect.catchTag(called, "HeadMoved", ({ _tag, actual }) =>
    Effect.succeed<Answer>({ failed: _tag, actual }),
  )
  return Effect.map(outcomeOf(told), (outcome) => ("done" in outcome ? outcome.done : outcome))
}

/** The one text in a message that the model is given. */
const textIn = (message: unknown): string => /(?:text|summary)\d+(?:-\d+)?/.exec(JSON.stringify(message))?.[0] ?? ""

/** What is seen at once. */
export const glance = Effect.gen(function* () {
  const { counts, head, headVersion, historyVersion, preview } = yield* Sessions.use((one) => one.get(sessionId))
  const { degraded, messages } = yield* Messages.use((one) => one.page(sessionId, { limit: 500 }))
  const read = yield* History.use((one) => one.read(sessionId))
  return {
    head,
    headVersion,
    historyVersion: read.historyVersion === historyVersion ? historyVersion : "not what the session says",
    counts,
    preview,
    path: idsOf(messages),
    degraded: degraded || read.degraded,
    replayed: read.messages.map(textIn),
  }
})

/** Everything that can be asked. */
export const picture = (sample: Sample) =>
  Effect.gen(function* () {
    const heads = yield* Heads
    const messages = yield* Messages
    const { limit, pair, shown } = sample
    const parts = yield* Effect.all(
      {
        glance,
        back: walkBack(limit),
        on: shown === undefined ? Effect.succeed([]) : walkOn(limit, shown[0]),
        around:
          shown === undefined
            ? Effect.succeed([])
            : Effect.map(messages.page(sessionId, { around: shown[1], limit }), (page) => idsOf(page.messages)),
        count: messages.count(sessionId),
        prompts: walkPrompts(limit),
        latestUserText: messages.latestUserText(sessionId),
        streamed: Effect.map(Stream.runCollect(messages.stream(sessionId)), idsOf),
        replayed: History.use((history) =>
          Effect.map(Stream.runCollect(history.stream(sessionId)), (found) => found.map(textIn)),
        ),
        branches: messages.branches(sessionId),
        moves: heads.moves(sessionId, { limit: 250 }),
        there: Effect.map(messages.getMany(sessionId, sample.ids), idsOf),
        pair: pair === undefined ? Effect.succeed(undefined) : pictureOf(pair),
      },
      { concurrency: "unbounded" },
    )
    const { branches, glance: seen, moves, ...rest } = parts
    return {
      ...seen,
      ...rest,
      branches: branches.map(({ branch, current, lastText, messages: size, name, tip }) => ({
        branch,
        name,
        tip,
        messages: size,
        lastText: textIn(lastText),
        current,
      })),
      moves: moves.map(({ from, n, reason, to }) => ({ n, from, to, reason })),
    }
  })

const walkBack = (limit: number) =>
  Effect.gen(function* () {
    const messages = yield* Messages
    const found: Array<string> = []
    let before: string | undefined
    do {
      const page: MessagePage = yield* messages.page(sessionId, { limit, ...(before !== undefined && { before }) })
      found.unshift(...idsOf(page.messages))
      before = page.before
    } while (before !== undefined)
    return found
  })

const walkOn = (limit: number, first: string) =>
  Effect.gen(function* () {
    const messages = yield* Messages
    const found = [first]
    let after: string | undefined = first
    while (after !== undefined) {
      const page: MessagePage = yield* messages.page(sessionId, { limit, after })
      found.push(...idsOf(page.messages))
      after = page.after
    }
    return found
  })

const walkPrompts = (limit: number) =>
  Effect.gen(function* () {
    const messages = yield* Messages
    const found: Array<string> = []
    for (;;) {
      const before = found.at(-1)
      const prompts = yield* messages.prompts(sessionId, { limit, ...(before !== undefined && { before }) })
      found.push(...idsOf(prompts))
      if (prompts.length < limit) return found
    }
  })

const pictureOf = ([one, other]: readonly [string, string]) =>
  Effect.gen(function* () {
    const heads = yield* Heads
    const messages = yield* Messages
    const siblings = yield* messages.siblings(sessionId, one)
    const common = yield* messages.commonAncestor(sessionId, { one, other })
    return {
      siblings: { ids: idsOf(siblings.messages), index: siblings.index },
      path: idsOf(yield* messages.path(sessionId, one, { limit: 500 })),
      isAncestor: yield* messages.isAncestor(sessionId, { ancestor: one, message: other }),
      common: common?.id,
      deepest: (yield* heads.deepest(sessionId, one)).id,
    }
  })
