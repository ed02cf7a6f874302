/**
 * Random histories of one queue against an oracle: a plain list in which everything is looked at each time.
 *
 * The oracle knows no index, no counter and no receipt. It is compared in every answer, in what listeners are told, in what
 * the list shows, and in what the session's row says of its queue.
 */
import { QueueItemTable, SessionTable } from "@skein/core"
import { Queue } from "@skein/core/queue"
import { Storage, Tx } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import { atTime } from "../clock.ts"
import { check, equal } from "../equal.ts"
import { law } from "../law.ts"
import type { Law } from "../law.ts"
import { outcomeOf } from "../outcome.ts"
import { makeRandom } from "../random.ts"
import type { Random } from "../random.ts"
import { withServices } from "../services.ts"
import { begin } from "./conversation.ts"

interface Item {
  readonly id: string
  text: string
  source?: string | undefined
  key?: string | undefined
  expiresAt?: number | undefined
  request?: string | undefined
  readonly enqueuedAt: number
  attempts: number
  claim?: { readonly token: string; until: number } | undefined
}

/** The queue as the oracle has it. */
interface Line {
  items: Array<Item>
  paused: boolean
  /** By request, what was asked for first. */
  readonly requests: Map<string, { readonly id: string; readonly text: string }>
  /** By item, how it left, where that is remembered. */
  readonly left: Map<string, string>
  readonly completed: Set<string>
  /** Every token there ever was. */
  readonly tokens: Array<string>
}

/** What an operation came to: an answer, what listeners are told, and whether the queue is as it left it from now on. */
interface Step {
  readonly answer: unknown
  readonly facts: ReadonlyArray<string>
  readonly line: Line
}

const copyOf = (line: Line): Line => ({
  items: line.items.map((item) => ({ ...item, ...(item.claim && { claim: { ...item.claim } }) })),
  paused: line.paused,
  requests: new Map(line.requests),
  left: new Map(line.left),
  completed: new Set(line.completed),
  tokens: [...line.tokens],
})

const lease = 30_000
const fail = (failed: string) => ({ failed })

/** Lets time pass: claims run out, then items expire. */
const passed = (before: Line, now: number) => {
  const line = copyOf(before)
  const facts: Array<string> = []
  const expired = line.items.filter((item) => (item.claim?.until ?? 0) <= now && (item.expiresAt ?? Infinity) <= now)
  for (const item of line.items.toSorted((a, b) => (a.claim?.until ?? 0) - (b.claim?.until ?? 0) || byId(a, b))) {
    if (item.claim === undefined || item.claim.until > now) continue
    item.claim = undefined
    if (!expired.includes(item)) facts.push(`requeued ${item.id}`)
  }
  for (const item of expired.toSorted((a, b) => a.expiresAt! - b.expiresAt! || byId(a, b))) {
    leave(line, item, "expired")
    facts.push(`expired ${item.id}`)
  }
  return { line, facts }
}

/** What happens at one time happens in the order of ids. */
const byId = (a: Item, b: Item): number => (a.id < b.id ? -1 : 1)

const leave = (line: Line, item: Item, reason: string): void => {
  line.items = line.items.filter((one) => one !== item)
  if (item.request !== undefined) line.left.set(item.id, reason)
}

const textIn = (body: unknown): string => (body as { readonly content: string }).content
const hello = (text: string) => ({ body: { role: "user", content: text } })

/** One operation: what it asks of the service, and what the oracle makes of it given the answer, which may have minted. */
interface Operation {
  readonly name: string
  readonly ask: (queue: typeof Queue.Service) => Effect.Effect<unknown, unknown>
  readonly expect: (line: Line, answer: never) => { readonly answer: unknown; readonly facts?: ReadonlyArray<string> }
}

const operation = <A>(
  name: string,
  ask: (queue: typeof Queue.Service) => Effect.Effect<A, unknown>,
  expect: (line: Line, answer: A | undefined) => { readonly answer: unknown; readonly facts?: ReadonlyArray<string> },
): Operation => ({ name, ask, expect: expect as Operation["expect"] })

const done = (answer: unknown, ...facts: ReadonlyArray<string>) => ({ answer: { done: answer }, facts })

