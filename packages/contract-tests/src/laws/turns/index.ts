/**
 * Laws of turns.
 */
import type { Law } from "../../law.ts"
import { abortLaws } from "./abort.ts"
import { beginLaws } from "./begin.ts"
import { draftLaws } from "./drafts.ts"
import { endLaws } from "./end.ts"
import { fenceLaws } from "./fence.ts"
import { turnHistoryLaws } from "./histories.ts"
import { recoveryLaws } from "./recovery.ts"
import { runLaws } from "./run.ts"
import { turnUsageLaws } from "./usage.ts"

export const turnLaws: ReadonlyArray<Law> = [
  ...beginLaws,
  ...fenceLaws,
  ...endLaws,
  ...runLaws,
  ...draftLaws,
  ...abortLaws,
  ...recoveryLaws,
  ...turnHistoryLaws,
  ...turnUsageLaws,
]
