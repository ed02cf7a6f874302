/**
 * A ring: the newest frames of one session, in memory.
 *
 * Guarantee: it keeps at most so many frames and so many bytes, whoever reads and however slowly; adding a frame and
 * letting go of the oldest one take the same time whatever is in it. Of each entry it keeps the newest draft only, and
 * none once the entry is settled. A frame that is larger than all that may be kept is replaced by one that says so.
 *
 * Readers are numbers: a reader knows which frame it has seen last and asks for what follows. What it asks for too late
 * is gone, and it is told.
 */
import * as Effect from "effect/Effect"
import type { Cursors } from "./cursor.ts"
import { isDraft, keep, resyncFrame } from "./frame.ts"
import type { Kept, NewFrame } from "./frame.ts"

export interface RingLimits {
  readonly frames: number
  /** Of UTF-8 JSON; of each frame 256 for what comes with its data. */
  readonly bytes: number
}

/** Where the frames of a ring do not follow one another: what another process has committed is missing. */
export interface Tear {
  /** The frame that it is behind. */
  readonly at: number
  /** The revision of the session at which it was noticed. */
  readonly revision: number
}

/** The turns that a ring remembers to have seen. */
const manyTurns = 100

export class Ring {
  readonly sessionId: string
  readonly cursors: Cursors
  readonly #limits: RingLimits
  /** All frames but drafts, oldest first, from `#first` on and around the end. The length is a power of two. */
  #slots: Array<Kept | undefined> = new Array(8)
  #first = 0
  #count = 0
  /** The newest draft of each entry, oldest first. */
  readonly #drafts = new Map<string, Kept>()
  /** Frames whose ids are not their cursors. */
  readonly #named = new Map<string, Kept>()
  readonly #turns = new Map<string, { readonly begun: number; ended: number | undefined }>()
  /** The turn that ran when the session was last heard of. */
  #runs: string | undefined
  #waiting: Array<() => void> = []
  #wakes = 0
  #bytes = 0
  #last: number
  #evictedThrough: number
  /** The newest revision of the session that a commit of this process made, as far as is known. */
  revision = 0
  /** The session's `headVersion` after the newest commit of this process, as far as is known. */
  #headVersion: number | undefined
  #tears: Array<Tear> = []
  /** Raised when somebody else may have changed the session; and every few seconds while it is read. */
  hints = 0
  ticks = 0

  /** @param born  the number of the last frame of the process: frames up to it are not here */
  constructor(sessionId: string, cursors: Cursors, limits: RingLimits, born: number) {
    this.sessionId = sessionId
    this.cursors = cursors
    this.#limits = limits
    this.#last = born
    this.#evictedThrough = born
  }

  /** The number of the newest frame, or of the last one of the process before this ring began. */
  get last(): number {
    return this.#last
  }
  /** Frames up to this number are gone. */
  get evictedThrough(): number {
    return this.#evictedThrough
  }
  get headVersion(): number | undefined {
    return this.#headVersion
  }
  get bytes(): number {
    return this.#bytes
  }
  get length(): number {
    return this.#count + this.#drafts.size
  }

  /** The frame with this id, while it is kept. */
  find(id: string): Kept | undefined {
    const named = this.#named.get(id)
    if (named !== undefined) return named
    const place = this.cursors.read(id)
    return typeof place === "string" || place.place !== undefined ? undefined : this.#at(place.seq)
  }

