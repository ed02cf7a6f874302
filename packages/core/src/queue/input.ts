/**
 * What callers may say of queues.
 */
import * as z from "zod/mini"
import { isId } from "../id.ts"
import { isSignal, Text } from "../input.ts"
import { MessageInput } from "../message/body.ts"
import { Name } from "../session/input.ts"
import { Model, PauseCause } from "../session/model.ts"
import type { Model as SessionModel } from "../session/model.ts"
import { writeFields } from "../write-options.ts"
import type { TransactOptions } from "../write-options.ts"

/**
 * A message to be said later: as for `append`, by the user. Without an `id` it gets one that is made of session and item,
 * so that it is stored once however often it is sent.
 */
export type QueueMessage = Omit<MessageInput, "role" | "turn"> & { readonly role?: "user" | undefined }

export interface EnqueueOptions extends TransactOptions {
  /** Where it comes from; who claims may ask for some sources only. Default: the message's. */
  readonly source?: string
  /** Any JSON that goes with the message. */
  readonly attachments?: ReadonlyArray<unknown>
  /** The model that it is meant for. */
  readonly model?: SessionModel
  /** The id that its turn is to have, so that the caller knows it beforehand. */
  readonly requestedTurnId?: string
  /** The item replaces one that waits under the same key, in its place. */
  readonly dedupeKey?: string
  /** Asking again under the same id, for 30 days, gives the same item, also when it has left. */
  readonly clientRequestId?: string
  /** When nobody wants it sent any more, in milliseconds since 1970. */
  readonly expiresAt?: number
  /** Default `back`. */
  readonly placement?: "front" | "back"
}

/** What may change of an item that waits. An absent field stays as it is, `null` clears it. */
export interface QueuePatch {
  readonly message?: QueueMessage
  readonly source?: string | null
  readonly attachments?: ReadonlyArray<unknown> | null
  readonly model?: SessionModel | null
  readonly requestedTurnId?: string | null
  readonly expiresAt?: number | null
}

const Key = Text.check(z.minLength(1), z.maxLength(1_000))
const Id = z.string().check(z.refine(isId, "must be 1 to 128 characters of A–Z, a–z, 0–9, _ and -"))
const Attachments = z.array(z.unknown())
const Time = z.int().check(z.nonnegative())
const ModelInput = z.strictObject(Model.shape)
const Sources = z.array(Name)
const clearable = <Schema extends z.ZodMiniType>(schema: Schema) => z.optional(z.nullable(schema))

export const QueueMessageInput = z.strictObject({
  ...z.omit(MessageInput, { turn: true }).shape,
  role: z.optional(z.literal("user")),
})

export const EnqueueOptionsInput = z.strictObject({
  ...writeFields,
  source: z.optional(Name),
  attachments: z.optional(Attachments),
  model: z.optional(ModelInput),
  requestedTurnId: z.optional(Id),
  dedupeKey: z.optional(Key),
  clientRequestId: z.optional(Key),
  expiresAt: z.optional(Time),
  placement: z._default(z.enum(["front", "back"]), "back"),
})

export const QueuePatchInput = z.strictObject({
  message: z.optional(z.unknown()),
  source: clearable(Name),
  attachments: clearable(Attachments),
  model: clearable(ModelInput),
  requestedTurnId: clearable(Id),
  expiresAt: clearable(Time),
})

export const ListInput = z.strictObject({
  after: z.optional(Id),
  limit: z._default(z.int().check(z.minimum(1), z.maximum(500)), 100),
})

export const ClaimOptionsInput = z.strictObject({
  ...writeFields,
  item: z.optional(Id),
  sources: z.optional(Sources),
  continuePaused: z.optional(z.boolean()),
})

/** What a turn takes is checked where it begins. */
export const DispatchOptionsInput = z.looseObject({
  item: z.optional(Id),
  sources: z.optional(Sources),
  continuePaused: z.optional(z.boolean()),
})

export const workFields = {
  session: z.optional(Id),
  sources: z.optional(Sources),
  concurrency: z._default(z.int().check(z.minimum(1), z.maximum(1_000)), 1),
  signal: z.optional(z.custom<AbortSignal>(isSignal, "must be an AbortSignal")),
  maxAttempts: z._default(z.int().check(z.positive()), 5),
}

export const InjectOptionsInput = z.strictObject({ ...writeFields, sources: z.optional(Sources) })
export const EpochInput = z.int().check(z.positive())
export const OrderInput = z.array(Id)
export const TokenInput = z.string().check(z.minLength(1), z.maxLength(400))
export const PauseOptionsInput = z.strictObject({
  ...writeFields,
  cause: z._default(PauseCause, "user-stop"),
  turn: z.optional(Id),
})
export const ResumeOptionsInput = z.strictObject({ ...writeFields, expected: z.optional(PauseCause) })
