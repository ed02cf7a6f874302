/** Short ways to say conversations, and what must be true of one that leaves for a model. For the tests of history. */
import process from "node:process"
import * as fc from "fast-check"
import type { GenericMessage, GenericPart, ToolCallPart, ToolResultPart } from "../../src/history/dialect.ts"
import type { PairingEntry, PairingItem } from "../../src/history/pairing.ts"

/** fast-check prints the seed of a failure; SKEIN_SEED repeats it. */
export const seeded: fc.Parameters<unknown> =
  process.env["SKEIN_SEED"] === undefined ? {} : { seed: Number(process.env["SKEIN_SEED"]) }

export const user = (text: string): GenericMessage => ({ role: "user", content: [{ type: "text", text }] })

export const call = (id: string, more: Partial<ToolCallPart> = {}): ToolCallPart => ({
  type: "tool-call",
  id,
  name: "read",
  input: { path: "a.txt" },
  ...more,
})

export const result = (callId: string, output = "ok", more: Partial<ToolResultPart> = {}): ToolResultPart => ({
  type: "tool-result",
  callId,
  name: "read",
  output,
  ...more,
})

export const assistant = (...content: ReadonlyArray<GenericPart>): GenericMessage => ({ role: "assistant", content })
export const tool = (...content: ReadonlyArray<GenericPart>): GenericMessage => ({ role: "tool", content })

/** Entries e1, e2, … with a message each. */
export const entries = (
  messages: ReadonlyArray<GenericMessage>,
  more: Omit<PairingEntry, "id"> = {},
): ReadonlyArray<PairingItem> => messages.map((message, i) => ({ entry: { id: `e${i + 1}`, ...more }, message }))

/**
 * What is wrong with a conversation, in words. Written from the rule itself and shares nothing with the code under test:
 * a provider that walks the messages once and refuses what it cannot follow.
 */
export const complaints = (messages: ReadonlyArray<GenericMessage>, pending: ReadonlyArray<string> = []) => {
  const found: Array<string> = []
  const used = new Set<string>()
  let due = new Set<string>()
  const running = new Set<string>()
  const close = () => {
    for (const id of due) if (!pending.includes(id)) found.push(`no result for ${id}`)
    due = new Set()
  }
  for (const message of messages) {
    const made: Array<string> = []
    if (message.role !== "tool" || message.content.some((part) => part.type === "tool-call")) close()
    for (const part of message.content) {
      if (part.type === "tool-call") {
        if (used.has(part.id) && !pending.includes(part.id)) found.push(`the id ${part.id} again`)
        used.add(part.id)
        if (part.providerExecuted === true) running.add(part.id)
        else made.push(part.id)
      }
      if (part.type === "tool-result") {
        const inTool = message.role === "tool"
        const fits = part.providerExecuted === true ? message.role === "assistant" : inTool
        if (!(inTool ? due : running).delete(part.callId)) found.push(`a result for ${part.callId} without a call`)
        else if (!fits) found.push(`the result for ${part.callId} in a message of ${message.role}`)
      }
    }
    for (const id of made) due.add(id)
  }
  close()
  for (const id of running) if (!pending.includes(id)) found.push(`no result of the provider's for ${id}`)
  return found
}

const ids = fc.constantFrom("c1", "c2", "c3")
const executed = fc.constantFrom({}, {}, {}, { providerExecuted: true })
const callPart = fc.tuple(ids, executed).map(([id, more]) => call(id, more))
const resultPart = fc.tuple(ids, fc.string(), executed).map(([id, output, more]) => result(id, output, more))
const textPart = fc.string().map((text): GenericPart => ({ type: "text", text }))

/** Messages of few calls, so that they collide: in any order, in any role, repeated, forgotten. */
export const anyMessage: fc.Arbitrary<GenericMessage> = fc.oneof(
  { weight: 2, arbitrary: fc.string().map(user) },
  {
    weight: 4,
    arbitrary: fc
      .array(fc.oneof(textPart, callPart, callPart), { maxLength: 3 })
      .map((content) => assistant(...content)),
  },
  { weight: 4, arbitrary: fc.array(resultPart, { maxLength: 3 }).map((content) => tool(...content)) },
  {
    weight: 1,
    arbitrary: fc.record({
      role: fc.constantFrom("user", "assistant", "tool"),
      content: fc.array(fc.oneof(textPart, callPart, resultPart), { maxLength: 4 }),
    }),
  },
)
