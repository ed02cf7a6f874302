import { report, storageLaws } from "@skein/contract-tests"
import type { Options, Result } from "@skein/contract-tests"
import { Backend } from "@skein/core/storage"
import * as Layer from "effect/Layer"
import { describe, expect, it } from "vitest"
import { lockable } from "./lockable.ts"
import { mutants } from "./mutants.ts"
import type { Good } from "./wrap.ts"

const megabyte = 1024 * 1024
const histories = "STO-02, STO-03, STO-04 any history"

/** Holds a backend to the storage laws. */
const held = (of: (good: Good) => Good, options: Options): Promise<ReadonlyArray<Result>> => {
  const place = (capacity?: number) => {
    const { backend, hold } = lockable(capacity)
    return { backend: Layer.succeed(Backend, of(backend)), hold }
  }
  return report(
    { fresh: () => place(), small: () => place(2 * megabyte), holdWriteLock: ({ hold }) => hold() },
    { limit: 20_000, ...options },
    storageLaws,
  )
}

const broken = (results: ReadonlyArray<Result>) =>
  results.filter(({ status }) => status === "failed").map(({ law }) => law)

describe("a suite that can fail", () => {
  it("API-03 the backend that the broken ones are made of keeps every law", { timeout: 120_000 }, async () => {
    const results = await held((good) => good, { quick: true })
    expect(results.filter(({ status }) => status === "failed")).toEqual([])
    expect(results.filter(({ status }) => status === "passed").length).toBeGreaterThan(80)
  })

  for (const { breaks, name, of } of mutants) {
    it(`API-03 a backend that ${name} breaks "${breaks}"`, { timeout: 30_000 }, async () => {
      expect(broken(await held(of, { only: [breaks] }))).toHaveLength(1)
    })
  }

  for (const { inHistories, name, of } of mutants) {
    if (!inHistories) continue
    // The seed is fixed: the question is whether histories can see it, not whether today's do.
    it(`API-03 random histories see a backend that ${name}`, { timeout: 30_000 }, async () => {
      expect(broken(await held(of, { only: [histories], seed: 1, shrink: false }))).toHaveLength(1)
    })
  }
})
