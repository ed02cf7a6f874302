/**
 * What the laws of turns share: time that they move, and short ways to begin, look at and end turns.
 */
import { SessionTable } from "@skein/core"
import type { Services } from "@skein/core"
import { Maintenance } from "@skein/core/maintenance"
import type { RecoverOptions } from "@skein/core/maintenance"
import { Messages } from "@skein/core/message"
import type { MessageInput } from "@skein/core/message"
import { Storage, Tx } from "@skein/core/storage"
import type { InvalidInput, StorageError } from "@skein/core/storage"
import { Turns } from "@skein/core/turn"
import type { BeginOptions, Turn, TurnEnding, TurnStart } from "@skein/core/turn"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { makeTime } from "../../clock.ts"
import type { Time } from "../../clock.ts"
import { changed } from "../../engine.ts"
import { lawWith } from "../../law.ts"
import type { Law, LawOptions, Store } from "../../law.ts"
import { openServices } from "../../services.ts"
import type { ServiceOptions } from "../../services.ts"
import { said } from "../conversation.ts"

/** The lease of a turn, in milliseconds. */
export const lease = 30_000

/** A law whose time passes when it says so. */
export const timedLaw = (
  name: string,
  body: (store: Store, time: Time) => Effect.Effect<void, unknown, Scope.Scope>,
): Law => timedLawWith({}, name, body)

export const timedLawWith = (
  options: LawOptions,
  name: string,
  body: (store: Store, time: Time) => Effect.Effect<void, unknown, Scope.Scope>,
): Law =>
  lawWith(options, name, (store) =>
    Effect.flatMap(makeTime, (time) => time.during(Effect.scoped(body(time.of(usual(store)), time)))),
  )

/** The store with leases as long as laws count on, whatever its engine finds fit. */
const usual = (store: Store): Store => ({
  ...changed(store, { capabilities: (capabilities) => ({ ...capabilities, lease }) }),
  fresh: Effect.map(store.fresh, usual),
})

/** One opening of a store: an instance that owns turns. */
export interface Opening {
  /** What it opens is closed with this. */
  readonly run: <A, E>(effect: Effect.Effect<A, E, Services | Scope.Scope>) => Effect.Effect<A, E>
  /** Closes it, as the end of its process would. */
  readonly close: Effect.Effect<void>
}

export const open = (
  store: Pick<Store, "backend">,
  options: ServiceOptions = {},
): Effect.Effect<Opening, InvalidInput | StorageError, Scope.Scope> =>
  Effect.gen(function* () {
    const scope = yield* Effect.acquireRelease(Scope.make(), (one) => Scope.close(one, Exit.void))
    const context: Context.Context<Services> = yield* Scope.provide(openServices(store, options), scope)
    return {
      run: (effect) => Effect.provide(Scope.provide(effect, scope), context),
      close: Scope.close(scope, Exit.void),
    }
  })

/** Begins a turn with something that the user says, whose id is also its text. */
export const ask = (sessionId: string, id: string, options?: BeginOptions) =>
  start(sessionId, { prompt: said(id) }, options)

export const start = (sessionId: string, begin: TurnStart, options?: BeginOptions) =>
  Turns.use((turns) => turns.begin(sessionId, begin, options))

/** Begins a turn and answers its epoch. */
export const epochOf = <E, R>(begun: Effect.Effect<{ readonly turn: { readonly epoch: number } }, E, R>) =>
  Effect.map(begun, ({ turn }) => turn.epoch)

export const end = (sessionId: string, epoch: number, ending: TurnEnding | TurnEnding["outcome"] = "completed") =>
  Turns.use((turns) => turns.end(sessionId, epoch, typeof ending === "string" ? { outcome: ending } : ending))

export const beat = (sessionId: string, epoch: number) => Turns.use((turns) => turns.heartbeat(sessionId, epoch))
export const abort = (sessionId: string, reason?: string) =>
  Turns.use((turns) => turns.abort(sessionId, reason === undefined ? {} : { reason }))
export const draft = (sessionId: string, epoch: number, message: MessageInput) =>
  Turns.use((turns) => turns.draft(sessionId, epoch, message))
export const settle = (sessionId: string, epoch: number, message: MessageInput) =>
  Turns.use((turns) => turns.settle(sessionId, epoch, message))
export const turnsOf = (sessionId: string) => Turns.use((turns) => turns.list(sessionId))
export const recover = (options?: RecoverOptions) => Maintenance.use((maintenance) => maintenance.recover(options))

/** Runs a body as a turn that the user began. */
export const run = <A, E, R>(sessionId: string, begin: TurnStart, body: (turn: Turn) => Effect.Effect<A, E, R>) =>
  Turns.use((turns) => turns.run(sessionId, begin, body))

export const failure = { message: "it broke" }

/** How a turn may end, with what each needs. */
export const endings: ReadonlyArray<TurnEnding> = [
  { outcome: "completed" },
  { outcome: "failed", error: failure },
  { outcome: "aborted" },
  { outcome: "needs_input" },
  { outcome: "done" },
]

/** A session's row as it is stored. */
export const rowOf = (sessionId: string) =>
  Storage.use((storage) =>
    storage.read(
      Tx.make(function* (tx) {
        const row = yield* tx.get(SessionTable, [sessionId])
        if (row === undefined) return yield* tx.fail(new Error(`there is no session ${sessionId}`))
        return row
      }),
    ),
  )

export const messageOf = (sessionId: string, id: string) => Messages.use((messages) => messages.get(sessionId, id))

/** Says the same as `said`, in other words. */
export const saying = (id: string, text: string): MessageInput => {
  const { role } = said(id)
  return { id, role: role!, body: { role, content: text } }
}
