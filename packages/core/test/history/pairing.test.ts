import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { GenericMessage } from "../../src/history/dialect.ts"
import { missingResult, pair } from "../../src/history/pairing.ts"
import type { Ending } from "../../src/history/pairing.ts"
import { anyMessage, assistant, call, complaints, entries, result, seeded, tool, user } from "./messages.ts"

const messagesOf = (items: ReturnType<typeof pair>["items"]) => items.map((item) => item.message)

/** A conversation in short: `a c1 c2 · t c1=ok · u hello`. */
const short = (messages: ReadonlyArray<GenericMessage>) =>
  messages
    .map((message) =>
      [
        message.role.slice(0, 1),
        ...message.content.map((part) => {
          if (part.type === "tool-call") return `${part.id}${part.providerExecuted === true ? "*" : ""}`
          if (part.type === "tool-result")
            return `${part.callId}=${part.isError === true ? "ERROR" : String(part.output)}`
          return part.type === "text" ? part.text : part.type
        }),
      ].join(" "),
    )
    .join(" · ")

describe("HIS-02 what is stored and what is replayed", () => {
  const provider = { providerExecuted: true }
  it.each<[string, ReadonlyArray<GenericMessage>, string, ReadonlyArray<string>]>([
    ["a sound round", [user("u"), assistant(call("c1")), tool(result("c1"))], "u u · a c1 · t c1=ok", []],
    [
      "results in another order than calls",
      [assistant(call("c1"), call("c2")), tool(result("c2")), tool(result("c1"))],
      "a c1 c2 · t c2=ok · t c1=ok",
      [],
    ],
    ["no result", [assistant(call("c1")), user("u")], "a c1 · t c1=ERROR · u u", ["synthesised c1"]],
    [
      "one of two results",
      [assistant(call("c1"), call("c2")), tool(result("c1"))],
      "a c1 c2 · t c1=ok · t c2=ERROR",
      ["synthesised c2"],
    ],
    [
      "a late result",
      [assistant(call("c1")), user("u"), tool(result("c1", "late"))],
      "a c1 · t c1=late · u u",
      ["moved c1"],
    ],
    [
      "late results, in the order of their calls",
      [assistant(call("c1"), call("c2")), user("u"), tool(result("c2")), tool(result("c1"))],
      "a c1 c2 · t c1=ok · t c2=ok · u u",
      ["moved c1", "moved c2"],
    ],
    [
      "late results of two rounds in one message",
      [assistant(call("c1")), assistant(call("c2")), tool(result("c1"), result("c2"))],
      "a c1 · t c1=ok · a c2 · t c2=ok",
      ["moved c1"],
    ],
    [
      "a result in a user's message",
      [assistant(call("c1")), { role: "user", content: [result("c1"), { type: "text", text: "go on" }] }],
      "a c1 · t c1=ok · u go on",
      ["moved c1"],
    ],
    [
      "two results of one call",
      [assistant(call("c1")), tool(result("c1", "first")), tool(result("c1", "second"))],
      "a c1 · t c1=first",
      ["dropped-duplicate c1"],
    ],
    ["a result without a call", [user("u"), tool(result("c1"))], "u u", ["dropped-orphan c1"]],
    [
      "a result before its call",
      [tool(result("c1")), assistant(call("c1"))],
      "a c1 · t c1=ERROR",
      ["dropped-orphan c1", "synthesised c1"],
    ],
    [
      "one id in every round",
      [assistant(call("c1")), tool(result("c1", "1")), assistant(call("c1")), tool(result("c1", "2"))],
      "a c1 · t c1=1 · a c1_2 · t c1_2=2",
      ["renamed c1"],
    ],
    [
      "one id twice in a message",
      [assistant(call("c1"), call("c1")), tool(result("c1", "1"), result("c1", "2"))],
      "a c1 c1_2 · t c1=1 c1_2=2",
      ["renamed c1"],
    ],
    [
      "the name for a repeated id is taken",
      [assistant(call("c1_2")), tool(result("c1_2")), assistant(call("c1"), call("c1"))],
      "a c1_2 · t c1_2=ok · a c1 c1_3 · t c1=ERROR c1_3=ERROR",
      ["renamed c1", "synthesised c1", "synthesised c1"],
    ],
    [
      "the name for a repeated id comes later",
      [assistant(call("c1"), call("c1")), assistant(call("c1_2")), tool(result("c1_2"))],
      "a c1 c1_2 · t c1=ERROR c1_2=ERROR · a c1_2_2 · t c1_2_2=ok",
      ["renamed c1", "renamed c1_2", "synthesised c1", "synthesised c1"],
    ],
    [
      "a late result of an id used twice goes to the call before it",
      [assistant(call("c1")), user("u"), assistant(call("c1")), user("v"), tool(result("c1", "late"))],
      "a c1 · t c1=ERROR · u u · a c1_2 · t c1_2=late · u v",
      ["renamed c1", "synthesised c1", "moved c1"],
    ],
    [
      "a call of the provider's with its result",
      [assistant(call("c1", provider), result("c1", "found", provider))],
      "a c1* c1=found",
      [],
    ],
    [
      "a result of the provider's in a later answer",
      [assistant(call("c1", provider), call("c2")), tool(result("c2")), assistant(result("c1", "found", provider))],
      "a c1* c2 · t c2=ok · a c1=found",
      [],
    ],
    [
      "a call of the provider's without a result",
      [assistant(call("c1", provider))],
      "a c1 · t c1=ERROR",
      ["synthesised c1"],
    ],
  ])("%s", (_, stored, replayed, repairs) => {
    const paired = pair(entries(stored))
    expect(short(messagesOf(paired.items))).toBe(replayed)
    expect(paired.repairs.map((repair) => `${repair.kind} ${repair.callId}`)).toEqual(repairs)
    expect(complaints(messagesOf(paired.items))).toEqual([])
  })

  it.each<[Ending | undefined, string]>([
    ["interrupted", "interrupted"],
    ["aborted", "aborted"],
    ["failed", "failure"],
    [undefined, "missing"],
  ])("a made-up result after %s is an error that says so", (ending, word) => {
    const { items } = pair(entries([assistant(call("c1"))], ending === undefined ? {} : { ending }))
    const output = missingResult(ending)
    expect(output).toContain(word)
    expect(items[1]?.message).toEqual(tool({ ...result("c1", output), isError: true }))
  })

  it("a provider's result in a later answer is moved where results have to be inside the message of the call", () => {
    const stored = entries([assistant(call("c1", provider)), assistant(result("c1", "found", provider))])
    expect(short(messagesOf(pair(stored).items))).toBe("a c1* · a c1=found")
    expect(short(messagesOf(pair(stored, { resultsInside: true }).items))).toBe("a c1 · t c1=found")
    const together = entries([assistant(call("c1", provider), result("c1", "found", provider))])
    expect(pair(together, { resultsInside: true })).toEqual({ items: together, repairs: [] })
  })

  it("a call that waits for an answer stays open, and a real answer closes it", () => {
    const waiting = entries([assistant(call("c1"), call("c2")), tool(result("c2"))], { pendingCalls: ["c1"] })
    expect(pair(waiting)).toEqual({ items: waiting, repairs: [] })
    const answered = [...waiting, ...entries([tool(result("c1", "yes"))])]
    expect(pair(answered)).toEqual({ items: answered, repairs: [] })
  })

  it("a call that waits keeps its id, for the answer will name it", () => {
    const first = entries([assistant(call("c1")), tool(result("c1"))])
    const waiting = entries([assistant(call("c1"))], { pendingCalls: ["c1"] })
    expect(short(messagesOf(pair([...first, ...waiting]).items))).toBe("a c1_2 · t c1_2=ok · a c1")
  })

  it("ids that calls of an earlier part have are not given again", () => {
    const used = new Set<string>()
    const round = entries([assistant(call("c1")), tool(result("c1"))])
    const parts = [round, round, round].map((part) => short(messagesOf(pair(part, { used }).items)))
    expect(parts).toEqual(["a c1 · t c1=ok", "a c1_2 · t c1_2=ok", "a c1_3 · t c1_3=ok"])
  })

  it("a repair names the entry that is not given as it was stored", () => {
    const { repairs } = pair(entries([assistant(call("c1"), call("c2")), user("u"), tool(result("c2"), result("c3"))]))
    expect(repairs.map(({ entry, kind, callId }) => [entry, kind, callId])).toEqual([
      ["e3", "dropped-orphan", "c3"],
      ["e3", "moved", "c2"],
      ["e1", "synthesised", "c1"],
    ])
    expect(repairs.every((repair) => repair.detail.length > 0)).toBe(true)
  })
})

