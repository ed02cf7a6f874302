/**
 * Random histories of turns in one session, by several instances, against an oracle.
 *
 * Guarantee: what calls that were begun together answer, and what they leave, is what they come to one after another in
 * some order. There is one turn at a time, and its epoch is the next; a turn that is over writes nothing; what was
 * acknowledged stays; and nobody is given up who has renewed a short while ago.
 */
import { Messages } from "@skein/core/message"
import { Storage } from "@skein/core/storage"
import { Turns } from "@skein/core/turn"
import * as Effect from "effect/Effect"
import type { Time } from "../../clock.ts"
import { onHost, withoutLocks } from "../../engine.ts"
import { Difference, equal, show } from "../../equal.ts"
import type { Law, Store } from "../../law.ts"
import { outcomeOf } from "../../outcome.ts"
import type { Outcome } from "../../outcome.ts"
import { makeRandom } from "../../random.ts"
import type { Random } from "../../random.ts"
import { begin, session } from "../conversation.ts"
import {
  abort,
  ask,
  beat,
  draft,
  end,
  failure,
  lease,
  open,
  recover,
  rowOf,
  saying,
  settle,
  timedLaw,
} from "./subject.ts"
import type { Opening } from "./subject.ts"

/** What is asked of an instance. */
type Call =
  | { readonly do: "begin"; readonly id: string; readonly takeOver: boolean }
  | { readonly do: "append" | "draft" | "settle"; readonly epoch: number; readonly id: string; readonly text: string }
  | { readonly do: "beat"; readonly epoch: number }
  | {
      readonly do: "end"
      readonly epoch: number
      readonly outcome: "completed" | "failed" | "aborted"
      readonly id: string
    }
  | { readonly do: "abort"; readonly reason: string }
  | { readonly do: "recover" }

interface Answered {
  readonly by: number
  /** The clock may have jumped before it came, and nothing tells it that an owner is alive. */
  readonly isBlind: boolean
  readonly call: Call
  readonly answer: Outcome<unknown>
}

interface Said {
  readonly id: string
  readonly text: string
  readonly draft: boolean
  readonly cut: string | undefined
}

interface Ended {
  readonly outcome: string | undefined
  readonly reason: string | undefined
}

/** The session, as a list of what was said, and the turn that runs. */
interface State {
  readonly path: ReadonlyArray<Said>
  /** By epoch, from 1. */
  readonly turns: ReadonlyArray<Ended>
  /** Who runs the turn and whether that one is gone; when it was last heard of, by the steady clock; what it was told. */
  readonly active: Active | undefined
}

interface Active {
  readonly owner: number
  readonly isGone: boolean
  readonly heard: number
  readonly abort: string | undefined
}

const nothing: State = { path: [], turns: [], active: undefined }

/** How long nobody is given up who has renewed, whatever clocks do: as long as recovery distrusts a clock that jumped. */
const shortest = 10_000

const epochOf = ({ active, turns }: State) => (active === undefined ? undefined : turns.length)

const ended = (state: State, outcome: string, reason: string | undefined, cut: string | undefined): State => ({
  path: state.path.map((one) => (one.draft ? { ...one, draft: false, cut } : one)),
  turns: [...state.turns.slice(0, -1), { outcome, reason }],
  active: undefined,
})

const begun = (state: State, id: string, owner: number, now: number): State => ({
  path: [...state.path, { id, text: id, draft: false, cut: undefined }],
  turns: [...state.turns, { outcome: undefined, reason: undefined }],
  active: { owner, isGone: false, heard: now, abort: undefined },
})

