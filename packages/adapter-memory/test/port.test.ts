import { it } from "@effect/vitest"
import { portChecks } from "../../../test/port/checks.ts"
import { seedOfRun } from "../../../test/port/seed.ts"
import { memory } from "../src/index.ts"

for (const { name, run } of portChecks(seedOfRun())) it.effect(name, () => run(memory()))