  /** Adds a frame under a number that is higher than all before. */
  append(frame: NewFrame, seq: number, createdAt: number): Kept {
    const { sessionId } = this
    const place = { seq, sessionId, cursor: this.cursors.write(seq), createdAt, since: this.revision, live: true }
    let kept = keep(frame, place)
    if (kept.size > this.#limits.bytes) {
      const { id, revision, turn } = frame
      kept = keep({ ...resyncFrame("too-large"), id, revision, turn }, place)
    }
    if (frame.entry !== undefined && frame.offset === undefined) this.dropDraft(frame.entry)
    while (this.length >= this.#limits.frames || this.#bytes + kept.size > this.#limits.bytes) this.#evict()
    this.#last = seq
    this.#bytes += kept.size
    if (isDraft(kept)) this.#drafts.set(kept.entry!, kept)
    else this.#push(kept)
    if (frame.id !== undefined) this.#named.set(frame.id, kept)
    this.wake()
    return kept
  }

  draftOf(entry: string): Kept | undefined {
    return this.#drafts.get(entry)
  }

  /** Lets go of the draft of an entry: a newer one comes, or the entry itself. */
  dropDraft(entry: string): void {
    const draft = this.#drafts.get(entry)
    if (draft === undefined) return
    this.#drafts.delete(entry)
    this.#forget(draft)
  }

  /**
   * What follows a frame, oldest first, at most `limit`; `undefined` where a part of it is gone.
   */
  after(seq: number, limit: number): ReadonlyArray<Kept> | undefined {
    if (seq < this.#evictedThrough) return undefined
    let at = this.#indexAfter(seq)
    const found: Array<Kept> = []
    if (this.#drafts.size > 0) {
      for (const draft of this.#drafts.values()) {
        if (draft.seq <= seq) continue
        while (found.length < limit && at < this.#count && this.#slot(at).seq < draft.seq) found.push(this.#slot(at++))
        if (found.length === limit) return found
        found.push(draft)
      }
    }
    while (found.length < limit && at < this.#count) found.push(this.#slot(at++))
    return found
  }

  /** Lets go of all frames. */
  clear(): void {
    while (this.length > 0) this.#evict()
  }

  /** How often readers were woken. */
  get wakes(): number {
    return this.#wakes
  }

  /**
   * Waits until readers have been woken more often: a frame came, a hint or a tick. A reader goes on when whoever woke it
   * is done with what it does: nothing of what readers do is done on the writer's time.
   */
  newsSince(wakes: number): Effect.Effect<void> {
    return Effect.callback((resume) => {
      const callback = () => void Promise.resolve().then(() => resume(Effect.void))
      if (this.#wakes !== wakes) return callback()
      this.#waiting.push(callback)
      return Effect.sync(() => {
        this.#waiting = this.#waiting.filter((one) => one !== callback)
      })
    })
  }

  wake(): void {
    this.#wakes++
    if (this.#waiting.length === 0) return
    const waiting = this.#waiting
    this.#waiting = []
    for (const callback of waiting) callback()
  }

  /** Remembers that a turn began after the frames that are here by now. */
  turnBegan(turn: string): void {
    // Another process has ended the one before.
    if (this.#runs !== undefined && this.#runs !== turn) this.#tear()
    this.#runs = turn
    this.#turns.set(turn, { begun: this.#last, ended: undefined })
    if (this.#turns.size > manyTurns) this.#turns.delete(this.#turns.keys().next().value!)
  }
  /** Remembers that the newest frame is the end of a turn. */
  turnEnded(turn: string): void {
    const known = this.#turns.get(turn)
    if (this.#runs === turn) this.#runs = undefined
    if (known !== undefined) known.ended = this.#last
  }
  /** What is known of a turn: the numbers of the last frame before it, and of its end. */
  turn(turn: string): { readonly begun: number; readonly ended: number | undefined } | undefined {
    return this.#turns.get(turn)
  }

  /** Hears of a session that was read. */
  knows(headVersion: number, turn: string | undefined): void {
    this.#headVersion ??= headVersion
    if (turn !== undefined && this.turn(turn)?.ended === undefined) this.#runs = turn
  }
  /** Notices what others have committed in between, by the version of the head before and after it. */
  goesOn(headVersion: number): void {
    const known = this.#headVersion ?? headVersion
    if (headVersion > known + 1) this.#tear()
    this.#headVersion = Math.max(known, headVersion)
  }
  /** The first tear behind a frame that is not in what is known of the session at a revision. */
  tearAfter(seq: number, revision: number): Tear | undefined {
    return this.#tears.find((tear) => tear.at >= seq && tear.revision > revision)
  }

  #tear(): void {
    this.#tears.push({ at: this.#last, revision: this.revision })
  }

  #slot(index: number): Kept {
    return this.#slots[(this.#first + index) & (this.#slots.length - 1)]!
  }

  /** The first slot with a number higher than `seq`. */
  #indexAfter(seq: number): number {
    let low = 0
    let high = this.#count
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.#slot(middle).seq > seq) high = middle
      else low = middle + 1
    }
    return low
  }

  #at(seq: number): Kept | undefined {
    const [found] = this.after(seq - 1, 1) ?? []
    return found?.seq === seq ? found : undefined
  }

  #push(kept: Kept): void {
    const { length } = this.#slots
    if (this.#count === length) {
      this.#slots = Array.from({ length: 2 * length }, (_, i) => (i < length ? this.#slot(i) : undefined))
      this.#first = 0
    }
    this.#slots[(this.#first + this.#count++) & (this.#slots.length - 1)] = kept
  }

  #evict(): void {
    const [draft] = this.#drafts.size === 0 ? [] : this.#drafts.values()
    const oldest = this.#count === 0 ? undefined : this.#slot(0)
    const evicted = draft !== undefined && (oldest === undefined || draft.seq < oldest.seq) ? draft : oldest!
    if (evicted === draft) this.#drafts.delete(draft.entry!)
    else {
      this.#slots[this.#first] = undefined
      this.#first = (this.#first + 1) & (this.#slots.length - 1)
      this.#count--
    }
    this.#evictedThrough = evicted.seq
    while (this.#tears.length > 0 && this.#tears[0]!.at < evicted.seq) this.#tears.shift()
    this.#forget(evicted)
  }

  #forget(kept: Kept): void {
    this.#bytes -= kept.size
    if (this.#named.size > 0 && this.#named.get(kept.id) === kept) this.#named.delete(kept.id)
  }
}
