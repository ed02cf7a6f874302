/**
 * The rings of a process: one for each session that is read, published to, or has a turn that runs here.
 *
 * Guarantee: what commits of this process did becomes frames after it is durable, in commit order, before whoever
 * committed is answered. Nobody who publishes or commits waits for a reader. Of sessions that nobody reads only the rings
 * that were used last are kept, so that memory is bounded however many sessions there are; what is let go of is gone for
 * every cursor into it, and never taken for something else.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FiberHandle from "effect/FiberHandle"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { NewEntry } from "../message/placement.ts"
import { isDisplayed } from "../message/placement.ts"
import { toMessage } from "../message/record.ts"
import type { DraftStored, EntriesCommitted, SessionNotice } from "../notice.ts"
import { toView } from "../query-view/record.ts"
import { Settings } from "../settings.ts"
import { Storage } from "../storage/storage.ts"
import { Instance } from "../turn/instance.ts"
import { cursorsOf } from "./cursor.ts"
import { draftFrame, terminalFrame } from "./frame.ts"
import type { Committed, NewFrame } from "./frame.ts"
import { fromRelay, Relay, toRelay } from "./relay.ts"
import { Ring } from "./ring.ts"

/** Of sessions that nobody reads: how many rings are kept, and how many bytes in all. */
export const manyIdle = 1_000
const manyIdleBytes = 64 * 1024 * 1024

/** How often readers look whether what they wait for can still come, in milliseconds. */
export const tickMs = 5_000

/** A ring that somebody reads. */
interface Reading {
  readonly ring: Ring
  readers: number
  readonly stopRelay: () => void
  /** Its session is gone, and it goes with its last reader. */
  isDropped: boolean
}

export class Rings extends Context.Service<
  Rings,
  {
    /** This life of the process, as cursors name it. */
    readonly epoch: string
    /** Adds a frame to a session's ring and answers its cursor; of a frame whose id is kept, the cursor that it has. */
    readonly publish: (sessionId: string, frame: NewFrame) => string
    /** Publishes what there is of an entry that a turn is writing. */
    readonly draft: (sessionId: string, turn: string, entry: NewEntry) => void
    /** A session's ring, which is kept until the scope ends. */
    readonly subscribe: (sessionId: string) => Effect.Effect<Ring, never, Scope.Scope>
    /** How many readers a session has. */
    readonly readers: (sessionId: string) => number
    /** The number of the newest frame of the process. */
    readonly newest: () => number
    /** False: the store is being closed, and nothing more comes. */
    readonly isOpen: () => boolean
  }
