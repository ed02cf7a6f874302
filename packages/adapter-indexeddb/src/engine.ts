/**
 * An open store: runs machines, each in a transaction of its own.
 */
import type { Engine, Schema } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import type { Connection } from "./connection.ts"
import { nameConstraint } from "./constraint.ts"
import { classify } from "./error.ts"
import { Execution } from "./execution.ts"
import type { KeyRanges } from "./range.ts"

export const makeEngine = (connection: Connection, ranges: KeyRanges, schema: Schema): Engine => {
  const stores = schema.tables.map(({ name }) => name)
  return {
    run: (machine, { durability, mode }, done) => {
      const ended = connection.ended()
      if (ended !== undefined) return done(ended)
      let transaction: IDBTransaction
      try {
        // Which tables a machine will read is not known before it does, so all of them are in its scope.
        transaction = connection.db.transaction(stores, mode === "write" ? "readwrite" : "readonly", { durability })
      } catch (thrown) {
        return done(classify(thrown, "begin"))
      }
      new Execution(transaction, machine, ranges, (failure, refused) =>
        refused === undefined ? done(failure) : nameConstraint(connection, refused, done),
      ).start()
    },
    close: Effect.sync(connection.close),
  }
}
