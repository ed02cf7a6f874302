/**
 * The files that turns change, and the way back: Skein's `FileHistory` for Node. RWD-05
 *
 * Guarantee: what a turn is about to change is on the disk before it is changed, in `.file-recovery/<session>/<turn>/`,
 * outside the store and outside the workspace. Taking turns back is all or nothing, a file at a time at once, and whatever
 * cuts it off is made good by `rollback`. A file that somebody else changed since is refused, never overwritten. No path
 * leads out of the workspace, whatever links there are in it.
 *
 * Not promised: what a tool changes without saying so, and directories, which come and go with their files. And between the last look at a file and its replacement there is a
 * moment in which somebody could write it; systems have no way to close it.
 */
import { lstat, realpath, rm } from "node:fs/promises"
import { join, resolve } from "node:path"
import type { DeletedSession, DeleteParticipant } from "@skein/core/deletion"
import { FileFault } from "@skein/core/rewind"
import type {
  Eligibility,
  FileEffect,
  FileHistory,
  FilePlan,
  FileRewind,
  FileRun,
  FileSession,
} from "@skein/core/rewind"
import { InvalidInput } from "@skein/core/storage"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { codeOf, ifThere, makeDirectory } from "../disk.ts"
import { directoryAbove, Misplaced, placeIn } from "./place.ts"
import { planSteps } from "./plan.ts"
import type { Step } from "./plan.ts"
import { prune, runsDirectory } from "./prune.ts"
import { readRecord, writeRecord } from "./record.ts"
import type { ChangedFile } from "./record.ts"
import { beginRun, checkRun, doRun, forgetRun, readRun, undoRun } from "./run.ts"
import { isSame, keep, stateOf } from "./state.ts"

export interface FileHistoryOptions {
  /** The directory that `.file-recovery` is made in. Keep it outside of workspaces, and where one process's user may write. */
  readonly directory: string
}

/** A turn that is about to change files. */
export interface FileTurn {
  readonly sessionId: string
  readonly turnId: string
  /** The directory that the session works in. */
  readonly workspaceDir: string
}

/** Give it to `Skein.open` as `fileHistory`, and among `onDelete`: then what is kept of a session goes with it. */
export interface Files extends FileHistory, DeleteParticipant {
  readonly eligible: (session: FileSession) => Effect.Effect<Eligibility, FileFault>
  readonly plan: (rewind: FileRewind) => Effect.Effect<FilePlan, FileFault>
  readonly apply: (run: FileRun, hash: string) => Effect.Effect<void, FileFault>
  readonly verify: (run: FileRun) => Effect.Effect<void, FileFault>
  readonly rollback: (run: FileRun) => Effect.Effect<void, FileFault>
  readonly prune: (before: number, limit: number) => Effect.Effect<number, FileFault>
  readonly onDelete: (session: DeletedSession) => Effect.Effect<void, FileFault>
  /**
   * Runs something that changes files, and keeps what they were before. What it fails in is recorded, too.
   *
   * @param paths  of the files, below the workspace: relative to it or absolute. They need not be there.
   * @throws InvalidInput  a path has `..` in it, or leads out of the workspace through a link, or to what is no file
   * @throws FileFault     what is there cannot be kept; nothing was run
   *
   * @example
   * await files.change({ sessionId, turnId: turn.id, workspaceDir }, ["src/a.ts"], () => writeFile(path, text))
   */
  readonly change: <A>(turn: FileTurn, paths: ReadonlyArray<string>, body: () => PromiseLike<A>) => Promise<A>
  /** The first half of `change`, for those who write Effect. */
  readonly before: (turn: FileTurn, paths: ReadonlyArray<string>) => Effect.Effect<void, InvalidInput | FileFault>
  /** The second half. A turn that never comes to it was cut off: what it left is not known, and not overwritten. */
  readonly after: (turn: FileTurn, paths: ReadonlyArray<string>) => Effect.Effect<void, InvalidInput | FileFault>
}

/** How many files a plan names. */
const named = 100

/**
 * Keeps what turns change in a directory of its own.
 *
 * @example
 * const files = fileHistory({ directory: "/home/ada/.local/share/app" })
 * const skein = await Skein.open(sqlite({ url: "file:chat.db" }), { fileHistory: files, onDelete: [files] })
 */
