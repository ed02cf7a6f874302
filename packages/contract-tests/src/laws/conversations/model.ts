/**
 * A conversation's history as data: rounds of operations that are begun at once.
 *
 * Everything is a small number, to be read against what the conversation holds when its round begins, so that every
 * combination means something and shrinks well: a number counts through what there is and starts over.
 */

/** What a message is: said by the user, answered, only shown to people, only given to the model. */
export type Kind = "said" | "answered" | "shown" | "given"

/** What the caller says to have seen of the head. */
export type Seen = "nothing" | "head" | "version" | "another head" | "another version"

/** Counts through the messages; the last of eight numbers through those that were ever spoken of, also the gone ones. */
export type Which = number

export type OperationSpec =
  | { readonly do: "append"; readonly kinds: ReadonlyArray<Kind>; readonly seen: Seen }
  | { readonly do: "append beside"; readonly kinds: ReadonlyArray<Kind>; readonly at: Which; readonly seen: Seen }
  /** Once more, with the same content or another; at the head, or as if the head or `at` were where they were then. */
  | { readonly do: "append again"; readonly which: Which; readonly same: boolean; readonly as: "new" | "head" | "at" }
  | { readonly do: "checkout"; readonly which: Which; readonly seen: Seen }
  | { readonly do: "checkout branch"; readonly branch: number; readonly seen: Seen }
  | { readonly do: "checkout root"; readonly seen: Seen }
  | { readonly do: "undo"; readonly seen: Seen }
  | { readonly do: "redo"; readonly seen: Seen }
  /** `keep` counts back from the head; `undefined` keeps nothing. */
  | { readonly do: "compact"; readonly keep: number | undefined; readonly onPath: boolean; readonly seen: Seen }
  | { readonly do: "delete branch"; readonly branch: number; readonly moveTo: Which | undefined; readonly seen: Seen }
  | { readonly do: "name branch"; readonly branch: number; readonly automatic: boolean }
  | { readonly do: "page"; readonly limit: number }

export interface CallSpec {
  readonly operation: OperationSpec
  /** Which of two storages, where the history has two. */
  readonly storage: 0 | 1
}

export interface History {
  /** Two storages on one store instead of one. */
  readonly shared: boolean
  /** The calls of a round are begun together; the next round begins when all were answered. */
  readonly rounds: ReadonlyArray<ReadonlyArray<CallSpec>>
  /** How many messages a page has when everything is looked at. */
  readonly limit: number
}
