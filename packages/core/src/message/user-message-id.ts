/**
 * Ids of what a user said, made of the key under which it is said once.
 */
import { sha256 } from "@noble/hashes/sha2.js"
import { utf8ToBytes } from "@noble/hashes/utils.js"
import { base64url } from "../base64.ts"

/** `msg-user-v1-` and the SHA-256 of session id, NUL and message key, in base64url (RFC 4648): MSG-03. */
export const userMessageId = (sessionId: string, messageKey: string): string =>
  `msg-user-v1-${base64url(sha256(utf8ToBytes(`${sessionId}\0${messageKey}`)))}`
