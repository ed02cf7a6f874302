/**
 * Calls as OpenAI's APIs have them: what a function is called with is JSON in a text that the model wrote.
 */
import type { Json, JsonObject } from "../../../storage/json.ts"
import { isString } from "../fields.ts"

/** The provider, as the AI SDK names it too: ids and encrypted thoughts of items are kept under it. */
export const provider = "openai"
/** The owner of the fields that only messages of Chat Completions have. */
export const chatFormat = "openai-chat"
/** The owner of the fields that only items of Responses have. */
export const responsesFormat = "openai-responses"

/** Ids of calls that both APIs take. */
export const takenId = /^.{1,40}$/s

/** What a call is made with. The text is kept where JSON would be written differently, or where it is none. */
export const readArguments = (text: Json | undefined): { readonly input: Json; readonly own: JsonObject } => {
  if (!isString(text)) return { input: text ?? {}, own: {} }
  const input = parsed(text)
  return { input, own: JSON.stringify(input) === text ? {} : { arguments: text } }
}

/** A model that was cut off writes half an object, and one that has nothing to say may write nothing. */
const parsed = (text: string): Json => {
  if (text.trim() === "") return {}
  try {
    return JSON.parse(text) as Json
  } catch {
    return text
  }
}

export const writeArguments = (input: Json, own: JsonObject): string =>
  isString(own["arguments"]) ? own["arguments"] : JSON.stringify(input)
