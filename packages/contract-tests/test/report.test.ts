import { Backend } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { describe, expect, it } from "vitest"
import { law, lawWith, NotApplicable, report } from "../src/index.ts"
import type { Harness } from "../src/index.ts"

/** A store that laws of this file do not open. */
const backend = Layer.succeed(
  Backend,
  Backend.of({
    capabilities: { durable: false, multiProcess: false, blocking: false, groupPrograms: 1 },
    open: () => Effect.die(new Error("nobody should open it")),
  }),
)

/** A harness that notes the life of its stores. */
const noting = (): {
  readonly notes: Array<string>
  readonly harness: Harness<{ backend: typeof backend; n: number }>
} => {
  const notes: Array<string> = []
  let made = 0
  return {
    notes,
    harness: {
      fresh: async () => {
        const n = ++made
        notes.push(`made ${n}`)
        return { backend, n }
      },
      dispose: ({ n }) => void notes.push(`gone ${n}`),
    },
  }
}

const holds = law("STO-01 holds", () => Effect.void)
const fails = law("STO-02 fails", () => Effect.fail(new Error("not as it should be")))

describe("report", () => {
  it("API-03 answers one result a law, in order: passed, failed, not applicable with its reason", async () => {
    const dies = law("STO-02 dies", () => Effect.die("a defect"))
    const needs = lawWith({ needs: ["damage", "picture"] }, "STO-09 needs", () => Effect.die("not reached"))
    const finds = law("STO-09 finds", () => Effect.fail(new NotApplicable({ reason: "the engine has none" })))
    const results = await report(noting().harness, { seed: 7 }, [holds, fails, dies, needs, finds])
    expect(results.map(({ law, status }) => [law, status])).toEqual([
      ["STO-01 holds", "passed"],
      ["STO-02 fails", "failed"],
      ["STO-02 dies", "failed"],
      ["STO-09 needs", "not applicable"],
      ["STO-09 finds", "not applicable"],
    ])
    expect(results[1]).toMatchObject({ error: { message: "STO-02 fails\nnot as it should be\n(seed 7)" } })
    expect(results[3]).toMatchObject({ reason: "not applicable: the harness has no damage, no picture" })
    expect(results[4]).toMatchObject({ reason: "not applicable: the engine has none" })
  })

  it("API-03 gives each law a store of its own, and takes it away when the law has ended, however it ended", async () => {
    const { harness, notes } = noting()
    const twoStores = law("STO-01 has two", (store) => Effect.scoped(Effect.asVoid(store.fresh)))
    await report(harness, {}, [holds, fails, twoStores])
    expect(notes).toEqual(["made 1", "gone 1", "made 2", "gone 2", "made 3", "made 4", "gone 4", "gone 3"])
  })

  it("API-03 makes a small store for a law that needs one, and calls what the harness offers with its store", async () => {
    const called: Array<unknown> = []
    const harness: Harness = {
      fresh: () => Promise.reject(new Error("not this one")),
      small: () => ({ backend, isSmall: true }),
      damage: (place, table, key) => void called.push([place, table, key]),
      holdWriteLock: () => {
        called.push("held")
        return () => void called.push("let go")
      },
      picture: async () => "a picture",
    }
    const uses = lawWith({ needs: ["small", "damage", "holdWriteLock", "picture"] }, "STO-09 uses", (store) =>
      Effect.gen(function* () {
        yield* Effect.scoped(store.holdWriteLock)
        yield* store.damage("table", ["key", 1])
        called.push(yield* store.picture)
      }),
    )
    expect(await report(harness, {}, [uses])).toMatchObject([{ status: "passed" }])
    expect(called).toEqual(["held", "let go", [{ backend, isSmall: true }, "table", ["key", 1]], "a picture"])
  })

  it("API-03 a law that never ends has failed when its time is over, also when it cannot be interrupted", async () => {
    const waits = law("STO-10 waits", () => Effect.uninterruptible(Effect.never))
    const results = await report(noting().harness, { limit: 20 }, [waits, holds])
    expect(results.map(({ status }) => status)).toEqual(["failed", "passed"])
    expect(results[0]).toMatchObject({ error: { message: expect.stringContaining("did not end within 20 ms") } })
  })

  it("API-03 runs the laws that selectors name; a selector that matches nothing throws", async () => {
    const other = law("STO-10 other", () => Effect.void)
    const named = async (...only: ReadonlyArray<string>) =>
      (await report(noting().harness, { only }, [holds, fails, other])).map(({ law }) => law)
    expect(await named("STO-10", "STO-01 h")).toEqual(["STO-01 holds", "STO-10 other"])
    await expect(named("STO-10", "STO-1x")).rejects.toThrow("no law begins with STO-1x")
  })

  it("API-03 leaves out slow laws when it is to be quick", async () => {
    const slow = lawWith({ slow: true }, "STO-05 slow", () => Effect.void)
    expect(await report(noting().harness, { quick: true }, [slow, holds])).toMatchObject([{ law: "STO-01 holds" }])
    expect(await report(noting().harness, {}, [slow, holds])).toHaveLength(2)
  })
})
