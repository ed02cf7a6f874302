/**
 * Places below a directory: where a path leads, and that it does not lead out.
 */
import { lstat, realpath } from "node:fs/promises"
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path"
import { ifThere } from "../disk.ts"

/** What is wrong with a path, in words that end a sentence about it. */
export class Misplaced {
  readonly problem: string
  constructor(problem: string) {
    this.problem = problem
  }
}

/**
 * Where a path leads below `root`, links followed, as it is kept: relative, with `/`. The file need not be there.
 *
 * @param root  a directory, its own links resolved
 */
export const placeIn = async (root: string, path: string): Promise<string | Misplaced> => {
  if (path === "" || path.includes("\0")) return new Misplaced("is no path")
  // Where it leads depends on links, and nobody has to write it.
  if (path.split(/[\\/]/).includes("..")) return new Misplaced("must not contain ..")
  const target = await followed(resolve(root, path))
  if (target instanceof Misplaced) return target
  const within = relative(root, target)
  if (within === "" || isAbsolute(within) || within.split(sep)[0] === "..") {
    return new Misplaced("leads out of the workspace")
  }
  return within.split(sep).join("/")
}

/** A path with its links resolved as far as it is there. */
const followed = async (path: string): Promise<string | Misplaced> => {
  const real = await ifThere(realpath(path))
  if (real !== undefined) return real
  if ((await ifThere(lstat(path))) !== undefined) return new Misplaced("is a link to nothing")
  const above = await followed(dirname(path))
  return above instanceof Misplaced ? above : join(above, path.slice(dirname(path).length))
}

/** Whether a kept path still leads where it led: no directory on it has become a link. */
export const isInPlace = async (root: string, path: string): Promise<boolean> => {
  const wanted = join(root, path)
  return (await followed(dirname(wanted))) === dirname(wanted)
}

/** The nearest directory above a kept path that is there, as such a path; `""` is the root itself. */
export const directoryAbove = async (root: string, path: string): Promise<string> => {
  const above = dirname(path)
  if (above === ".") return ""
  const found = await ifThere(lstat(join(root, above)))
  return found?.isDirectory() === true ? above : directoryAbove(root, above)
}
