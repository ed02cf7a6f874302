import { assert, it } from "@effect/vitest"
import * as z from "zod/mini"
import { ProjectId } from "../../src/project/model.ts"
import { projectIdOf } from "../../src/project/workspace.ts"

it("PRJ-03 SES-16 an identity and an owner have one id, which is nobody else's and printable", () => {
  const identities = [
    "default",
    "workspace:/w",
    "workspace:/w@a",
    "workspace:/w%0000a",
    `workspace:/${"é".repeat(300)}`,
  ]
  const owners = [undefined, "a", "@a", "%0000a", "a\n", "~", "ü".repeat(200)]
  const ids = identities.flatMap((identity) => owners.map((owner) => projectIdOf(identity, owner)))
  assert.strictEqual(new Set(ids).size, identities.length * owners.length)
  for (const id of ids) assert.isTrue(z.safeParse(ProjectId, id).success, id)
  assert.strictEqual(projectIdOf("workspace:/w", undefined), "workspace:/w")
})
