/**
 * The generic dialect: for sessions that were given no other.
 *
 * Its bodies are `{ role, content }` with text or generic parts, and it is generous beyond that: plain text is a message,
 * so is an object with text in `text` or `content`, and parts it does not know are carried. A reader is given bodies with
 * a role as they were stored, whatever else is in them. What has neither a role nor text cannot be read.
 *
 * A body may hold a whole step, what an assistant said and the results of its calls: it is read as the assistant's
 * message and the tools', for that is how models are given them.
 */
import type { Json, JsonObject } from "../../storage/json.ts"
import { summaryText, textOf } from "../dialect.ts"
import type { Dialect, GenericMessage, GenericPart, Loss, Readable, Role, Unreadable } from "../dialect.ts"
import {
  isArray,
  isObject,
  isRole,
  isString,
  messagesOf,
  metadata,
  othersMetadata,
  ownFields,
  usableId,
  without,
} from "./fields.ts"

const name = "generic"

const read = (body: Json, role: Role): Readable<Json> | Unreadable => {
  if (isString(body)) return { messages: [{ role, content: [{ type: "text", text: body }] }] }
  if (!isObject(body)) return { unreadable: `a message is text or an object, not ${JSON.stringify(body).slice(0, 40)}` }
  const content = contentOf(body)
  if (content === undefined) return { unreadable: "an object with neither a role nor text" }
  const at = body["at"]
  const about = {
    ...(isString(body["id"]) ? { id: body["id"] } : {}),
    ...(typeof at === "number" ? { at } : {}),
    ...metadata(name, without(body, "role", "content", "text", "providerMetadata"), body["providerMetadata"]),
  }
  const said = isRole(body["role"]) ? body["role"] : role
  const messages = messagesOf(content, said, about)
  return messages.length === 1 && messages[0]?.role === body["role"] ? { messages, native: body } : { messages }
}

const contentOf = (body: JsonObject): ReadonlyArray<GenericPart> | undefined => {
  const content = body["content"] ?? body["text"]
  if (isString(content)) return [{ type: "text", text: content }]
  if (isArray(content)) return content.map(partOf)
  // Somebody's own shape: with a role it is a message all the same.
  return isRole(body["role"]) ? [{ type: "other", format: name, value: body }] : undefined
}

const partOf = (part: Json): GenericPart => {
  if (isString(part)) return { type: "text", text: part }
  return isPart(part) ? part : { type: "other", format: name, value: part }
}

const isPart = (part: Json): part is GenericPart => {
  if (!isObject(part)) return false
  switch (part["type"]) {
    case "text":
    case "reasoning":
      return isString(part["text"])
    case "file":
      return isString(part["mime"]) && isString(part["data"]) !== isString(part["url"])
    case "tool-call":
      return isString(part["id"]) && isString(part["name"]) && part["input"] !== undefined
    case "tool-result":
      return isString(part["callId"]) && part["output"] !== undefined
    case "other":
      return isString(part["format"]) && part["value"] !== undefined
    default:
      return false
  }
}

const write = (message: GenericMessage): Json => {
  const [first, ...more] = message.content
  if (first?.type === "other" && first.format === name && more.length === 0 && isOwnShape(first.value)) {
    return first.value
  }
  const plain = first?.type === "text" && first.providerMetadata === undefined && more.length === 0
  const providerMetadata = othersMetadata(message, name)
  return {
    ...ownFields(message, name),
    role: message.role,
    content: plain ? first.text : message.content.map(written),
    ...(providerMetadata === undefined ? {} : { providerMetadata }),
  }
}

const written = (part: GenericPart): Json => (part.type === "other" && part.format === name ? part.value : part)

const isOwnShape = (value: Json): boolean => isObject(value) && isRole(value["role"])

export const generic: Dialect<Json> = {
  name,
  version: 1,
  role: (body) => {
    if (isString(body)) return "user"
    return isObject(body) && isRole(body["role"]) ? body["role"] : undefined
  },
  text: (body) => {
    const reading = read(body, "user")
    return "unreadable" in reading ? "" : textOf(reading.messages)
  },
  id: (body) => (isObject(body) ? usableId(body["id"]) : undefined),
  prompt: (text) => ({ role: "user", content: text }),
  summary: (text) => ({ role: "user", content: summaryText(text) }),
  read,
  // Everything that can be said in generic parts can be said here.
  write: (messages) => ({ messages: messages.map(write), lost: noLoss }),
}

const noLoss: ReadonlyArray<Loss> = []
