import { assert, it } from "@effect/vitest"
import { Corrupt, StorageError } from "@skein/core/storage"

const opening = (reason: Corrupt) => new StorageError({ operation: "open", reason }).message

it("STO-07 what cannot be read says what to do: another place for one that holds no store, a repair for a row", () => {
  assert.strictEqual(
    opening(new Corrupt({ detail: "file is not a database" })),
    "open failed (Corrupt): file is not a database; nothing was changed; restore a backup, or name another store",
  )
  assert.strictEqual(
    opening(new Corrupt({ table: "note", key: ["a"] })),
    "open failed (Corrupt): nothing was changed; restore a backup or repair the row",
  )
})