/** Something that may be done to a queue at `now`, chosen by chance; `line` is what is there to choose from. */
const choose = (random: Random, line: Line, now: number, n: number): Operation => {
  const s = "s"
  const waiting = line.items.filter(({ claim }) => claim === undefined)
  const anyId = random.nat(12) === 0 ? "q_nobody" : line.items.length > 0 ? random.pick(line.items).id : "q_none"
  const anyToken = line.tokens.length === 0 ? "q_none.t" : random.pick(line.tokens.slice(-3))
  const find = (of: Line, id: string) => of.items.find((item) => item.id === id)

  /** An operation on an item that nobody may be sending. */
  const onWaiting = (
    name: string,
    ask: Operation["ask"],
    then: (line: Line, item: Item) => { readonly answer: unknown; readonly facts?: ReadonlyArray<string> },
  ) =>
    operation(`${name} ${anyId}`, ask, (of) => {
      const item = find(of, anyId)
      if (item === undefined) return { answer: fail("ItemNotFound") }
      return item.claim === undefined ? then(of, item) : { answer: fail("OperationConflict") }
    })

  /** An operation that a token proves. */
  const held = (
    verb: "renew" | "release" | "reject" | "complete",
    then: (line: Line, item: Item) => { readonly answer: unknown; readonly facts?: ReadonlyArray<string> },
  ) =>
    operation(
      `${verb} ${anyToken}`,
      (queue): Effect.Effect<unknown, unknown> => queue[verb](s, anyToken),
      (of) => {
        const item = of.items.find(({ claim }) => claim?.token === anyToken)
        if (item !== undefined) return then(of, item)
        return verb === "complete" && of.completed.has(anyToken) ? done(undefined) : { answer: fail("LeaseLost") }
      },
    )

  switch (random.nat(14)) {
    case 0:
    case 1:
    case 2:
    case 3: {
      const text = `m${n}`
      const key = random.nat(4) === 0 ? random.pick(["k1", "k2"]) : undefined
      const request = random.nat(4) === 0 ? random.pick(["r1", "r2", "r3"]) : undefined
      const said = request !== undefined && random.nat(2) === 0 ? (line.requests.get(request)?.text ?? text) : text
      const expiresAt = random.nat(4) === 0 ? now + random.pick([0, 1, 10, lease]) : undefined
      const source = random.nat(3) === 0 ? "cli" : undefined
      const front = random.nat(4) === 0
      const options = {
        ...(key !== undefined && { dedupeKey: key }),
        ...(request !== undefined && { clientRequestId: request }),
        ...(expiresAt !== undefined && { expiresAt }),
        ...(source !== undefined && { source }),
        ...(front && { placement: "front" as const }),
      }
      return operation(
        `enqueue ${said} ${JSON.stringify(options)}`,
        (queue) => queue.enqueue(s, hello(said), options),
        (of, answer) => {
          const before = request === undefined ? undefined : of.requests.get(request)
          if (before !== undefined) {
            if (before.text !== said) return { answer: fail("IdConflict") }
            const at = of.items.findIndex(({ id }) => id === before.id)
            const known = { id: before.id, outcome: "known" }
            if (at >= 0) return done({ ...known, position: at + 1 })
            const left = of.left.get(before.id)
            return done({ ...known, ...(left !== undefined && { left }) })
          }
          if (expiresAt !== undefined && expiresAt <= now) return { answer: fail("InvalidInput") }
          const twin =
            key === undefined ? undefined : of.items.find((one) => one.key === key && one.claim === undefined)
          if (twin !== undefined) {
            Object.assign(twin, { text: said, source, expiresAt, attempts: 0, request: request ?? twin.request })
            if (request !== undefined) of.requests.set(request, { id: twin.id, text: said })
            const position = of.items.indexOf(twin) + 1
            return done({ id: twin.id, outcome: "replaced", position }, `replaced ${twin.id}`)
          }
          const { id = "none" } = answer ?? {}
          const item: Item = { id, text: said, source, key, expiresAt, request, enqueuedAt: now, attempts: 0 }
          if (request !== undefined) of.requests.set(request, { id, text: said })
          if (front) of.items.unshift(item)
          else of.items.push(item)
          const position = of.items.indexOf(item) + 1
          return done({ id, outcome: "enqueued", position }, `enqueued ${id}`)
        },
      )
    }
    case 4:
      return onWaiting(
        "cancel",
        (queue) => Effect.map(queue.cancel(s, anyId), ({ id }) => id),
        (of, item) => {
          leave(of, item, "cancelled")
          return done(item.id, `cancelled ${item.id}`)
        },
      )
    case 5:
      return onWaiting(
        "update",
        (queue) => Effect.map(queue.update(s, anyId, { message: hello(`m${n}`) }), ({ attempts }) => attempts),
        (of, item) => {
          Object.assign(item, { text: `m${n}`, attempts: 0 })
          return done(0, `updated ${item.id}`)
        },
      )
    case 6: {
      const order = random.shuffled(waiting.map(({ id }) => id))
      if (random.nat(6) === 0) order.pop()
      return operation(
        `reorder ${order.join()}`,
        (queue) => queue.reorder(s, order),
        (of) => {
          const free = of.items.filter(({ claim }) => claim === undefined)
          const isPermutation = free.length === order.length && free.every(({ id }) => order.includes(id))
          if (!isPermutation) return { answer: fail("InvalidInput") }
          const isSame = free.every(({ id }, i) => order[i] === id)
          const queueOf = order.map((id) => free.find((item) => item.id === id)!)
          of.items = of.items.map((item) => (item.claim === undefined ? queueOf.shift()! : item))
          return isSame ? done(undefined) : done(undefined, "reordered")
        },
      )
    }
    case 7:
      return onWaiting(
        "promote",
        (queue) => queue.promote(s, anyId),
        (of, item) => {
          const isFirst = of.items[0] === item
          of.items = [item, ...of.items.filter((one) => one !== item)]
          return isFirst ? done(undefined) : done(undefined, `reordered ${item.id}`)
        },
      )
    case 8:
    case 9:
    case 10: {
      const named = random.nat(4) === 0 ? anyId : undefined
      const sources = random.nat(4) === 0 ? ["cli"] : undefined
      const continuePaused = random.nat(4) === 0
      const options = { ...(named !== undefined && { item: named }), ...(sources && { sources }), continuePaused }
      return operation(
        `claim ${JSON.stringify(options)}`,
        (queue) => queue.claim(s, options),
        (of, answer) => {
          const none = (reason: object) => done({ item: undefined, ...reason })
          const give = (item: Item) => {
            const { token } = answer as { readonly token: string }
            check(!of.tokens.includes(token), "a token is new")
            of.tokens.push(token)
            item.claim = { token, until: now + lease }
            item.attempts++
            return done([item.id, item.attempts, now + lease], `claimed ${item.id}`)
          }
          if (named !== undefined) {
            const item = find(of, named)
            if (item === undefined) return { answer: fail("ItemNotFound") }
            return item.claim === undefined ? give(item) : none({ reason: "claimed", until: item.claim.until })
          }
          if (of.paused && !continuePaused) return none({ reason: "paused", cause: "user-stop" })
          const ends = of.items.flatMap(({ claim }) => (claim === undefined ? [] : [claim.until]))
          if (ends.length > 0) return none({ reason: "claimed", until: Math.min(...ends) })
          const item = of.items.find(({ source }) => sources === undefined || source === "cli")
          return item === undefined ? none({ reason: "empty" }) : give(item)
        },
      )
    }
    case 11:
      switch (random.nat(4)) {
        case 0:
          return held("renew", (_of, item) => {
            item.claim!.until = now + lease
            return done(now + lease)
          })
        case 1:
          return held("release", (_of, item) => {
            item.claim = undefined
            return done(undefined, `requeued ${item.id}`)
          })
        case 2:
          return held("reject", (of, item) => {
            leave(of, item, "rejected")
            return done(undefined, `rejected ${item.id}`)
          })
        default:
          return held("complete", (of, item) => {
            of.completed.add(anyToken)
            of.left.set(item.id, "accepted")
            leave(of, item, "accepted")
            return done(undefined, `accepted ${item.id}`)
          })
      }
    case 12:
      return operation(
        "pause",
        (queue) => Effect.map(queue.pause(s), ({ isNew, pause }) => [isNew, pause?.cause]),
        (of) => {
          if (of.items.length === 0) return done([false, undefined])
          const isNew = !of.paused
          of.paused = true
          return isNew ? done([true, "user-stop"], "paused") : done([false, "user-stop"])
        },
      )
    default:
      if (random.nat(12) === 0) {
        return operation(
          "clear",
          (queue) => queue.clear(s),
          (of) => {
            const going = of.items.filter(({ claim }) => claim === undefined)
            for (const item of going) leave(of, item, "cancelled")
            return done(going.length, ...going.map(({ id }) => `cancelled ${id}`))
          },
        )
      }
      return operation(
        "resume",
        (queue) => queue.resume(s),
        (of) => {
          const wasPaused = of.paused
          of.paused = false
          return wasPaused ? done(true, "resumed") : done(false)
        },
      )
  }
}