it("A45 killed between two results: the first stays, the second is made up once, nothing is rewritten", () => {
  const stored = entries([user("u1"), assistant(call("c1"), call("c2")), tool(result("c1"))], { ending: "interrupted" })
  const before = structuredClone(stored)
  const once = pair([...stored, ...entries([user("u2")])])
  expect(short(messagesOf(once.items))).toBe("u u1 · a c1 c2 · t c1=ok · t c2=ERROR · u u2")
  expect(once.items[2]).toBe(stored[2])
  expect(pair(once.items)).toEqual({ items: once.items, repairs: [] })
  expect(stored).toEqual(before)
})

describe("HIS-02 any conversation", () => {
  const any = fc.array(anyMessage, { maxLength: 14 })
  const anyPending = fc.subarray(["c1", "c2", "c3"])

  it("leaves in pairs, and pairing it again changes nothing", () => {
    fc.assert(
      fc.property(any, anyPending, (messages, pendingCalls) => {
        const once = pair(entries(messages, { pendingCalls }))
        expect(complaints(messagesOf(once.items), pendingCalls)).toEqual([])
        const again = pair(once.items)
        expect(again.repairs).toEqual([])
        expect(again.items).toEqual(once.items)
        again.items.forEach((item, i) => expect(item.message).toBe(once.items[i]?.message))
      }),
      { numRuns: 2_000, ...seeded },
    )
  })

  it("loses no call, no text and no result that is not reported", () => {
    const parts = (messages: ReadonlyArray<GenericMessage>) => messages.flatMap((message) => message.content)
    fc.assert(
      fc.property(any, (messages) => {
        const { items, repairs } = pair(entries(messages))
        const count = (kind: string) => repairs.filter((repair) => repair.kind === kind).length
        const [before, after] = [parts(messages), parts(messagesOf(items))]
        const of = (list: typeof before, type: string) => list.filter((part) => part.type === type)
        expect(of(after, "text")).toEqual(of(before, "text"))
        expect(of(after, "tool-call").length).toBe(of(before, "tool-call").length)
        expect(of(after, "tool-result").length).toBe(
          of(before, "tool-result").length -
            count("dropped-orphan") -
            count("dropped-duplicate") +
            count("synthesised"),
        )
      }),
      { numRuns: 1_000, ...seeded },
    )
  })

  it("is left alone, object by object, when nothing is wrong with it", () => {
    fc.assert(
      fc.property(any, (messages) => {
        const given = entries(messages)
        const { items, repairs } = pair(given)
        if (complaints(messages).length > 0) return
        expect(repairs).toEqual([])
        items.forEach((item, i) => expect(item).toBe(given[i]))
        expect(items.length).toBe(given.length)
      }),
      { numRuns: 2_000, ...seeded },
    )
  })
})

it("HIS-02 twenty thousand rounds of one id are told apart, each looked at once", () => {
  // Looking for a free id from the start for each of them would take longer than a test may.
  const rounds = Array.from({ length: 20_000 }, () => [assistant(call("call_0")), tool(result("call_0"))])
  const { items, repairs } = pair(entries(rounds.flat()))
  expect(items.length).toBe(40_000)
  expect(repairs.length).toBe(19_999)
  expect(items.at(-1)?.message.content).toMatchObject([{ callId: "call_0_20000" }])
})
