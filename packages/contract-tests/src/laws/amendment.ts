/**
 * Laws of amendments: tool results that the model is given otherwise than they are stored.
 */
import { History } from "@skein/core/history"
import type { AmendInput } from "@skein/core/history"
import { Messages } from "@skein/core/message"
import { Turns } from "@skein/core/turn"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { atTime } from "../clock.ts"
import { counting } from "../counting.ts"
import { check, equal } from "../equal.ts"
import { law } from "../law.ts"
import type { Law } from "../law.ts"
import { outcomeOf } from "../outcome.ts"
import { withServices } from "../services.ts"
import { begin, callOf, checkout, pathOf, replayed, said, say, sayAll, session } from "./conversation.ts"

const amend = (input: AmendInput) => History.use((history) => history.amend("s", input))

const long = "0123456789"

/** A message with results of calls. */
const results = (id: string, ...calls: ReadonlyArray<string>) => ({
  id,
  role: "tool" as const,
  body: {
    role: "tool",
    content: calls.map((callId) => ({ type: "tool-result", callId, name: "run", output: `${long} ${callId}` })),
  },
})

/** Everything that the model is told by tools, by call. */
const told = Effect.map(replayed("s"), (messages) => Object.fromEntries(messages.flatMap(outputsIn)))

const outputsIn = (message: unknown): ReadonlyArray<readonly [string, unknown]> => {
  const { content } = message as { readonly content: unknown }
  if (!Array.isArray(content)) return []
  return content.flatMap((part: { type: string; callId?: string; output?: unknown }) =>
    part.type === "tool-result" ? [[part.callId!, part.output] as const] : [],
  )
}

const historyVersion = Effect.map(
  History.use((history) => history.read("s")),
  ({ historyVersion: version }) => version,
)

/** A conversation with two tool rounds: `a1` calls c1 and c2, `r1` answers both; `a2` calls c3, `r2` answers. */
const rounds = Effect.gen(function* () {
  yield* begin("s")
  yield* Messages.use((messages) =>
    messages.appendMany("s", [
      said("u1"),
      callOf("a1", "c1", "c2"),
      results("r1", "c1", "c2"),
      callOf("a2", "c3"),
      results("r2", "c3"),
      said("a3"),
    ]),
  )
})

const stored = { c1: `${long} c1`, c2: `${long} c2`, c3: `${long} c3` }

