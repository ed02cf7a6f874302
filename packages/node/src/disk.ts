/**
 * Files that are whole or not there.
 *
 * Guarantee: what was written here is on the disk under its name, all of it, or the name is what it was before, whenever
 * the process ends or the power fails.
 */
import { randomUUID } from "node:crypto"
import { chmod, copyFile, mkdir, open, readFile, rename, rm } from "node:fs/promises"
import { dirname, join } from "node:path"
import process from "node:process"

export const isNotThere = (thrown: unknown): boolean => ["ENOENT", "ENOTDIR"].includes(codeOf(thrown) ?? "")

export const codeOf = (thrown: unknown): string | undefined =>
  thrown instanceof Error && "code" in thrown && typeof thrown.code === "string" ? thrown.code : undefined

/** The value, or `undefined` where what was asked for is not there. */
export const ifThere = async <A>(asked: Promise<A>): Promise<A | undefined> => {
  try {
    return await asked
  } catch (thrown) {
    if (isNotThere(thrown)) return undefined
    throw thrown
  }
}

/** Brings what was renamed, made or removed in a directory to the disk. */
export const syncDirectory = async (path: string): Promise<void> => {
  // Windows has no handles on directories, and needs none.
  if (process.platform === "win32") return
  const handle = await open(path, "r")
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Makes a directory and those above it that are missing. */
export const makeDirectory = async (path: string): Promise<void> => {
  const first = await mkdir(path, { recursive: true })
  if (first === undefined) return
  for (let made = path; made.length >= first.length; made = dirname(made)) await syncDirectory(dirname(made))
}

/** Where a file is written before it is whole. */
const beside = (path: string): string => `${path}.tmp`

/** Writes a file in the place of what is there. Nobody else may be writing it. */
export const writeWhole = async (path: string, text: string): Promise<void> => {
  await makeDirectory(dirname(path))
  const temporary = beside(path)
  const handle = await open(temporary, "w", 0o600)
  try {
    await handle.writeFile(text)
    await handle.sync()
  } finally {
    await handle.close()
  }
  await rename(temporary, path)
  await syncDirectory(dirname(path))
}

/** Removes what `writeWhole` wrote, and what it had begun to write when it was cut off. */
export const removeWhole = async (path: string): Promise<void> => {
  await rm(path, { force: true })
  await rm(beside(path), { force: true })
  await ifThere(syncDirectory(dirname(path)))
}

/** What `writeWhole` wrote as JSON; `undefined` where there is nothing, or no JSON. */
export const readJson = async (path: string): Promise<unknown> => {
  const text = await ifThere(readFile(path, "utf8"))
  try {
    return text === undefined ? undefined : JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Copies a file into a directory, under a name that the copy decides. */
export const copyInto = async (
  source: string,
  directory: string,
  name: (copy: string) => Promise<string>,
): Promise<string> => {
  const temporary = beside(join(directory, randomUUID()))
  try {
    await copyWhole(source, temporary, 0o600)
    const made = await name(temporary)
    await rename(temporary, join(directory, made))
    await syncDirectory(directory)
    return made
  } catch (thrown) {
    await rm(temporary, { force: true })
    throw thrown
  }
}

/** Copies a file, with a mode of its own, and brings it to the disk. Its name may be lost; see `syncDirectory`. */
export const copyWhole = async (source: string, path: string, mode: number): Promise<void> => {
  await rm(path, { force: true })
  await copyFile(source, path)
  // A copy has the mode of its source, which may be one that nobody may write; to bring it to the disk one has to.
  await chmod(path, 0o600)
  const handle = await open(path, "r+")
  try {
    await handle.chmod(mode)
    await handle.sync()
  } finally {
    await handle.close()
  }
}
