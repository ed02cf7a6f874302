/**
 * What a window shows of a conversation, as callers see it.
 */
import type { ListedItem } from "../queue/record.ts"
import type { Session } from "../session/record.ts"
import { toMessage } from "./record.ts"
import type { Message } from "./record.ts"
import type { Alternatives } from "./tree.ts"

/** One state of a conversation. Whatever stayed as it was is the same object as in the view before: do not change it. */
export interface SessionView<M = unknown> {
  readonly session: Session
  /** The end of the path, as a last page has it. What is still being written is here with its newest content. */
  readonly messages: ReadonlyArray<ViewedMessage<M>>
  /** Those of the messages that are still being written. */
  readonly drafts: ReadonlyArray<ViewedMessage<M>>
  /** What waits to be said, in order, at most 500 items. */
  readonly queue: ReadonlyArray<ListedItem<M>>
  /** Give it to `page` as `before` to go back. Absent: the messages begin with the first one. */
  readonly before?: string
  /** True when the stored head led nowhere and the last readable branch stands in for it. */
  readonly degraded: boolean
}

/** A message, and what else was said in its place. */
export interface ViewedMessage<M = unknown> extends Message<M> {
  /** Which one it is of those that follow the same place, from 0, and how many there are. Absent: it is the only one. */
  readonly siblings?: { readonly index: number; readonly count: number }
}

export const toViewed = ({ index, messages }: Alternatives): ViewedMessage => {
  const message = toMessage(messages[index]!)
  return messages.length === 1 ? message : { ...message, siblings: { index, count: messages.length } }
}
