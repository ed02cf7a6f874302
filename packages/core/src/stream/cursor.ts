/**
 * Cursors of the stream: which frame somebody has seen last, as text that goes out and comes back.
 *
 * Guarantee: a cursor names its session and the process life that gave it out, so that one of another session, or of an
 * earlier life, is never taken for a current one. It says which frame of the ring was seen last; and of a frame that was
 * read from the store also behind which message to go on there.
 *
 * Not promised: its form. It is made of characters that need no escape in a header or a URL.
 */
import type { ResyncReason } from "./frame.ts"

/** What a cursor says of the store. */
export type StorePlace =
  /** Behind a message, but for those before it, or itself, that were still being written. `undefined`: before the first one. */
  | { readonly _tag: "Message"; readonly id: string | undefined; readonly open: ReadonlyArray<string> }
  /** Before what the running turn wrote first. */
  | { readonly _tag: "Turn" }

export interface CursorPlace {
  /** The last frame of the ring that was seen. */
  readonly seq: number
  /** Absent: what is stored was seen with the ring. */
  readonly place: StorePlace | undefined
}

/** Cursors of one session and one process life. */
export interface Cursors {
  readonly write: (seq: number, place?: StorePlace) => string
  /** What a cursor says, or why it says nothing here. */
  readonly read: (cursor: string) => CursorPlace | ResyncReason
}

/** It names as many messages as a turn may be writing at a time. */
const form =
  /^([fmt])\.([A-Za-z0-9_-]{1,128})\.(\d{1,15})\.([A-Za-z0-9_-]{0,128})((?:~[A-Za-z0-9_-]{1,128}){0,100})\.([A-Za-z0-9_-]{1,128})$/

export const cursorsOf = (epoch: string, sessionId: string): Cursors => ({
  write: (seq, place) => {
    if (place === undefined) return `f.${epoch}.${seq}..${sessionId}`
    if (place._tag === "Turn") return `t.${epoch}.${seq}..${sessionId}`
    return `m.${epoch}.${seq}.${[place.id ?? "", ...place.open].join("~")}.${sessionId}`
  },
  read: (cursor) => {
    const [, kind, of, seq, id, open = "", session] = form.exec(cursor) ?? []
    if (kind === undefined) return "invalid"
    if (session !== sessionId) return "other-session"
    if (of !== epoch) return "other-life"
    const place: Readonly<Record<string, StorePlace>> = {
      m: { _tag: "Message", id: id === "" ? undefined : id, open: open.split("~").slice(1) },
      t: { _tag: "Turn" },
    }
    return { seq: Number(seq), place: place[kind] }
  },
})
