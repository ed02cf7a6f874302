import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { defaultSettings, Sessions } from "../../src/index.ts"
import type { Frame } from "../../src/stream/frame.ts"
import { snapshot } from "../../src/stream/program.ts"
import type { After, Source } from "../../src/stream/resume.ts"
import { explore, makeWorld, makeWriter } from "./race.ts"
import type { Op } from "./race.ts"

interface Setting {
  readonly ops: ReadonlyArray<Op>
  readonly after: After
  /** Ops that come before everything else; then there are no rings yet. */
  readonly before?: ReadonlyArray<Op>
  /** It is another process that writes. */
  readonly elsewhere?: boolean
  /** Commits are told of after a while. */
  readonly late?: boolean
  readonly change?: (source: Source) => Source
}

/** What a reader can know when all is over. */
interface Truth {
  /** Messages behind the anchor, in order, with all that each of them ever said, its last words last. */
  readonly said: ReadonlyArray<readonly [id: string, texts: ReadonlyArray<string>]>
  readonly events: ReadonlyArray<number>
  readonly turn: string
  /** How many of the messages were there before the turn. */
  readonly before: number
  /** Whether the reader wants what runs, and nothing of what is over. */
  readonly isLiveOnly: boolean
  /** Whether what happens is told at once to who listens. */
  readonly isTold: boolean
}

const truthOf = ({ after, before = [], elsewhere = false, late = false, ops }: Setting, hangUp: number): Truth => {
  const earlier = after.afterMessage === "u1" ? ["a1"] : []
  const said = new Map<string, Array<string>>(earlier.map((id) => [id, [id]]))
  const say = (id: string, text: string) => said.set(id, [...(said.get(id) ?? []).filter((one) => one !== text), text])
  for (const op of [...before, ...ops]) {
    if (op.do === "begin") say(op.prompt, op.prompt)
    if (op.do === "live" || op.do === "store" || op.do === "settle") say(op.id, op.text)
  }
  return {
    said: [...said],
    events: ops.flatMap((op) => (op.do === "event" ? [op.n] : [])),
    turn: [...before, ...ops].flatMap((op) => (op.do === "begin" ? [op.turn] : [])).at(-1)!,
    before: earlier.length,
    isLiveOnly: after.afterMessage === undefined,
    isTold: !elsewhere && !late && hangUp === 0,
  }
}

/** What is wrong with the frames that a reader was given; `undefined`: nothing. */
const wrongIn = (frames: ReadonlyArray<Frame>, truth: Truth): string | undefined => {
  const said = new Map(truth.said)
  const order = truth.said.map(([id]) => id)
  const settled: Array<string> = []
  const heard = new Map<string, number>()
  const texts = new Map<string, string>()
  const events: Array<number> = []
  for (const [i, frame] of frames.entries()) {
    const isLast = i === frames.length - 1
    if (frame.kind === "turn-terminal" && !isLast) return "something follows the end of the turn"
    if (frame.kind === "resync-required") return `a resync: ${frame.data.reason}`
    if (frame.kind === "durable-message" || frame.kind === "message-committed") {
      const messages = frame.kind === "durable-message" ? [frame.data.message] : frame.data.messages
      for (const { display, id } of messages) {
        if (settled.includes(id)) return `${id} comes twice`
        const place = order.indexOf(id)
        if (order.some((other, i) => i < place && !settled.includes(other) && !texts.has(other))) {
          return `${id} comes before what is before it`
        }
        if (display !== said.get(id)?.at(-1)) return `${id} is not what was said last: ${JSON.stringify(display)}`
        settled.push(id)
        texts.set(id, display as string)
      }
    }
    if (frame.kind !== "runtime-event") continue
    if (frame.entry === undefined) events.push(frame.data as number)
    else if (settled.includes(frame.entry)) return `${frame.entry} is written after it was settled`
    else if (frame.offset === undefined) {
      const text = frame.data.message.display as string
      const version = said.get(frame.entry)!.indexOf(text)
      if (version <= (heard.get(frame.entry) ?? -1)) return `a draft of ${frame.entry} comes again: ${text}`
      heard.set(frame.entry, version)
      texts.set(frame.entry, text)
    } else {
      const text = texts.get(frame.entry) ?? ""
      if (frame.offset > text.length) return `something is missing before offset ${frame.offset} of ${frame.entry}`
      texts.set(frame.entry, text.slice(0, frame.offset) + String(frame.data))
    }
  }
  const last = frames.at(-1)
  const all = truth.said.map(([id]) => id)
  if (last?.kind !== "turn-terminal") return "the end is missing"
  if (truth.isLiveOnly && frames.length === 1) return undefined
  // Nothing ran when it came: it has what there was.
  const isEarly = last.turn !== truth.turn
  const expected = isEarly ? all.slice(0, truth.before) : all
  // In the order of the path where they came with it, else in the order in which they were settled.
  if (settled.toSorted().join() !== expected.toSorted().join())
    return `messages ${settled.join()} instead of ${expected.join()}`
  if (truth.isTold && frames.some(({ live }) => live) && !last.live) return "the end was not told live"
  const isAll = events.join() === truth.events.join()
  if (!isAll && (events.length > 0 || frames.some(({ live }) => live))) return `events ${events.join()}`
  return undefined
}