/** What the session may be after a call that was answered so; nothing where it cannot have been. */
const after = (state: State, { answer, by, call, isBlind }: Answered, now: number): ReadonlyArray<State> => {
  const { active, path } = state
  const isDone = "done" in answer
  const failed = "failed" in answer ? answer.failed : undefined
  /** Whether others may have given the turn up. */
  const mayBeOver = active !== undefined && (active.isGone || isBlind || now - active.heard >= shortest)
  const recovered = () => ended(state, "interrupted", "crash-recovery", "interrupted")
  const renewed = (next: Partial<State> = {}): State => ({ ...state, ...next, active: { ...active!, heard: now } })
  switch (call.do) {
    case "begin": {
      if (active === undefined) return isDone ? [begun(state, call.id, by, now)] : []
      if (call.takeOver) {
        return isDone ? [begun(ended(state, "interrupted", "taken-over", "interrupted"), call.id, by, now)] : []
      }
      if (isDone) return mayBeOver ? [begun(recovered(), call.id, by, now)] : []
      return failed === "RunActive" ? [state] : []
    }
    case "beat":
      if (epochOf(state) !== call.epoch) return failed === "StaleTurn" ? [state] : []
      return isDone &&
        show(answer.done) === show(active!.abort === undefined ? {} : { abort: { reason: active!.abort } })
        ? [renewed()]
        : []
    case "append":
    case "draft":
    case "settle": {
      if (epochOf(state) !== call.epoch) return failed === "StaleTurn" ? [state] : []
      const said: Said = { id: call.id, text: call.text, draft: call.do === "draft", cut: undefined }
      const known = path.find(({ id }) => id === call.id)
      if (known === undefined) return isDone ? [renewed({ path: [...path, said] })] : []
      if (!known.draft) return failed === "IdConflict" ? [state] : []
      return isDone ? [renewed({ path: path.map((one) => (one === known ? said : one)) })] : []
    }
    case "end": {
      if (epochOf(state) !== call.epoch) {
        const before = state.turns[call.epoch - 1]
        const isStored = path.some(({ id, text }) => id === call.id && text === call.id)
        const isRepeated = before?.outcome === call.outcome && isStored
        return (isRepeated ? isDone : failed === "StaleTurn") ? [state] : []
      }
      if (!isDone) return []
      const cut = call.outcome === "completed" ? undefined : call.outcome
      const over = ended(state, call.outcome, undefined, cut)
      return [{ ...over, path: [...over.path, { id: call.id, text: call.id, draft: false, cut: undefined }] }]
    }
    case "abort": {
      if (active === undefined) return isDone && answer.done === false ? [state] : []
      if (!isDone || answer.done !== true) return []
      const marked: State = { ...state, active: { ...active, abort: active.abort ?? call.reason } }
      return mayBeOver ? [marked, ended(state, "aborted", call.reason, "aborted")] : [marked]
    }
    case "recover": {
      if (!isDone) return []
      const { interrupted } = answer.done as { readonly interrupted: ReadonlyArray<string> }
      if (interrupted.length === 0) return [state]
      return mayBeOver ? [recovered()] : []
    }
  }
}

const run = (call: Call) => {
  switch (call.do) {
    case "begin":
      return Effect.asVoid(ask("s", call.id, { takeOver: call.takeOver }))
    case "append":
      return Effect.asVoid(
        Messages.use((messages) => messages.append("s", saying(call.id, call.text), { epoch: call.epoch })),
      )
    case "draft":
      return Effect.asVoid(draft("s", call.epoch, saying(call.id, call.text)))
    case "settle":
      return Effect.asVoid(settle("s", call.epoch, saying(call.id, call.text)))
    case "beat":
      return beat("s", call.epoch)
    case "end": {
      const { epoch, id, outcome } = call
      const messages = [saying(id, id)]
      return Effect.asVoid(
        end("s", epoch, outcome === "failed" ? { outcome, error: failure, messages } : { outcome, messages }),
      )
    }
    case "abort":
      return abort("s", call.reason)
    case "recover":
      return recover()
  }
}

