/**
 * What every engine must do below `Storage`, as a list that needs no test runner, so that it also runs in a page.
 */
import * as Effect from "effect/Effect"
import type { Check } from "./machine.ts"
import { followsModel } from "./model.ts"
import { openingChecks } from "./opening.ts"
import { rowChecks } from "./rows.ts"
import { allTables, check, open } from "./tables.ts"

/** The whole list. `seed` decides the random history; the same seed gives the same one. */
export const portChecks = (seed: number): ReadonlyArray<Check> => [
  ...rowChecks,
  ...openingChecks,
  check(
    "STO-03 any history of batches and reads gives what plain arrays give",
    Effect.gen(function* () {
      const engine = yield* open(allTables)
      yield* followsModel(engine, seed, 300)
      yield* engine.close
    }),
  ),
]