const turnBefore: ReadonlyArray<Op> = [
  { do: "begin", turn: "t1", prompt: "u1" },
  { do: "settle", id: "a1", text: "a1" },
  { do: "end", outcome: "completed" },
]

/**
 * Runs every schedule, and answers how many there were, and what went wrong in the first bad one.
 *
 * @param hangUp  after so many frames the reader is gone, and comes back with the cursor of the last one
 */
const race = async (setting: Setting, hangUp = 0) => {
  const { after, before, change, elsewhere = false, late = false, ops } = setting
  const truth = truthOf(setting, hangUp)
  let wrong: string | undefined
  const count = await explore(async (choose) => {
    const world = await makeWorld()
    await world.run(Sessions.use((sessions) => sessions.create({ id: "s" })))
    const prepared = before === undefined ? turnBefore : [...turnBefore, ...before]
    if (before === undefined) await world.rings()
    const writer = makeWriter(world, [...prepared, ...ops], () => elsewhere)
    for (let i = 0; i < prepared.length; i++) await writer.step()
    let reader = await world.reader(after, change)
    let frames: ReadonlyArray<Frame> = []
    world.gates.holdsReads = true
    world.gates.holdsCommits = late
    let schedule = ""
    let hasEnd = false
    while (!writer.isDone() || !reader.isDone()) {
      const canRead = !reader.isDone() && reader.canStep()
      if (writer.isDone() && !canRead) break
      const reads = canRead && (writer.isDone() || choose(2) === 1)
      schedule += reads ? "r" : "w"
      await (reads ? reader.step() : writer.step())
      if (frames.length === 0 && hangUp > 0 && reader.frames.length >= hangUp) {
        frames = reader.frames.slice(0, hangUp)
        const { cursor, kind } = frames.at(-1)!
        await reader.close()
        hasEnd = kind === "turn-terminal"
        if (hasEnd) break
        reader = await world.reader({ afterCursor: cursor }, change)
        schedule += "-"
      }
    }
    const given = frames.length > 0 && !hasEnd ? [...frames, ...reader.frames] : reader.frames
    const found = reader.isDone() || hasEnd ? wrongIn(given, truth) : "it waits for ever"
    if (found !== undefined)
      wrong ??= `${found} (${schedule}): ${JSON.stringify(given.map((f) => [f.kind, f.id, f.live, f.cursor, f.data]))}`
    await reader.close()
    await world.close()
    return wrong !== undefined
  })
  return { count, wrong }
}

const begin: Op = { do: "begin", turn: "t2", prompt: "u2" }
const end: Op = { do: "end", outcome: "completed" }
const live = (text: string): Op => ({ do: "live", id: "a2", text })
const store = (text: string): Op => ({ do: "store", id: "a2", text })
const settle = (text: string, id = "a2"): Op => ({ do: "settle", id, text })
const delta = (offset: number, text: string): Op => ({ do: "delta", id: "a2", offset, text })
const event = (n: number): Op => ({ do: "event", n })

