/**
 * Laws of deletion, retention and maintenance.
 */
import type { Law } from "../../law.ts"
import { damagedLaws } from "./damaged.ts"
import { deleteLaws } from "./delete.ts"
import { eraseLaws } from "./erase.ts"
import { deletionHistoryLaws } from "./histories.ts"
import { maintenanceLaws } from "./maintenance.ts"
import { pruneLaws } from "./prune.ts"

export const deletionLaws: ReadonlyArray<Law> = [
  ...deleteLaws,
  ...pruneLaws,
  ...eraseLaws,
  ...damagedLaws,
  ...maintenanceLaws,
  ...deletionHistoryLaws,
]
