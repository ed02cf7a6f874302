/**
 * Making forks with a workspace: the host's part between two commits, and the way back.
 *
 * Guarantee: a fork is made, or nothing is left of it. Whatever the host fails in, or interrupts, is taken back at once;
 * what a process leaves that dies is finished or taken back by `recover`, or by whoever asks for the same again.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as z from "zod/mini"
import type { UsesOf } from "../history/boundary.ts"
import { checkInput } from "../input.ts"
import { asked, problemOf } from "../host.ts"
import { makeHolding } from "../operation/holding.ts"
import type { OperationRow } from "../operation/model.ts"
import { change, drop } from "../operation/program.ts"
import { copyOf } from "../value.ts"
import { locate, WorkspacePath } from "../project/workspace.ts"
import { RunLocation } from "../session/model.ts"
import type { SessionRow } from "../session/model.ts"
import type { SkeinSettings } from "../settings.ts"
import type { InvalidInput, StorageError } from "../storage/error.ts"
import type { Storage } from "../storage/storage.ts"
import type { Instance } from "../turn/instance.ts"
import { madeBy } from "./program.ts"
import type { Named, NewFork } from "./program.ts"
import * as saga from "./saga.ts"
import { WorkspaceFailed } from "./workspaces.ts"
import type { PreparedWorkspace, Workspaces } from "./workspaces.ts"

interface Makers {
  readonly storage: Storage["Service"]
  readonly settings: SkeinSettings
  readonly instance: Instance["Service"]
}

/** A fork to be made in a place that the host makes. */
export type Wanted = NewFork & Pick<Parameters<typeof saga.begin>[2], "operation" | "wanted">

/** How long it takes until somebody looks again who waits for another one to make the same fork, in milliseconds. */
const pollMs = 200

export const makeForks = ({ instance, settings, storage }: Makers) => {
  const { live, owner } = instance
  const { holderAt, renewed, takenOver } = makeHolding({ instance, storage })
  const now = Clock.currentTimeMillis
  const failed = (row: Readonly<OperationRow>, cause: unknown) =>
    new WorkspaceFailed({ sessionId: row.sessionId, problem: problemOf(cause), cause })

  const prepare = (workspaces: Workspaces, row: Readonly<OperationRow>) =>
    Effect.map(
      Effect.flatMap(
        asked(() => workspaces.prepare(saga.makingOf(row).request)),
        (prepared) => checkInput(Prepared, prepared, "prepared"),
      ),
      (prepared) => copyOf(prepared) as PreparedWorkspace,
    )

  /** Takes back what the host made, and forgets the operation. What cannot be taken back now is left for `recover`. */
  const undo = (
    workspaces: Workspaces,
    row: Readonly<OperationRow>,
  ): Effect.Effect<boolean, InvalidInput | StorageError> =>
    Effect.gen(function* () {
      const held = { key: row.id, owner }
      const stage: saga.Stage = "removing"
      const holder = holderAt(yield* now, 0)
      const changed = yield* storage.transact(change(held, { holder, stage }))
      if (changed === undefined) return false
      const removed = yield* Effect.exit(asked(() => workspaces.remove(saga.makingOf(row).request)))
      if (removed._tag === "Failure") return false
      yield* storage.transact(drop(held, yield* now))
      return true
    })

  const publish = Effect.fnUntraced(function* (key: string, { runLocation, workspace }: PreparedWorkspace) {
    const place = yield* locate(settings.paths, workspace)
    return yield* storage.transact(saga.publish({ key, owner }, place, runLocation, yield* now))
  })

  /** Goes on with an operation that this instance holds, from wherever it is. */
  const goOn = (workspaces: Workspaces, row: Readonly<OperationRow>) =>
    Effect.gen(function* () {
      const key = row.id
      const known = saga.makingOf(row).prepared
      if (row.stage === "prepared" && known !== undefined) return yield* publish(key, known)
      const prepared = yield* Effect.mapError(prepare(workspaces, row), (cause) => failed(row, cause))
      if ((yield* storage.transact(saga.notePrepared({ key, owner }, prepared))) === undefined) return undefined
      return yield* publish(key, prepared)
    }).pipe((work) => renewed(row.id, work))

  /**
   * Makes a fork, goes on with one that was begun under the same name, or waits for whoever is at it. `undefined` never:
   * where somebody else takes it back meanwhile it is begun anew.
   */
  const make = Effect.fnUntraced(function* (
    workspaces: Workspaces,
    sessionId: string,
    fork: Wanted,
    named: Named,
    usesOf: UsesOf,
  ) {
    yield* live
    for (;;) {
      const at = yield* now
      const beginning = saga.begin(settings, sessionId, fork, named, holderAt(at, 0), usesOf, at)
      const { isNew, operation } = yield* storage.transact(beginning)
      if (operation.unfinished === undefined) return yield* storage.read(madeBy(settings, operation))
      const held = isNew ? operation : yield* takenOver(operation)
      const made: SessionRow | undefined =
        held === undefined
          ? yield* Effect.as(Effect.sleep(pollMs), undefined)
          : yield* Effect.onExit(goOn(workspaces, held), (exit) =>
              exit._tag === "Failure" ? Effect.ignore(undo(workspaces, held)) : Effect.void,
            )
      if (made !== undefined) return made
    }
  })

  /** Finishes or takes back what dead processes have left: a fork whose workspace is there is made, any other is not. */
  const recover = Effect.fnUntraced(function* () {
    const made: Array<string> = []
    let undone = 0
    let next: string | undefined
    do {
      const page = yield* storage.read(saga.listForks(settings, next))
      if (page.operations.length > 0) yield* live
      for (const operation of page.operations) {
        const held = yield* takenOver(operation)
        if (held === undefined) continue
        const { prepared } = saga.makingOf(held)
        const { workspaces } = settings
        if (held.stage === "prepared" && prepared !== undefined) {
          const session = yield* publish(held.id, prepared)
          if (session !== undefined) made.push(session.id)
        } else if (workspaces !== undefined && (yield* undo(workspaces, held))) undone++
      }
      next = page.next
    } while (next !== undefined)
    return { made, undone }
  })

  return { make, recover }
}

const Prepared = z.strictObject({ workspace: WorkspacePath, runLocation: z.optional(RunLocation) })
