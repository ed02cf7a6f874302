/**
 * Sources: other programs' sessions, described in Skein's terms.
 *
 * What a source guarantees:
 * - it only reads: files keep their bytes and names, and what it makes to read them is gone with its scope;
 * - all it gives describes one state of the other program, also while that program runs;
 * - streams come in pages that hold about 256 KiB, or one message where that is more; they may be run again, several at the
 *   same time, and give the same;
 * - what cannot be read is a `Remark` in its place, and what stands behind it is still read;
 * - keys, tokens and share secrets are not looked at, and are in nothing it gives.
 *
 * Sessions and messages have the ids they have there. A program has one name in all sources that know its sessions, for a
 * session is found again by that name and its id.
 */
import type { ImportedMessage, ImportedSession, Remark } from "@skein/core/import"
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"

/** A source as a whole cannot be read, or not any further. */
export class SourceFailed extends Data.TaggedError("SourceFailed")<{
  /** What was read, such as the path of a file. */
  readonly place: string
  readonly problem: string
  readonly cause?: unknown
}> {
  override get message() {
    return `${this.place} ${this.problem}`
  }
}

export const lost = (position: string, reason: string): Remark => ({ _tag: "Remark", kind: "lost", position, reason })

export const repaired = (position: string, reason: string): Remark => ({
  _tag: "Remark",
  kind: "repaired",
  position,
  reason,
})

/** A session that a source has. */
export interface Found {
  readonly id: string
  /** Differs when anything of the session, its messages included, differs. */
  readonly fingerprint: string
}

/** A session, and what of it is not as it was there. */
export interface Described {
  readonly session: ImportedSession
  readonly remarks: ReadonlyArray<Remark>
}

export interface Source {
  /** The program whose sessions these are, such as `opencode`. */
  readonly name: string
  /** Version of the code that understands it. Raise it when it understands more: then sessions are read again. */
  readonly converter: number
  /** All sessions, those that started others first. Cheap: messages are not read. */
  readonly discover: Stream.Stream<Found | Remark, SourceFailed>
  /** One session without its messages. */
  readonly metadata: (id: string) => Effect.Effect<Described, SourceFailed>
  /**
   * What people see of a session, in its order. A message that the model is given too comes with that body at once, or
   * with one `body` that is both; then `history` has nothing to add.
   */
  readonly display: (id: string) => Stream.Stream<ImportedMessage | Remark, SourceFailed>
  /** What the model was given, where a program keeps that apart: messages with a `model` body alone, in their order. */
  readonly history: (id: string) => Stream.Stream<ImportedMessage | Remark, SourceFailed>
}