>()("@skein/core/stream/Rings") {
  static readonly layer = Layer.effect(
    Rings,
    Effect.gen(function* () {
      const storage = yield* Storage
      const { ring: limits } = yield* Settings
      const relay = yield* Relay
      const clock = yield* Clock.Clock
      const { owner: epoch } = yield* Instance

      /** Rings that are read, each with the number of its readers. */
      const read = new Map<string, Reading>()
      /** Others, the one that was used last at the end. */
      const idle = new Map<string, Ring>()
      let idleBytes = 0
      let newest = 0
      let isOpen = true

      const find = (sessionId: string) => read.get(sessionId)?.ring ?? idle.get(sessionId)
      const make = (sessionId: string) => new Ring(sessionId, cursorsOf(epoch, sessionId), limits, newest)

      /** Keeps a ring that nobody reads, as the one that was used last. */
      const rest = (ring: Ring) => {
        idle.set(ring.sessionId, ring)
        idleBytes += ring.bytes
        for (const [id, oldest] of idle) {
          if (idle.size <= manyIdle && idleBytes <= manyIdleBytes) break
          idle.delete(id)
          idleBytes -= oldest.bytes
        }
      }
      const unrest = (sessionId: string): Ring | undefined => {
        const ring = idle.get(sessionId)
        if (ring === undefined) return undefined
        idle.delete(sessionId)
        idleBytes -= ring.bytes
        return ring
      }

      /** Works on a session's ring, which is made where there is none. */
      const using = <A>(sessionId: string, work: (ring: Ring) => A): A => {
        const known = read.get(sessionId)
        if (known !== undefined) return work(known.ring)
        const ring = unrest(sessionId) ?? make(sessionId)
        const result = work(ring)
        rest(ring)
        return result
      }

      /** Keeps nothing more of a session, and wakes its readers, who will find that it is gone. */
      const drop = (sessionId: string) => {
        unrest(sessionId)
        const known = read.get(sessionId)
        if (known === undefined) return
        known.isDropped = true
        known.ring.hints++
        known.ring.wake()
      }

      const append = (ring: Ring, frame: NewFrame) => ring.append(frame, ++newest, clock.currentTimeMillisUnsafe())

      const publish = (sessionId: string, frame: NewFrame) =>
        using(sessionId, (ring) => {
          const kept = frame.id === undefined ? undefined : ring.find(frame.id)
          if (kept !== undefined) return kept.cursor
          const added = append(ring, frame)
          relay?.publish(sessionId, toRelay(epoch, added.id, frame))
          return added.cursor
        })

      const receive = (sessionId: string, text: string) => {
        const frame = fromRelay(epoch, text)
        const ring = read.get(sessionId)?.ring
        if (frame !== undefined && ring !== undefined && ring.find(frame.id!) === undefined) append(ring, frame)
      }

      const hearEntries = (ring: Ring, { beside, entries, redacted, replaced, revision }: EntriesCommitted) => {
        // Frames that are here may say what is to be seen by nobody. Readers that have not had them resync.
        if (redacted === true) ring.clear()
        for (const { id } of entries) ring.dropDraft(id)
        if (beside === true) return
        const shown = entries.filter(isDisplayed)
        const [first] = shown
        if (first === undefined) return
        const committed: Committed = {
          ids: shown.map(({ id }) => id),
          last: Math.max(...shown.map(({ shown: ordinal = 0 }) => ordinal)),
        }
        append(ring, {
          kind: replaced === true ? "messages-replaced" : "message-committed",
          turn: shown.every(({ turn }) => turn === first.turn) ? first.turn : undefined,
          revision,
          json: JSON.stringify({ messages: shown.map(toMessage) }),
          committed,
        })
      }

      const hearDraft = (ring: Ring, { entry, revision }: DraftStored) => {
        const kept = ring.draftOf(entry.id)
        // What was published is newer than what is stored by now, or the same.
        const isPublished = kept !== undefined && kept.revision === undefined
        if (isDisplayed(entry) && !isPublished) append(ring, { ...draftFrame(entry), revision })
      }

      const hear = (ring: Ring, notice: Extract<SessionNotice, { readonly revision: number }>) => {
        const { revision } = notice
        ring.revision = Math.max(ring.revision, revision)
        if ("headVersion" in notice) ring.goesOn(notice.headVersion)
        switch (notice._tag) {
          case "EntriesCommitted":
            return hearEntries(ring, notice)
          case "DraftStored":
            return hearDraft(ring, notice)
          case "HeadWasMoved": {
            const { from, reason, to } = notice
            append(ring, {
              kind: "messages-rewound",
              revision,
              json: JSON.stringify({ from, to, reason }),
            })
            return
          }
          case "TurnBegan":
            return ring.turnBegan(notice.turn.id)
          case "TurnEnded":
            append(ring, { ...terminalFrame(notice.turn), revision })
            return ring.turnEnded(notice.turn.id)
          case "StatusChanged": {
            const { error, status } = notice
            append(ring, {
              kind: "session-status",
              revision,
              json: JSON.stringify({ status, error }),
            })
            return
          }
          case "QueryViewChanged":
            append(ring, {
              kind: "query-view",
              turn: notice.view.turn,
              revision,
              json: JSON.stringify(toView(notice.view)),
            })
            return
          default:
            return
        }
      }

      yield* storage.observe((notices) => {
        for (const notice of notices as ReadonlyArray<SessionNotice>) {
          if (notice._tag === "EventProjected") publish(notice.sessionId, notice.frame)
          if (notice._tag === "SessionWasDeleted") drop(notice.sessionId)
          if (!("revision" in notice)) continue
          const { sessionId } = notice
          // A turn that begins is read soon, and its readers want all of it.
          if (notice._tag === "TurnBegan" || find(sessionId) !== undefined)
            using(sessionId, (ring) => hear(ring, notice))
        }
      })

      const wakeAll = (count: (ring: Ring) => void) =>
        Effect.sync(() => {
          for (const { ring } of read.values()) {
            count(ring)
            ring.wake()
          }
        })
      const hint = wakeAll((ring) => ring.hints++)
      const tick = wakeAll((ring) => ring.ticks++)
      const pumping = yield* FiberHandle.make()
      const pump = Effect.all(
        [
          Effect.forever(Effect.andThen(Effect.sleep(tickMs), tick)),
          Stream.runForEach(storage.changes, ({ _tag }) => (_tag === "Changed" ? hint : Effect.void)),
        ],
        { concurrency: "unbounded", discard: true },
      )

      const subscribed = (sessionId: string) => {
        const known = read.get(sessionId)
        if (known !== undefined) {
          known.readers++
          return known
        }
        const ring = unrest(sessionId) ?? make(sessionId)
        const stopRelay = relay?.subscribe(sessionId, (text) => receive(sessionId, text)) ?? (() => {})
        const reading: Reading = { ring, readers: 1, stopRelay, isDropped: false }
        read.set(sessionId, reading)
        return reading
      }
      const unsubscribed = (sessionId: string) => {
        const known = read.get(sessionId)
        if (known === undefined || --known.readers > 0) return
        read.delete(sessionId)
        known.stopRelay()
        if (!known.isDropped) rest(known.ring)
      }

      yield* Effect.addFinalizer(() =>
        Effect.suspend(() => {
          isOpen = false
          return wakeAll(() => {})
        }),
      )

      return Rings.of({
        epoch,
        publish,
        draft: (sessionId, turn, entry) => {
          if (isDisplayed(entry)) publish(sessionId, draftFrame({ ...entry, turn, draft: true }))
        },
        subscribe: (sessionId) =>
          Effect.acquireRelease(
            Effect.suspend(() => {
              const isFirst = read.size === 0
              const { ring } = subscribed(sessionId)
              return isFirst ? Effect.as(FiberHandle.run(pumping, pump), ring) : Effect.succeed(ring)
            }),
            () =>
              Effect.suspend(() => {
                unsubscribed(sessionId)
                return read.size === 0 ? FiberHandle.clear(pumping) : Effect.void
              }),
          ),
        readers: (sessionId) => read.get(sessionId)?.readers ?? 0,
        newest: () => newest,
        isOpen: () => isOpen,
      })
    }),
  )
}
