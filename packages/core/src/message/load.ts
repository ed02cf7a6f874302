/**
 * Loading large bodies, for those who give whole messages.
 */
import * as Effect from "effect/Effect"
import type { InvalidInput, StorageError } from "../storage/error.ts"
import type { Storage } from "../storage/storage.ts"
import { isUnreadable } from "../storage/transaction.ts"
import type { Unreadable } from "../storage/transaction.ts"
import { isStowed, wholes } from "./large.ts"
import type { EntryRow } from "./model.ts"

type Row = Readonly<EntryRow> | Unreadable

/** Rows with all their bodies. Where none is elsewhere nothing is read. */
export const loaded = (
  storage: Storage["Service"],
  rows: ReadonlyArray<Row>,
): Effect.Effect<ReadonlyArray<Row>, InvalidInput | StorageError> =>
  rows.some((row) => !isUnreadable(row) && isStowed(row)) ? storage.read(wholes(rows)) : Effect.succeed(rows)
