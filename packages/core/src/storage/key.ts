/**
 * Any text as a key: paths, groups, model names, call ids.
 *
 * Guarantee: different texts give different keys, a key is printable ASCII of at most 160 characters, and a text that is
 * short and harmless is its own key, so that people can read it. Keys say nothing about how texts sort.
 */
import { sha256 } from "@noble/hashes/sha2.js"
import { bytesToHex } from "@noble/hashes/utils.js"

const longest = 160

/** Everything but printable ASCII, and the two characters that mark an escape and a hash. */
const escaped = /[^\x20-\x7e]|[%~]/g

export const key = (text: string): string => {
  const plain = text.replace(escaped, (unit) => `%${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
  if (plain.length <= longest) return plain
  return `${plain.slice(0, 80)}~${bytesToHex(sha256(utf16(text)))}`
}

/** The code units of a text as bytes: unlike UTF-8 it keeps lone surrogates apart. */
const utf16 = (text: string): Uint8Array => {
  const bytes = new Uint8Array(text.length * 2)
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    bytes[2 * i] = unit >> 8
    bytes[2 * i + 1] = unit & 0xff
  }
  return bytes
}
