/**
 * Where a path of an attachment leads: ATT-02.
 *
 * Messages name files by paths, and whoever opens them would open any. A path is admitted only inside a directory that the
 * host allows, after its links were resolved by the host.
 *
 * Guarantee: no path with `..` in it is admitted, and none of which a part is a link that leads out. One form is relocated,
 * that of sessions whose project was moved since.
 *
 * Not promised: that the file is there.
 */
import * as Effect from "effect/Effect"
import { normalise } from "../project/path.ts"
import type { PathPolicy } from "../settings.ts"
import { InvalidInput } from "../storage/error.ts"

/** The session that a path is of, as far as that says where its files are. */
export interface PathOwner {
  readonly id: string
  readonly workspaceDir?: string | undefined
}

/** The directory of a session's own attachments, in the workspace that it has now. */
const ownDirectory = ({ id, workspaceDir }: PathOwner, separator: string): string | undefined =>
  workspaceDir === undefined
    ? undefined
    : [workspaceDir.replace(/[\\/]+$/, ""), ".openprogram", "sessions", id, "workdir", "attachments"].join(separator)

/**
 * The path to open, or why it is refused.
 *
 * @param roots  directories that files of any session may be in
 */
export const resolvePath = (
  paths: PathPolicy,
  roots: ReadonlyArray<string>,
  session: PathOwner,
  path: string,
): Effect.Effect<string, InvalidInput> =>
  Effect.gen(function* () {
    const refuse = (problem: string) => new InvalidInput({ field: "path", value: path, problem })
    const separator = paths.style === "windows" ? "\\" : "/"
    if (path.includes("\0")) return yield* Effect.fail(refuse("must be without NUL"))
    const parts = partsOf(path, paths.style)
    if (parts.includes("..")) return yield* Effect.fail(refuse("must be without `..`"))
    if (!isAbsolute(path, paths.style)) return yield* Effect.fail(refuse("must be absolute"))
    const own = ownDirectory(session, separator)
    const wanted = own === undefined ? path : relocated(path, parts, session.id, own, separator)
    for (const root of own === undefined ? roots : [own, ...roots]) {
      if (yield* isInside(paths, root, wanted)) return yield* resolved(paths, wanted)
    }
    return yield* Effect.fail(refuse("is in none of the directories that are allowed"))
  })

const partsOf = (path: string, style: PathPolicy["style"]): ReadonlyArray<string> =>
  path.split(style === "windows" ? /[\\/]/ : "/").filter((part) => part !== "" && part !== ".")

const isAbsolute = (path: string, style: PathPolicy["style"]): boolean =>
  style === "windows" ? /^([a-z]:[\\/]|[\\/]{2})/i.test(path) : path.startsWith("/")

/** The path as it is now, where it is exactly of the form that sessions of OpenProgram have; else as it is. */
const relocated = (path: string, parts: ReadonlyArray<string>, id: string, own: string, separator: string): string => {
  const form = [".openprogram", "sessions", id, "workdir", "attachments"]
  const at = parts.indexOf(form[0]!)
  // One that holds the form twice does not say where its project was.
  if (at < 1 || parts.indexOf(form[0]!, at + 1) > 0) return path
  const rest = parts.slice(at + form.length)
  return form.every((part, i) => parts[at + i] === part) && rest.length > 0 ? [own, ...rest].join(separator) : path
}

/** Whether a path and every directory on the way to it lie inside a root, links resolved. */
const isInside = Effect.fnUntraced(function* (paths: PathPolicy, root: string, path: string) {
  const within = partsOf(normalise(root, paths.style), paths.style)
  const wanted = partsOf(normalise(path, paths.style), paths.style)
  const realRoot = partsOf(normalise(yield* resolved(paths, root), paths.style), paths.style)
  const isBelow = (parts: ReadonlyArray<string>, above: ReadonlyArray<string>) =>
    parts.length > above.length && above.every((part, i) => parts[i] === part)
  if (isBelow(wanted, within)) {
    // A host that cannot resolve a path because its end is not there resolves the directories before it.
    const given = partsOf(path, paths.style)
    const start = given.length - (wanted.length - within.length)
    for (let end = start + 1; end <= given.length; end++) {
      const part = ancestor(path, given.length - end, paths.style)
      const real = yield* resolved(paths, part)
      if (real !== part && !isBelow(partsOf(normalise(real, paths.style), paths.style), realRoot)) return false
    }
    return true
  }
  // Spelled otherwise, as through a link that leads in.
  const real = yield* resolved(paths, path)
  return real !== path && isBelow(partsOf(normalise(real, paths.style), paths.style), realRoot)
})

/** A path without its last parts. */
const ancestor = (path: string, count: number, style: PathPolicy["style"]): string => {
  let at = path.replace(style === "windows" ? /[\\/]+$/ : /\/+$/, "")
  for (let i = 0; i < count; i++) at = at.replace(style === "windows" ? /[\\/]+[^\\/]*$/ : /\/+[^/]*$/, "")
  return at
}

const resolved = (paths: PathPolicy, path: string): Effect.Effect<string> =>
  Effect.catchDefect(
    Effect.suspend(() => paths.resolve(path)),
    () => Effect.succeed(path),
  )
