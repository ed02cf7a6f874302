/**
 * Days of a time zone, cut from days of UTC at quarter-hours. What is known of zones is the host's: `Intl`.
 *
 * Guarantee: every quarter-hour belongs to one local day, the one in which it begins, days of 23 and of 25 hours
 * included. Zones have been a whole number of quarter-hours from UTC since 1980; before, a day may begin some minutes
 * behind midnight.
 */
import { InvalidInput } from "../storage/error.ts"
import { dayLength, dayOf, quarter, quartersADay, timeOf } from "./slots.ts"

/** Part of a UTC day that lies in one local day: quarter-hours from `from` up to, and without, `to`. */
export interface Stretch {
  /** `YYYY-MM-DD`. */
  readonly date: string
  readonly from: number
  readonly to: number
}

export interface Zone {
  /** The local days that a UTC day has a part in, in order. */
  readonly stretches: (day: number) => ReadonlyArray<Stretch>
  /** When a local day begins and ends, in milliseconds since 1970. */
  readonly boundsOf: (date: string) => { readonly from: number; readonly to: number }
}

/** The zone with this name, or what is wrong with it. Each remembers the days that it was asked for. */
export const zoneOf = (name: string, field: string): Zone | InvalidInput => {
  const offsetAt = offsets(name)
  if (offsetAt === undefined) {
    const problem = "must be a time zone that this host knows, such as UTC or Europe/Berlin"
    return new InvalidInput({ field, value: name, problem })
  }
  const offsetOn = remembered((day: number) => offsetAt(timeOf(day, 0)))
  const stretches = remembered((day: number) => {
    const offset = offsetOn(day)
    return offset === offsetOn(day + 1) ? plainDay(day, offset) : dayOfChange(day, offsetAt)
  })
  return {
    stretches,
    boundsOf: (date) => {
      const day = dayOf(Date.parse(`${date}T00:00:00Z`))
      // No zone is further than a day from UTC.
      const parts = [day - 1, day, day + 1].flatMap((near) =>
        stretches(near)
          .filter((stretch) => stretch.date === date)
          .map((stretch) => ({ from: timeOf(near, stretch.from), to: timeOf(near, stretch.to) })),
      )
      return { from: parts[0]!.from, to: parts.at(-1)!.to }
    },
  }
}

/** How far local time is ahead of UTC, in milliseconds. */
type OffsetAt = (time: number) => number

const offsets = (name: string): OffsetAt | undefined => {
  if (name === "UTC") return () => 0
  const format = formatOf(name)
  if (format === undefined) return undefined
  return (time) => {
    const [month, date, year, hour, minute, second] = format.format(time).match(/\d+/g)!.map(Number)
    return Date.UTC(year!, month! - 1, date, hour, minute, second) - time
  }
}

const formatOf = (timeZone: string): Intl.DateTimeFormat | undefined => {
  try {
    return new Intl.DateTimeFormat("en-US", {
      timeZone,
      calendar: "gregory",
      numberingSystem: "latn",
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    })
  } catch {
    return undefined
  }
}

const remembered = <Value>(make: (day: number) => Value): ((day: number) => Value) => {
  const known = new Map<number, Value>()
  return (day) => {
    let found = known.get(day)
    if (found === undefined) known.set(day, (found = make(day)))
    return found
  }
}

/** A UTC day all of which is as far from local time: midnight is in it once. */
const plainDay = (day: number, offset: number): ReadonlyArray<Stretch> => {
  const midnight = ((-offset % dayLength) + dayLength) % dayLength
  const cut = Math.ceil(midnight / quarter)
  const dateAt = (slot: number) => isoDate(timeOf(day, slot) + offset)
  return [
    { date: dateAt(0), from: 0, to: cut },
    { date: dateAt(cut), from: cut, to: quartersADay },
  ].filter(({ from, to }) => from < to)
}

/** A UTC day on which the clocks are changed. */
const dayOfChange = (day: number, offsetAt: OffsetAt): ReadonlyArray<Stretch> => {
  const found: Array<{ -readonly [Key in keyof Stretch]: Stretch[Key] }> = []
  for (let slot = 0; slot < quartersADay; slot++) {
    const time = timeOf(day, slot)
    const date = isoDate(time + offsetAt(time))
    const open = found.at(-1)
    if (open?.date === date) open.to = slot + 1
    else found.push({ date, from: slot, to: slot + 1 })
  }
  return found
}

const isoDate = (time: number): string => new Date(time).toISOString().slice(0, 10)
