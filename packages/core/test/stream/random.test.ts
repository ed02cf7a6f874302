import { assert, it } from "@effect/vitest"
import { Messages, Sessions } from "../../src/index.ts"
import type { Frame } from "../../src/stream/frame.ts"
import { makeWorld, makeWriter } from "./race.ts"
import type { Op, Reader, World } from "./race.ts"

/** A whole number from 0 to `below` − 1, which a seed repeats. */
type Choose = (below: number) => number

const chooser = (seed: number): Choose => {
  let state = Math.imul(seed, 0x9e3779b1) | 1
  return (below) => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return Math.floor(((state >>> 0) / 2 ** 32) * below)
  }
}

/** Turns and what is said between them, some of it taken back: as many ops as asked for, or a few more. */
const makeStory = (choose: Choose, length: number): ReadonlyArray<Op> => {
  const ops: Array<Op> = []
  let path: Array<string> = []
  let draft: { readonly id: string; text: string; stored: boolean } | undefined
  let turn: string | undefined
  let made = 0
  const name = (kind: string) => `${kind}${++made}`
  const say = (id: string) => path.push(id)
  const settle = () => {
    if (draft === undefined) return
    ops.push({ do: "settle", id: draft.id, text: `${draft.text}.` })
    if (!draft.stored) say(draft.id)
    draft = undefined
  }
  while (ops.length < length || turn !== undefined) {
    const ends = ops.length >= length
    if (turn === undefined) {
      const choice = choose(4)
      if (choice === 0 && path.length > 2) {
        const id = path[choose(path.length - 1)]!
        ops.push({ do: "checkout", id })
        path = path.slice(0, path.indexOf(id) + 1)
      } else if (choice === 1) ops.push({ do: "say", id: path[say(name("u")) - 1]! })
      else {
        turn = name("t")
        ops.push({ do: "begin", turn, prompt: path[say(name("u")) - 1]! })
      }
      continue
    }
    const choice = ends ? 9 : choose(10)
    if (choice < 2) ops.push({ do: "event", n: ++made })
    else if (choice === 2) ops.push({ do: "hint" })
    else if (choice === 3) {
      // A turn writes one message at a time.
      settle()
      ops.push({ do: "settle", id: path[say(name("a")) - 1]!, text: "whole" })
    } else if (choice < 8) {
      draft ??= { id: name("a"), text: "", stored: false }
      draft.text += choose(10)
      // As a turn does: the first one is stored at once.
      ops.push({ do: "live", id: draft.id, text: draft.text })
      if (!draft.stored || choose(3) === 0) ops.push({ do: "store", id: draft.id, text: draft.text })
      if (!draft.stored) say(draft.id)
      draft.stored = true
    } else if (choice === 8) settle()
    else {
      settle()
      ops.push({ do: "end", outcome: "completed" })
      turn = undefined
    }
  }
  return ops
}

interface Shown {
  readonly id: string
  text: string
  settled: boolean
}

const told = (shown: ReadonlyArray<Shown>) =>
  shown.map(({ id, settled, text }) => `${id} ${text}${settled ? "" : "…"}`).join(", ")

/** All that is stored, whatever is held. */
const read = async (world: World): Promise<Array<Shown>> => {
  const { gates } = world
  const { holdsReads } = gates
  gates.holdsReads = false
  const { messages } = await world.run(Messages.use((messages) => messages.page("s", { limit: 500 })))
  gates.holdsReads = holdsReads
  return messages.map(({ display, draft, id }) => ({ id, text: display as string, settled: draft !== true }))
}

/** The events of each turn of a story. */
const eventsOf = (story: ReadonlyArray<Op>) => {
  const events = new Map<string, Array<number>>()
  let turn = ""
  for (const op of story) {
    if (op.do === "begin") events.set((turn = op.turn), [])
    if (op.do === "event") events.get(turn)!.push(op.n)
  }
  return events
}

