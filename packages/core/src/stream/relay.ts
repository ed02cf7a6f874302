/**
 * The relay: how live frames get to readers in other processes. Optional, and given by the host: what carries text between
 * its processes (a message broker, a socket, a database's notifications) is a relay in a few lines.
 *
 * Guarantee: none is asked of it. What it loses, repeats or delivers late costs liveness and nothing else: stored messages
 * and ends of turns come from the store.
 */
import * as Context from "effect/Context"
import * as z from "zod/mini"
import type { NewFrame } from "./frame.ts"

export interface RelayService {
  /** Sends a text to whoever has subscribed to the session, in whatever process. Returns at once and throws nothing. */
  readonly publish: (sessionId: string, text: string) => void
  /** Calls `receive` with what is sent, own texts included or not, until the function that it answers is called. */
  readonly subscribe: (sessionId: string, receive: (text: string) => void) => () => void
}

export class Relay extends Context.Reference<RelayService | undefined>("@skein/core/stream/Relay", {
  defaultValue: () => undefined,
}) {}

/** A frame as it travels. */
const Relayed = z.object({
  /** The process life that it comes from, which knows it already. */
  from: z.string(),
  id: z.string(),
  kind: z.enum(["runtime-event", "action-required"]),
  turn: z.optional(z.string()),
  entry: z.optional(z.string()),
  offset: z.optional(z.number()),
  json: z.string(),
  contentAt: z.optional(z.number()),
})

/** @param id  the frame's identity, the same in all processes */
export const toRelay = (from: string, id: string, { committed: _committed, ...frame }: NewFrame): string =>
  JSON.stringify({ ...frame, from, id })

/** The frame of another process in a text; `undefined` where it is none. */
export const fromRelay = (self: string, text: string): NewFrame | undefined => {
  try {
    const { from, ...frame } = z.parse(Relayed, JSON.parse(text))
    JSON.parse(frame.json)
    return from === self ? undefined : frame
  } catch {
    return undefined
  }
}
