/**
 * Forks: another conversation from the same beginning, and one beside it.
 *
 * Guarantee: a fork is one commit, whatever the length of the conversation, and copies nothing. Fork and source never see
 * what the other says later, and either may be deleted. Messages keep their ids and times; usage stays where it was.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as z from "zod/mini"
import { sessionCalls } from "../call.ts"
import { historyReader } from "../history/read.ts"
import type { InvalidBoundary } from "../history/program.ts"
import { checkId, Ids } from "../id.ts"
import { checkInput, checkJson } from "../input.ts"
import type { NewEntry } from "../message/placement.ts"
import type { MessageNotFound } from "../message/program.ts"
import { locate, WorkspacePath } from "../project/workspace.ts"
import { Title } from "../session/input.ts"
import type { IdConflict, SessionAbsent } from "../session/program.ts"
import { toSession } from "../session/record.ts"
import type { Session } from "../session/record.ts"
import { Settings } from "../settings.ts"
import { InvalidInput } from "../storage/error.ts"
import type { StorageError } from "../storage/error.ts"
import type { Json } from "../storage/json.ts"
import { key } from "../storage/key.ts"
import { Storage } from "../storage/storage.ts"
import { Instance } from "../turn/instance.ts"
import { copyOf, digest } from "../value.ts"
import { writeFields, writingOf } from "../write-options.ts"
import type { TransactOptions } from "../write-options.ts"
import { makeForks } from "./making.ts"
import * as program from "./program.ts"
import type { Named } from "./program.ts"
import type { WorkspaceFailed } from "./workspaces.ts"

export { WorkspaceFailed } from "./workspaces.ts"
export type { PreparedWorkspace, WorkspaceRequest, Workspaces } from "./workspaces.ts"

/**
 * What the model is told at the beginning of a side conversation, behind what it has inherited. Nobody sees it.
 *
 * @see FRK-05
 */
export const sideBoundary =
  "Everything above this line was inherited from another conversation. It is there for reference only: it is not the " +
  "current task, and nothing in it is to be continued. What follows is a side conversation of its own."

export interface OperationOptions extends TransactOptions {
  /** 1 to 200 characters. Called again with the same id and options it answers what it made the first time, for 30 days. */
  readonly operationId?: string
}

export interface ForkOptions extends OperationOptions {
  /** The message that both have last. Default: the last settled answer; none: the fork begins empty. */
  readonly at?: string
  /** Default: that of the source, with the next number that no fork has. At most 500 UTF-16 units. */
  readonly title?: string
  /**
   * Where it works. A path: a directory that is there. An object: what the host is asked to make by the option
   * `workspaces` of the store, such as a git worktree. Default: where its source works. Its project is that of the source.
   */
  readonly workspace?: string | Readonly<Record<string, unknown>>
}

type Absent = SessionAbsent | InvalidInput | StorageError

export class Forks extends Context.Service<
  Forks,
  {
    /**
     * Makes a session that goes on from a message of another one. A running session is forked as far as it is settled.
     *
     * It has agent, project, workspace, model and owner of its source, says where it comes from (`forkedFrom`), and is
     * nobody's child. Its usage begins at nothing.
     *
     * @throws MessageNotFound  the session does not see `at`
     * @throws InvalidBoundary  `at` is hidden, still being written, no message, or inside a tool round; names the nearest
     * @throws IdConflict       the operation was something else
     * @throws WorkspaceFailed  the host could not make the workspace; there is no fork
     * @see FRK-01, FRK-02, FRK-04, FRK-06
     *
     * @example
     * const fork = yield* forks.fork(session.id, { at: answer.id, title: "Another way" })
     */
    readonly fork: (
      sessionId: string,
      options?: ForkOptions,
    ) => Effect.Effect<Session, MessageNotFound | InvalidBoundary | IdConflict | WorkspaceFailed | Absent>
    /**
     * Makes a side conversation (`/btw`): hidden, of kind `peek`, a child of the session, beside a running turn if there is
     * one. The model is given what was said so far and settled, then `sideBoundary`; of that nothing is shown.
     *
     * @throws IdConflict  the operation was something else
     * @see FRK-05
     */
    readonly side: (sessionId: string, options?: OperationOptions) => Effect.Effect<Session, IdConflict | Absent>
  }
