/**
 * Which calls a stored message makes and which it answers: what one needs to see that a boundary would split a tool round.
 */
import type { Json } from "../storage/json.ts"
import type { Dialect, Role } from "./dialect.ts"

export interface ToolSpan {
  /** Ids of the calls made here, in order. */
  readonly calls: ReadonlyArray<string>
  /** Ids of the calls answered here, in order. */
  readonly results: ReadonlyArray<string>
}

/** A body that cannot be read calls and answers nothing. */
export const toolSpan = (dialect: Dialect<unknown>, body: Json, role: Role): ToolSpan => {
  const reading = dialect.read(body, role)
  const parts = "unreadable" in reading ? [] : reading.messages.flatMap((message) => message.content)
  return {
    calls: parts.flatMap((part) => (part.type === "tool-call" ? [part.id] : [])),
    results: parts.flatMap((part) => (part.type === "tool-result" ? [part.callId] : [])),
  }
}

/**
 * Ids of the calls that have no answer at the end of `spans`, given in path order.
 *
 * A boundary lies inside a tool round where one of them is answered behind it, or still can be. A result answers the
 * latest unanswered call of its id, for some providers use one id again and again.
 */
export const openCalls = (spans: ReadonlyArray<ToolSpan>): ReadonlyArray<string> => {
  const open: Array<string> = []
  for (const span of spans) {
    open.push(...span.calls)
    for (const result of span.results) {
      const at = open.lastIndexOf(result)
      if (at !== -1) open.splice(at, 1)
    }
  }
  return open
}