/** The oracle's step: time passes, then the operation happens, or is refused and leaves everything as it was. */
const stepOf = (stored: Line, { expect }: Operation, answer: unknown, now: number): Step => {
  const { facts, line } = passed(stored, now)
  const mayResume = (of: Line): ReadonlyArray<string> => {
    if (!of.paused || of.items.length > 0) return []
    of.paused = false
    return ["resumed"]
  }
  const resumedByTime = mayResume(line)
  const step = expect(line, (answer as { readonly done?: never }).done as never)
  const failed = (step.answer as { readonly failed?: string }).failed !== undefined
  if (failed) return { answer: step.answer, facts: [], line: stored }
  const told = [...facts, ...(step.facts ?? []), ...resumedByTime, ...mayResume(line)]
  return { answer: step.answer, facts: told, line }
}

/** What is seen of a queue at `now`, and what the session's row says of it. */
const pictureOf = (queue: typeof Queue.Service, now: number) =>
  Effect.gen(function* () {
    const storage = yield* Storage
    const items = yield* atTime(now)(queue.list("s", { limit: 500 }))
    const rows = yield* storage.read(
      Tx.make(function* (tx) {
        const session = (yield* tx.get(SessionTable, ["s"]))!
        return { session, items: yield* tx.range(QueueItemTable, "byOrder", { prefix: ["s"] }) }
      }),
    )
    const { due, queue: state } = rows.session
    for (const { order } of rows.items) {
      check(state !== undefined && order >= state.front && order <= state.back, "no order is out of bounds")
    }
    return {
      listed: items.map(({ attempts, enqueuedAt, id, message, position, state }) => {
        return [position, id, textIn(message?.display), state, attempts, enqueuedAt]
      }),
      count: yield* atTime(now)(queue.count("s")),
      row: state && [state.items, state.claimed, state.since, state.pause?.cause],
      due,
    }
  })

