/**
 * Opens the database, and makes it what the schema declares.
 *
 * The database is first opened as it stands, to look at it. Only when its structure has to change is it opened again,
 * under the next version number; whoever is faster has then done the work, and the others look again.
 *
 * Guarantee: a store is upgraded once, however many open it at the same time, and a newer one is left as it is. Opening
 * waits for the browser, and for other connections, no longer than was given; an upgrade that has begun takes the time it
 * needs. What the browser brings after an opening has failed or was interrupted is closed, or called off.
 */
import { Busy, Corrupt, Reset, Unavailable, UpgradeBlocked, VersionMismatch } from "@skein/core/storage"
import type { Schema, StorageReason } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import { connect } from "./connection.ts"
import type { Connection } from "./connection.ts"
import { classify } from "./error.ts"
import type { KeyRanges } from "./range.ts"
import { compareWith, upgrade } from "./upgrade.ts"
import type { Comparison } from "./upgrade.ts"

export interface Opening {
  readonly name: string
  readonly ranges: KeyRanges
  readonly schema: Schema
  /** Milliseconds. */
  readonly timeout: number
}

/** How often others may change the structure between two looks. */
const maxLooks = 10

export const openConnection = (opening: Opening): Effect.Effect<Connection, StorageReason> =>
  Effect.suspend(() => {
    const attempt: Attempt = { ...opening, isOver: false, isBlocked: false, isUpgrading: false, held: undefined }
    return Effect.raceFirst(lookAndUpgrade(attempt), patience(attempt)).pipe(
      Effect.onError(() =>
        Effect.sync(() => {
          attempt.isOver = true
          attempt.held?.close()
        }),
      ),
    )
  })

/** One opening, while it goes on. */
interface Attempt extends Opening {
  /** It failed or was interrupted. What still comes of it has to be undone. */
  isOver: boolean
  /** Another connection stands in the way of an upgrade. */
  isBlocked: boolean
  isUpgrading: boolean
  held: Connection | undefined
}

/** Fails once the time to wait is over. */
const patience = (attempt: Attempt): Effect.Effect<never, StorageReason> =>
  Effect.andThen(
    Effect.sleep(attempt.timeout),
    Effect.suspend(() => (attempt.isUpgrading ? Effect.never : Effect.fail(late(attempt)))),
  )

const lookAndUpgrade = Effect.fnUntraced(function* (attempt: Attempt) {
  let version: number | undefined
  for (let looks = 0; looks < maxLooks; looks++) {
    const seen = yield* Effect.catchTag(look(attempt, version), "Busy", () => Effect.succeed(undefined))
    if (typeof seen === "object") return seen
    version = seen
  }
  return yield* Effect.fail(new Busy({ detail: "others keep changing the structure of the store" }))
})

/**
 * Opens the database under a version number, or as it stands. The connection, if the store is as declared; else the number
 * under which to open it for the upgrade. `Busy` when another opener came in between.
 */
const look = Effect.fnUntraced(function* (attempt: Attempt, version: number | undefined) {
  const { schema } = attempt
  const connection = yield* request(attempt, version)
  const { plan } = yield* compare(connection, schema)
  if (plan._tag === "Current") return connection
  if (plan._tag === "Newer") {
    return yield* Effect.fail(new VersionMismatch({ found: plan.found, supported: schema.version }))
  }
  connection.close()
  return connection.db.version + 1
})

const compare = ({ db, ended }: Connection, schema: Schema): Effect.Effect<Comparison, StorageReason> =>
  Effect.callback((resume) => {
    const fail = (thrown: unknown) => {
      const closing = ended()
      const reason = closing === undefined ? classify(thrown, "open") : new Busy({ cause: closing })
      resume(Effect.fail(reason))
    }
    const begin = (store: string) => {
      const transaction = db.transaction(store, "readonly")
      transaction.addEventListener("abort", () => fail(transaction.error))
      return transaction
    }
    try {
      compareWith(schema, db, begin, (compared) =>
        resume(compared instanceof Corrupt ? Effect.fail(compared) : Effect.succeed(compared)),
      )
    } catch (thrown) {
      fail(thrown)
    }
  })

/** One request to open, which upgrades the database if the browser says that it may. */
const request = (attempt: Attempt, version: number | undefined): Effect.Effect<Connection, StorageReason> =>
  Effect.callback((resume) => {
    const { name, ranges, schema } = attempt
    let reason: StorageReason | undefined
    let opening: IDBOpenDBRequest
    try {
      opening = ranges.factory.open(name, version)
    } catch (thrown) {
      return resume(Effect.fail(classify(thrown, "open")))
    }
    opening.addEventListener("blocked", () => {
      attempt.isBlocked = true
    })
    opening.addEventListener("upgradeneeded", (event) => {
      const transaction = opening.transaction!
      const fail = (why: StorageReason) => {
        if (reason !== undefined) return
        reason = why
        transaction.abort()
      }
      transaction.addEventListener("abort", () => {
        reason ??= classify(transaction.error, "open")
      })
      if (attempt.isOver) return fail(late(attempt))
      if (lostEverything(event)) return fail(new Reset({ detail: "the browser found damaged files and removed them" }))
      attempt.isUpgrading = true
      upgrade({ db: opening.result, transaction, schema, ranges, fail })
    })
    opening.addEventListener("success", () => {
      const connection = connect(opening.result)
      if (attempt.isOver) return connection.close()
      attempt.held = connection
      resume(Effect.succeed(connection))
    })
    opening.addEventListener("error", () => resume(Effect.fail(reason ?? classify(opening.error, "open"))))
  })

/** Chromium says so, once, when it recreates a database that it could not read. */
const lostEverything = (event: IDBVersionChangeEvent): boolean => "dataLoss" in event && event.dataLoss === "total"

const late = ({ isBlocked, timeout }: Attempt): StorageReason =>
  isBlocked
    ? new UpgradeBlocked({ detail: `another connection did not close within ${timeout} ms` })
    : new Unavailable({ detail: `the browser did not open the store within ${timeout} ms` })
