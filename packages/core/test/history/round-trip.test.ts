import * as fc from "fast-check"
import { expect, it } from "vitest"
import { aiSdk, aiSdkUi } from "../../src/history/dialects/ai-sdk.ts"
import { anthropic } from "../../src/history/dialects/anthropic.ts"
import { generic } from "../../src/history/dialects/generic.ts"
import { openai, openaiResponses } from "../../src/history/dialects/openai.ts"
import { pi } from "../../src/history/dialects/pi.ts"
import type { Dialect, GenericMessage, GenericPart, ProviderMetadata } from "../../src/history/dialect.ts"
import type { Json } from "../../src/storage/json.ts"
import { seeded } from "./messages.ts"

const json = fc.jsonValue() as fc.Arbitrary<Json>
const object = fc.dictionary(fc.string(), json, { maxKeys: 3 })
const providerMetadata = fc.option(
  fc.dictionary(fc.constantFrom("anthropic", "openai", "google"), object, { minKeys: 1, maxKeys: 2 }),
  { nil: undefined },
)
const withMetadata = <Part extends GenericPart>(part: fc.Arbitrary<Part>): fc.Arbitrary<Part> =>
  fc.tuple(part, providerMetadata).map(([part, metadata]) => {
    const given: { providerMetadata?: ProviderMetadata } = metadata === undefined ? {} : { providerMetadata: metadata }
    return { ...part, ...given }
  })

const text = withMetadata(fc.record({ type: fc.constant("text"), text: fc.string() }))
const reasoning = withMetadata(fc.record({ type: fc.constant("reasoning"), text: fc.string() }))
const image = fc.record({
  type: fc.constant("file"),
  mime: fc.constantFrom("image/png", "image/jpeg"),
  data: fc.base64String(),
})
const call = withMetadata(
  fc.record({ type: fc.constant("tool-call"), id: fc.uuid(), name: fc.constantFrom("read", "write"), input: object }),
)
const output = fc.oneof(fc.string(), json)

/** A call and its result, as two messages that follow each other; then what was said. */
const round: fc.Arbitrary<ReadonlyArray<GenericMessage>> = fc
  .tuple(fc.array(fc.oneof(text, reasoning), { minLength: 1, maxLength: 3 }), call, output, fc.boolean())
  .map(([said, call, output, isError]) => [
    { role: "assistant", content: [...said, call] },
    {
      role: "tool",
      content: [
        {
          type: "tool-result",
          callId: call.id,
          name: call.name,
          output,
          ...(isError ? { isError } : {}),
        },
      ],
    },
  ])
const prompt: fc.Arbitrary<ReadonlyArray<GenericMessage>> = fc
  .array(fc.oneof(text, image), { minLength: 1, maxLength: 3 })
  .map((content) => [{ role: "user", content }])
const conversation = fc
  .array(fc.oneof(round, prompt), { minLength: 1, maxLength: 4 })
  .map((rounds) => rounds.flat().map((message, i): GenericMessage => ({ ...message, id: `m${i}`, at: i + 1 })))

/** What a detour must keep: who says what, every part in its order, reasoning metadata and results included. */
const meaning = (messages: ReadonlyArray<GenericMessage>) => messages.map(({ role, content }) => ({ role, content }))

const through = (dialect: Dialect<unknown>, messages: ReadonlyArray<GenericMessage>) => {
  const written = dialect.write(messages)
  const read = written.messages.flatMap((body) => {
    // As it comes back from a store.
    const reading = dialect.read(JSON.parse(JSON.stringify(body)) as Json, "user")
    return "unreadable" in reading ? [] : reading.messages
  })
  return { lost: written.lost, read }
}

it.each<[string, Dialect<unknown>]>([
  ["generic", generic],
  ["ai-sdk", aiSdk],
  ["pi", pi],
])("HIS-02 a conversation means the same after a detour through %s", (_, dialect) => {
  fc.assert(
    fc.property(conversation, (messages) => {
      const { lost, read } = through(dialect, messages)
      expect(lost).toEqual([])
      expect(withoutFormats(meaning(read))).toEqual(meaning(JSON.parse(JSON.stringify(messages)) as typeof messages))
    }),
    { numRuns: 500, ...seeded },
  )
})