/** What the session is, to be compared. */
const glance = Effect.gen(function* () {
  const { activeTurn, epoch } = yield* rowOf("s")
  const { messages } = yield* Messages.use((one) => one.page("s", { limit: 500 }))
  const turns = yield* Turns.use((one) => one.list("s", { limit: 250 }))
  return {
    running: activeTurn?.epoch,
    abort: activeTurn?.abort?.reason,
    epoch,
    path: messages.map(({ cut, display, draft, id }) => [
      id,
      (display as { readonly content: string }).content,
      draft === true,
      cut,
    ]),
    turns: turns.toReversed().map(({ outcome, reason }) => [outcome, reason]),
  }
})

const expected = (state: State): Effect.Success<typeof glance> => ({
  running: epochOf(state),
  abort: state.active?.abort,
  epoch: state.turns.length,
  path: state.path.map(({ cut, draft, id, text }) => [id, text, draft, cut]),
  turns: state.turns.map(({ outcome, reason }) => [outcome, reason]),
})

/** What is asked, the one more often than the other. */
const kinds: ReadonlyArray<Call["do"]> = [
  ...(["begin", "begin", "begin", "append", "draft", "draft"] as const),
  ...(["settle", "beat", "end", "abort", "recover", "recover"] as const),
]

/** Draws a call. What it means depends on what was, so that it meets what is there, what was, and what never will be. */
const draw = (random: Random, state: State, name: number): Call => {
  const last = state.turns.length
  const epoch = random.pick([last, last, last, last, Math.max(1, last - 1), 1 + random.nat(last + 1)])
  const drafts = state.path.filter((one) => one.draft).map(({ id }) => id)
  const id = random.pick([`a${name}`, `a${name}`, ...drafts, ...drafts])
  const text = `${id} ${name}`
  const kind = random.pick(kinds)
  switch (kind) {
    case "begin":
      return { do: kind, id: `u${name}`, takeOver: random.nat(6) === 0 }
    case "append":
      return { do: kind, epoch: Math.max(1, epoch), id: `a${name}`, text }
    case "draft":
    case "settle":
      return { do: kind, epoch: Math.max(1, epoch), id, text }
    case "beat":
      return { do: kind, epoch: Math.max(1, epoch) }
    case "end":
      return {
        do: kind,
        epoch: Math.max(1, epoch),
        outcome: random.pick(["completed", "failed", "aborted"] as const),
        id: `a${name}`,
      }
    case "abort":
      return { do: kind, reason: `reason ${name}` }
    case "recover":
      return { do: kind }
    default:
      throw new Error(`nobody knows how to ${kind}`)
  }
}

const ordersOf = <A>([first, second]: ReadonlyArray<A>): ReadonlyArray<ReadonlyArray<A>> =>
  second === undefined
    ? [[first!]]
    : [
        [first!, second],
        [second, first!],
      ]

