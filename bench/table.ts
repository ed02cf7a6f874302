/**
 * Rows as lines of text.
 */
import { holds } from "./row.ts"
import type { Row } from "./row.ts"

const columns = [42, 11, 11, 7, 8, 16] as const

const cells = (name: string, ...rest: ReadonlyArray<string>) =>
  [name.padEnd(columns[0]), ...rest.map((cell, i) => cell.padStart(columns[i + 1] ?? 0))].join(" ")

export const heading = cells("row (p50)", "ours", "baseline", "ratio", "budget", "ratio of means")

export const line = (row: Row): string => {
  const { baseline, budget, exempt, mean, name, note, ours, ratio, unit } = row
  const limit = budget === undefined ? "" : "atMost" in budget ? `≤ ${budget.atMost}` : `≥ ${budget.atLeast}`
  const verdict = budget === undefined ? "" : exempt !== undefined ? "  not judged" : holds(row) ? "  ok" : "  OVER"
  const text = cells(
    name,
    figure(ours, unit),
    figure(baseline, unit),
    ratio.toFixed(2),
    limit,
    mean === undefined ? "" : mean.ratio.toFixed(2),
  )
  const remarks = [exempt, note].filter((remark) => remark !== undefined)
  return `${text}${verdict}${remarks.map((remark) => `\n    ${remark}`).join("")}`
}

const figure = (value: number, unit: Row["unit"]): string =>
  unit === "rows" ? String(value) : `${value < 100 ? value.toFixed(1) : Math.round(value).toLocaleString("en")} ${unit}`
