/**
 * Base64 (RFC 4648), which runtimes offer each under another name.
 */
const shared = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
const standard = `${shared}+/`
const forUrls = `${shared}-_`

const encode = (bytes: Uint8Array, alphabet: string): string => {
  let text = ""
  for (let i = 0; i < bytes.length; i += 3) {
    const bits = (bytes[i]! << 16) | ((bytes[i + 1] ?? 0) << 8) | (bytes[i + 2] ?? 0)
    for (let n = 0; n < 4 && i * 8 + n * 6 < bytes.length * 8; n++) text += alphabet[(bits >> (18 - 6 * n)) & 63]
  }
  return text
}

/** Base64url without padding. */
export const base64url = (bytes: Uint8Array): string => encode(bytes, forUrls)

export const base64 = (bytes: Uint8Array): string => {
  const text = encode(bytes, standard)
  return text.padEnd(Math.ceil(text.length / 4) * 4, "=")
}

/** The bytes, or `undefined` where the text is no base64. Padding may be left out. */
export const bytesOfBase64 = (text: string): Uint8Array | undefined => {
  const digits = text.replace(/={0,2}$/, "")
  if (!/^[A-Za-z0-9+/]*$/.test(digits) || digits.length % 4 === 1) return undefined
  const bytes = new Uint8Array(Math.floor((digits.length * 3) / 4))
  let bits = 0
  let at = 0
  for (let i = 0; i < digits.length; i++) {
    bits = (bits << 6) | standard.indexOf(digits[i]!)
    // Of what came in, 6, 4, 2 or 0 bits are still waiting for the next digit.
    if (i % 4 > 0) bytes[at++] = bits >> (6 - 2 * (i % 4))
  }
  return bytes
}
