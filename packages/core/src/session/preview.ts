/**
 * Text in one short line, for lists.
 *
 * Guarantee: the result is well-formed, has no line break, no control character and no white space at its ends, and no
 * more UTF-16 units than asked for. Only as much of the text is looked at as is needed.
 */

/** How long the preview of a session is, at most. */
export const previewLength = 80

const blank = /[\s\p{Cc}]/u
const halfPair = /\p{Cs}/u

export const previewOf = (text: string, length = previewLength): string => {
  let line = ""
  let gap = ""
  // A string gives its characters by code point, so that a pair of surrogates stays together.
  for (const character of text) {
    if (halfPair.test(character)) continue
    if (blank.test(character)) {
      gap = line === "" ? "" : " "
      continue
    }
    if (line.length + gap.length + character.length > length) break
    line += gap + character
    gap = ""
  }
  return line
}