const expectedPicture = (stored: Line, now: number) => {
  const { line } = passed(stored, now)
  const ends = stored.items.flatMap(({ claim }) => (claim === undefined ? [] : [claim.until]))
  const { items, paused } = stored
  const since = ends.length > 0 ? Math.max(...ends) : items[0]?.enqueuedAt
  return {
    listed: line.items.map(({ attempts, claim, enqueuedAt, id, text }, i) => {
      return [i + 1, id, text, claim === undefined ? "queued" : "claimed", attempts, enqueuedAt]
    }),
    count: line.items.length,
    row: items.length === 0 ? undefined : [items.length, ends.length, since, paused ? "user-stop" : undefined],
    due: items.length === 0 || paused ? undefined : since,
  }
}

/** An answer without what cannot be foretold. */
const plain = (name: string, answer: unknown): unknown => {
  const { done } = answer as { readonly done?: unknown }
  if (!name.startsWith("claim") || done === undefined) return answer
  const { item, until } = done as { readonly item?: { readonly id: string; readonly attempts: number }; until?: number }
  return item === undefined ? answer : { done: [item.id, item.attempts, until] }
}

const steps = 60

/** Plays one history on a new store. */
const play = (seed: number) =>
  Effect.gen(function* () {
    const queue = yield* Queue
    const storage = yield* Storage
    const random = makeRandom(seed)
    yield* begin("s")
    let facts: Array<string> = []
    yield* storage.observe((notices) => {
      for (const notice of notices) {
        if (notice._tag !== "QueueChanged") continue
        const { itemId, reason } = notice as unknown as { readonly itemId?: string; readonly reason: string }
        facts.push(itemId === undefined ? reason : `${reason} ${itemId}`)
      }
    })
    let line: Line = {
      items: [],
      paused: false,
      requests: new Map(),
      left: new Map(),
      completed: new Set(),
      tokens: [],
    }
    let now = 1_000
    const story: Array<string> = []
    for (let n = 0; n < steps; n++) {
      now += random.pick([0, 0, 1, 1, 9, 10, lease - 1, lease])
      const asked = choose(random, passed(line, now).line, now, n)
      facts = []
      const answer = yield* outcomeOf(atTime(now)(asked.ask(queue)))
      story.push(`${now}: ${asked.name} → ${JSON.stringify(plain(asked.name, answer))}`)
      const told = () => story.slice(-12).join("\n")
      const step = stepOf(line, asked, answer, now)
      const what = (of: string) => () => `history ${seed}:\n${told()}\n${of}`
      equal(plain(asked.name, answer), step.answer, what("the answer"))
      equal(facts, step.facts, what("what was told"))
      line = step.line
      equal(yield* pictureOf(queue, now), expectedPicture(line, now), what("what is seen"))
    }
  })

export const queueHistoryLaws: ReadonlyArray<Law> = [
  law("QUE-01 QUE-02 QUE-03 QUE-05 QUE-06 any history of a queue is as a list would have it", (store) =>
    Effect.gen(function* () {
      const histories = Math.max(2, Math.ceil(store.runs / 20))
      for (let i = 0; i < histories; i++) {
        const fresh = yield* store.fresh
        yield* withServices(fresh)(Effect.scoped(play(store.seed + i)))
      }
    }).pipe(Effect.scoped),
  ),
]
