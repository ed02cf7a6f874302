/**
 * The change feed: what each commit changed, told to whoever listens in this process.
 *
 * Guarantee: commits are announced after they are durable, in commit order. A listener that falls more than
 * `maxBehind` commits behind gets one `Changed` in their place: a hint to read again, never a silent gap. Commits of others,
 * as far as the engine notices them, are such a hint, too. Nobody who writes waits for a listener, and without listeners
 * nothing is collected and nobody watched.
 */
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { Key } from "./table.ts"

export interface ChangedRow {
  readonly table: string
  /** The key of the row. Absent: several rows of the table were removed at once. */
  readonly key?: Key
  readonly kind: "written" | "removed"
}

export type Change =
  /** One commit of this process. */
  | { readonly _tag: "Committed"; readonly rows: ReadonlyArray<ChangedRow> }
  /** Something changed, and what is not said: read again. */
  | { readonly _tag: "Changed" }

const somethingChanged: Change = { _tag: "Changed" }

/** How many commits a listener may be behind before they are replaced by one hint. */
export const maxBehind = 1_024

interface Listener {
  pending: Array<Change>
  readonly news: Latch.Latch
}

export interface ChangeFeed {
  readonly stream: Stream.Stream<Change>
  /** Tells everybody. `rows` is asked only when somebody listens. */
  readonly announce: (rows: () => ReadonlyArray<ChangedRow>) => void
  /** Ends all streams. */
  readonly end: () => void
}

/** Begins to call `changed` when somebody else has committed, and answers how to stop. */
export type WatchOthers = (changed: () => void) => () => void

export const makeChangeFeed = (watchOthers: WatchOthers = () => () => {}): ChangeFeed => {
  const listeners = new Set<Listener>()
  let stopWatching: (() => void) | undefined
  let ended = false
  const tell = (listener: Listener, change: Change) => {
    if (listener.pending.length < maxBehind) listener.pending.push(change)
    else listener.pending = [somethingChanged]
    listener.news.openUnsafe()
  }
  const tellOfOthers = () => {
    for (const listener of listeners) {
      if (listener.pending.at(-1) !== somethingChanged) tell(listener, somethingChanged)
    }
  }
  const watchWhileHeard = () => {
    if (listeners.size > 0 && !ended) stopWatching ??= watchOthers(tellOfOthers)
    else {
      stopWatching?.()
      stopWatching = undefined
    }
  }
  const subscribe = Effect.acquireRelease(
    Effect.sync((): Listener => {
      const listener: Listener = { pending: [], news: Latch.makeUnsafe(false) }
      listeners.add(listener)
      watchWhileHeard()
      return listener
    }),
    (listener) =>
      Effect.sync(() => {
        listeners.delete(listener)
        watchWhileHeard()
      }),
  )
  const drain = (listener: Listener) =>
    Stream.paginate(
      undefined,
      Effect.fnUntraced(function* () {
        while (listener.pending.length === 0 && !ended) yield* listener.news.await
        const { pending } = listener
        listener.pending = []
        listener.news.closeUnsafe()
        return [pending, ended ? Option.none<undefined>() : Option.some(undefined)] as const
      }),
    )
  return {
    stream: Stream.unwrap(Effect.map(subscribe, drain)),
    announce: (rows) => {
      if (listeners.size === 0) return
      const change: Change = { _tag: "Committed", rows: rows() }
      for (const listener of listeners) tell(listener, change)
    },
    end: () => {
      ended = true
      watchWhileHeard()
      for (const listener of listeners) listener.news.openUnsafe()
    },
  }
}
