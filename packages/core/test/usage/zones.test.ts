import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { InvalidInput } from "../../src/storage/error.ts"
import { dayLength, dayOf, quartersADay, slotOf } from "../../src/usage/slots.ts"
import { zoneOf } from "../../src/usage/zones.ts"
import type { Zone } from "../../src/usage/zones.ts"

const zoneNamed = (name: string): Zone => {
  const zone = zoneOf(name, "timeZone")
  if (zone instanceof InvalidInput) throw zone
  return zone
}

const names = [
  "UTC",
  "America/New_York",
  "America/St_Johns",
  "America/Sao_Paulo",
  "Asia/Kathmandu",
  "Asia/Tehran",
  "Atlantic/Azores",
  "Australia/Lord_Howe",
  "Europe/London",
  "Pacific/Apia",
  "Pacific/Kiritimati",
  "Etc/GMT+12",
]

describe("days of time zones", () => {
  it("USE-03, A64 every quarter-hour since 1980 is on the date that a calendar there shows", () =>
    fc.assert(
      fc.property(
        fc.constantFrom(...names),
        fc.integer({ min: Date.parse("1980-02-01"), max: Date.parse("2037-12-30") }),
        (name, time) => {
          const zone = zoneNamed(name)
          const stretches = zone.stretches(dayOf(time))
          expect(stretches.map(({ from }) => from)).toEqual([0, ...stretches.slice(0, -1).map(({ to }) => to)])
          expect(stretches.at(-1)?.to).toBe(quartersADay)
          const date = new Date(time).toLocaleDateString("en-CA", { timeZone: name })
          const found = stretches.find(({ from, to }) => slotOf(time) >= from && slotOf(time) < to)
          expect(found?.date).toBe(date)
          const { from, to } = zone.boundsOf(date)
          expect(from <= time && time < to).toBe(true)
          expect(new Date(from).toLocaleDateString("en-CA", { timeZone: name })).toBe(date)
          expect(new Date(from - 1).toLocaleDateString("en-CA", { timeZone: name })).not.toBe(date)
          expect(new Date(to).toLocaleDateString("en-CA", { timeZone: name })).not.toBe(date)
        },
      ),
    ))

  it.each([
    // The day that Samoa went without, to be on the other side of the date line.
    ["Pacific/Apia", "2011-12-29", 24],
    ["Pacific/Apia", "2011-12-31", 24],
    ["America/New_York", "2025-03-09", 23],
    ["America/New_York", "2025-11-02", 25],
    ["Europe/London", "2025-03-30", 23],
    ["Australia/Lord_Howe", "2025-04-06", 24.5],
    ["Asia/Kathmandu", "2025-06-01", 24],
  ])("USE-03, A64 in %s %s has %f hours", (name, date, hours) => {
    const { from, to } = zoneNamed(name).boundsOf(date)
    expect((to - from) / 3_600_000).toBe(hours)
  })

  it("USE-03 before zones were whole quarter-hours from UTC, days begin at the first one behind midnight", () => {
    expect(zoneNamed("Africa/Monrovia").boundsOf("1970-01-11")).toEqual({
      from: 10 * dayLength + 2_700_000,
      to: 11 * dayLength + 2_700_000,
    })
  })

  it.each(["", "Mars/Olympus", "Europe", "UTC+25", "\0"])("USE-03 %j is no time zone", (name) => {
    expect(zoneOf(name, "query.timeZone")).toMatchObject({ _tag: "InvalidInput", field: "query.timeZone", value: name })
  })
})
