/**
 * What a session shows of its path: all of it. Only a side conversation shows nothing of what it has inherited.
 */
import type { Facts } from "../message/model.ts"
import type { SessionRow } from "./model.ts"

/** Numbers of entries that people see, and of prompts among them. */
export type Shown = Pick<Facts, "displays" | "prompts">

const none: Shown = { displays: 0, prompts: 0 }

/** How much at the beginning of every path of a session is not shown. */
export const hiddenOf = ({ displayFrom }: Pick<SessionRow, "displayFrom">): Shown => displayFrom ?? none

/** How much of a path is shown, given the facts at its end. */
export const shownOf = (session: Pick<SessionRow, "displayFrom">, { displays, prompts }: Shown): Shown => {
  const hidden = hiddenOf(session)
  return { displays: Math.max(0, displays - hidden.displays), prompts: Math.max(0, prompts - hidden.prompts) }
}
