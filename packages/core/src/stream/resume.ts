/**
 * How a reader goes on: what is stored behind its anchor, then the ring without what that contains, then what comes.
 *
 * It subscribes to the ring before it reads the store, so that whatever is committed meanwhile is in what it reads, in the
 * ring, or in both; and the revision that it reads says what is in both. The same step is taken again whenever somebody
 * else may have changed the session: what another process commits is in no ring of this one.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { isId } from "../id.ts"
import type { EntryRow } from "../message/model.ts"
import { toMessage } from "../message/record.ts"
import type { SessionAbsent } from "../session/program.ts"
import type { Scope } from "../scope.ts"
import type { InvalidInput, StorageError } from "../storage/error.ts"
import type { Storage } from "../storage/storage.ts"
import { isUnreadable, maxRange } from "../storage/transaction.ts"
import type { StorePlace } from "./cursor.ts"
import { draftFrame, isDraft, isSameDraft, keep, resyncFrame, terminalFrame } from "./frame.ts"
import type { Kept, NewFrame, ResyncReason } from "./frame.ts"
import * as program from "./program.ts"
import type { Anchor, Row, Snapshot } from "./program.ts"
import type { Ring } from "./ring.ts"
import type { Rings } from "./rings.ts"

/** Where to go on; neither: with the running turn. */
export interface After {
  readonly afterMessage?: string | null | undefined
  readonly afterCursor?: string | undefined
}

export interface Source {
  readonly rings: Rings["Service"]
  readonly storage: Storage["Service"]
  readonly scope: Scope
  /** How many stored entries are read at once. Default 500. */
  readonly pageSize?: number
}

export type ResumeError = SessionAbsent | InvalidInput | StorageError

/** What a reader does next: it gives frames, and says how it goes on. */
export type Step = Effect.Effect<readonly [frames: ReadonlyArray<Kept>, next: Option.Option<Step>], ResumeError>

/** How many frames a reader takes from the ring at once. */
export const batchSize = 256

type Start = Exclude<Anchor, { readonly _tag: "Ordinal" }>

const isReadable = (row: Row): row is Readonly<EntryRow> => !isUnreadable(row)

export const resume = (source: Source, sessionId: string, after: After): Stream.Stream<Kept, ResumeError> =>
  Stream.unwrap(
    Effect.gen(function* () {
      const ring = yield* source.rings.subscribe(sessionId)
      const clock = yield* Clock.Clock
      const first = makeReader(source, ring, clock).begin(after)
      return Stream.paginate<Step, Kept, ResumeError>(first, (step) => step)
    }),
  )

/** What a reader is told who cannot be given what follows. Behind its cursor comes what is new. */
export const resyncAt = (ring: Ring, reason: ResyncReason): Effect.Effect<Kept> =>
  Effect.map(Clock.currentTimeMillis, (createdAt) =>
    keep(resyncFrame(reason), {
      createdAt,
      seq: 0,
      sessionId: ring.sessionId,
      cursor: ring.cursors.write(ring.last),
      since: ring.revision,
      live: true,
    }),
  )

