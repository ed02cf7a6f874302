/**
 * Ids of what a user said, made of the key under which it is said once.
 */
import { sha256 } from "@noble/hashes/sha2.js"
import { utf8ToBytes } from "@noble/hashes/utils.js"

/** `msg-user-v1-` and the SHA-256 of session id, NUL and message key, in base64url (RFC 4648): MSG-03. */
export const userMessageId = (sessionId: string, messageKey: string): string =>
  `msg-user-v1-${base64url(sha256(utf8ToBytes(`${sessionId}\0${messageKey}`)))}`

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

/** Base64url without padding. */
const base64url = (bytes: Uint8Array): string => {
  let text = ""
  for (let i = 0; i < bytes.length; i += 3) {
    const bits = (bytes[i]! << 16) | ((bytes[i + 1] ?? 0) << 8) | (bytes[i + 2] ?? 0)
    for (let n = 0; n < 4 && i * 8 + n * 6 < bytes.length * 8; n++) text += alphabet[(bits >> (18 - 6 * n)) & 63]
  }
  return text
}
