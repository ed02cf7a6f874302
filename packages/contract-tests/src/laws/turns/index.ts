/**
 * Laws of turns.
 */
import type { Law } from "../../law.ts"
import { beginLaws } from "./begin.ts"
import { endLaws } from "./end.ts"
import { fenceLaws } from "./fence.ts"
import { turnUsageLaws } from "./usage.ts"

export const turnLaws: ReadonlyArray<Law> = [...beginLaws, ...fenceLaws, ...endLaws, ...turnUsageLaws]