export const amendmentLaws: ReadonlyArray<Law> = [
  law("HIS-04 a result is trimmed, archived and restored for the model alone, and people see it as it was", (store) =>
    Effect.gen(function* () {
      yield* atTime(1_000)(rounds)
      const history = yield* History
      const page = yield* Messages.use((messages) => messages.page("s"))
      yield* atTime(2_000)(amend({ message: "r1", trim: 4 }))
      const trimmed = { c1: "0123\n[9 more characters are left out]", c2: "0123\n[9 more characters are left out]" }
      equal(yield* told, { ...stored, ...trimmed })
      yield* atTime(2_000)(amend({ message: "r1", call: "c2", archive: "It is in notes.md." }))
      equal(yield* told, { ...stored, ...trimmed, c2: "It is in notes.md." })
      const { messages: all, repairs } = yield* history.read("s")
      equal(
        repairs.map(({ entry, kind }) => [entry, kind]),
        [
          ["r1", "amended"],
          ["r1", "amended"],
        ],
      )
      equal(yield* Stream.runCollect(history.stream("s")), all)
      equal((yield* history.tail("s", { tokens: 5, count: () => 1 })).messages, all.slice(1))
      yield* atTime(2_000)(amend({ message: "r1", call: "c2", restore: true }))
      equal(yield* told, { ...stored, c1: trimmed.c1 })
      yield* atTime(2_000)(amend({ message: "r1", restore: true }))
      equal(yield* told, stored)
      equal((yield* history.read("s")).repairs, [])
      equal(yield* Messages.use((messages) => messages.page("s")), page)
      const { activityAt, updatedAt } = yield* session("s")
      equal([activityAt, updatedAt], [1_000, 2_000])
    }).pipe(withServices(store)),
  ),

  law(
    "HIS-04 an amendment belongs to its branch: going back before it takes it back, and forward brings it again",
    (store) =>
      Effect.gen(function* () {
        yield* rounds
        const { id } = yield* amend({ message: "r2", archive: "gone" })
        yield* say("s", "u4")
        yield* checkout("s", "a3")
        equal(yield* told, stored)
        yield* say("s", "u4b")
        equal(yield* told, stored)
        yield* amend({ message: "r1", call: "c1", archive: "beside" })
        equal(yield* told, { ...stored, c1: "beside" })
        yield* checkout("s", "u4")
        equal(yield* told, { ...stored, c3: "gone" })
        const amendment = yield* Messages.use((messages) => messages.get("s", id!))
        equal([amendment.kind, amendment.amendment], ["amendment", { message: "r2", archive: "gone" }])
        equal(yield* pathOf("s"), ["u1", "a1", "r1", "a2", "r2", "a3", "u4"])
      }).pipe(withServices(store)),
  ),

  law(
    "HIS-04 HIS-05 historyVersion changes with an amendment that changes something, and nothing else is written",
    (store) =>
      Effect.gen(function* () {
        yield* rounds
        const first = yield* historyVersion
        const { id } = yield* amend({ message: "r1", trim: 4 })
        equal((yield* historyVersion) > first, true)
        const before = yield* session("s")
        for (const same of [{ trim: 4 }, { call: "c1", trim: 4 }] as const) {
          equal(yield* amend({ message: "r1", ...same }), { id: id! })
        }
        equal(yield* amend({ message: "r2", restore: true }), {})
        equal(yield* amend({ message: "r2", trim: 1_000 }), {})
        equal(yield* session("s"), before)
        const second = yield* historyVersion
        yield* checkout("s", "a3")
        check((yield* historyVersion) !== second, "going back before an amendment changes what is replayed")
      }).pipe(withServices(store)),
  ),

  law(
    "HIS-04 what holds no result, is off the path, was compacted or is no input is refused, and nothing is written",
    (store) =>
      Effect.gen(function* () {
        yield* rounds
        yield* History.use((history) => history.compact("s", { summary: "x", keepFrom: "a2" }))
        yield* checkout("s", "u1")
        yield* say("s", "u2b")
        yield* checkout("s", "a3")
        yield* amend({ message: "r1", trim: 3 })
        yield* History.use((history) => history.compact("s", { summary: "x", keepFrom: "a2" }))
        const before = yield* session("s")
        const refused: ReadonlyArray<AmendInput> = [
          { message: "r1", restore: true },
          { message: "u1", trim: 1 },
          { message: "a3", trim: 1 },
          { message: "r2", call: "c1", trim: 1 },
          { message: "r2", call: "", trim: 1 },
          { message: "a b", trim: 1 },
          { message: "r2" },
          { message: "r2", trim: 1, archive: "x" },
          { message: "r2", trim: -1 },
          { message: "r2", trim: 1.5 },
          { message: "r2", restore: false as never },
          { message: "r2", archive: null as never },
          { message: "r2", trim: 1, more: 1 } as never,
          null as never,
        ]
        for (const [i, one] of refused.entries()) {
          equal([i, yield* outcomeOf(amend(one))], [i, { failed: "InvalidInput" }])
        }
        equal(yield* outcomeOf(amend({ message: "nobody", trim: 1 })), { failed: "MessageNotFound" })
        equal(yield* outcomeOf(amend({ message: "r2", trim: 1, expectedHead: "u1" })), { failed: "HeadMoved" })
        equal(yield* session("s"), before)
        yield* checkout("s", "u2b")
        equal(yield* outcomeOf(amend({ message: "r2", trim: 1 })), { failed: "InvalidInput" })
      }).pipe(withServices(store)),
  ),

  law("HIS-04 HIS-01 what a compaction keeps stays as it was amended, from any depth of branches", (store) =>
    Effect.gen(function* () {
      yield* rounds
      yield* amend({ message: "r2", archive: "gone" })
      yield* History.use((history) => history.compact("s", { summary: "x", keepFrom: "a2" }))
      for (let i = 0; i < 70; i++) {
        yield* sayAll("s", [`u${i}-on`, `u${i}-beside`])
        yield* checkout("s", `u${i}-on`)
      }
      equal(yield* told, { c3: "gone" })
      yield* amend({ message: "r2", restore: true })
      equal(yield* told, { c3: stored.c3 })
    }).pipe(withServices(store)),
  ),

  law("HIS-04 while a turn runs only the turn amends, and a repeated operation amends once", (store) =>
    Effect.gen(function* () {
      yield* rounds
      const once = { message: "r1", trim: 4, operationId: "op-1" }
      const both = yield* Effect.all([amend(once), amend(once)], { concurrency: "unbounded" })
      equal(both[0], both[1])
      yield* amend({ message: "r1", restore: true })
      equal(yield* amend(once), both[0])
      equal(yield* told, stored)
      equal(yield* outcomeOf(amend({ ...once, trim: 5 })), { failed: "IdConflict" })
      yield* Turns.use((turns) => turns.begin("s", { prompt: said("u9") }))
      equal(yield* outcomeOf(amend({ message: "r2", trim: 1 })), { failed: "RunActive" })
      equal(yield* outcomeOf(amend({ message: "r2", trim: 1, epoch: 7 })), { failed: "StaleTurn" })
      yield* amend({ message: "r2", trim: 1, epoch: 1 })
      yield* Turns.use((turns) => turns.draft("s", 1, results("r3", "c3")))
      equal(yield* outcomeOf(amend({ message: "r3", trim: 1, epoch: 1 })), { failed: "InvalidInput" })
    }).pipe(withServices(store)),
  ),

  law("HIS-04 a path without amendments reads no row for them, and one with many reads them all", (store) =>
    Effect.gen(function* () {
      const counted = counting(store.backend)
      yield* Effect.gen(function* () {
        yield* rounds
        counted.reset()
        yield* replayed("s")
        equal([counted.reads("entry"), counted.rows("entry")], [1, 6])
        for (let i = 0; i < 501; i++) {
          yield* amend({ message: "r1", call: i % 2 === 0 ? "c1" : "c2", archive: `${i}` })
        }
        equal(yield* told, { ...stored, c1: "500", c2: "499" })
      }).pipe(withServices(counted))
    }),
  ),
]
