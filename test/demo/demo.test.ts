import { spawnSync } from "node:child_process"
import { resolve } from "node:path"
import { describe, expect, it } from "vitest"

const root = resolve(import.meta.dirname, "../..")
const demo = ["--import", "tsx", "-C", "@skein/source", "examples/demo/main.ts"]

describe("the demo", () => {
  it("API-01 imports, continues, branches, takes back and compacts, and a second process sees the same", () => {
    const { status, stderr, stdout } = spawnSync(process.execPath, demo, { cwd: root, encoding: "utf8" })

    expect(stderr).toBe("")
    expect(status).toBe(0)
    expect(stdout).toContain("11 sessions with 47 of 47 messages")
    expect(stdout).toContain("Once more: 0 new")
    expect(stdout).toContain("├─ branch 1: in the background")
    expect(stdout).toContain("It sees the same.")
    // Not on a terminal: no colours.
    expect(stdout).not.toContain("\u001b")
  }, 60_000)
})
