/**
 * When two spellings of a path are one workspace.
 *
 * Guarantee: pure and total. The result is for comparing; what people see is the spelling they gave.
 *
 * Not promised: anything about links. They are resolved by the host before, where it can, so that `..` may be taken
 * textually here.
 */
import type { PathPolicy } from "../settings.ts"

export const normalise = (path: string, style: PathPolicy["style"]): string =>
  style === "windows" ? windows(path) : posix(path)

const posix = (path: string): string => joined(path.startsWith("/") ? "/" : "", path.split("/"), "/")

const windows = (path: string): string => {
  const plain = path
    .replaceAll("/", "\\")
    .replace(/^\\\\\?\\UNC\\/i, "\\\\")
    .replace(/^\\\\[?.]\\(?=[a-z]:)/i, "")
  const share = /^\\\\[^\\]+\\+[^\\]+/.exec(plain)?.[0]
  if (share !== undefined) {
    const root = `\\\\${share.split("\\").filter(Boolean).join("\\")}\\`
    return folded(joined(root, plain.slice(share.length).split("\\"), "\\"))
  }
  // A drive alone stands for its root: which directory is the current one on it is not known here.
  const drive = /^[a-z]:(?=\\|$)/i.exec(plain)?.[0]
  if (drive !== undefined) return folded(joined(`${drive}\\`, plain.slice(drive.length).split("\\"), "\\"))
  return folded(joined(plain.startsWith("\\") ? "\\" : "", plain.split("\\"), "\\"))
}

/** The parts behind a root, with what says nothing taken out. An empty root is a relative path. */
const joined = (root: string, parts: ReadonlyArray<string>, separator: string): string => {
  const kept: Array<string> = []
  for (const part of parts) {
    if (part === "" || part === ".") continue
    if (part !== "..") kept.push(part)
    else if (kept.length > 0 && kept.at(-1) !== "..") kept.pop()
    else if (root === "") kept.push(part)
  }
  return root + kept.join(separator) || "."
}

/** Lower case, character by character: file systems know no context, in which a last sigma differs from others. */
const folded = (path: string): string => path.replace(/./gsu, (character) => character.toLowerCase())

/** The last part of a path: what a project is called until somebody names it. */
export const lastPart = (path: string, style: PathPolicy["style"]): string => {
  const parts = path.split(style === "windows" ? /[\\/]/ : "/").filter(Boolean)
  return parts.at(-1) ?? path
}
