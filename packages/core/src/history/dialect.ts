/**
 * Dialects: what a stored body means.
 *
 * Sessions keep message bodies as whatever JSON their agent works with. A dialect reads such a body into generic
 * messages and writes generic messages as bodies, so that a path of mixed formats can be repaired and given to any model.
 *
 * Guarantee: text, tool calls, tool results and the opaque metadata of reasoning survive from one built-in dialect to
 * generic messages and back. What a format cannot say is named in `Written.lost`, never left out in silence.
 *
 * Not promised: that a body comes back the same byte for byte after a detour; a body that needs no detour is not
 * rewritten at all, that is what `Readable.native` is for. Nor that a format which goes straight to a provider passes on
 * the metadata of others, of which nobody there could make anything.
 */
import type { Json, JsonObject } from "../storage/json.ts"

export type Role = "system" | "user" | "assistant" | "tool"

/**
 * Opaque data by the name of whom it belongs to: a model provider (`anthropic: { signature: "…" }`), or a format that
 * keeps fields of its own under its name (`pi: { usage: … }`). Kept exactly; only its owner looks inside.
 */
export type ProviderMetadata = { readonly [owner: string]: JsonObject }

export type TextPart = {
  readonly type: "text"
  readonly text: string
  readonly providerMetadata?: ProviderMetadata
}

/** What the model thought. Signatures and encrypted thoughts are in the metadata. */
export type ReasoningPart = {
  readonly type: "reasoning"
  readonly text: string
  readonly providerMetadata?: ProviderMetadata
}

/** A file: its bytes as base64 in `data`, or a `url`. */
export type FilePart = {
  readonly type: "file"
  readonly mime: string
  readonly name?: string
  readonly providerMetadata?: ProviderMetadata
} & ({ readonly data: string; readonly url?: never } | { readonly url: string; readonly data?: never })

export type ToolCallPart = {
  readonly type: "tool-call"
  readonly id: string
  readonly name: string
  readonly input: Json
  /** The model's provider runs this call itself and puts the result into an assistant message. Default `false`. */
  readonly providerExecuted?: boolean
  readonly providerMetadata?: ProviderMetadata
}

export type ToolResultPart = {
  readonly type: "tool-result"
  readonly callId: string
  readonly name?: string
  /** What the tool gave back. Text is a string, not `{ text }`. */
  readonly output: Json
  /** The whole result where it is more than one value, images for instance; `output` is then the text in it. */
  readonly parts?: ReadonlyArray<TextPart | FilePart>
  /** The whole result as one format has it, where that is more than all this says. Whoever changes the result drops it. */
  readonly exact?: { readonly format: string; readonly value: Json }
  /** Default `false`. */
  readonly isError?: boolean
  /** It answers a call of the provider's own and stands where the provider put it. Default `false`. */
  readonly providerExecuted?: boolean
  readonly providerMetadata?: ProviderMetadata
}

/** A part of one format that means nothing to the others. */
export type OtherPart = {
  readonly type: "other"
  /** The format that can write it. */
  readonly format: string
  readonly value: Json
  /** Whatever there is of it is in `value`. */
  readonly providerMetadata?: never
}

export type GenericPart = TextPart | ReasoningPart | FilePart | ToolCallPart | ToolResultPart | OtherPart

/** A message as every dialect can read and write it. Calls are made by assistants, results are given by tools. */
export type GenericMessage = {
  readonly role: Role
  readonly content: ReadonlyArray<GenericPart>
  /** Messages with one id were one message in the format they come from. */
  readonly id?: string
  /** Milliseconds since 1970, for formats whose messages carry a time. */
  readonly at?: number
  readonly providerMetadata?: ProviderMetadata
}

export interface Readable<M> {
  /** Most formats give one; one that holds several steps of an answer gives more. */
  readonly messages: ReadonlyArray<GenericMessage>
  /** The body itself, where this dialect's reader may be given it as it is. */
  readonly native?: M
}

export interface Unreadable {
  /** Why, in words for a log. */
  readonly unreadable: string
}

export interface Written<M> {
  readonly messages: ReadonlyArray<M>
  /** What this format could not say, in words for a log, and which message it was in. */
  readonly lost: ReadonlyArray<Loss>
}

export interface Loss {
  readonly message: GenericMessage
  readonly what: string
}

/** What some formats want to know about a message beside its content. */
export interface MessageFacts {
  readonly id?: string
  /** Milliseconds since 1970. */
  readonly at?: number
}

/**
 * What a body means. `M` is the type of the messages that a reader of this dialect is given.
 *
 * Pure: the same body always means the same, and bodies are never changed. `M` occurs in answers only, so a
 * `Dialect<Narrow>` serves where a `Dialect<Wide>` is asked for.
 */
export interface Dialect<M> {
  /** Recorded with every entry that is written in it. */
  readonly name: string
  /** Recorded too: raised when the same body would mean something else. */
  readonly version: number
  /** Who speaks, as far as the body says. */
  readonly role: (body: Json) => Role | undefined
  /** What a person would read of it, for previews, prompts and search: no reasoning, no tool calls, no tool results. */
  readonly text: (body: Json) => string
  /** The message's own id, where it has one that an entry can have too. */
  readonly id?: (body: Json) => string | undefined
  /** A user's message from plain text. */
  readonly prompt: (text: string, facts?: MessageFacts) => M
  /**
   * How the summary of a compaction is given to the model.
   *
   * As a user's message in all built-in dialects: a system message in the middle of a conversation is refused by some
   * providers and unknown to some formats, and a summary repeats what users and tools said, which must not speak with the
   * system's authority.
   */
  readonly summary: (text: string, facts?: MessageFacts) => M
  /**
   * Reads a body. Unknown parts become `other` parts; a body as a whole that makes no sense is `Unreadable`.
   *
   * @param role  who speaks, where the body itself does not say
   */
  readonly read: (body: Json, role: Role) => Readable<M> | Unreadable
  /**
   * Writes messages. The messages of one answer come in one call, so that what stands together is given together; a call
   * may begin wherever a user speaks.
   */
  readonly write: (messages: ReadonlyArray<GenericMessage>) => Written<M>
  /**
   * Default `false`: results are messages of their own. When true they are part of the message with the call, so that a
   * result that stood elsewhere has to be written together with the message of its call.
   */
  readonly resultsInside?: boolean
  /**
   * Default `false`: a result may be a message by itself. When true all the results of a round are one message, so that
   * results that were stored apart have to be written together.
   */
  readonly resultsTogether?: boolean
}

/** Dialects by name. */
export type Dialects = ReadonlyMap<string, Dialect<unknown>>

export const dialects = (...list: ReadonlyArray<Dialect<unknown>>): Dialects =>
  new Map(list.map((dialect) => [dialect.name, dialect]))

/** The words in which every built-in dialect gives the summary of a compaction to the model. */
export const summaryText = (summary: string): string =>
  `The conversation before this point was compacted. This is its summary:\n\n${summary}`

/** The text that a person would read of messages. Parts are put on lines of their own. */
export const textOf = (messages: ReadonlyArray<GenericMessage>): string =>
  messages
    .flatMap((message) => message.content)
    .flatMap((part) => (part.type === "text" ? [part.text] : []))
    .join("\n")