export const fileHistory = ({ directory }: FileHistoryOptions): Files => {
  const base = join(resolve(directory), ".file-recovery")
  const directoryOf = (sessionId: string, turnId: string) => join(base, sessionId, turnId)
  const runOf = ({ id, sessionId }: FileRun) => join(base, sessionId, runsDirectory, id)
  const inTurn = oneAtATime()

  const stepsOf = async ({ sessionId, turns, workspaceDir }: FileRewind) => {
    checkIds({ sessionId, turns })
    const root = workspaceDir === undefined ? undefined : await rootOf(workspaceDir)
    if (root === undefined) return { root: "", steps: [], unknown: turns, hash: "" }
    return { root, ...(await planSteps(root, turns, (turn) => directoryOf(sessionId, turn))) }
  }

  /** Looks at the files of a turn, and notes what `look` makes of what is known of each. */
  const note = (
    turn: FileTurn,
    paths: ReadonlyArray<string>,
    look: (file: ChangedFile | undefined, place: Place & { readonly kept: string }) => Promise<ChangedFile>,
  ) =>
    Effect.flatMap(Clock.currentTimeMillis, (at) =>
      attempt(async () => {
        const { sessionId, turnId, workspaceDir } = turn
        checkIds({ sessionId, turnId })
        const root = await rootOf(workspaceDir)
        if (root === undefined) throw new FileFault({ path: workspaceDir, problem: "is gone" })
        const places = await placesOf(root, paths, base)
        const kept = directoryOf(sessionId, turnId)
        await inTurn(kept, async () => {
          await makeDirectory(kept)
          const record = await readRecord(kept)
          const files = new Map(record?.files)
          for (const place of places) files.set(place.path, await look(files.get(place.path), { ...place, kept }))
          await writeRecord(kept, { version: 1, at, files: [...files] })
        })
      }),
    )

  const before: Files["before"] = (turn, paths) =>
    note(turn, paths, async (file, { kept, path, refuse, root }) => {
      const place = join(root, path)
      if (file !== undefined) {
        const { after, ...known } = file
        const isDisturbed = after !== undefined && !isSame(await stateOf(place), after)
        return { ...known, ...(isDisturbed ? { disturbed: true } : {}) }
      }
      if ((await ifThere(lstat(place)))?.isFile() === false) throw refuse("is no file")
      const found = await keep(place, kept)
      return { before: found, ...(found === null ? { directory: await directoryAbove(root, path) } : {}) }
    })

  const after: Files["after"] = (turn, paths) =>
    note(turn, paths, async (file, { path, root }) => {
      if (file === undefined) throw new FileFault({ path, problem: "was not looked at before it was changed" })
      return { ...file, after: await stateOf(join(root, path)) }
    })

  return {
    before,
    after,
    change: (turn, paths, body) =>
      Effect.runPromise(
        Effect.acquireUseRelease(
          before(turn, paths),
          () => Effect.tryPromise({ try: body, catch: (thrown) => thrown }),
          () => after(turn, paths),
        ),
      ),

    eligible: ({ sessionId, workspaceDir }: FileSession) =>
      asked(async () => {
        checkIds({ sessionId })
        if (workspaceDir !== undefined && (await rootOf(workspaceDir)) === undefined) {
          return { eligible: false, reason: "are in a directory that is gone" }
        }
        const isRecorded = (await ifThere(realpath(join(base, sessionId)))) !== undefined
        return workspaceDir === undefined && isRecorded
          ? { eligible: false, reason: "belong to a directory that the session no longer works in" }
          : { eligible: true }
      }),

    plan: (rewind: FileRewind) =>
      asked(async () => {
        const { hash, steps, unknown } = await stepsOf(rewind)
        const inOrder = [...steps.filter(hasConflict), ...steps.filter((step) => !hasConflict(step))]
        const effects = inOrder.slice(0, named).map(effectOf)
        return { effects, files: steps.length, conflicts: steps.filter(hasConflict).length, unknown, hash }
      }),

    apply: (run: FileRun, hash: string) =>
      Effect.flatMap(Clock.currentTimeMillis, (at) =>
        asked(async () => {
          checkIds({ run: run.id })
          const plan = await stepsOf(run)
          if (plan.hash !== hash) throw new FileFault({ problem: "is not what it was when the plan was made" })
          const refused = plan.steps.find(hasConflict)
          if (refused?.conflict !== undefined) throw new FileFault({ path: refused.path, problem: refused.conflict })
          if (plan.steps.length > 0)
            await doRun(await beginRun(runOf(run), { id: run.id, at, root: plan.root }, plan.steps))
        }),
      ),

    verify: (run: FileRun) =>
      asked(async () => {
        checkIds({ sessionId: run.sessionId, run: run.id })
        const known = await readRun(runOf(run))
        if (known !== undefined) await checkRun(known)
      }),

    rollback: (run: FileRun) =>
      asked(async () => {
        checkIds({ sessionId: run.sessionId, run: run.id })
        const known = await readRun(runOf(run))
        if (known !== undefined) await undoRun(runOf(run), known)
        await forgetRun(runOf(run))
      }),

    prune: (before: number, limit: number) => asked(() => prune(base, before, limit)),

    name: "file history",
    onDelete: ({ sessionId }: DeletedSession) =>
      asked(async () => {
        checkIds({ sessionId })
        await rm(join(base, sessionId), { recursive: true, force: true })
      }),
  }
}

