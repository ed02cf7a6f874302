/**
 * All laws. A new list is one more line here.
 */
import type { Law } from "../law.ts"
import { storageLaws } from "./storage/index.ts"

export const laws: ReadonlyArray<Law> = [...storageLaws]
