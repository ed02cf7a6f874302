/**
 * What dialects read in the bodies of an entry.
 */
import type { SkeinSettings } from "../settings.ts"
import type { Json } from "../storage/json.ts"
import type { Role } from "./model.ts"
import { displayOf } from "./placement.ts"
import type { NewEntry } from "./placement.ts"

/** What a person would read of a stored or new entry. */
export const textOf = (
  settings: SkeinSettings,
  entry: Pick<NewEntry, "body" | "display" | "format" | "large">,
): string => {
  const body = displayOf(entry)
  if (body === undefined) return ""
  // It is elsewhere: this is the beginning of what it says.
  if (body === null) return entry.large?.text ?? ""
  const dialect = dialectOf(settings, entry)
  return asked(() => dialect?.text(body as Json)) ?? ""
}

/** Who speaks in a stored or new entry, as far as its body says. */
export const speakerOf = (settings: SkeinSettings, entry: Bodies): Role | undefined => {
  const dialect = dialectOf(settings, entry)
  return bodiesOf(entry)
    .map((body) => asked(() => dialect?.role(body)))
    .find((role) => role !== undefined)
}

/** Whether nothing is said in an entry: no part in any body, or blank text. What its dialect cannot read says something. */
export const isBlank = (settings: SkeinSettings, entry: Bodies): boolean => {
  const dialect = dialectOf(settings, entry)
  return bodiesOf(entry).every((body) => {
    if (typeof body === "object" && body !== null && Object.keys(body).length === 0) return true
    const reading = asked(() => dialect?.read(body, "user"))
    if (reading === undefined || "unreadable" in reading) return false
    const parts = reading.messages.flatMap(({ content }) => content)
    return parts.every((part) => part.type === "text" && part.text.trim() === "")
  })
}

type Bodies = Pick<NewEntry, "body" | "display" | "model" | "format">

const bodiesOf = ({ body, display, model }: Bodies): ReadonlyArray<Json> =>
  [body, display, model].filter((one) => one !== undefined) as ReadonlyArray<Json>

const dialectOf = (settings: SkeinSettings, { format }: Pick<NewEntry, "format">) =>
  settings.dialects.get(format?.dialect ?? settings.dialect.name)

/** What a dialect says. It may be the caller's: one that throws says nothing, and costs nobody a message. */
export const asked = <A>(question: () => A | undefined): A | undefined => {
  try {
    return question()
  } catch {
    return undefined
  }
}