>()("@skein/core/fork/Forks") {
  static readonly layer = Layer.effect(
    Forks,
    Effect.gen(function* () {
      const storage = yield* Storage
      const settings = yield* Settings
      const ids = yield* Ids
      const instance = yield* Instance
      const { dialect, idPrefix, paths, workspaces } = settings
      const { usesOfRow } = historyReader(storage, settings)
      const { make } = makeForks({ storage, settings, instance })

      const mintId = Effect.flatMap(ids.mint(idPrefix), (id) => checkId("id", id))

      /** The operation that a call is, by the name that its caller or, for want of one, chance has given it. */
      const named = (kind: string, sessionId: string, operationId: string, options: object): Named => ({
        operationId,
        key: key([kind, sessionId, operationId].join("\0")),
        digest: digest(options),
      })

      return Forks.of(
        sessionCalls("fork", {
          fork: Effect.fnUntraced(function* (sessionId: string, given: ForkOptions = {}) {
            const options = yield* checkInput(ForkOptionsInput, given, "options")
            const { at, durability, operationId, title, workspace } = options
            if (at !== undefined) yield* checkId("options.at", at)
            const now = yield* Clock.currentTimeMillis
            const id = yield* mintId
            const asked = { at, title, workspace }
            const fork: program.NewFork = { id, at, title, workspace: undefined }
            if (typeof workspace === "object") {
              yield* checkJson(workspace, "options.workspace")
              if (workspaces === undefined) {
                const problem = "needs the option `workspaces` of the store, which makes such places"
                return yield* new InvalidInput({ field: "options.workspace", value: workspace, problem })
              }
              const minted = yield* ids.mint("fork_")
              const operation = named("fork", sessionId, operationId ?? minted, asked)
              const wanted = { ...fork, operation: minted, wanted: copyOf(workspace) }
              return toSession(yield* make(workspaces, sessionId, wanted, operation, usesOfRow))
            }
            const place = workspace === undefined ? undefined : yield* locate(paths, workspace)
            const operation = operationId === undefined ? undefined : named("fork", sessionId, operationId, asked)
            const forking = program.fork(settings, sessionId, { ...fork, workspace: place }, operation, usesOfRow, now)
            return toSession(yield* storage.transact(forking, writingOf(durability)))
          }),
          side: Effect.fnUntraced(function* (sessionId: string, given: OperationOptions = {}) {
            const { durability, operationId } = yield* checkInput(OperationOptionsInput, given, "options")
            const now = yield* Clock.currentTimeMillis
            const boundary: NewEntry = {
              id: yield* ids.mint("msg_"),
              kind: "message",
              role: "user",
              createdAt: now,
              model: dialect.prompt(sideBoundary) as Json,
              format: { dialect: dialect.name, version: dialect.version },
            }
            const operation = operationId === undefined ? undefined : named("side", sessionId, operationId, {})
            const side = { id: yield* mintId, boundary }
            const beginning = program.side(settings, sessionId, side, operation, usesOfRow, now)
            return toSession(yield* storage.transact(beginning, writingOf(durability)))
          }),
        }),
      )
    }),
  )
}

const operationFields = { ...writeFields, operationId: z.optional(z.string().check(z.minLength(1), z.maxLength(200))) }
const OperationOptionsInput = z.strictObject(operationFields)
const ForkOptionsInput = z.strictObject({
  ...operationFields,
  at: z.optional(z.string()),
  title: z.optional(Title),
  workspace: z.optional(z.union([WorkspacePath, z.record(z.string(), z.unknown())])),
})
