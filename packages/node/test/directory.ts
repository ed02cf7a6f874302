/**
 * A directory of one test file, removed when its tests are over.
 */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, vi } from "vitest"

// Whoever runs all tests at once has a machine that is slow to start a process.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const directory = realpathSync(mkdtempSync(join(tmpdir(), "skein node ")))

afterAll(() => rmSync(directory, { recursive: true, force: true }))

let made = 0

/** A directory that is new and empty. There is a space in its path. */
export const newDirectory = (): string => {
  const path = join(directory, `${++made}`)
  mkdirSync(path)
  return path
}

/** What is in a directory, if it is there: contents and modes by path, directories by `null`. */
export const treeOf = (path: string): Readonly<Record<string, string | null>> =>
  Object.fromEntries(
    (existsSync(path) ? readdirSync(path, { recursive: true, encoding: "utf8" }) : [])
      .toSorted()
      .filter((name) => !/^\.git(\/|$)/.test(name))
      .map((name) => {
        const found = statSync(join(path, name))
        return [
          name,
          found.isDirectory() ? null : `${readFileSync(join(path, name), "utf8")} ${(found.mode & 0o777).toString(8)}`,
        ]
      }),
  )
