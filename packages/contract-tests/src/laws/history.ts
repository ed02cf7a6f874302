/**
 * Laws of model history.
 */
import { EntryTable, SessionTable } from "@skein/core"
import { generic } from "@skein/core/dialects"
import type { Dialect } from "@skein/core/dialects"
import { History } from "@skein/core/history"
import type { CompactInput } from "@skein/core/history"
import { Messages } from "@skein/core/message"
import { Storage, Tx } from "@skein/core/storage"
import type { Json } from "@skein/core/storage"
import { Turns } from "@skein/core/turn"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { atTime } from "../clock.ts"
import { check, equal } from "../equal.ts"
import { law } from "../law.ts"
import type { Law } from "../law.ts"
import { outcomeOf } from "../outcome.ts"
import { withServices } from "../services.ts"
import {
  begin,
  callOf,
  checkout,
  pathOf,
  recovered,
  replayed,
  resultOf,
  said,
  say,
  sayAll,
  session,
} from "./conversation.ts"

const compact = (input: CompactInput) => History.use((history) => history.compact("s", input))
const textsOf = Effect.map(replayed("s"), (messages) => messages.map((message) => textOf(message)))
const textOf = (message: unknown): string => {
  const content = (message as { content: unknown }).content
  return typeof content === "string" ? content : JSON.stringify(content)
}

const ten = ["u1", "a2", "u3", "a4", "u5", "a6", "u7", "a8", "u9", "a10"]

/** A dialect that cannot stand one body. */
const touchy: Dialect<Json> = {
  ...generic,
  name: "touchy",
  read: (body, role) => {
    if (textOf(body) === "boom") throw new Error("boom")
    return generic.read(body, role)
  },
}

/** The entries of a conversation as they are stored. */
const entriesOf = (sessionId: string) =>
  Storage.use((storage) =>
    storage.read(
      Tx.make(function* (tx) {
        const session = yield* tx.get(SessionTable, [sessionId])
        return yield* tx.range(EntryTable, "key", { prefix: [session!.treeId] })
      }),
    ),
  )

