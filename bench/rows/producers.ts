import { randomBytes } from "node:crypto"
import { closeSync, fdatasyncSync, openSync, writeSync } from "node:fs"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import { Messages } from "../../packages/core/src/message/service.ts"
import { answer, sessionOf } from "../content.ts"
import { mean, p50, timed } from "../measure.ts"
import type { Row, Suite } from "../row.ts"
import { openFile } from "../skein.ts"

const producers = 16
/** Messages of each producer in one round. */
const share = 20

/** A disk that flushes faster than this leaves nothing to be gained by flushing for several at once. */
const leastFlush = 150

/** Many who append at the same time against one who appends alone, both `strict`. */
export const concurrentAppends: Suite = {
  name: "producers",
  run: async ({ directory, rounds }) => {
    const skein = openFile(join(directory, "producers.db"))
    const messages = await skein.run(Effect.service(Messages))
    const ids = Array.from({ length: producers }, (_, i) => `s${i + 1}`)
    for (const id of ids) await skein.run(sessionOf(id, 1, () => ({ body: answer })))

    const produce = async (id: string) => {
      for (let i = 0; i < share; i++) await skein.run(messages.append(id, { body: answer }))
    }
    const rates = { one: new Array<number>(), many: new Array<number>() }
    const flushes = new Array<number>()
    const flush = makeFlush(join(directory, "flush"))
    const count = rounds(40)
    for (let round = -3; round < count; round++) {
      const many = await timed(() => Promise.all(ids.map(produce)))
      const one = await timed(() => produce("s1"))
      for (let i = 0; i < 5; i++) flushes.push(await timed(flush.run))
      if (round < 0) continue
      rates.many.push((1_000 * producers * share) / many)
      rates.one.push((1_000 * share) / one)
    }
    flush.close()
    await skein.close()

    const flushTime = p50(flushes) * 1_000
    const ratioOf = (of: typeof p50) => ({
      ours: of(rates.many),
      baseline: of(rates.one),
      ratio: of(rates.many) / of(rates.one),
    })
    const row: Row = {
      name: `${producers} producers against one, strict`,
      unit: "/s",
      ...ratioOf(p50),
      mean: ratioOf(mean),
      budget: { atLeast: 4 },
      note: `a raw write and flush of 4 kB takes ${flushTime.toFixed(0)} µs`,
      ...(flushTime < leastFlush && { exempt: `the disk flushes in less than ${leastFlush} µs` }),
    }
    return [row]
  },
}

/** Overwrites 4 kB and waits until they are on disk. */
const makeFlush = (path: string) => {
  const block = randomBytes(4_096)
  const file = openSync(path, "w")
  return {
    run: () => {
      writeSync(file, block, 0, block.length, 0)
      fdatasyncSync(file)
    },
    close: () => closeSync(file),
  }
}
