/**
 * Everything that can happen between a reader and a writer, one step at a time.
 *
 * The backend is held at every point where something else may come first: before a read sees its snapshot, before its answer
 * goes back, and between a commit and its being told. A schedule is a list of choices between the writer's next step and the
 * reader's; `explore` runs all of them.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import { isDoneCause } from "effect/Pull"
import { MixedScheduler, Scheduler } from "effect/Scheduler"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { coreSchema, defaultSettings, Messages, Sessions, Settings } from "../../src/index.ts"
import { checkout } from "../../src/head/program.ts"
import { append } from "../../src/message/program.ts"
import type { EntryRef, EntryRow } from "../../src/message/model.ts"
import type { NewEntry } from "../../src/message/placement.ts"
import { Backend, Storage } from "../../src/storage/index.ts"
import type { Engine } from "../../src/storage/index.ts"
import { toFrame } from "../../src/stream/frame.ts"
import type { Frame } from "../../src/stream/frame.ts"
import { resume } from "../../src/stream/resume.ts"
import type { After, Source } from "../../src/stream/resume.ts"
import { Rings } from "../../src/stream/rings.ts"
import { Instance } from "../../src/turn/instance.ts"
import type { TurnOutcome } from "../../src/turn/model.ts"
import * as turns from "../../src/turn/program.ts"
import { naive } from "../support/naive-backend.ts"

const nothing: turns.LastWrites = { entries: [], calls: [] }

/** Runs everything that can run: tasks of fibers are microtasks here. */
const quiet = () => new Promise<void>((resume) => void setImmediate(resume))

const scope = defaultSettings

export interface Gates {
  /** Reads that have not seen their snapshot yet, and answers that were not given. */
  readonly reads: Array<() => void>
  readonly answers: Array<() => void>
  /** Commits that nobody was told of. */
  readonly commits: Array<() => void>
  holdsReads: boolean
  holdsCommits: boolean
  /** Hints that somebody else has committed, while the store listens. */
  changed: (() => void) | undefined
}

const gated = (gates: Gates, ungated: Layer.Layer<Backend>): Layer.Layer<Backend> =>
  Layer.effect(
    Backend,
    Effect.map(Effect.service(Backend), ({ capabilities, open }) =>
      Backend.of({
        capabilities: { ...capabilities, blocking: false },
        open: (schema) =>
          Effect.map(open(schema), (engine): Engine => ({
            ...engine,
            watch: (changed) =>
              Effect.callback<never>(() => {
                gates.changed = changed
                return Effect.sync(() => void (gates.changed = undefined))
              }),
            run: (machine, options, done) => {
              if (options.mode === "write") {
                return engine.run(machine, options, (failure) => {
                  if (gates.holdsCommits) gates.commits.push(() => done(failure))
                  else done(failure)
                })
              }
              if (!gates.holdsReads) return engine.run(machine, options, done)
              gates.reads.push(() => engine.run(machine, options, (failure) => gates.answers.push(() => done(failure))))
            },
          })),
      }),
    ),
  ).pipe(Layer.provide(ungated))

export interface World {
  readonly gates: Gates
  readonly run: <A>(effect: Effect.Effect<A, unknown, Sessions | Messages | Storage>) => Promise<A>
  readonly fork: (effect: Effect.Effect<unknown, unknown>) => void
  readonly storage: Storage["Service"]
  /** The same store, opened by another process. */
  readonly elsewhere: Storage["Service"]
  /** The rings; made by the first call. */
  readonly rings: () => Promise<Rings["Service"]>
  readonly reader: (after: After, change?: (source: Source) => Source) => Promise<Reader>
  /** Where entries are stored. */
  readonly places: Map<string, EntryRef>
  readonly close: () => Promise<void>
}