it("HIS-02 a conversation means the same after a detour through the UIMessages of ai-sdk", () => {
  fc.assert(
    fc.property(conversation, (messages) => {
      const { lost, read } = through(aiSdkUi, messages)
      expect(lost).toEqual([])
      const stored = JSON.parse(JSON.stringify(messages)) as typeof messages
      expect(withoutErrorForm(withoutFormats(meaning(read)))).toEqual(withoutErrorForm(meaning(stored)))
    }),
    { numRuns: 500, ...seeded },
  )
})

/** What every provider's API has a place for: text, images, calls, and results that are text. */
const said = fc.record({ type: fc.constant("text"), text: fc.string().filter((text) => text.trim() !== "") })
const plainRound = fc
  .tuple(fc.array(said, { maxLength: 2 }), fc.array(fc.tuple(fc.uuid(), object, fc.string()), { minLength: 1 }))
  .map(([text, calls]): ReadonlyArray<GenericMessage> => [
    {
      role: "assistant",
      content: [...text, ...calls.map(([id, input]) => ({ type: "tool-call" as const, id, name: "read", input }))],
    },
    {
      role: "tool",
      content: calls.map(([callId, , output]) => ({ type: "tool-result" as const, callId, output })),
    },
  ])
const plainPrompt = fc
  .array(fc.oneof(said, image), { minLength: 1, maxLength: 3 })
  .map((content): ReadonlyArray<GenericMessage> => [{ role: "user", content }])
const plainAnswer = fc
  .array(said, { minLength: 1, maxLength: 2 })
  .map((content): ReadonlyArray<GenericMessage> => [{ role: "assistant", content }])
const plainConversation = fc
  .array(fc.oneof(plainRound, plainPrompt, plainAnswer), { minLength: 1, maxLength: 4 })
  .map((rounds) => rounds.flat())

it.each<[string, Dialect<unknown>]>([
  ["anthropic", anthropic],
  ["openai", openai],
  ["the items of openai", openaiResponses],
])("HIS-02 what every API has a place for means the same after a detour through %s", (_, dialect) => {
  fc.assert(
    fc.property(plainConversation, (messages) => {
      const { lost, read } = through(dialect, messages)
      expect(lost).toEqual([])
      expect(resultByResult(withoutFormats(meaning(read)))).toEqual(
        resultByResult(meaning(JSON.parse(JSON.stringify(messages)) as typeof messages)),
      )
    }),
    { numRuns: 500, ...seeded },
  )
})

/** Some formats have a message for each result, some one for all of a round. */
const resultByResult = (messages: ReturnType<typeof meaning>): ReturnType<typeof meaning> =>
  messages.flatMap((message) =>
    message.role === "tool" ? message.content.map((part) => ({ role: message.role, content: [part] })) : [message],
  )

/** The fields that a format puts aside under its own name say nothing to others. */
const withoutFormats = (messages: ReturnType<typeof meaning>): ReturnType<typeof meaning> =>
  messages.map(({ role, content }) => ({
    role,
    content: content.map((part) => {
      if (part.type === "other" || part.providerMetadata === undefined) return part
      const { providerMetadata, ...rest } = part
      const owners = Object.entries(providerMetadata).filter(
        ([owner]) => !["ai-sdk", "ai-sdk-ui", "pi", "openai-chat", "openai-responses"].includes(owner),
      )
      return owners.length === 0 ? rest : { ...rest, providerMetadata: Object.fromEntries(owners) }
    }) as ReadonlyArray<GenericPart>,
  }))

/** UIMessages have text for errors only, and give a call's metadata to its result as well. */
const withoutErrorForm = (messages: ReturnType<typeof meaning>): unknown =>
  messages.map(({ role, content }) => ({
    role,
    content: content.map((part) => {
      if (part.type !== "tool-result") return part
      const { providerMetadata: _, ...rest } = part
      const isText = part.isError !== true || typeof part.output === "string"
      return isText ? rest : { ...rest, output: JSON.stringify(part.output) }
    }),
  }))
