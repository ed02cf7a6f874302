import { it } from "@effect/vitest"
import { portChecks } from "../../../test/port/checks.ts"
import { seedOfRun } from "../../../test/port/seed.ts"
import { fakeIndexedDb } from "./fake.ts"

for (const { name, run } of portChecks(seedOfRun())) it.effect(name, () => run(fakeIndexedDb()))
