/**
 * The drafts in the rings, for those who watch conversations.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { LiveDrafts } from "../message/live-drafts.ts"
import type { LiveDraft } from "../message/live-drafts.ts"
import type { Kept } from "./frame.ts"
import { Rings } from "./rings.ts"

/** Gives drafts on as they are published, by turns of this process or through a relay. */
export const liveDrafts = Layer.effect(
  LiveDrafts,
  Effect.map(Rings, (rings) => ({
    of: (sessionId) =>
      Effect.map(rings.subscribe(sessionId), (ring) => {
        const read = new WeakMap<Kept, LiveDraft | undefined>()
        let { wakes } = ring
        return {
          newest: (messageId) => {
            const kept = ring.draftOf(messageId)
            if (kept !== undefined && !read.has(kept)) read.set(kept, toDraft(kept))
            return kept && read.get(kept)
          },
          news: Effect.suspend(() =>
            Effect.map(ring.newsSince(wakes), () => {
              wakes = ring.wakes
            }),
          ),
        }
      }),
  })),
)

/** What a frame says of its entry, where it is a draft: anybody may publish, and a relay brings what it likes. */
const toDraft = ({ entry, json, turn }: Kept): LiveDraft | undefined => {
  const data = JSON.parse(json) as { readonly message?: LiveDraft["message"] } | null
  return data?.message?.id === entry ? { turn, message: data!.message! } : undefined
}
