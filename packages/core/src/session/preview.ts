/**
 * Previews: what a list says of a conversation, cut from what the user said last.
 */

/** How long a preview may be, in UTF-16 units: SES-10. */
export const previewLength = 80

/** Text on one line, white space folded, at most `length` units, never ending in half of a surrogate pair. */
export const previewOf = (text: string, length: number = previewLength): string => {
  // Folding only a beginning that is surely long enough: a prompt may be megabytes.
  const folded = text
    .slice(0, length * 20)
    .replace(/\s+/gu, " ")
    .trim()
  const cut = folded.slice(0, length)
  const wellFormed = cut.replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "")
  return wellFormed.trimEnd()
}
