/**
 * OpenAI's dialects: one name, one reading, two faces.
 *
 * Under the name `openai` messages of Chat Completions and items of Responses are stored, and the shape of a body tells
 * which it is. What differs is what a reader is given:
 *
 * - `openai` gives messages for Chat Completions, which is also what most other servers take.
 * - `openaiResponses` gives the items of one step at a time: `input: (await skein.history.read(s)).flat()`. Store what
 *   a response put out as one body (`response.output`), and the outputs of its calls as the next.
 *
 * Not promised: what the API has no place for. Chat Completions takes no thoughts save those a compatible server put
 * beside the content, no images in results and no files by URL, and neither API takes that a result is an error. Those
 * are left out and named; the metadata of other providers is left out, for it is for them alone.
 */
import type { Json } from "../../storage/json.ts"
import { summaryText, textOf } from "../dialect.ts"
import type { Dialect, GenericMessage, Role, Unreadable } from "../dialect.ts"
import { isArray, isObject, usableId } from "./fields.ts"
import { isChatMessage, isTaken, readChatMessage, roleOf, writeChatMessages } from "./openai/chat.ts"
import type { OpenAiMessage } from "./openai/chat.ts"
import { areTaken, itemsOf, readItems, speakerOf, writeItems } from "./openai/responses.ts"
import type { OpenAiItem } from "./openai/responses.ts"

export type { OpenAiMessage } from "./openai/chat.ts"
export type { OpenAiItem } from "./openai/responses.ts"

const readEither = (body: Json): { readonly messages: ReadonlyArray<GenericMessage> } | Unreadable => {
  if (isChatMessage(body)) return { messages: [readChatMessage(body)] }
  const items = itemsOf(body)
  return items === undefined
    ? { unreadable: "neither a message of Chat Completions nor items of Responses" }
    : { messages: readItems(items) }
}

const shared = {
  name: "openai",
  version: 1,
  role: (body: Json): Role | undefined => {
    if (isChatMessage(body)) return roleOf(body.role)
    const items = itemsOf(body)
    return items && speakerOf(items)
  },
  text: (body: Json) => {
    const reading = readEither(body)
    return "unreadable" in reading ? "" : textOf(reading.messages)
  },
  id: (body: Json) => (isObject(body) ? usableId(body["id"]) : undefined),
}

/**
 * Reads messages of Chat Completions and items of Responses, gives messages of Chat Completions. To have your version's
 * own type for them, name it: `Skein.open<ChatCompletionMessageParam>(…)`.
 */
export const openai: Dialect<OpenAiMessage> = {
  ...shared,
  prompt: (text) => ({ role: "user", content: text }),
  summary: (text) => ({ role: "user", content: summaryText(text) }),
  read: (body) => {
    const reading = readEither(body)
    return isChatMessage(body) && isTaken(body) ? { ...reading, native: body } : reading
  },
  write: writeChatMessages,
}

/** Reads items of Responses and messages of Chat Completions, gives lists of items. */
export const openaiResponses: Dialect<Array<OpenAiItem>> = {
  ...shared,
  prompt: (text) => [{ role: "user", content: text }],
  summary: (text) => [{ role: "user", content: summaryText(text) }],
  read: (body) => {
    const reading = readEither(body)
    const items = isArray(body) ? itemsOf(body) : undefined
    return items !== undefined && areTaken(items)
      ? { ...reading, native: items as unknown as Array<OpenAiItem> }
      : reading
  },
  write: writeItems,
}
