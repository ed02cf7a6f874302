/**
 * Text on a terminal: colours where they are wanted, and columns that line up whatever the script.
 */

/** Colours are for terminals, and not for people who said no: https://no-color.org. */
export const wantsColour = (): boolean => process.stdout.isTTY === true && (process.env["NO_COLOR"] ?? "") === ""

export interface Style {
  readonly bold: (text: string) => string
  readonly dim: (text: string) => string
  readonly green: (text: string) => string
  readonly yellow: (text: string) => string
  readonly red: (text: string) => string
  readonly cyan: (text: string) => string
}

export const styleFor = (colour: boolean): Style => {
  const code = (on: number, off: number) => (text: string) => (colour ? `\u001b[${on}m${text}\u001b[${off}m` : text)
  return {
    bold: code(1, 22),
    dim: code(2, 22),
    green: code(32, 39),
    yellow: code(33, 39),
    red: code(31, 39),
    cyan: code(36, 39),
  }
}

const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" })
const wide =
  /\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]/u

const widthOf = (grapheme: string): number => (wide.test(grapheme) ? 2 : 1)

/** How many columns a text takes. */
const columnsOf = (text: string): number =>
  [...graphemes.segment(text)].reduce((sum, { segment }) => sum + widthOf(segment), 0)

/** The text in one line of at most so many columns. */
export const cut = (text: string, columns: number): string => {
  const line = text.replace(/\s+/gu, " ").trim()
  if (columnsOf(line) <= columns) return line
  let kept = ""
  let room = columns - 1
  for (const { segment } of graphemes.segment(line)) {
    room -= widthOf(segment)
    if (room < 0) break
    kept += segment
  }
  return `${kept.trimEnd()}…`
}

/** The text in exactly so many columns. */
export const fit = (text: string, columns: number): string => {
  const line = cut(text, columns)
  return line + " ".repeat(Math.max(0, columns - columnsOf(line)))
}