export const makeWorld = async (ring = scope.ring): Promise<World> => {
  const gates: Gates = {
    reads: [],
    answers: [],
    commits: [],
    holdsReads: false,
    holdsCommits: false,
    changed: undefined,
  }
  const life = Scope.makeUnsafe()
  const scheduler = Context.make(Scheduler, new MixedScheduler("sync"))
  const runPromise = Effect.runPromiseWith(scheduler)
  const ungated = naive({ blocking: true }).layer
  const base = Layer.provideMerge(
    Layer.mergeAll(Sessions.layer, Messages.layer),
    Layer.provide(Storage.layer(coreSchema()), gated(gates, ungated)),
  )
  const other = Layer.fresh(Layer.provide(Storage.layer(coreSchema()), ungated))
  const context = await runPromise(Layer.buildWithScope(base, life))
  const storage = Context.get(context, Storage)
  const elsewhere = Context.get(await runPromise(Layer.buildWithScope(other, life)), Storage)
  let rings: Promise<Rings["Service"]> | undefined
  const getRings = () =>
    (rings ??= runPromise(
      Effect.map(
        Layer.buildWithScope(
          Layer.provide(Layer.provide(Rings.layer, Instance.layer), [
            Layer.succeed(Storage, storage),
            Layer.succeed(Settings, { ...scope, ring }),
          ]),
          life,
        ),
        (built) => Context.get(built, Rings),
      ),
    ))
  return {
    gates,
    run: (effect) => runPromise(Effect.provideContext(effect, context)),
    fork: (effect) => void Effect.runForkWith(scheduler)(Effect.orDie(effect)),
    storage,
    elsewhere,
    rings: getRings,
    places: new Map(),
    reader: async (after, change = (source) => source) =>
      makeReader(
        scheduler,
        gates,
        resume(change({ rings: await getRings(), storage, scope, pageSize: 1 }), "s", after),
      ),
    close: () => runPromise(Scope.close(life, Exit.void)),
  }
}

/** A consumer that takes a step when it is told to. */
export interface Reader {
  readonly frames: Array<Frame>
  /** Whether it can do anything now: it waits for nobody but the schedule. */
  readonly canStep: () => boolean
  readonly step: () => Promise<void>
  readonly isDone: () => boolean
  readonly close: () => Promise<void>
}

const makeReader = async (
  context: Context.Context<never>,
  gates: Gates,
  stream: ReturnType<typeof resume>,
): Promise<Reader> => {
  const life = Scope.makeUnsafe()
  const pull = await Effect.runPromiseWith(context)(Scope.provide(Stream.toPull(Stream.map(stream, toFrame)), life))
  const frames: Array<Frame> = []
  let state: "ready" | "pulling" | "done" = "ready"
  const take = (exit: Exit.Exit<ReadonlyArray<Frame>, unknown>) => {
    state = "ready"
    if (Exit.isSuccess(exit)) frames.push(...exit.value)
    else if (isDoneCause(exit.cause)) state = "done"
    else throw Cause.squash(exit.cause)
  }
  return {
    frames,
    isDone: () => state === "done",
    canStep: () => gates.answers.length > 0 || gates.reads.length > 0 || state === "ready",
    step: async () => {
      const held = gates.answers.shift() ?? gates.reads.shift()
      if (held !== undefined) held()
      else {
        state = "pulling"
        Effect.runForkWith(context)(pull).addObserver(take)
      }
      await quiet()
    },
    close: () => Effect.runPromiseWith(context)(Scope.close(life, Exit.void)),
  }
}

/** What a writer does. */
export type Op =
  | { readonly do: "begin"; readonly turn: string; readonly prompt: string }
  | { readonly do: "live" | "store" | "settle"; readonly id: string; readonly text: string }
  | { readonly do: "event"; readonly n: number }
  | { readonly do: "delta"; readonly id: string; readonly offset: number; readonly text: string }
  | { readonly do: "end"; readonly outcome: TurnOutcome }
  /** Outside of turns: something is said, or the head moves to a message. */
  | { readonly do: "say" | "checkout"; readonly id: string }
  /** Somebody else may have changed something. */
  | { readonly do: "hint" }

