/**
 * The quarter-hours of a day as one short text, which costs almost nothing to be kept and is read only as far as needed.
 *
 * A quarter-hour in which something was spent is its number (0 to 95) and the measures of its tally, all in base 36, with
 * commas between them and a semicolon behind; they stand in order. A zero is left empty, and zeros at the end are left out:
 * `g,2,61g,1fq,6mjt4;` is two calls between 04:00 and 04:15.
 */
import type { Tally } from "./model.ts"
import { measures, noCalls, plus } from "./tally.ts"

export const quarter = 900_000
export const quartersADay = 96
export const dayLength = quartersADay * quarter

/** The UTC day of a time, in days since 1970. */
export const dayOf = (time: number): number => Math.floor(time / dayLength)

/** The quarter-hour of its UTC day that a time is in. */
export const slotOf = (time: number): number => Math.floor((time - dayOf(time) * dayLength) / quarter)

/** When a quarter-hour begins. */
export const timeOf = (day: number, slot: number): number => day * dayLength + slot * quarter

/** The text with a tally added to a quarter-hour, or with `times` −1 taken from it. */
export const withTally = (slots: string, slot: number, tally: Tally, times: 1 | -1): string => {
  // What is recorded is mostly of now: the place is near the end.
  let end = slots.length
  let start = lastEntry(slots, end)
  while (end > 0 && slotAt(slots, start) > slot) {
    end = start
    start = lastEntry(slots, end)
  }
  const sums = noSums()
  if (end > 0 && slotAt(slots, start) === slot) addEntry(sums, slots, start)
  else start = end
  return slots.slice(0, start) + entryOf(slot, plus(toTally(sums), tally, times)) + slots.slice(end)
}

/** What was spent before a quarter-hour, of a day that has `whole`. The shorter part of the text is read. */
export const spentBefore = (slots: string, slot: number, whole: Tally): Tally => {
  const sums = noSums()
  if (2 * slot <= quartersADay) {
    for (let at = 0; at < slots.length && slotAt(slots, at) < slot;) at = addEntry(sums, slots, at)
    return toTally(sums)
  }
  for (let end = slots.length; end > 0;) {
    const start = lastEntry(slots, end)
    if (slotAt(slots, start) < slot) break
    addEntry(sums, slots, start)
    end = start
  }
  return plus(whole, toTally(sums), -1)
}

/** Sums in the order of `measures`: adding by place is several times as fast as by name. */
const noSums = (): Array<number> => measures.map(() => 0)

const toTally = (sums: ReadonlyArray<number>): Tally => {
  const tally = { ...noCalls }
  measures.forEach((measure, i) => {
    tally[measure] = sums[i]!
  })
  return tally
}

/** Where the entry begins that ends at `end`. */
const lastEntry = (slots: string, end: number): number => slots.lastIndexOf(";", end - 2) + 1

const zero = 48
const nine = 57
const letterTen = 97
const comma = 44
const semicolon = 59

/** The value of a digit: `0` to `9`, then `a` to `z`. */
const digitOf = (code: number): number => (code <= nine ? code - zero : code - letterTen + 10)

const slotAt = (slots: string, at: number): number => {
  let slot = 0
  for (let code = slots.charCodeAt(at); code !== comma; code = slots.charCodeAt(++at)) {
    slot = slot * 36 + digitOf(code)
  }
  return slot
}

/** Adds the entry that begins at `at`, and says where it ends. */
const addEntry = (into: Array<number>, slots: string, at: number): number => {
  // Before the measures stands the number of the quarter-hour.
  let measure = -1
  let value = 0
  for (;;) {
    const code = slots.charCodeAt(at++)
    if (code !== comma && code !== semicolon) {
      value = value * 36 + digitOf(code)
      continue
    }
    if (measure >= 0) into[measure] = into[measure]! + value
    if (code === semicolon) return at
    measure++
    value = 0
  }
}

const entryOf = (slot: number, tally: Tally): string => {
  if (tally.calls === 0) return ""
  const numbers = measures.map((measure) => (tally[measure] === 0 ? "" : tally[measure].toString(36)))
  return `${slot.toString(36)},${numbers.join(",").replace(/,+$/, "")};`
}
