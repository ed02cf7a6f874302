/**
 * Laws of deletion, retention and maintenance.
 */
import type { Law } from "../../law.ts"
import { deleteLaws } from "./delete.ts"

export const deletionLaws: ReadonlyArray<Law> = [...deleteLaws]
