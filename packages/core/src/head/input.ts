/**
 * Options of what moves a head.
 */
import * as Effect from "effect/Effect"
import * as z from "zod/mini"
import { checkInput, Text } from "../input.ts"
import { expectedFields, writeFields, writingOf } from "../write-options.ts"
import type { TransactOptions } from "../write-options.ts"

export interface MoveOptions extends TransactOptions {
  /** Fails with `HeadMoved` unless this message is at the head; `null` is the root. Default: any head. */
  readonly expectedHead?: string | null
  /** Fails with `HeadMoved` unless the session's `headVersion` is this. Default: any. */
  readonly expectedVersion?: number
  /** Who moves it, for the journal. */
  readonly author?: string
}

export type LinkOptions = Omit<MoveOptions, "author">

/** Fields of the options of whatever moves a head. */
export const moveFields = { ...writeFields, ...expectedFields, author: z.optional(Text) }
const MoveOptionsInput = z.strictObject(moveFields)

export const checkMoveOptions = (given: MoveOptions) =>
  Effect.map(checkInput(MoveOptionsInput, given, "options"), ({ author, durability, ...expected }) => ({
    author,
    expected,
    writing: writingOf(durability),
  }))

const LinkOptionsInput = z.strictObject({ ...writeFields, ...expectedFields })

export const checkLinkOptions = (given: LinkOptions) =>
  Effect.map(checkInput(LinkOptionsInput, given, "options"), ({ durability, ...expected }) => ({
    expected,
    writing: writingOf(durability),
  }))
