/**
 * A conversation as it changes.
 *
 * Guarantee: each view is one state of the store, and of what is being written the newest that is known here. Messages are
 * read again only when one of them can have changed: neither a heartbeat nor the commit of somebody else costs more than
 * two rows.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import { toListedItem } from "../queue/record.ts"
import { SessionTable } from "../session/model.ts"
import type { SessionAbsent } from "../session/program.ts"
import { toSession } from "../session/record.ts"
import type { Scope } from "../session/program.ts"
import type { ChangedRow } from "../storage/changes.ts"
import type { InvalidInput, StorageError } from "../storage/error.ts"
import type { Storage } from "../storage/storage.ts"
import { sharing } from "../value.ts"
import { watch, watchInterval } from "../watch.ts"
import type { LiveDraft, LiveDraftsService, SessionDrafts } from "./live-drafts.ts"
import { TreeTable } from "./model.ts"
import { cursorBefore, windowOf } from "./page.ts"
import { toViewed } from "./session-view.ts"
import type { SessionView, ViewedMessage } from "./session-view.ts"
import { view } from "./view.ts"

interface Sources {
  readonly storage: Storage["Service"]
  readonly scope: Scope
  readonly live: LiveDraftsService | undefined
}

export const watchSession = (
  { live, scope, storage }: Sources,
  sessionId: string,
  limit: number,
): Stream.Stream<SessionView, SessionAbsent | InvalidInput | StorageError> => {
  let mark: string | undefined
  /** The page as it is stored. */
  let page: Pick<SessionView, "messages" | "before" | "degraded"> = { messages: [], degraded: false }
  let drafts: SessionDrafts | undefined
  /** What was shown of messages that are being written. */
  let shown = new Map<string, LiveDraft | undefined>()

  /** The message with its newest content, if the turn that runs is writing it. */
  const newest = (message: ViewedMessage, turn: string | undefined): ViewedMessage => {
    if (message.draft !== true) return message
    const draft = drafts?.newest(message.id)
    shown.set(message.id, draft)
    if (draft === undefined || draft.turn !== turn) return message
    const { branch, siblings } = message
    return { ...draft.message, branch, ...(siblings !== undefined && { siblings }) }
  }

  return watch(storage, {
    concerns: isViewed(sessionId),
    look: Effect.fnUntraced(function* (before) {
      const now = yield* Clock.currentTimeMillis
      const seen = yield* storage.read(view(scope, sessionId, windowOf({ limit }), mark, now))
      if (seen.page !== undefined) {
        mark = seen.mark
        page = {
          messages: seen.alternatives.map(toViewed),
          degraded: seen.page.degraded,
          ...cursorBefore(sessionId, seen.page),
        }
      }
      shown = new Map()
      const turn = seen.session.activeTurn?.id
      // Before the drafts are taken out of them: these are to be the same objects.
      const messages = sharing(
        before?.messages,
        page.messages.map((message) => newest(message, turn)),
      )
      const found: SessionView = {
        ...page,
        session: toSession(seen.session),
        messages,
        drafts: messages.filter(({ draft }) => draft === true),
        queue: seen.queue.map(toListedItem(now)),
      }
      return found
    }),
    listen: Effect.fnUntraced(function* (tell) {
      if (live === undefined) return
      const own = yield* live.of(sessionId)
      drafts = own
      const listening = Effect.gen(function* () {
        yield* own.news
        if ([...shown].some(([id, draft]) => own.newest(id) !== draft)) tell()
        // However fast it is written: nobody is shown more than a look in this time.
        yield* Effect.sleep(watchInterval)
      })
      yield* Effect.forkScoped(Effect.forever(listening))
    }),
  })
}

/**
 * Whether a view of the session may show something of a row. What is written to its branches and its queue changes its own
 * row; what others change of what it inherits, that of the tree.
 */
const isViewed =
  (sessionId: string) =>
  ({ key, table }: ChangedRow): boolean =>
    table === TreeTable.name || (table === SessionTable.name && (key === undefined || key[0] === sessionId))