const hasConflict = ({ conflict }: Step): boolean => conflict !== undefined

const effectOf = ({ conflict, from, path, to }: Step): FileEffect => ({
  path,
  effect: to === null ? "removed" : from === null ? "created" : "restored",
  ...(conflict === undefined ? {} : { conflict }),
})

/** A workspace with its links resolved; `undefined` where it is gone. */
const rootOf = (workspaceDir: string): Promise<string | undefined> => ifThere(realpath(resolve(workspaceDir)))

/** Ids become names of directories here. */
const checkIds = (ids: { readonly [field: string]: string | ReadonlyArray<string> }): void => {
  for (const [field, given] of Object.entries(ids)) {
    for (const id of typeof given === "string" ? [given] : given) {
      if (!/^[A-Za-z0-9_-]{1,128}$/.test(id)) throw new InvalidInput({ field, value: id, problem: "is no id" })
    }
  }
}

/** Where a path leads. */
interface Place {
  readonly root: string
  readonly path: string
  readonly refuse: (problem: string) => InvalidInput
}

/** Where paths lead, each place once. What is kept is itself no place to change. */
const placesOf = async (root: string, paths: ReadonlyArray<string>, base: string): Promise<Iterable<Place>> => {
  const places = new Map<string, Place>()
  const kept = await placeIn(root, base)
  for (const [i, given] of paths.entries()) {
    const refuse = (problem: string) => new InvalidInput({ field: `paths.${i}`, value: given, problem })
    const path = await placeIn(root, given)
    if (path instanceof Misplaced) throw refuse(path.problem)
    if (path === kept || (typeof kept === "string" && path.startsWith(`${kept}/`))) {
      throw refuse("leads to what is kept of other files")
    }
    places.set(path, { root, path, refuse })
  }
  return places.values()
}

/** Runs one at a time of what has the same name, in the order it was asked for. */
const oneAtATime = () => {
  const last = new Map<string, Promise<void>>()
  return async (name: string, body: () => Promise<void>): Promise<void> => {
    const mine = (last.get(name) ?? Promise.resolve()).then(body)
    const done = mine.catch(() => undefined)
    last.set(name, done)
    await mine.finally(() => {
      if (last.get(name) === done) last.delete(name)
    })
  }
}

/** Runs to its end once it has begun: nobody should see half of it. */
const attempt = <A>(body: () => Promise<A>): Effect.Effect<A, InvalidInput | FileFault> =>
  Effect.tryPromise({ try: body, catch: (thrown) => thrown }).pipe(
    Effect.catch((thrown) => {
      if (thrown instanceof FileFault || thrown instanceof InvalidInput) return Effect.fail(thrown)
      const code = codeOf(thrown)
      return code === undefined ? Effect.die(thrown) : Effect.fail(faultOf(thrown as NodeJS.ErrnoException, code))
    }),
    Effect.uninterruptible,
  )

/** What Skein asks for names what is there. */
const asked = <A>(body: () => Promise<A>): Effect.Effect<A, FileFault> =>
  Effect.mapError(attempt(body), (error) =>
    error instanceof FileFault ? error : new FileFault({ problem: error.message }),
  )

const faultOf = (cause: NodeJS.ErrnoException, code: string): FileFault =>
  new FileFault({
    ...(cause.path === undefined ? {} : { path: cause.path }),
    problem: `cannot be read or written (${code})`,
    cause,
  })
