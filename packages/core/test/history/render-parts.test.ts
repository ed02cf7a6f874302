import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { dialects } from "../../src/history/dialect.ts"
import type { Dialect, GenericMessage } from "../../src/history/dialect.ts"
import { aiSdk, aiSdkUi } from "../../src/history/dialects/ai-sdk.ts"
import { anthropic } from "../../src/history/dialects/anthropic.ts"
import { generic } from "../../src/history/dialects/generic.ts"
import { openai, openaiResponses } from "../../src/history/dialects/openai.ts"
import { pi } from "../../src/history/dialects/pi.ts"
import { PartsRenderer } from "../../src/history/render-parts.ts"
import { render } from "../../src/history/render.ts"
import type { RenderEntry } from "../../src/history/render.ts"
import type { Json } from "../../src/storage/json.ts"
import { anyMessage, assistant, call, result, seeded, tool, user } from "./messages.ts"

/** A dialect whose users give results. */
const results: Dialect<Json> = {
  ...generic,
  name: "results",
  read: (body) => ({ messages: [{ role: "user", content: [result(String(body))] }] }),
}

const all = dialects(generic, aiSdk, pi, anthropic, openai, results)

/** Entries m1, m2, … of generic messages. */
const said = (...messages: ReadonlyArray<GenericMessage>): ReadonlyArray<RenderEntry> =>
  messages.map((message, i) => ({
    id: `m${i + 1}`,
    role: message.role,
    dialect: "generic",
    body: message as unknown as Json,
  }))

/** What each step of a renderer gives that is fed one entry at a time, and its end. */
const steps = (entries: ReadonlyArray<RenderEntry>) => {
  const renderer = new PartsRenderer(generic, all)
  return [...entries.map((entry) => renderer.next([entry]).length), renderer.end().length]
}

/** What a renderer gives that is fed one entry at a time. */
const oneByOne = (entries: ReadonlyArray<RenderEntry>, reader: Dialect<unknown>) => {
  const renderer = new PartsRenderer(reader, all)
  return entries.flatMap((entry) => renderer.next([entry])).concat(renderer.end())
}

describe("HIS-01 a history that is given in parts", () => {
  it("is cut before what a user says", () => {
    const round = [user("u"), assistant(call("c1")), tool(result("c1")), assistant({ type: "text", text: "done" })]
    expect(steps(said(...round, ...round))).toEqual([0, 0, 0, 0, 4, 0, 0, 0, 4])
  })

  it("is not cut where a call is open, and held from one on that is never answered", () => {
    const answered = said(user("u"), assistant(call("c1")), user("v"), tool(result("c1")), user("w"))
    expect(steps(answered)).toEqual([0, 0, 0, 0, 4, 1])
    expect(steps(said(user("u"), assistant(call("c1")), user("v"), user("w")))).toEqual([0, 0, 0, 0, 5])
  })

  it("is not cut inside a message that is stored in several entries", () => {
    const steered: GenericMessage = { ...user("v"), id: "x", providerMetadata: { "ai-sdk-ui": { steering: {} } } }
    const entries = said(user("u"), { ...assistant({ type: "text", text: "a" }), id: "x" }, steered)
    expect(oneByOne(entries, aiSdkUi)).toEqual(render(entries, aiSdkUi, all).messages)
  })

  it("is not cut where nothing is left of what a user says", () => {
    const answer = { id: "a", role: "assistant", parts: [{ type: "text", text: "a" }] }
    const entries: ReadonlyArray<RenderEntry> = [
      { id: "a", role: "assistant", dialect: "ai-sdk", body: answer },
      { id: "u", role: "user", dialect: "results", body: "orphan" },
      ...said(tool({ type: "text", text: "t" })),
    ]
    expect(oneByOne(entries, aiSdkUi)).toEqual(render(entries, aiSdkUi, all).messages)
  })

  it("names calls apart across parts", () => {
    const renderer = new PartsRenderer(generic, all)
    const round = said(user("u"), assistant(call("c")), tool(result("c")))
    const given = [round, round, round].flatMap((part) => renderer.next(part)).concat(renderer.end())
    expect(JSON.stringify(given)).toBe(JSON.stringify(render([...round, ...round, ...round], generic, all).messages))
    expect(JSON.stringify(given)).toContain('"c_3"')
  })

  it("is what it is as a whole, for every reader and however it is cut", () => {
    const readers: ReadonlyArray<Dialect<unknown>> = [generic, aiSdk, aiSdkUi, pi, anthropic, openai, openaiResponses]
    const history = fc.record({
      reader: fc.constantFrom(...readers),
      entries: fc.array(
        fc.record({
          message: fc.oneof(anyMessage, fc.constant(user("u"))),
          writer: fc.constantFrom(...readers),
          sharedId: fc.constantFrom(undefined, undefined, undefined, "x"),
        }),
        { maxLength: 40 },
      ),
      parts: fc.array(fc.nat(6), { maxLength: 40 }),
    })
    fc.assert(
      fc.property(history, ({ entries, parts, reader }) => {
        const stored = entries.flatMap(({ message, sharedId, writer }, i): ReadonlyArray<RenderEntry> => {
          const written = writer.write([sharedId === undefined ? message : { ...message, id: sharedId }]).messages
          return written.map((body, n) => ({
            id: `m${i}-${n}`,
            role: message.role,
            dialect: writer.name,
            body: body as Json,
          }))
        })
        const renderer = new PartsRenderer(reader, all)
        const given: Array<unknown> = []
        let at = 0
        for (const length of parts) given.push(...renderer.next(stored.slice(at, (at += length))))
        given.push(...renderer.next(stored.slice(at)), ...renderer.end())
        expect(given).toEqual(render(stored, reader, all).messages)
      }),
      { numRuns: 1_000, ...seeded },
    )
  }, 60_000)
})