const makeReader = (
  { pageSize = maxRange, rings, scope, storage }: Source,
  ring: Ring,
  clock: Clock.Clock,
): { readonly begin: (after: After) => Step } => {
  const { cursors, sessionId } = ring
  const monotonic = () => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)

  /** What the ring had when the reader came: all that follows is owed to it. */
  let owedFrom = ring.last
  /** The last frame of the ring that it has seen. */
  let seen = ring.last
  /** What commits up to this revision did was known from the store when it came; and which messages they stored, by now. */
  let contained = -1
  let looked = -1
  /** The session as it was last read. */
  let last: Snapshot | undefined
  /** The turn that it follows. */
  let followed: { readonly id: string; readonly epoch: number } | undefined
  /** What came after this revision is for others: the turn was over. */
  let stopsAt = Number.POSITIVE_INFINITY
  /** Whether the turn was found to be over when it was looked. */
  let isOver = false

  /** The last that it was given of what people see, as an ordinal; and the same for the reader that goes on behind it. */
  let furthest = 0
  let place: StorePlace = { _tag: "Turn" }
  /** Messages of which it was given, or the ring knows, that they are in the store as they stay. */
  const settled = new Set<string>()
  /** Messages that it was given as drafts: the newest, and whether it came live. */
  const open = new Map<string, { readonly draft: Kept | undefined; readonly isLive: boolean }>()

  /** Hints and ticks that were heeded, and when the turn was last seen to live. */
  let hints = ring.hints
  let ticks = ring.ticks
  let wakes = ring.wakes
  let aliveAt = monotonic()

  const stored = (frame: NewFrame): Kept =>
    keep(frame, {
      seq: 0,
      sessionId,
      cursor: cursors.write(seen, here()),
      createdAt: clock.currentTimeMillisUnsafe(),
      since: contained,
      live: false,
    })

  /** Where in the store it has got to. */
  const here = (): StorePlace => (place._tag === "Message" ? { ...place, open: [...open.keys()] } : place)

  const end: Option.Option<Step> = Option.none()
  const resync = (reason: ResyncReason): Step => Effect.map(resyncAt(ring, reason), (frame) => [[frame], end])

  /** The anchor in the store, and the frame of the ring, behind which to go on; or why neither can be had. */
  const anchorOf = ({ afterCursor, afterMessage }: After): readonly [Start, seq?: number] | ResyncReason => {
    if (afterMessage === null) return [{ _tag: "Message", id: undefined, open: [] }]
    if (afterMessage !== undefined) return isId(afterMessage) ? [{ _tag: "Settled", id: afterMessage }] : "invalid"
    if (afterCursor === undefined) return [{ _tag: "Turn" }]
    const cursor = cursors.read(afterCursor)
    if (typeof cursor === "string") return cursor
    if (cursor.seq > rings.newest()) return "invalid"
    return cursor.seq < ring.evictedThrough ? "evicted" : [cursor.place ?? { _tag: "Head" }, cursor.seq]
  }

  const read = (wanted: Omit<program.Wanted, "limit">) =>
    storage.read(program.snapshot(scope, sessionId, { ...wanted, limit: pageSize }))

  const begin = (after: After): Step =>
    Effect.gen(function* () {
      const found = anchorOf(after)
      if (typeof found === "string") return yield* resync(found)
      const [anchor, seq] = found
      const state = yield* read({ anchor })
      if (state._tag === "Lost") return yield* resync(state.reason)
      // Nothing is known that could be unchanged.
      if (state._tag === "Unchanged") return yield* Effect.die(state)
      ring.knows(state.headVersion, state.turn?.id)
      last = state
      followed = state.turn ?? state.ended
      furthest = state.from - 1
      if (seq !== undefined) {
        owedFrom = seen = seq
        if (state.turn === undefined) stopsAt = state.revision
      }
      if (anchor._tag === "Head") {
        if (isTorn(state)) return yield* resync("elsewhere")
        place = { _tag: "Message", id: state.head ?? undefined, open: [] }
        leaveOpen(() => true)
        return yield* fromRing
      }
      contained = looked = state.revision
      place = anchor._tag === "Settled" ? { _tag: "Message", id: anchor.id, open: [] } : anchor
      passOver(seq)
      // What is published of a draft is newer than what is stored of it.
      if (seq !== undefined) leaveOpen(({ id }) => ring.draftOf(id) !== undefined)
      return yield* give(state, handOver)
    })

  /** Notes drafts that a reader of the ring has, or gets there. */
  const leaveOpen = (isInRing: (draft: EntryRow) => boolean) => {
    for (const draft of last!.drafts.filter(isReadable)) {
      if (isInRing(draft)) open.set(draft.id, { draft: undefined, isLive: true })
    }
  }

  /** Notes what of the ring is in the store, and where in the ring to go on: behind what the place is behind. */
  const passOver = (seq: number | undefined) => {
    let start = ring.evictedThrough
    if (place._tag === "Turn" && followed !== undefined) start = Math.max(start, ring.turn(followed.id)?.begun ?? start)
    for (const frame of ring.after(ring.evictedThrough, Number.POSITIVE_INFINITY)!) {
      if (frame.committed === undefined || frame.revision! > contained) continue
      const { ids } = frame.committed
      for (const id of ids) settled.add(id)
      if (place._tag === "Message" && place.id !== undefined && ids.includes(place.id)) start = frame.seq
    }
    seen = seq ?? start
  }

  /** Whether another process has done something that the ring cannot have. */
  const isTorn = ({ ended, headVersion, revision, turn }: Snapshot): boolean => {
    if (ring.tearAfter(seen, -1) !== undefined) return true
    if (turn !== undefined && ring.turn(turn.id) === undefined) return true
    if (ended !== undefined && ring.turn(ended.id)?.ended === undefined) return true
    return ring.headVersion !== undefined && ring.revision <= revision && ring.headVersion !== headVersion
  }

  /** Gives what the store has that the reader has not, page by page and up to what is not wanted, then what follows it. */
  const give = (state: Snapshot, next: Step, isWanted: (row: Row) => boolean = () => true): Step => {
    const page = (rows: ReadonlyArray<Row>, from: number, before: ReadonlyArray<Row> = []): Step => {
      const to = Math.min(state.to, from + pageSize - 1)
      // What was there at that revision is not there any more.
      if (rows.length < to - from + 1) return resync("missing")
      const unwanted = rows.findIndex((row) => !isWanted(row))
      const wanted = unwanted < 0 ? rows : rows.slice(0, unwanted)
      const frames = [...before, ...wanted].flatMap((row) => rowFrame(asOf(state, row)))
      const isLast = to === state.to || unwanted >= 0
      return Effect.succeed([frames, Option.some(isLast ? next : pageFrom(to + 1))])
    }
    const pageFrom = (from: number): Step =>
      Effect.flatMap(
        storage.read(program.rowsOf(state.treeId, state.path, from, Math.min(state.to, from + pageSize - 1))),
        (rows) => page(rows, from),
      )
    return page(state.rows, state.from, state.open)
  }

  /** A row of a later read as it was at the revision of a state: what was being written then may be settled by now. */
  const asOf = ({ drafts }: Snapshot, row: Row): Row =>
    isUnreadable(row) ? row : (drafts.find((draft) => isReadable(draft) && draft.id === row.id) ?? row)

  /** The frame of a stored message. */
  const rowFrame = (row: Row): ReadonlyArray<Kept> => {
    if (isReadable(row) && row.draft === true) return draftOf(row)
    const message = toMessage(row)
    settle([message.id], isUnreadable(row) ? furthest + 1 : row.shown!)
    const { turn } = message
    const json = JSON.stringify({ message })
    return [stored({ id: `durable-message.${message.id}`, kind: "durable-message", turn, json })]
  }

  /** The frame of a message that is being written, unless the reader has got this of it, or more. */
  const draftOf = (row: EntryRow): ReadonlyArray<Kept> => {
    reach(row.id, row.shown!)
    const given = open.get(row.id)
    if (given?.isLive === true) return []
    // Named in its own cursor.
    open.set(row.id, { draft: undefined, isLive: false })
    const draft = stored(draftFrame(row))
    open.set(row.id, { draft, isLive: false })
    return given?.draft !== undefined && isSameDraft(given.draft, draft) ? [] : [draft]
  }

  /** Notes messages that the reader is given as they stay. */
  const settle = (ids: ReadonlyArray<string>, shown: number) => {
    for (const id of ids) {
      settled.add(id)
      open.delete(id)
    }
    reach(ids.at(-1)!, shown)
  }

  const reach = (id: string, shown: number) => {
    if (shown <= furthest) return
    furthest = shown
    place = { _tag: "Message", id, open: [] }
  }

  /** Goes over to the ring. */
  const handOver: Step = Effect.suspend(() => {
    // Of a turn that is over, who has seen a part of the ring wants the rest.
    if (last!.turn === undefined && stopsAt === Number.POSITIVE_INFINITY) return finish()
    if (ring.evictedThrough > owedFrom) return resync("too-slow")
    seen = Math.max(seen, ring.evictedThrough)
    return fromRing
  })

  const fromRing: Step = Effect.suspend(() => {
    wakes = ring.wakes
    const batch = ring.after(seen, batchSize)
    if (batch === undefined) return resync("too-slow")
    if (batch.length === 0) return idle()
    const frames: Array<Kept> = []
    const tear = ring.tearAfter(seen, isOver ? -1 : looked)
    for (const frame of batch) {
      if (frame.since > stopsAt) return Effect.succeed([frames, Option.some(finish())])
      if (tear !== undefined && frame.seq > tear.at) {
        return Effect.succeed([frames, Option.some(isOver ? finish() : look)])
      }
      seen = frame.seq
      if (isContained(frame)) continue
      note(frame)
      // Commits that the store told of may still follow in the ring: who goes on behind this frame has them already.
      frames.push(frame.since < looked ? { ...frame, cursor: cursors.write(seen, here()) } : frame)
      const isLast = frame.kind === "turn-terminal" && frame.turn === followed?.id
      if (isLast || frame.kind === "resync-required") return Effect.succeed([frames, end])
    }
    aliveAt = monotonic()
    return Effect.succeed([frames, Option.some(fromRing)])
  })

  /** Whether the reader has a frame's content from the store, or from a frame before. */
  const isContained = (frame: Kept): boolean => {
    const { committed, entry, kind, revision, since, turn } = frame
    if (revision !== undefined) {
      return revision <= contained || (revision <= looked && (committed !== undefined || isDraft(frame)))
    }
    if (turn !== undefined && turn !== followed?.id && since <= contained) return true
    // What could not be kept before the reader came is no loss for it.
    if (kind === "resync-required" && contained >= 0 && frame.seq <= owedFrom) return true
    if (entry === undefined) return false
    if (settled.has(entry)) return true
    const draft = open.get(entry)?.draft
    return draft !== undefined && isDraft(frame) && isSameDraft(draft, frame)
  }

  /** Notes what a frame of the ring gives to the reader. */
  const note = (frame: Kept) => {
    const { committed, entry, revision } = frame
    if (entry !== undefined) open.set(entry, { draft: isDraft(frame) ? frame : undefined, isLive: true })
    if (committed === undefined) return
    // What the reader read of the session knows of older commits.
    if (revision! > last!.revision) settle(committed.ids, committed.last)
    else for (const id of committed.ids) open.delete(id)
  }

  /** Nothing new is in the ring. */
  const idle = (): Step => {
    if (!rings.isOpen()) return Effect.succeed([[], end])
    if (last!.turn === undefined || last!.turn.epoch !== followed!.epoch) return finish()
    // Of a turn that runs elsewhere this ring is told nothing, and some engines give no hints.
    const isElsewhere = ring.turn(followed!.id) === undefined
    const isSilent = monotonic() - aliveAt >= last!.turn.lease
    if (hints !== ring.hints || (ticks !== ring.ticks && (isElsewhere || isSilent))) return look
    return Effect.as(ring.newsSince(wakes), [[], Option.some(fromRing)] as const)
  }

  /** Looks what others have done. */
  const look: Step = Effect.gen(function* () {
    hints = ring.hints
    ticks = ring.ticks
    const { moves, revision, turn } = last!
    const found = yield* read({
      anchor: { _tag: "Ordinal", shown: furthest, moves, open: [...open.keys()] },
      known: revision,
      epoch: followed!.epoch,
    })
    if (found._tag === "Lost") return yield* resync(found.reason)
    const isRunning = found.turn?.epoch === followed!.epoch
    if (found.turn?.beat !== turn!.beat) aliveAt = monotonic()
    // Who recovers waits for a lease as well, and is given another one.
    else if (isRunning && monotonic() - aliveAt >= 2 * turn!.lease) return yield* resync("owner-gone")
    if (found._tag === "Unchanged") {
      last = { ...last!, turn: found.turn }
      return yield* fromRing
    }
    looked = found.revision
    last = found
    if (isRunning) return yield* give(found, fromRing)
    // What its turn has left in the ring comes first; what later turns wrote, and what is behind it, is for those who follow them.
    isOver = true
    stopsAt = found.revision
    const isWanted = (row: Row) => isUnreadable(row) || row.turn === undefined || row.turn === followed!.id
    return yield* give(found, fromRing, isWanted)
  })

  /** Ends, with the end of the turn; who came by a cursor after it has it from the ring, where that was told of it. */
  const finish = (): Step => {
    const ended = last!.ended
    const isKnown = contained < 0 && looked < 0
    if (ended === undefined || isKnown) return Effect.succeed([[], end])
    return Effect.succeed([[stored(terminalFrame(ended))], end])
  }

  return { begin }
}
