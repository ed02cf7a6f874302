/**
 * The dialects that skein knows. Give one to `Skein.open({ dialect })`, and others that stored bodies may be in as
 * `dialects`; a dialect of your own is any value of the type `Dialect`.
 */
export { aiSdk, aiSdkUi } from "./ai-sdk.ts"
export { anthropic } from "./anthropic.ts"
export { generic } from "./generic.ts"
export { openai, openaiResponses } from "./openai.ts"
export { pi } from "./pi.ts"
export type { SdkModelMessage, SdkUiMessage } from "./ai-sdk.ts"
export type { AnthropicMessage } from "./anthropic.ts"
export type { OpenAiItem, OpenAiMessage } from "./openai.ts"
export type { PiMessage } from "./pi.ts"
export type { Dialect } from "../dialect.ts"
