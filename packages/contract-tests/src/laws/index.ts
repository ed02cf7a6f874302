/**
 * All laws. A new list is one more line here.
 */
import type { Law } from "../law.ts"
import { headLaws } from "./head.ts"
import { historyLaws } from "./history.ts"
import { messageLaws } from "./message.ts"
import { storageLaws } from "./storage/index.ts"

export const laws: ReadonlyArray<Law> = [...storageLaws, ...messageLaws, ...headLaws, ...historyLaws]