/** One history. `told` takes down what happens. */
const follow = (store: Store, time: Time, random: Random, told: Array<string>) =>
  Effect.gen(function* () {
    const place = random.nat(2) === 0 ? withoutLocks(store) : store
    const hosts = random.pick([
      ["here", "here", "here"],
      ["here", "there", "here"],
    ] as const)
    // One way only: a clock that goes back and comes again while nobody looks is noticed by nobody.
    const jumps = random.pick([
      [-3_600_000, -4_000],
      [4_000, 60_000, 3_600_000],
    ])
    const openAt = (i: number) => open(onHost(place, hosts[i]))
    const openings: Array<Opening> = [yield* openAt(0), yield* openAt(1), yield* openAt(2)]
    yield* openings[0]!.run(begin("s"))
    const hasLocks = yield* openings[0]!.run(Storage.use(({ locks }) => Effect.succeed(locks !== undefined)))
    let hasJumped = false
    const mayHaveMissed = [false, false, false]
    let steady = 0
    let states: ReadonlyArray<State> = [nothing]
    let versions = { revision: 0, historyVersion: 0 }
    const look = (what: string, next: ReadonlyArray<State>) =>
      Effect.gen(function* () {
        const found = yield* openings[0]!.run(glance)
        const alike = next.filter((state) => show(expected(state)) === show(found))
        if (alike.length === 0) {
          throw new Difference(
            `${what} leaves ${show(found)} and could leave ${next.map((one) => show(expected(one))).join(" or ")}`,
          )
        }
        const { historyVersion, revision } = yield* openings[0]!.run(session("s"))
        if (revision < versions.revision || historyVersion < versions.historyVersion) {
          throw new Difference(`${what} takes versions back`)
        }
        versions = { revision, historyVersion }
        return alike
      })
    for (let name = 1; name <= 30; name++) {
      const what = random.nat(12)
      if (what < 3) {
        const milliseconds = random.pick([1, 500, 5_000, 12_000, lease, lease + 1, 2 * lease])
        told.push(`${milliseconds} ms pass`)
        yield* time.pass(milliseconds)
        steady += milliseconds
      } else if (what === 3) {
        const milliseconds = random.pick(jumps)
        told.push(`the wall clock jumps by ${milliseconds} ms`)
        yield* time.jump(milliseconds)
        hasJumped = true
      } else if (what === 4) {
        // Its turns stay behind. Where its lock tells that it is gone they may be given up at once.
        const i = 1 + random.nat(2)
        told.push(`instance ${i} goes, and comes again`)
        yield* openings[i]!.close
        openings[i] = yield* openAt(i)
        mayHaveMissed[i] = hasJumped
        states = states.map((state) =>
          state.active?.owner === i ? { ...state, active: { ...state.active, isGone: true } } : state,
        )
      } else {
        const asked = Array.from({ length: 1 + random.nat(2) }, (_, i) => ({
          by: random.nat(3),
          call: draw(random, states[0]!, 2 * name + i),
        })).map((one) => ({ ...one, isBlind: !hasLocks && mayHaveMissed[one.by]! }))
        const answers: ReadonlyArray<Answered> = yield* Effect.all(
          asked.map((one) =>
            Effect.map(
              outcomeOf(openings[one.by]!.run(run(one.call) as Effect.Effect<unknown, unknown, never>)),
              (answer) => ({ ...one, answer }),
            ),
          ),
          { concurrency: "unbounded" },
        )
        const line = answers.map(({ answer, by, call }) => `${by}: ${show(call)} => ${show(answer)}`).join(" | ")
        told.push(line)
        const next = states.flatMap((state) =>
          ordersOf(answers).flatMap((order) =>
            order.reduce<ReadonlyArray<State>>(
              (possible, answered) => possible.flatMap((one) => after(one, answered, steady)),
              [state],
            ),
          ),
        )
        if (next.length === 0) throw new Difference(`nothing explains ${line}`)
        states = yield* look(line, next)
      }
    }
    // Whatever was left running is found by everybody, without any help.
    for (const milliseconds of [0, lease + 1, lease + shortest]) {
      yield* time.pass(milliseconds)
      for (const { run } of openings) yield* run(recover())
    }
    const { activeTurn, status } = yield* openings[0]!.run(session("s"))
    equal([activeTurn, status === "running"], [undefined, false], "what is left of the last turn")
  })

export const turnHistoryLaws: ReadonlyArray<Law> = [
  timedLaw(
    "TRN-01 TRN-02 TRN-03 TRN-05 TRN-08 MSG-04 any history of turns by three instances has one turn at a time, and loses nothing",
    (store, time) =>
      Effect.gen(function* () {
        const histories = Math.ceil(store.runs / 16)
        for (let i = 0; i < histories; i++) {
          const told: Array<string> = []
          const random = makeRandom(store.seed + i)
          const fresh = time.of(yield* store.fresh)
          yield* Effect.scoped(follow(fresh, time, random, told)).pipe(
            Effect.catchDefect((thrown) => {
              const problem = thrown instanceof Error ? thrown.message : String(thrown)
              return Effect.die(new Difference(`${problem}\nin history ${i}:\n${told.join("\n")}`))
            }),
          )
        }
      }),
  ),
]
