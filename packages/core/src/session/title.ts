/**
 * Titles of forks: what the source is called, with the next free number.
 *
 * Guarantee: of the forks of a tree no two get one title. Forks are found by what their title says without its number, so
 * that no session has to be listed: FRK-06.
 */
import { key } from "../storage/key.ts"
import { titleLength } from "./input.ts"
import type { SessionRow } from "./model.ts"

/** A title without its number, and the number: 1 where it has none. */
export interface NumberedTitle {
  readonly text: string
  readonly number: number
}

export const splitTitle = (title: string): NumberedTitle => {
  const [, text, digits] = /^(.*\S) \(([1-9]\d{0,8})\)$/su.exec(title) ?? []
  return text === undefined ? { text: title, number: 1 } : { text, number: Number(digits) }
}

export const joinTitle = ({ number, text }: NumberedTitle): string => {
  const suffix = ` (${number})`
  const room = titleLength - suffix.length
  if (text.length <= room) return text + suffix
  // Never half a surrogate pair.
  const cut = text.slice(0, room).replace(/[\uD800-\uDBFF]$/u, "")
  return cut.trimEnd() + suffix
}

/** The index fields by which the title of a fork is found. */
export const forkTitleFields = (title: string | undefined): Pick<SessionRow, "titleKey" | "titleNumber"> => {
  if (title === undefined) return {}
  const { number, text } = splitTitle(title)
  return { titleKey: key(text), titleNumber: number }
}

/** A row with the index fields that its title asks for. */
export const withTitleFields = (row: Readonly<SessionRow>): SessionRow => {
  const { titleKey: _key, titleNumber: _number, ...rest } = row
  return row.forkedFrom === undefined ? rest : { ...rest, ...forkTitleFields(row.title) }
}
