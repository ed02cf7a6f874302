import { assert, it } from "@effect/vitest"
import { Skein } from "../../src/skein.ts"
import type { Frame } from "../../src/stream/service.ts"
import { naive } from "../support/naive-backend.ts"

/** A store with a session `s` whose turn `t` has ended after two events. */
const opened = async () => {
  const skein = await Skein.open(naive().layer)
  await skein.sessions.create({ id: "s" })
  await skein.turns.run(
    "s",
    { prompt: "Hello" },
    async (turn) => {
      turn.publish({ text: "one\ntwo" })
      turn.publish("€\u2028")
    },
    { turnId: "t" },
  )
  return skein
}

interface Event {
  readonly id: string
  readonly frame: Frame
}

/** The events of a stream of them, read as a browser does. */
const eventsIn = (text: string): ReadonlyArray<Event> =>
  text
    .split("\n\n")
    .slice(0, -1)
    .map((event) => {
      const [id, data, ...more] = event.split("\n")
      assert.deepStrictEqual(more, [])
      return { id: id!.slice("id: ".length), frame: JSON.parse(data!.slice("data: ".length)) as Frame }
    })

const request = (lastEventId?: string) =>
  new Request("http://localhost/stream", {
    headers: lastEventId === undefined ? {} : { "Last-Event-ID": lastEventId },
  })

it("STR-09 a response is a stream of server-sent events, whose ids are cursors", async () => {
  const skein = await opened()
  const { cursor } = await skein.streams.reserve("s")
  const first = await skein.streams.publish("s", { data: 0 })
  const response: Response = skein.streams.resume("s", { afterCursor: cursor }).toResponse()
  assert.strictEqual(response.status, 200)
  assert.strictEqual(response.headers.get("content-type"), "text/event-stream")
  assert.match(response.headers.get("cache-control") ?? "", /no-cache/)
  const events = eventsIn(await response.text())
  assert.deepStrictEqual(
    events.map(({ frame, id }) => [id === frame.cursor, frame.kind, frame.data]),
    [[true, "runtime-event", 0]],
  )
  assert.strictEqual(events[0]!.id, first)
  await skein.close()
})

it("STR-09 a browser that comes back with Last-Event-ID goes on behind it, whatever was asked for", async () => {
  const skein = await opened()
  const iterator = skein.streams.resume("s")
  const whole = eventsIn(await new Response(iterator.toReadable()).text())
  assert.deepStrictEqual(
    whole.map(({ frame }) => frame.kind),
    ["turn-terminal"],
  )
  const reservation = await skein.streams.reserve("s")
  await skein.turns.run("s", { prompt: "Again" }, async (turn) => turn.publish("again"), { turnId: "t2" })
  await reservation.bindTurn("t2")
  const all = eventsIn(await reservation.toResponse().text())
  assert.deepStrictEqual(
    all.map(({ frame }) => frame.kind),
    ["session-status", "message-committed", "runtime-event", "session-status", "turn-terminal"],
  )
  for (const [i, { id }] of all.entries()) {
    for (const query of [undefined, { afterMessage: "nobody" }]) {
      const rest = eventsIn(await skein.streams.resume("s", query).toResponse(request(id)).text())
      assert.deepStrictEqual(rest, all.slice(i + 1), `behind event ${i}`)
    }
  }
  const lost = eventsIn(await skein.streams.resume("s").toResponse(request("no cursor")).text())
  assert.deepStrictEqual(
    lost.map(({ frame }) => frame.data),
    [{ reason: "invalid" }],
  )
  assert.deepStrictEqual(eventsIn(await skein.streams.resume("s").toResponse(request()).text()).length, 1)
  assert.strictEqual(await skein.streams.readers("s"), 0)
  await skein.close()
})

it("STR-09 nothing is read before somebody asks, and who goes away is no reader any more", async () => {
  const skein = await opened()
  await skein.turns.begin("s", { prompt: "Again" }, { turnId: "t2" })
  const readable: ReadableStream<Uint8Array> = skein.streams.resume("s").toReadable()
  assert.strictEqual(await skein.streams.readers("s"), 0)
  const reader = readable.getReader()
  await reader.read()
  assert.strictEqual(await skein.streams.readers("s"), 1)
  const waiting = reader.read()
  await reader.cancel()
  assert.isTrue((await waiting).done)
  assert.strictEqual(await skein.streams.readers("s"), 0)

  const controller = new AbortController()
  const frames = skein.streams.resume("s", { signal: controller.signal })[Symbol.asyncIterator]()
  await frames.next()
  const next = frames.next()
  controller.abort(new Error("enough"))
  assert.strictEqual(await next.catch((error: unknown) => (error as Error).message), "enough")
  assert.strictEqual(await skein.streams.readers("s"), 0)

  for await (const frame of skein.streams.resume("s")) {
    assert.strictEqual(frame.kind, "durable-message")
    break
  }
  assert.strictEqual(await skein.streams.readers("s"), 0)
  await skein.close()
})

it("STR-09 a stream of nobody's session fails when it is read", async () => {
  const skein = await opened()
  const failure = async (read: () => Promise<unknown>) =>
    read().then(
      () => "nothing",
      (error: unknown) => (error as { readonly _tag: string })._tag,
    )
  assert.strictEqual(
    await failure(() => skein.streams.resume("nobody")[Symbol.asyncIterator]().next()),
    "SessionNotFound",
  )
  assert.strictEqual(
    await failure(() => skein.streams.resume("nobody").toReadable().getReader().read()),
    "SessionNotFound",
  )
  assert.strictEqual(await failure(() => skein.streams.resume("nobody").toResponse().text()), "SessionNotFound")
  await skein.close()
})

it("STR-04 a reservation is given up by closing it, by leaving its frames, or with its end", async () => {
  const skein = await opened()
  const [closed, left, completed] = [
    await skein.streams.reserve("s"),
    await skein.streams.reserve("s"),
    await skein.streams.reserve("s"),
  ]
  assert.strictEqual(await skein.streams.readers("s"), 3)
  await closed.close()
  await closed.close()
  assert.strictEqual(await skein.streams.readers("s"), 2)
  await left.bindTurn("t2")
  await skein.turns.begin("s", { prompt: "Again" }, { turnId: "t2" })
  for await (const frame of left) {
    assert.strictEqual(frame.kind, "session-status")
    break
  }
  assert.strictEqual(await skein.streams.readers("s"), 1)
  await completed.complete()
  const kinds = []
  for await (const { kind } of completed) kinds.push(kind)
  assert.deepStrictEqual(kinds, ["session-status"])
  assert.strictEqual(await skein.streams.readers("s"), 0)
  await skein.close()
})

it("STR-06 what a reader does is not done while somebody publishes", async () => {
  const skein = await opened()
  const seen: Array<unknown> = []
  let done: Promise<void> | undefined
  await skein.turns.run("s", { prompt: "Again" }, async (turn) => {
    const frames = skein.streams.resume("s")
    const iterator = frames[Symbol.asyncIterator]()
    await iterator.next()
    done = (async () => {
      for (let next = await iterator.next(); next.done !== true; next = await iterator.next())
        seen.push(next.value.data)
    })()
    await Promise.resolve()
    for (let i = 0; i < 10; i++) turn.publish(i)
    assert.deepStrictEqual(seen, [])
  })
  await done
  assert.deepStrictEqual(seen.slice(0, 10), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
  await skein.close()
})
