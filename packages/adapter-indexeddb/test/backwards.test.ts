/**
 * Browsers that cannot read backwards in bulk: the port's checks where `getAllRecords` is missing.
 */
import { assert, it } from "@effect/vitest"
import { IDBIndex, IDBObjectStore } from "fake-indexeddb"
import { portChecks } from "../../../test/port/checks.ts"
import { seedOfRun } from "../../../test/port/seed.ts"
import { fakeIndexedDb } from "./fake.ts"

for (const { prototype } of [IDBObjectStore, IDBIndex]) {
  assert.isTrue(Reflect.has(prototype, "getAllRecords"))
  Reflect.deleteProperty(prototype, "getAllRecords")
}

for (const { name, run } of portChecks(seedOfRun())) {
  if (name.startsWith("STO-03")) it.effect(`${name}, without reading backwards in bulk`, () => run(fakeIndexedDb()))
}
