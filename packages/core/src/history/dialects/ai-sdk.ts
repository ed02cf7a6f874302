/**
 * The AI SDK's dialects: one name, one reading, two faces.
 *
 * Under the name `ai-sdk` both of the SDK's formats are stored, and the shape of a body tells which it is: UIMessages have
 * `parts`, ModelMessages have `content`. What differs is what a reader is given:
 *
 * - `aiSdk` gives ModelMessages, for `streamText` and its like. A page may store UIMessages, and its agent reads them as
 *   what the SDK's own conversion would make of them.
 * - `aiSdkUi` gives UIMessages, for those who call `convertToModelMessages` themselves because they have data parts or
 *   tools with an output of their own for models.
 */
import type { Json } from "../../storage/json.ts"
import { summaryText, textOf } from "../dialect.ts"
import type { Dialect, GenericMessage, MessageFacts, Role, Unreadable } from "../dialect.ts"
import { isModelMessage, readModelMessage, writeModelMessages } from "./ai-sdk/model-message.ts"
import type { SdkModelMessage } from "./ai-sdk/model-message.ts"
import { isUiMessage, readUiMessage, writeUiMessages } from "./ai-sdk/ui-message.ts"
import type { SdkUiMessage } from "./ai-sdk/ui-message.ts"
import { isObject, isRole, usableId } from "./fields.ts"

export type { SdkModelMessage } from "./ai-sdk/model-message.ts"
export type { SdkUiMessage } from "./ai-sdk/ui-message.ts"

const readEither = (body: Json, said: Role): { readonly messages: ReadonlyArray<GenericMessage> } | Unreadable => {
  if (!isObject(body)) return { unreadable: "neither a UIMessage nor a ModelMessage: not an object" }
  const role = roleOf(body) ?? said
  const steps = readUiMessage(body, role)
  if (steps !== undefined) return { messages: steps }
  const message = readModelMessage(body, role)
  return message === undefined
    ? { unreadable: "neither a UIMessage nor a ModelMessage: it has no parts and no content" }
    : { messages: [message] }
}

const roleOf = (body: Json): Role | undefined => (isObject(body) && isRole(body["role"]) ? body["role"] : undefined)

const shared = {
  name: "ai-sdk",
  version: 1,
  role: roleOf,
  text: (body: Json) => {
    const reading = readEither(body, "user")
    return "unreadable" in reading ? "" : textOf(reading.messages)
  },
  id: (body: Json) => (isObject(body) ? usableId(body["id"]) : undefined),
}

/**
 * Reads ModelMessages and UIMessages, gives ModelMessages.
 *
 * To have your version's own type for them, name it: `Skein.open<ModelMessage>(storage, { dialect: aiSdk })`.
 */
export const aiSdk: Dialect<SdkModelMessage> = {
  ...shared,
  prompt: (text) => ({ role: "user", content: text }),
  summary: (text) => ({ role: "user", content: summaryText(text) }),
  read: (body, role) => {
    const reading = readEither(body, role)
    return isModelMessage(body) ? { ...reading, native: body } : reading
  },
  write: writeModelMessages,
}

const uiText = (text: string, facts: MessageFacts | undefined): SdkUiMessage => ({
  id: facts?.id ?? "",
  role: "user",
  parts: [{ type: "text", text }],
})

/**
 * Reads UIMessages and ModelMessages, gives UIMessages. Give `prompt` and `summary` an id: UIMessages need one, and it is
 * empty otherwise.
 */
export const aiSdkUi: Dialect<SdkUiMessage> = {
  ...shared,
  prompt: uiText,
  summary: (text, facts) => uiText(summaryText(text), facts),
  read: (body, role) => {
    const reading = readEither(body, role)
    return isUiMessage(body) ? { ...reading, native: body } : reading
  },
  write: writeUiMessages,
  resultsInside: true,
}
