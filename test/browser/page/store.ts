/**
 * One store in this page, driven from outside: for what takes several pages, or the death of one.
 */
import type { Durability, Engine, StorageReason } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import { make } from "../../../packages/adapter-indexeddb/src/index.ts"
import { get, range, read } from "../../port/machine.ts"
import { allTables, append, Entry, Log, nextIn } from "../../port/tables.ts"

let engine: Engine | undefined

/** `"done"`, or the tag of the reason why not. */
const outcome = (effect: Effect.Effect<unknown, StorageReason>): Promise<string> =>
  Effect.runPromise(Effect.match(effect, { onSuccess: () => "done", onFailure: ({ _tag }) => _tag }))

/** Opens a store, which pages of this origin share by its name, with a version of its schema. */
export const openStore = (name: string, version: number): Promise<string> =>
  outcome(
    Effect.gen(function* () {
      const backend = yield* make({ name })
      engine = yield* backend.open({ ...allTables, version, oldestReader: version, oldestWriter: version })
    }),
  )

const opened = (): Engine => {
  if (engine === undefined) throw new Error("no store was opened in this page")
  return engine
}

/** Appends rows one after another, each awaited. */
export const appendRows = (count: number, name: string): Promise<string> =>
  outcome(Effect.forEach(Array.from({ length: count }), (_, n) => append(opened(), `${name} ${n}`)))

/** Appends rows of a megabyte each, that no compression makes smaller, until one is refused. Answers how many there are. */
export const fillStore = async (): Promise<{ readonly stored: number; readonly refusal: string }> => {
  for (let stored = 0; ; stored++) {
    const refusal = await outcome(append(opened(), `large ${stored}`, { text: randomText(1024 * 1024) }))
    if (refusal !== "done") return { stored, refusal }
  }
}

const randomText = (length: number): string => {
  let text = ""
  while (text.length < length) {
    const bytes = crypto.getRandomValues(new Uint8Array(32_768))
    text += Array.from(bytes, (byte) => String.fromCharCode(32 + (byte % 95))).join("")
  }
  return text.slice(0, length)
}

/** Appends without end, and reports each row that is committed. */
export const appendUntilKilled = async (durability: Durability): Promise<void> => {
  const { acknowledge } = globalThis as unknown as { readonly acknowledge: (n: number) => Promise<void> }
  for (let n = 1; ; n++) {
    await Effect.runPromise(append(opened(), `row ${n}`, { durability }))
    void acknowledge(n)
  }
}

/** The numbers of all rows, and the counter; or the tag of the reason why they cannot be read. */
export const storedRows = (): Promise<{ readonly numbers: ReadonlyArray<number>; readonly next: number } | string> =>
  Effect.runPromise(
    Effect.match(read(opened(), range(Entry, { limit: 100_000 }), get(Log, "l")), {
      onSuccess: ([rows, logs]) => ({
        numbers: rows!.map(({ key }) => Number(key[1])),
        next: nextIn(logs![0]),
      }),
      onFailure: ({ _tag }) => _tag,
    }),
  )
