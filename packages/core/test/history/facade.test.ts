import { expect, expectTypeOf, it } from "vitest"
import { anthropic, openai, openaiResponses } from "../../src/history/dialects/index.ts"
import type { AnthropicMessage, OpenAiItem, OpenAiMessage } from "../../src/history/dialects/index.ts"
import { Skein } from "../../src/skein.ts"
import { naive } from "../support/naive-backend.ts"

it("HIS-02 who opens with a provider's dialect is given what that provider's API takes", async () => {
  const skein = await Skein.open(naive().layer, { dialect: anthropic, dialects: [openai] })
  const { id } = await skein.sessions.create()
  const thinking = { type: "thinking" as const, thinking: "Hm.", signature: "EqoB" }
  const answer: AnthropicMessage = { role: "assistant", content: [thinking, { type: "text", text: "Hello" }] }
  await skein.messages.append(id, { role: "user", content: "Hi" })
  await skein.messages.append(id, answer)
  await skein.messages.append(id, {
    body: { role: "user", content: "And now?" },
    format: { dialect: "openai", version: 1 },
  })
  const history = await skein.history.read(id)
  expectTypeOf(history).toEqualTypeOf<ReadonlyArray<AnthropicMessage>>()
  expect(history).toEqual([{ role: "user", content: "Hi" }, answer, { role: "user", content: "And now?" }])
  await skein.close()
})

it("HIS-02 the steps of a response are bodies like others", async () => {
  const skein = await Skein.open(naive().layer, { dialect: openaiResponses })
  const { id } = await skein.sessions.create()
  const step: Array<OpenAiItem> = [
    { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "gAAA" },
    { type: "function_call", call_id: "call_1", name: "read", arguments: "{}" },
  ]
  const output: Array<OpenAiItem> = [{ type: "function_call_output", call_id: "call_1", output: "ok" }]
  await skein.messages.append(id, [{ role: "user", content: "Read" }])
  await skein.messages.append(id, step)
  await skein.messages.append(id, output)
  const history = await skein.history.read(id)
  expectTypeOf(history).toEqualTypeOf<ReadonlyArray<Array<OpenAiItem>>>()
  expect(history).toEqual([[{ role: "user", content: "Read" }], step, output])
  const { messages } = await skein.messages.page(id)
  expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool"])
  await skein.close()

  const chat = await Skein.open(naive().layer, { dialect: openai })
  expectTypeOf(await chat.history.read((await chat.sessions.create()).id)).toEqualTypeOf<ReadonlyArray<OpenAiMessage>>()
  await chat.close()
})