const entry = (id: string, text: string, draft: boolean): NewEntry => ({
  id,
  kind: "message",
  role: id.startsWith("u") ? "user" : "assistant",
  createdAt: 0,
  body: text,
  ...(draft && { draft }),
})

export interface Writer {
  readonly isDone: () => boolean
  /** The next op; where commits are held, a commit and its being told are two steps. */
  readonly step: () => Promise<void>
}

/** @param isElsewhere  whether it is another process that does something: then each commit is hinted at */
export const makeWriter = (
  world: World,
  ops: ReadonlyArray<Op>,
  isElsewhere: (op: Op) => boolean = () => false,
): Writer => {
  let turn = { id: "", epoch: 0 }
  const start = async (op: Op): Promise<void> => {
    const isOther = isElsewhere(op)
    const commit = (
      program: Parameters<Storage["Service"]["transact"]>[0],
      then: (value: never) => void = () => {},
    ) => {
      const storage = isOther ? world.elsewhere : world.storage
      world.fork(
        Effect.map(storage.transact(program) as Effect.Effect<never, unknown>, (value) => {
          then(value)
          if (isOther) world.gates.changed?.()
        }),
      )
    }
    switch (op.do) {
      case "begin":
        turn = { id: op.turn, epoch: turn.epoch + 1 }
        return commit(
          turns.begin(
            scope,
            "s",
            { _tag: "Prompt", entry: entry(op.prompt, op.prompt, false) },
            { takeOver: false },
            { id: op.turn, owner: "o", host: "h", start: "prompt", lease: 30_000 },
            0,
          ),
        )
      case "live":
        return (await world.rings()).draft("s", turn.id, entry(op.id, op.text, false))
      case "store":
      case "settle": {
        const row = entry(op.id, op.text, op.do === "store")
        const program = turns.write(scope, "s", turn.epoch, row, world.places.get(op.id), 0)
        return commit(program, ({ branch, pos }: EntryRow) => void world.places.set(op.id, { branch, pos }))
      }
      case "event":
        return void (await world.rings()).publish("s", {
          kind: "runtime-event",
          turn: turn.id,
          json: JSON.stringify(op.n),
        })
      case "delta": {
        const { id, offset, text } = op
        const json = JSON.stringify(text)
        return void (await world.rings()).publish("s", {
          kind: "runtime-event",
          turn: turn.id,
          entry: id,
          offset,
          json,
        })
      }
      case "say":
        return commit(append(scope, "s", [entry(op.id, op.id, false)], {}, 0))
      case "checkout":
        return commit(checkout(scope, "s", op.id, {}, { reason: "checkout", at: 0 }))
      case "hint":
        return world.gates.changed?.()
      case "end":
        return commit(
          turns.end(scope, "s", turn.epoch, nothing, { outcome: op.outcome }, { now: 0, prices: undefined }),
        )
    }
  }
  let next = 0
  return {
    isDone: () => next === ops.length && world.gates.commits.length === 0,
    step: async () => {
      const told = world.gates.commits.shift()
      if (told === undefined) await start(ops[next++]!)
      else told()
      await quiet()
    },
  }
}

/**
 * Runs a body with every list of choices that it can make, until it answers that it has seen enough. Answers how many
 * lists there were.
 */
export const explore = async (body: (choose: (options: number) => number) => Promise<boolean>): Promise<number> => {
  let path: Array<{ choice: number; readonly options: number }> = []
  for (let count = 1; ; count++) {
    let at = 0
    const isEnough = await body((options) => {
      const step = path[at] ?? { choice: 0, options }
      path[at++] = step
      return step.choice
    })
    if (isEnough) return count
    path = path.slice(0, at)
    while (path.length > 0 && path.at(-1)!.choice === path.at(-1)!.options - 1) path.pop()
    const last = path.at(-1)
    if (last === undefined) return count
    last.choice++
  }
}
