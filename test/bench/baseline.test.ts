import { assert, it } from "@effect/vitest"
import { copyFileSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import { answer, sessionOf } from "../../bench/content.ts"
import { Raw } from "../../bench/raw.ts"
import { openFile } from "../../bench/skein.ts"
import { Messages } from "../../packages/core/src/message/service.ts"
import { inspectFile } from "../chaos/file.ts"

/** The session and the last entry of a file, without what differs from append to append. */
const written = (path: string) => {
  const { problems, rows } = inspectFile(path)
  assert.deepStrictEqual(problems, [])
  const [session] = rows.sessions
  const last = rows.entries.at(-1)!
  return {
    session: { ...session, head: { ...session!.head, id: "" }, updatedAt: 0, activityAt: 0 },
    entry: { ...last, id: "", createdAt: 0 },
  }
}

it("MSG-02 and MSG-09 the baseline of the bench writes the rows that Skein writes", async () => {
  const directory = mkdtempSync(join(tmpdir(), "skein-baseline-"))
  try {
    const ours = join(directory, "ours.db")
    const theirs = join(directory, "raw.db")
    const filled = openFile(ours)
    await filled.run(sessionOf("s1", 3, () => ({ body: answer })))
    await filled.close()
    copyFileSync(ours, theirs)

    const skein = openFile(ours)
    await skein.run(Effect.flatMap(Effect.service(Messages), (messages) => messages.append("s1", { body: answer })))
    await skein.close()
    const raw = new Raw(theirs)
    raw.append("s1", answer)
    raw.close()

    assert.deepStrictEqual(written(theirs), written(ours))
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
})