export const historyLaws: ReadonlyArray<Law> = [
  law("A51 HIS-01 HIS-03 after a compaction the model gets summary and kept tail, people see everything", (store) =>
    Effect.gen(function* () {
      yield* Effect.gen(function* () {
        yield* begin("s")
        yield* sayAll("s", ten)
        yield* compact({ summary: "SUMMARY", keepFrom: "a8", method: "test" })
      }).pipe(withServices(store))
      yield* Effect.gen(function* () {
        const messages = yield* Messages
        const texts = yield* textsOf
        equal(texts.length, 4)
        check(texts[0]!.includes("SUMMARY"), "the summary must come first")
        equal(texts.slice(1), ["a8", "u9", "a10"])
        const { messages: seen } = yield* messages.page("s")
        equal(
          seen.slice(0, 10).map(({ id }) => id),
          ten,
        )
        equal(
          seen.slice(10).map(({ compaction, kind }) => [kind, compaction]),
          [["compaction", { summary: "SUMMARY", method: "test" }]],
        )
        yield* say("s", "u11")
        equal((yield* textsOf).slice(1), ["a8", "u9", "a10", "u11"])
      }).pipe(withServices(store))
    }),
  ),

  law("A50 HIS-01 going back before a compaction brings the originals back, and forward the summary", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      yield* sayAll("s", ten)
      yield* compact({ summary: "SUMMARY", keepFrom: "u9" })
      yield* say("s", "u11")
      yield* checkout("s", "a6")
      equal(yield* textsOf, ten.slice(0, 6))
      yield* say("s", "u7b")
      equal(yield* textsOf, [...ten.slice(0, 6), "u7b"])
      yield* checkout("s", "u11")
      equal((yield* textsOf).slice(1), ["u9", "a10", "u11"])
    }).pipe(withServices(store)),
  ),

  law("A52 HIS-03 a compaction without a summary is refused and hides nothing", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      yield* sayAll("s", ten)
      const before = yield* session("s")
      for (const summary of ["", "  \n "]) equal(yield* outcomeOf(compact({ summary })), { failed: "InvalidInput" })
      equal(yield* outcomeOf(compact({} as CompactInput)), { failed: "InvalidInput" })
      equal(yield* outcomeOf(compact({ summary: "x", expectedHead: "a8" })), { failed: "HeadMoved" })
      equal(yield* session("s"), before)
      equal(yield* textsOf, ten)
      yield* compact({ summary: "good", keepFrom: "a10" })
      equal((yield* textsOf).slice(1), ["a10"])
    }).pipe(withServices(store)),
  ),

  law("HIS-03 nothing is kept unless it is said, and the newest compaction on the path rules", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      yield* sayAll("s", ["u1", "a2"])
      yield* compact({ summary: "first" })
      equal((yield* textsOf).length, 1)
      yield* sayAll("s", ["u3", "a4"])
      yield* compact({ summary: "second", keepFrom: "u3" })
      const texts = yield* textsOf
      equal(texts.slice(1), ["u3", "a4"])
      check(texts[0]!.includes("second") && !texts[0]!.includes("first"), "the newest summary rules")
    }).pipe(withServices(store)),
  ),

  law("HIS-03 a boundary is on the path, and not before what the previous compaction kept", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      yield* sayAll("s", ten)
      yield* checkout("s", "a8")
      yield* say("s", "u9b")
      equal(yield* outcomeOf(compact({ summary: "x", keepFrom: "u9" })), { failed: "InvalidBoundary" })
      equal(yield* outcomeOf(compact({ summary: "x", keepFrom: "nobody" })), { failed: "MessageNotFound" })
      yield* compact({ summary: "x", keepFrom: "u5" })
      const error = yield* Effect.flip(compact({ summary: "y", keepFrom: "u3" }))
      equal([error._tag, "nearest" in error && error.nearest], ["InvalidBoundary", "u5"])
      yield* compact({ summary: "y", keepFrom: "u5" })
      equal((yield* textsOf).slice(1), ["u5", "a6", "u7", "a8", "u9b"])
    }).pipe(withServices(store)),
  ),

  law("HIS-03 a boundary inside a tool round is refused, with the message that begins the round", (store) =>
    Effect.gen(function* () {
      const messages = yield* Messages
      yield* begin("s")
      yield* say("s", "u1")
      yield* messages.append("s", callOf("a1", "c1", "c2"))
      yield* messages.append("s", resultOf("r1", "c1"))
      const early = yield* Effect.flip(compact({ summary: "x" }))
      equal([early._tag, "nearest" in early && early.nearest], ["InvalidBoundary", "a1"])
      yield* messages.append("s", resultOf("r2", "c2"))
      for (const keepFrom of ["r1", "r2"]) {
        const error = yield* Effect.flip(compact({ summary: "x", keepFrom }))
        equal([error._tag, "nearest" in error && error.nearest], ["InvalidBoundary", "a1"])
      }
      yield* compact({ summary: "x", keepFrom: "a1" })
      equal((yield* replayed("s")).length, 4)
      yield* compact({ summary: "x" })
      equal((yield* replayed("s")).length, 1)
    }).pipe(withServices(store)),
  ),

  law("HIS-03 nothing that stands between a call and its result is a boundary", (store) =>
    Effect.gen(function* () {
      const messages = yield* Messages
      yield* begin("s")
      yield* say("s", "u0")
      yield* messages.append("s", callOf("a1", "c1"))
      yield* say("s", "u-steer")
      const early = yield* Effect.flip(compact({ summary: "x" }))
      equal([early._tag, "nearest" in early && early.nearest], ["InvalidBoundary", "a1"])
      yield* messages.append("s", { id: "note", role: "assistant", display: { role: "assistant", content: "…" } })
      yield* messages.append("s", resultOf("r1", "c1"))
      yield* say("s", "u2")
      for (const keepFrom of ["u-steer", "note", "r1"]) {
        const error = yield* Effect.flip(compact({ summary: "x", keepFrom }))
        equal([error._tag, "nearest" in error && error.nearest], ["InvalidBoundary", "a1"])
      }
      yield* compact({ summary: "x", keepFrom: "a1" })
      equal((yield* replayed("s")).length, 5)
      yield* compact({ summary: "x", keepFrom: "u2" })
      equal((yield* textsOf).slice(1), ["u2"])
    }).pipe(withServices(store)),
  ),

  law("HIS-03 where rounds overlap, the message named would do; where an assistant went on, none is open", (store) =>
    Effect.gen(function* () {
      const messages = yield* Messages
      yield* begin("s")
      yield* messages.append("s", callOf("a1", "c1"))
      yield* messages.append("s", callOf("a2", "c2"))
      yield* messages.append("s", resultOf("r1", "c1"))
      yield* say("s", "u3")
      yield* messages.append("s", resultOf("r2", "c2"))
      const error = yield* Effect.flip(compact({ summary: "x", keepFrom: "u3" }))
      equal([error._tag, "nearest" in error && error.nearest], ["InvalidBoundary", "a1"])
      yield* compact({ summary: "x", keepFrom: "a1" })
      yield* messages.append("s", callOf("a4", "never"))
      equal(yield* outcomeOf(compact({ summary: "x" })), { failed: "InvalidBoundary" })
      yield* sayAll("s", ["u5", "a6"])
      yield* compact({ summary: "x", keepFrom: "u5" })
      yield* messages.append("s", callOf("a7", "c1"))
      yield* messages.append("s", resultOf("r7", "c1"))
      // What was compacted away is no round any more.
      yield* messages.append("s", resultOf("r8", "c2"))
      yield* compact({ summary: "x", keepFrom: "r8" })
    }).pipe(withServices(store)),
  ),

  law("HIS-03 a tool round is found over a thousand messages and across branches", (store) =>
    Effect.gen(function* () {
      const messages = yield* Messages
      yield* begin("s")
      yield* messages.append("s", callOf("a0", "c0"))
      const between = Array.from({ length: 1_100 }, (_, i) => said(`u${i}`))
      for (let i = 0; i < between.length; i += 275) yield* messages.appendMany("s", between.slice(i, i + 275))
      yield* say("s", "u-left")
      yield* checkout("s", "u1099")
      yield* messages.append("s", resultOf("r0", "c0"))
      for (const keepFrom of ["u101", "u550", "u998"]) {
        const error = yield* Effect.flip(compact({ summary: "x", keepFrom }))
        equal([error._tag, "nearest" in error && error.nearest], ["InvalidBoundary", "a0"])
      }
      yield* compact({ summary: "x" })
      equal((yield* replayed("s")).length, 1)
    }).pipe(withServices(store)),
  ),

  law("HIS-01 what a compaction keeps is replayed from any depth of branches", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      const path = Array.from({ length: 70 }, (_, i) => `u${i}`)
      for (const id of path) {
        yield* sayAll("s", [id, `u-beside-${id}`])
        yield* checkout("s", id)
      }
      for (const [i, keepFrom] of path.slice(0, 9).entries()) {
        yield* compact({ summary: "x", keepFrom })
        equal((yield* textsOf).slice(1), path.slice(i))
      }
    }).pipe(withServices(store)),
  ),

  law("HIS-03 one operation id makes one compaction, and what it saved is reported", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      yield* sayAll("s", ten)
      const input = { summary: "x", keepFrom: "u9", operationId: "op-1", tokensBefore: 900, tokensAfter: 100 }
      const both = yield* Effect.all([compact(input), compact(input)], { concurrency: "unbounded" })
      equal(both[0], both[1])
      equal([both[0].savedTokens, both[0].savedNothing], [800, 0])
      equal(yield* compact(input), both[0])
      equal((yield* pathOf("s")).length, 11)
      const nothing = { summary: "y", tokensBefore: 100, tokensAfter: 100 }
      equal((yield* compact(nothing)).savedNothing, 1)
      equal((yield* compact(nothing)).savedNothing, 2)
      equal((yield* compact({ ...nothing, tokensAfter: 50 })).savedNothing, 0)
    }).pipe(withServices(store)),
  ),

  law(
    "HIS-03 a repeated compaction is answered as stored, whatever has happened since; another one is refused",
    (store) =>
      Effect.gen(function* () {
        yield* begin("s")
        yield* sayAll("s", ten)
        const input = { summary: "x", keepFrom: "u5", method: "m", expectedHead: "a10", operationId: "op-1" }
        const first = yield* compact(input)
        const before = yield* session("s")
        equal(yield* compact(input), first)
        for (const other of [{ summary: "y" }, { keepFrom: "a6" }, { method: "n" }]) {
          equal(yield* outcomeOf(compact({ ...input, ...other })), { failed: "IdConflict" })
        }
        const { keepFrom: _, ...all } = input
        equal(yield* outcomeOf(compact(all)), { failed: "IdConflict" })
        equal(yield* session("s"), before)
        yield* compact({ summary: "later", keepFrom: "u9" })
        equal(yield* compact(input), first)
        const { expectedHead: __, ...anywhere } = input
        equal(yield* compact(anywhere), first)
        yield* checkout("s", "a2")
        equal(yield* compact(input), first)
        equal(yield* outcomeOf(compact({ ...input, operationId: "op-2" })), { failed: "HeadMoved" })
        equal(yield* outcomeOf(compact({ ...anywhere, operationId: "op-2" })), { failed: "InvalidBoundary" })
      }).pipe(withServices(store)),
  ),

  law("HIS-03 A19 a compaction moves updatedAt and never activityAt", (store) =>
    Effect.gen(function* () {
      yield* atTime(1_000)(Effect.andThen(begin("s"), say("s", "u1")))
      yield* atTime(2_000)(compact({ summary: "x" }))
      const { activityAt, updatedAt } = yield* session("s")
      equal([activityAt, updatedAt], [1_000, 2_000])
    }).pipe(withServices(store)),
  ),

  law("HIS-01 HIS-03 unsafe ids, and options that are none, are refused", (store) =>
    Effect.gen(function* () {
      const history = yield* History
      yield* begin("s")
      yield* sayAll("s", ["u1", "a2"])
      const before = yield* session("s")
      const count = () => 1
      const refused: ReadonlyArray<Effect.Effect<unknown, unknown>> = [
        history.read("a b"),
        Stream.runCollect(history.stream("../s")),
        history.tail("", { tokens: 1, count }),
        history.compact("s\0", { summary: "x" }),
        history.compact("s", null as never),
        history.compact("s", { summary: "x", keepFrom: "a b" }),
        history.compact("s", { summary: "x", expectedHead: "" }),
        history.compact("s", { summary: "x" }, null as never),
        history.compact("s", { summary: "x" }, { durability: "Strict" as never }),
        history.tail("s", undefined as never),
        history.tail("s", null as never),
        history.tail("s", { tokens: 1 } as never),
        history.tail("s", { tokens: "1" as never, count }),
        history.tail("s", { tokens: Number.NaN, count }),
        history.tail("s", { tokens: 1, count: 1 as never }),
        history.tail("s", { tokens: 1, count: () => Number.NaN }),
        history.tail("s", { tokens: 1, count: () => -1 }),
        history.tail("s", { tokens: 1, count: () => "1" as never }),
      ]
      for (const [i, one] of refused.entries()) equal([i, yield* outcomeOf(one)], [i, { failed: "InvalidInput" }])
      equal(yield* session("s"), before)
      yield* history.compact("s", { summary: "x" }, { durability: "relaxed" })
    }).pipe(withServices(store)),
  ),

  law("A45 HIS-02 every call is given with one result, whatever was stored, and what is stored stays", (store) =>
    Effect.gen(function* () {
      const history = yield* History
      const messages = yield* Messages
      yield* begin("s")
      yield* say("s", "u1")
      yield* messages.append("s", callOf("a1", "c1", "c2"))
      yield* messages.append("s", resultOf("r1", "c1"))
      yield* say("s", "u2")
      yield* messages.append("s", resultOf("r-orphan", "c9"))
      const first = yield* history.read("s")
      equal(first.repairs.map(({ kind }) => kind).toSorted(), ["dropped-orphan", "synthesised"])
      const results = first.messages.flatMap((message) => resultsIn(message))
      equal(results.toSorted(), ["c1", "c2"])
      check(results.length === 2, "one result a call")
      equal(yield* history.read("s"), first)
      equal(yield* pathOf("s"), ["u1", "a1", "r1", "u2", "r-orphan"])
    }).pipe(withServices(store)),
  ),

  law("A45 HIS-02 a turn killed between two results is replayed with both, and what is stored stays", (store) =>
    Effect.gen(function* () {
      const stored = yield* Effect.gen(function* () {
        const messages = yield* Messages
        yield* begin("s")
        yield* Turns.use((turns) => turns.begin("s", { prompt: said("u1") }))
        yield* messages.append("s", callOf("a1", "c1", "c2"), { epoch: 1 })
        yield* messages.append("s", resultOf("r1", "c1"), { epoch: 1 })
        return yield* entriesOf("s")
      }).pipe(withServices(store))
      yield* Effect.gen(function* () {
        equal(yield* recovered, ["s"])
        const told = yield* replayed("s")
        equal(told.slice(0, 3), [said("u1").body, callOf("a1", "c1", "c2").body, resultOf("r1", "c1").body])
        equal(resultsIn(told[3]), ["c2"])
        check(textOf(told[3]).includes("interrupted"), `the model is told why: ${textOf(told[3])}`)
        equal(told.length, 4)
        equal(yield* recovered, [])
        equal(yield* replayed("s"), told)
        yield* say("s", "u2")
        equal(yield* replayed("s"), [...told, said("u2").body])
        equal(yield* replayed("s"), [...told, said("u2").body])
        equal((yield* entriesOf("s")).slice(0, -1), stored)
      }).pipe(withServices(store))
    }),
  ),

  law("HIS-06 a body that its dialect cannot read is kept, skipped and reported", (store) =>
    Effect.gen(function* () {
      const history = yield* History
      const messages = yield* Messages
      yield* begin("s")
      yield* say("s", "u1")
      yield* messages.append("s", {
        id: "x",
        role: "assistant",
        body: { odd: 1 },
        format: { dialect: "lost", version: 1 },
      })
      yield* say("s", "u2")
      const { messages: given, repairs } = yield* history.read("s")
      equal(given.map(textOf), ["u1", "u2"])
      equal(
        repairs.map(({ entry, kind }) => [entry, kind]),
        [["x", "unreadable"]],
      )
      equal((yield* messages.get("s", "x")).display, { odd: 1 })
    }).pipe(withServices(store)),
  ),

  law("HIS-01 stream and tail give what read gives", (store) =>
    Effect.gen(function* () {
      const history = yield* History
      const messages = yield* Messages
      yield* begin("s")
      const many = Array.from({ length: 1_203 }, (_, i) =>
        i % 4 === 1 ? callOf(`a${i}`, `c${i}`) : i % 4 === 2 ? resultOf(`r${i}`, `c${i - 1}`) : said(`u${i}`),
      )
      for (let i = 0; i < many.length; i += 200) yield* messages.appendMany("s", many.slice(i, i + 200))
      yield* compact({ summary: "x", keepFrom: "u3" })
      const all = (yield* history.read("s")).messages
      equal(all.length, 1_201)
      equal(yield* Stream.runCollect(history.stream("s")), all)
      const count = () => 1
      equal((yield* history.tail("s", { tokens: 1, count })).messages, [])
      equal((yield* history.tail("s", { tokens: 2, count })).messages, all.slice(-2))
      equal((yield* history.tail("s", { tokens: 5, count })).messages, all.slice(-4))
      const tails = yield* Effect.forEach([2, 3, 4, 5, 6, 7, 8], (tokens) => history.tail("s", { tokens, count }))
      for (const { messages: tail } of tails) {
        check(resultsIn(tail[0]).length === 0, "a tail never begins inside a tool round")
      }
      equal((yield* history.tail("s", { tokens: 0, count })).messages, [])
    }).pipe(withServices(store)),
  ),

  law("HIS-01 stream names reused calls as read does, whatever is still open", (store) =>
    Effect.gen(function* () {
      const history = yield* History
      const messages = yield* Messages
      yield* begin("s")
      const many = Array.from({ length: 1_600 }, (_, i) =>
        i % 4 === 1 ? callOf(`a${i}`, "c") : i % 4 === 2 ? resultOf(`r${i}`, "c") : said(`u${i}`),
      )
      many[1_201] = callOf("a-open", "never")
      for (let i = 0; i < many.length; i += 200) yield* messages.appendMany("s", many.slice(i, i + 200))
      const { messages: all, repairs } = yield* history.read("s")
      equal(repairs.filter(({ kind }) => kind === "renamed").length, 398)
      equal(yield* Stream.runCollect(history.stream("s")), all)
    }).pipe(withServices(store)),
  ),

  law("HIS-06 a dialect that throws costs the message and nothing else, wherever it is read", (store) =>
    Effect.gen(function* () {
      const history = yield* History
      const messages = yield* Messages
      yield* begin("s")
      yield* say("s", "u1")
      yield* messages.append("s", { id: "boom", role: "assistant", body: { role: "assistant", content: "boom" } })
      yield* say("s", "u2")
      const { messages: all, repairs } = yield* history.read("s")
      equal(all.map(textOf), ["u1", "u2"])
      equal(
        repairs.map(({ entry, kind }) => [entry, kind]),
        [["boom", "unreadable"]],
      )
      equal(yield* Stream.runCollect(history.stream("s")), all)
      equal((yield* history.tail("s", { tokens: 1, count: () => 1 })).messages, all.slice(1))
      yield* compact({ summary: "x", keepFrom: "boom" })
    }).pipe(withServices(store, { dialect: touchy })),
  ),

  law("HIS-01 reading writes nothing", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      yield* sayAll("s", ["u1", "a1"])
      const before = yield* session("s")
      yield* replayed("s")
      yield* pathOf("s")
      equal(yield* session("s"), before)
    }).pipe(withServices(store)),
  ),
]

const resultsIn = (message: unknown): Array<string> => {
  const content = (message as { content?: unknown } | undefined)?.content
  if (!Array.isArray(content)) return []
  return content.flatMap((part: { type?: string; callId?: string }) =>
    part.type === "tool-result" && part.callId !== undefined ? [part.callId] : [],
  )
}