/** Somebody who shows the conversation, and goes on wherever the connection was lost. */
const makeClient = (world: World, story: ReadonlyArray<Op>, keepsUp: boolean) => {
  const events = eventsOf(story)
  let shown: Array<Shown> = []
  let cursor: string | undefined
  /** The turn of which it hears, and the event that is the next one. */
  let hears: { readonly turn: string; readonly next: number } | undefined
  /** Messages that came as they stay since everything was read last. */
  let given = new Set<string>()

  const readAll = async () => {
    shown = await read(world)
    cursor = undefined
    hears = undefined
    given = new Set()
  }
  const show = (id: string, text: string, settled: boolean) => {
    const known = shown.find((one) => one.id === id)
    if (known === undefined) shown.push({ id, text, settled })
    else {
      assert.isFalse(known.settled && known.text !== text, `${id} changes after it was settled`)
      assert.isTrue(known.settled || settled || text.startsWith(known.text), `a draft of ${id} goes back`)
      known.text = text
      known.settled ||= settled
    }
    if (!settled) return
    assert.isFalse(given.has(id), `${id} comes twice`)
    given.add(id)
  }
  const hear = (turn: string, event: number) => {
    const at = events.get(turn)!.indexOf(event)
    assert.isTrue(hears?.turn !== turn || hears.next === at, `event ${event} of ${turn} comes out of order`)
    hears = { turn, next: at + 1 }
  }
  /** Whether the messages have to be read again. */
  const take = (frame: Frame): boolean => {
    cursor = frame.cursor
    if (frame.kind === "resync-required") {
      // Only who is too slow misses something; what is taken back may be what it came for.
      assert.isTrue(!keepsUp || frame.data.reason === "rewound", frame.data.reason)
      return true
    }
    if (frame.kind === "durable-message") show(frame.data.message.id, frame.data.message.display as string, true)
    if (frame.kind === "message-committed") {
      for (const { display, id } of frame.data.messages) show(id, display as string, true)
    }
    if (frame.kind === "runtime-event" && frame.entry === undefined) {
      hear(frame.turn!, frame.data as number)
    } else if (frame.kind === "runtime-event" && frame.offset === undefined) {
      show(frame.entry!, frame.data.message.display as string, false)
    }
    if (frame.kind === "turn-terminal" && frame.turn === hears?.turn) {
      assert.strictEqual(hears!.next, events.get(frame.turn!)!.length, "the last events are missing")
    }
    if (frame.kind !== "messages-rewound") return false
    const at = shown.findIndex(({ id }) => id === frame.data.to)
    if (at < 0) return true
    shown = shown.slice(0, at + 1)
    return false
  }
  return {
    take,
    readAll,
    shown: () => shown,
    after: () => {
      if (cursor !== undefined) return { afterCursor: cursor }
      const open = shown.findIndex(({ settled }) => !settled)
      if (open >= 0) shown = shown.slice(0, open)
      return { afterMessage: shown.at(-1)?.id ?? null }
    },
  }
}

interface Setting {
  /** How many frames are kept. */
  readonly frames: number
  /** How many turns, and things between them, of three another process does. Default: none. */
  readonly elsewhere?: number
}

/** What of a story another process does; what that only publishes is left out. */
const divide = (choose: Choose, story: ReadonlyArray<Op>, elsewhere: number) => {
  const others = new Set<Op>()
  let isTurn = false
  let isOther = false
  for (const op of story) {
    if (!isTurn) isOther = choose(3) < elsewhere
    if (op.do === "begin" || op.do === "end") isTurn = op.do === "begin"
    if (isOther) others.add(op)
  }
  const isPublished = (op: Op) => op.do === "live" || op.do === "event"
  return { story: story.filter((op) => !others.has(op) || !isPublished(op)), isElsewhere: (op: Op) => others.has(op) }
}

const live = async (seed: number, { elsewhere = 0, frames }: Setting) => {
  const choose = chooser(seed)
  const world = await makeWorld({ frames, bytes: 1_000_000 })
  await world.run(Sessions.use((sessions) => sessions.create({ id: "s" })))
  await world.rings()
  const { isElsewhere, story } = divide(choose, makeStory(choose, 120), elsewhere)
  const writer = makeWriter(world, story, isElsewhere)
  const client = makeClient(world, story, frames > story.length && elsewhere === 0)
  world.gates.holdsReads = true
  let reader: Reader | undefined
  let taken = 0
  let isLast = false
  await client.readAll()
  for (;;) {
    if (reader === undefined && !writer.isDone() && choose(3) === 0) {
      await writer.step()
      continue
    }
    if (reader === undefined) {
      isLast = writer.isDone()
      reader = await world.reader(client.after())
    }
    const canRead = reader.canStep() && !reader.isDone()
    assert.isTrue(canRead || !writer.isDone(), "it waits for ever")
    if (writer.isDone() || (canRead && choose(2) === 0)) await reader.step()
    else await writer.step()
    let isLost = false
    while (taken < reader.frames.length && !isLost) isLost = client.take(reader.frames[taken++]!)
    const hangsUp = !writer.isDone() && choose(25) === 0
    if (!isLost && !reader.isDone() && !hangsUp) continue
    // A stream ends with a turn: what came after that is for the next one.
    const isOver = isLast && reader.isDone() && reader.frames.every(({ kind }) => kind === "turn-terminal")
    await reader.close()
    reader = undefined
    taken = 0
    if (isLost) await client.readAll()
    if (isOver) break
  }
  assert.strictEqual(told(client.shown()), told(await read(world)))
  await world.close()
}

const seed = Number(process.env["SKEIN_SEED"] ?? Date.now() % 1_000_000)
const runs = Number(process.env["SKEIN_RUNS"] ?? 40)

const settings: Readonly<Record<string, Setting>> = {
  "to who keeps up": { frames: 2_000 },
  "to who is too slow": { frames: 20 },
  "what another process does": { frames: 2_000, elsewhere: 3 },
  "what one process does, or another": { frames: 2_000, elsewhere: 1 },
}

it.each(Object.entries(settings))(
  "STR-05 whoever follows a session shows what is stored: %s",
  { timeout: 1_000 * Math.max(120, runs) },
  async (_, setting) => {
    for (let run = 0; run < runs; run++) {
      try {
        await live(seed + run, setting)
      } catch (error) {
        throw new Error(`SKEIN_SEED=${seed + run} SKEIN_RUNS=1 shows it again`, { cause: error })
      }
    }
  },
)
