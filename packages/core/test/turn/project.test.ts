import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { SessionNotice } from "../../src/notice.ts"
import { Sessions } from "../../src/session/service.ts"
import { Storage } from "../../src/storage/index.ts"
import { Turns } from "../../src/turn/service.ts"
import type { Meaning } from "../../src/turn/service.ts"
import { inStore } from "../support/core-store.ts"

const answer = { id: "a1", role: "assistant", body: "Hi" } as const

const project = (sequence: number, meaning: Meaning, durability?: "strict") =>
  Turns.use((turns) =>
    turns.project(
      "s",
      { id: `e${sequence}`, sequence, epoch: 1, data: sequence },
      () => meaning,
      durability === undefined ? undefined : { durability },
    ),
  )

const begun = Effect.gen(function* () {
  yield* Sessions.use((sessions) => sessions.create({ id: "s" }))
  yield* Turns.use((turns) => turns.begin("s", { prompt: { role: "user", body: "Hello" } }, { turnId: "t1" }))
})

it.effect("TRN-06 readers are told of an event by its commit, after what it stored, and of none that comes again", () =>
  inStore(() =>
    Effect.scoped(
      Effect.gen(function* () {
        const heard: Array<SessionNotice> = []
        yield* begun
        yield* Storage.use((storage) =>
          storage.observe((notices) => heard.push(...(notices as ReadonlyArray<SessionNotice>))),
        )
        yield* project(1, { draft: answer, frame: { data: { text: "Hi" } } })
        yield* project(1, { draft: answer, frame: { data: { text: "Hi" } } })
        yield* project(2, {})
        yield* project(3, { settle: answer, frame: { kind: "action-required", data: null } })
        assert.deepStrictEqual(
          heard.map((notice) => {
            if (notice._tag !== "EventProjected") return notice._tag
            const { id, json, kind, turn } = notice.frame
            return { id, kind, turn, json }
          }),
          [
            "DraftStored",
            { id: "event.t1.e1", kind: "runtime-event", turn: "t1", json: '{"text":"Hi"}' },
            "EntriesCommitted",
            { id: "event.t1.e3", kind: "action-required", turn: "t1", json: "null" },
          ],
        )
      }),
    ),
  ),
)

it.effect("TRN-06 STO-04 what is only passing is relaxed, unless it is asked for otherwise", () =>
  inStore((engine) =>
    Effect.gen(function* () {
      yield* begun
      engine.runs.length = 0
      yield* project(1, { draft: answer, frame: { data: 1 } })
      yield* project(2, { frame: { data: 1 } })
      yield* project(3, { draft: answer }, "strict")
      yield* project(4, { settle: answer })
      yield* project(5, { entries: [{ role: "tool", body: "done" }] })
      yield* project(6, { usage: { callId: "c", provider: "p", model: "m" } })
      assert.deepStrictEqual(
        engine.runs.map(({ durability }) => durability),
        ["relaxed", "relaxed", "strict", "strict", "strict", "strict"],
      )
    }),
  ),
)
