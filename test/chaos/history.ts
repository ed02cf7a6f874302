/**
 * What the model would be told, looked at for what no model takes: a call of a tool without a result.
 */
import * as Effect from "effect/Effect"
import { History } from "../../packages/core/src/history/service.ts"
import type { SessionRow } from "../../packages/core/src/session/model.ts"
import type { Store } from "./store.ts"

interface Part {
  readonly type: string
  /** Of a call. */
  readonly id?: string
  /** Of a result: the call that it answers. */
  readonly callId?: string
}

/** The parts of a message as `operations.ts` writes them. */
const partsOf = (message: unknown): ReadonlyArray<Part> => {
  const { content } = message as { readonly content?: unknown }
  return Array.isArray(content) ? (content as ReadonlyArray<Part>) : []
}

/** Calls in the model history of a session that have no result, or more than one, and do not wait for one. */
export const openCalls = async (
  store: Store,
  { id, waiting }: Pick<SessionRow, "id" | "waiting">,
): Promise<ReadonlyArray<string>> => {
  const history = await store.run(Effect.flatMap(Effect.service(History), (one) => one.read(id)))
  const parts = history.messages.flatMap(partsOf)
  const results = parts.flatMap(({ callId, type }) => (type === "tool-result" ? [callId] : []))
  return parts
    .flatMap(({ id: call, type }) => (type === "tool-call" && call !== undefined ? [call] : []))
    .filter((call) => results.filter((result) => result === call).length !== 1 && !waiting?.calls?.includes(call))
    .map((call) => `call ${call} is open in the model history of session ${id}`)
}