const settings: Readonly<Record<string, Setting>> = {
  "drafts that are published and stored": {
    ops: [begin, live("H"), store("H"), live("Hi"), settle("Hi!"), end],
    after: { afterMessage: "a1" },
  },
  "deltas, and events between them": {
    ops: [begin, delta(0, "He"), event(1), delta(2, "y"), settle("Hey"), end],
    after: { afterMessage: "a1" },
  },
  "several messages, read page by page": {
    ops: [begin, settle("Hi"), settle("and", "a3"), end],
    after: { afterMessage: "u1" },
  },
  "the running turn": {
    ops: [begin, store("H"), event(1), settle("Hi"), end],
    after: {},
  },
  "a turn that began before anybody listened": {
    before: [begin, store("H")],
    ops: [store("Hi"), settle("Hi!"), settle("and", "a3"), end],
    after: { afterMessage: "a1" },
  },
  "hints that others may have committed": {
    ops: [begin, event(1), { do: "hint" }, settle("Hi"), end],
    after: { afterMessage: "a1" },
  },
  "a turn that runs in another process": {
    elsewhere: true,
    ops: [begin, store("H"), settle("Hi"), end],
    after: { afterMessage: "a1" },
  },
  "several messages that another process writes at the same time": {
    before: [begin, store("H")],
    elsewhere: true,
    ops: [settle("and", "a3"), settle("Hi"), end],
    after: { afterMessage: "a1" },
  },
  "a hint while what is stored is older than what was published": {
    before: [begin, store("H")],
    ops: [live("Hi"), { do: "hint" }, settle("Hi!"), end],
    after: { afterMessage: "a1" },
  },
  "a turn that was begun here and is ended in another process": {
    before: [begin, store("H")],
    elsewhere: true,
    ops: [settle("Hi!"), end],
    after: { afterMessage: "a1" },
  },
  "commits that are told of late": {
    late: true,
    ops: [begin, delta(0, "Hi"), settle("Hi"), end],
    after: { afterMessage: "a1" },
  },
}

/** Reads before it subscribes. */
const readsFirst = (source: Source): Source => {
  const { rings, storage } = source
  const look = storage.read(snapshot(defaultSettings, "s", { anchor: { _tag: "Settled", id: "a1" }, limit: 1 }))
  let early: unknown
  const subscribe: typeof rings.subscribe = (sessionId) =>
    Effect.flatMap(Effect.orDie(look), (found) => {
      early = found
      return rings.subscribe(sessionId)
    })
  const read: typeof storage.read = (program) =>
    Effect.suspend(() => {
      const found = early
      early = undefined
      return found === undefined ? storage.read(program) : Effect.succeed(found as never)
    })
  return { ...source, rings: { ...rings, subscribe }, storage: { ...storage, read } }
}

/** Does not know what the ring has that it has read. */
const knowsNoRevision = (source: Source): Source => {
  const { storage } = source
  const read: typeof storage.read = (program) =>
    Effect.map(storage.read(program), (found) => {
      const isSnapshot = typeof found === "object" && found !== null && "revision" in found
      return isSnapshot ? { ...found, revision: 0 } : found
    })
  return { ...source, storage: { ...storage, read } }
}

describe("a reader that comes while others commit", { timeout: 120_000 }, () => {
  for (const [name, setting] of Object.entries(settings)) {
    it(`STR-05 gets everything once and in order, in every schedule: ${name}`, async () => {
      const { count, wrong } = await race(setting)
      assert.isUndefined(wrong)
      assert.isAbove(count, 20)
    })
  }

  const short: Setting = { ops: [begin, event(1), delta(0, "Hi"), settle("Hi"), end], after: { afterMessage: "a1" } }
  it.each([1, 2, 3, 4, 5])("STR-05 goes on behind frame %i when it was gone, in every schedule", async (hangUp) => {
    const { count, wrong } = await race(short, hangUp)
    assert.isUndefined(wrong)
    assert.isAbove(count, 100)
  })

  it("STR-06 is told when what it was owed is gone before it had read what is stored", async () => {
    const world = await makeWorld()
    await world.run(Sessions.use((sessions) => sessions.create({ id: "s" })))
    await world.rings()
    const events = Array.from({ length: 2_001 }, (_, i) => event(i))
    const writer = makeWriter(world, [...turnBefore, begin, ...events])
    for (let i = 0; i <= turnBefore.length; i++) await writer.step()
    const reader = await world.reader({ afterMessage: "a1" })
    world.gates.holdsReads = true
    await reader.step()
    while (!writer.isDone()) await writer.step()
    while (!reader.isDone()) await reader.step()
    assert.deepStrictEqual(
      reader.frames.map(({ kind }) => kind),
      ["durable-message", "resync-required"],
    )
    await world.close()
  })

  it("would miss a commit if it read before it subscribed", async () => {
    const { wrong } = await race({ ...settings["a turn that began before anybody listened"]!, change: readsFirst })
    assert.match(wrong ?? "", /^(it waits for ever|messages )/)
  })

  it("would get messages twice if it did not know what it has read", async () => {
    const { wrong } = await race({ ...settings["several messages, read page by page"]!, change: knowsNoRevision })
    assert.match(wrong ?? "", /comes twice|is not what was said last/)
  })
})
