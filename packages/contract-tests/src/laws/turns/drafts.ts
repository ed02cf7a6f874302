/**
 * Laws of messages that a turn is still writing.
 */
import { Messages } from "@skein/core/message"
import { SessionTable } from "@skein/core"
import { Busy, CommitUncertain, Full, Storage, Tx } from "@skein/core/storage"
import type { WriteStep } from "@skein/core/storage"
import { Turns } from "@skein/core/turn"
import type { Turn } from "@skein/core/turn"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { faulty, held, recording } from "../../engine.ts"
import { check, equal } from "../../equal.ts"
import { law } from "../../law.ts"
import type { Law } from "../../law.ts"
import { outcomeOf } from "../../outcome.ts"
import { withServices } from "../../services.ts"
import { begin, pathOf, replayed, said, session } from "../conversation.ts"
import {
  abort,
  ask,
  beat,
  draft,
  end,
  lease,
  messageOf,
  open,
  recover,
  rowOf,
  run,
  saying,
  settle,
  start,
  timedLaw,
  timedLawWith,
} from "./subject.ts"

/** Milliseconds between two writes of one draft. */
const checkpoint = 2_000

const prompt = { prompt: said("u1") }

/** What is stored of a message: its text, whether it is a draft, and how it was cut. */
const stored = (sessionId: string, id: string) =>
  Effect.map(messageOf(sessionId, id), ({ cut, display, draft }) => [textOf(display), draft === true, cut])

const textOf = (body: unknown) => (body as { readonly content: string }).content

const writesEntry = ({ rows }: WriteStep) => rows.some(({ table }) => table.name === "entry")

export const draftLaws: ReadonlyArray<Law> = [
  law(
    "MSG-04 a draft is stored unsettled in its place: it is shown, not replayed, and only revision and bodies change",
    (store) =>
      Effect.gen(function* () {
        yield* begin("s")
        const { turn } = yield* ask("s", "u1")
        const before = yield* session("s")
        const first = yield* draft("s", 1, saying("a1", "Hel"))
        equal([first.draft, first.turn, first.role], [true, turn.id, "assistant"])
        const after = yield* session("s")
        equal([after.head, after.counts.entries, after.counts.messages], ["a1", 2, 2])
        equal([after.historyVersion, after.activityAt], [before.historyVersion, before.activityAt])
        const given = yield* replayed("s")
        yield* draft("s", 1, saying("a1", "Hello"))
        const again = yield* session("s")
        const { activeTurn: _turn, revision, updatedAt: _updatedAt, ...rest } = again
        const { activeTurn: _before, revision: old, updatedAt: _before2, ...restBefore } = after
        equal(rest, restBefore)
        equal([revision > old, again.updatedAt], [true, after.updatedAt])
        equal(
          [yield* stored("s", "a1"), yield* pathOf("s")],
          [
            ["Hello", true, undefined],
            ["u1", "a1"],
          ],
        )
        equal(yield* replayed("s"), given)
        yield* settle("s", 1, saying("a1", "Hello, world"))
        equal(yield* stored("s", "a1"), ["Hello, world", false, undefined])
        check((yield* session("s")).historyVersion > again.historyVersion, "it is replayed from now on")
        equal((yield* replayed("s")).length, 2)
      }).pipe(withServices(store)),
  ),

  law(
    "MSG-04 settling is final: a settled message is neither drafted nor settled otherwise, and again the same is no harm",
    (store) =>
      Effect.gen(function* () {
        yield* begin("s")
        yield* ask("s", "u1")
        yield* draft("s", 1, said("a1"))
        yield* settle("s", 1, said("a1"))
        yield* settle("s", 1, said("a2"))
        const before = yield* rowOf("s")
        for (const id of ["a1", "a2", "u1"]) {
          equal(yield* outcomeOf(draft("s", 1, said(id))), { failed: "IdConflict" })
          equal(yield* outcomeOf(settle("s", 1, { ...said(id), body: "other" })), { failed: "IdConflict" })
        }
        for (const id of ["a1", "a2"]) equal((yield* settle("s", 1, said(id))).id, id)
        equal(yield* rowOf("s"), before)
        equal(yield* stored("s", "a1"), ["a1", false, undefined])
      }).pipe(withServices(store)),
  ),

  law("MSG-04 position, role and which bodies exist never change while a message is written", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      yield* ask("s", "u1")
      yield* draft("s", 1, said("a1"))
      const { body, id } = said("a1")
      const before = yield* rowOf("s")
      const changed = [
        { id, role: "tool" as const, body },
        { id, role: "assistant" as const, display: body },
        { id, role: "assistant" as const, model: body },
      ]
      for (const message of changed) {
        equal(yield* outcomeOf(draft("s", 1, message)), { failed: "InvalidInput" })
        equal(yield* outcomeOf(settle("s", 1, message)), { failed: "InvalidInput" })
        equal(yield* outcomeOf(end("s", 1, { outcome: "completed", messages: [message] })), { failed: "InvalidInput" })
      }
      equal(yield* rowOf("s"), before)
      // One body for both may become two, and lose what is said of it.
      yield* draft("s", 1, { id, role: "assistant", display: "seen", model: "given", metadata: { n: 1 } })
      const both = yield* messageOf("s", "a1")
      equal([both.display, both.model, both.metadata], ["seen", "given", { n: 1 }])
      yield* settle("s", 1, said("a1"))
      const { display, metadata, model } = yield* messageOf("s", "a1")
      equal([display, model, metadata], [body, body, undefined])
    }).pipe(withServices(store)),
  ),

  law("MSG-04 what another session of the tree is writing, or has written, is not this one's to write", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      yield* begin("t")
      yield* ask("s", "u1")
      // As a fork stands: another session on the same tree, with a branch of its own.
      yield* Storage.use((storage) =>
        storage.transact(
          Tx.make(function* (tx) {
            const one = yield* tx.get(SessionTable, ["s"])
            yield* tx.get(SessionTable, ["t"])
            tx.update(SessionTable, ["t"], (row) => ({ ...row, treeId: one!.treeId }))
          }),
        ),
      )
      yield* ask("t", "u2")
      yield* draft("t", 1, said("a1"))
      yield* settle("t", 1, said("a2"))
      const before = [yield* rowOf("s"), yield* rowOf("t")]
      for (const id of ["a1", "a2"]) {
        for (const message of [said(id), saying(id, "other")]) {
          equal(yield* outcomeOf(draft("s", 1, message)), { failed: "IdConflict" })
          equal(yield* outcomeOf(settle("s", 1, message)), { failed: "IdConflict" })
        }
      }
      equal([yield* rowOf("s"), yield* rowOf("t")], before)
      equal(yield* stored("t", "a1"), ["a1", true, undefined])
      equal([yield* pathOf("s"), yield* pathOf("t")], [["u1"], ["u2", "a1", "a2"]])
    }).pipe(withServices(store)),
  ),

  law("MSG-04 several messages may be written at a time, each in its place", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      yield* ask("s", "u1")
      for (const id of ["a1", "a2", "a3", "a1", "a3"]) yield* draft("s", 1, saying(id, `${id} more`))
      yield* settle("s", 1, said("a2"))
      equal(yield* pathOf("s"), ["u1", "a1", "a2", "a3"])
      equal((yield* replayed("s")).length, 2)
      yield* end("s", 1, "aborted")
      equal(yield* stored("s", "a1"), ["a1 more", false, "aborted"])
      equal(yield* stored("s", "a2"), ["a2", false, undefined])
      equal(yield* stored("s", "a3"), ["a3 more", false, "aborted"])
    }).pipe(withServices(store)),
  ),

  law("MSG-04 at most a hundred messages are written at a time", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      yield* ask("s", "u1")
      for (let i = 1; i <= 100; i++) yield* draft("s", 1, said(`a${i}`))
      const before = yield* rowOf("s")
      equal(yield* outcomeOf(draft("s", 1, said("a101"))), { failed: "InvalidInput" })
      equal(yield* rowOf("s"), before)
      yield* draft("s", 1, saying("a100", "more"))
      yield* settle("s", 1, said("a1"))
      yield* draft("s", 1, said("a101"))
      yield* end("s", 1)
      equal((yield* session("s")).counts.entries, 102)
    }).pipe(withServices(store)),
  ),

  law("MSG-04 drafts that are left are settled by how their turn ends", (store) =>
    Effect.gen(function* () {
      const cuts = { completed: undefined, done: undefined, aborted: "aborted" } as const
      for (const [outcome, cut] of Object.entries(cuts)) {
        yield* begin(outcome)
        yield* ask(outcome, "u1")
        yield* draft(outcome, 1, said("a1"))
        const { historyVersion } = yield* session(outcome)
        yield* end(outcome, 1, outcome as keyof typeof cuts)
        equal(yield* stored(outcome, "a1"), ["a1", false, cut])
        check((yield* session(outcome)).historyVersion > historyVersion, "it is replayed from now on")
      }
    }).pipe(withServices(store)),
  ),

  timedLaw("MSG-04 a draft is stored at once the first time, then at most every 2 s, the newest wins", (store, time) =>
    Effect.gen(function* () {
      const seen = recording(store)
      const opening = yield* open(seen.store)
      yield* opening.run(begin("s"))
      const [given, finish] = [yield* Deferred.make<Turn>(), yield* Deferred.make<void>()]
      const body = (turn: Turn) => Effect.andThen(Deferred.succeed(given, turn), Deferred.await(finish))
      const running = yield* Effect.forkChild(opening.run(run("s", prompt, body)))
      const turn = yield* Deferred.await(given)
      yield* time.settle
      seen.writes.length = 0
      const drafts = () => seen.writes.filter(({ tables }) => tables.includes("entry")).length
      const say = (text: string) => Effect.andThen(turn.draft(saying("a1", text)), time.settle)
      yield* say("1")
      equal([drafts(), yield* opening.run(stored("s", "a1"))], [1, ["1", true, undefined]])
      yield* say("2")
      yield* time.pass(checkpoint - 1)
      yield* say("3")
      equal([drafts(), (yield* opening.run(stored("s", "a1")))[0]], [1, "1"])
      yield* time.pass(1)
      equal([drafts(), (yield* opening.run(stored("s", "a1")))[0]], [2, "3"])
      // Nothing new, nothing written; and what is new after a while is stored at once again.
      yield* time.pass(5 * checkpoint)
      equal(drafts(), 2)
      yield* say("4")
      equal([drafts(), (yield* opening.run(stored("s", "a1")))[0]], [3, "4"])
      // The next message does not wait for the time of this one.
      yield* turn.settle(saying("a1", "5"))
      yield* turn.draft(saying("a2", "1"))
      yield* time.settle
      equal([drafts(), yield* opening.run(stored("s", "a2"))], [5, ["1", true, undefined]])
      yield* Deferred.succeed(finish, undefined)
      yield* Fiber.join(running)
      const durabilities = seen.writes
        .filter(({ tables }) => tables.includes("entry"))
        .map(({ durability }) => durability)
      equal(durabilities, ["relaxed", "relaxed", "relaxed", "strict", "relaxed", "strict"])
      equal(yield* opening.run(stored("s", "a2")), ["1", false, undefined])
    }),
  ),

  timedLaw("MSG-04 how often drafts are stored can be set", (store, time) =>
    Effect.gen(function* () {
      const opening = yield* open(store, { checkpointMs: 50 })
      yield* opening.run(begin("s"))
      const body = (turn: Turn) =>
        Effect.gen(function* () {
          for (const text of ["1", "2", "3"]) {
            yield* turn.draft(saying("a1", text))
            yield* Effect.sleep(25)
          }
          yield* Effect.never
        })
      const running = yield* Effect.forkChild(opening.run(run("s", prompt, body)))
      yield* time.pass(49)
      equal((yield* opening.run(stored("s", "a1")))[0], "1")
      yield* time.pass(1)
      check((yield* opening.run(stored("s", "a1")))[0] !== "1", "the first checkpoint has passed")
      yield* Fiber.interrupt(running)
      equal((yield* opening.run(stored("s", "a1")))[0], "3")
    }),
  ),

  timedLaw("MSG-04 of one message no two writes are under way, and a slow store gets the newest next", (store, time) =>
    Effect.gen(function* () {
      const slow = held(store)
      const seen = recording(slow.store)
      const opening = yield* open(seen.store)
      yield* opening.run(begin("s"))
      const [given, finish] = [yield* Deferred.make<Turn>(), yield* Deferred.make<void>()]
      const body = (turn: Turn) => Effect.andThen(Deferred.succeed(given, turn), Deferred.await(finish))
      const running = yield* Effect.forkChild(opening.run(run("s", prompt, body)))
      const turn = yield* Deferred.await(given)
      yield* time.settle
      slow.hold()
      seen.writes.length = 0
      for (let i = 1; i <= 20; i++) {
        yield* turn.draft(saying("a1", `${i}`))
        yield* time.pass(checkpoint / 4)
        equal(slow.waiting(), 1, "how many writes wait for the store")
      }
      slow.release()
      yield* time.settle
      // The first was asked for with what there was then; the next takes what is newest.
      yield* time.pass(checkpoint)
      equal((yield* opening.run(stored("s", "a1")))[0], "20")
      const drafts = seen.writes.filter(({ tables }) => tables.includes("entry"))
      check(drafts.length <= 2, `${drafts.length} writes are too many`)
      yield* Deferred.succeed(finish, undefined)
      yield* Fiber.join(running)
    }),
  ),

  timedLawWith(
    { slow: true },
    "MSG-04 STO-04 what cannot be stored now is stored later, and the body is not disturbed",
    (store, time) =>
      Effect.gen(function* () {
        const flaky = faulty(store)
        const opening = yield* open(flaky.store)
        for (const reason of [new Busy({}), new Full({})]) {
          const id = reason._tag
          yield* opening.run(begin(id))
          const [given, finish] = [yield* Deferred.make<Turn>(), yield* Deferred.make<void>()]
          const body = (turn: Turn) => Effect.andThen(Deferred.succeed(given, turn), Deferred.await(finish))
          const running = yield* Effect.forkChild(opening.run(run(id, prompt, body)))
          const turn = yield* Deferred.await(given)
          yield* time.settle
          flaky.fail((writes) => (writesEntry(writes) ? { reason } : undefined))
          yield* turn.draft(saying("a1", "1"))
          yield* time.pass(6_000)
          yield* turn.draft(saying("a1", "2"))
          yield* time.settle
          equal(yield* outcomeOf(opening.run(messageOf(id, "a1"))), { failed: "MessageNotFound" })
          flaky.mend()
          yield* time.pass(5_000 + checkpoint)
          equal(yield* opening.run(stored(id, "a1")), ["2", true, undefined])
          yield* Deferred.succeed(finish, undefined)
          yield* Fiber.join(running)
          equal(yield* opening.run(stored(id, "a1")), ["2", false, undefined])
        }
      }),
  ),

  timedLaw("MSG-04 A68 what was drafted last is stored with the end, however the turn ends", (store, time) =>
    Effect.gen(function* () {
      const opening = yield* open(store)
      const bodies: Readonly<
        Record<string, readonly [(turn: Turn) => Effect.Effect<unknown, unknown>, boolean, string?]>
      > = {
        completed: [() => Effect.void, false],
        failed: [() => Effect.fail(new Error("x")), false, "failed"],
        interrupted: [() => Effect.interrupt, false, "aborted"],
        waiting: [(turn) => turn.needsInput(), true],
      }
      for (const wasStored of [false, true]) {
        for (const [name, [last, isDraft, cut]] of Object.entries(bodies)) {
          const id = `${name}-${wasStored}`
          yield* opening.run(begin(id))
          const body = (turn: Turn) =>
            Effect.gen(function* () {
              yield* turn.draft(saying("a1", "Hel"))
              if (wasStored) yield* time.settle
              yield* turn.draft(saying("a1", "Hello"))
              yield* last(turn)
            })
          yield* Effect.exit(opening.run(run(id, prompt, body)))
          equal(yield* opening.run(stored(id, "a1")), ["Hello", isDraft, cut], id)
          equal(yield* opening.run(pathOf(id)), ["u1", "a1"])
        }
      }
    }),
  ),

  timedLaw("A68 MSG-04 TRN-08 what was shown when somebody stops stays, stored once", (store, time) =>
    Effect.gen(function* () {
      for (const byOther of [false, true]) {
        const place = yield* store.fresh
        const [one, other] = [yield* open(time.of(place)), yield* open(time.of(place))]
        yield* one.run(begin("s"))
        const body = (turn: Turn) =>
          Effect.gen(function* () {
            let text = ""
            for (const delta of ["Hel", "lo"]) yield* turn.draft(saying("a1", (text += delta)))
            yield* Effect.never
          })
        const running = yield* Effect.forkChild(one.run(run("s", prompt, body)))
        yield* time.settle
        equal(yield* (byOther ? other : one).run(abort("s")), true)
        yield* time.pass(byOther ? 10_000 : 0)
        yield* Fiber.await(running)
        yield* one.close
        const later = yield* open(place)
        equal(
          [yield* later.run(pathOf("s")), yield* later.run(stored("s", "a1"))],
          [
            ["u1", "a1"],
            ["Hello", false, "aborted"],
          ],
        )
        // Nothing is left that a second stop could change.
        const before = yield* later.run(rowOf("s"))
        equal(yield* later.run(abort("s")), false)
        equal(yield* later.run(rowOf("s")), before)
      }
    }),
  ),

  timedLaw("A68 MSG-04 TRN-05 a crash leaves the last checkpoint, settled as interrupted by recovery", (store, time) =>
    Effect.gen(function* () {
      const cut = held(store)
      const one = yield* open(cut.store)
      yield* one.run(begin("s"))
      const given = yield* Deferred.make<Turn>()
      yield* Effect.forkChild(
        one.run(run("s", prompt, (turn) => Effect.andThen(Deferred.succeed(given, turn), Effect.never))),
      )
      const turn = yield* Deferred.await(given)
      yield* time.settle
      yield* turn.draft(saying("a1", "Hel"))
      yield* time.pass(checkpoint)
      yield* turn.draft(saying("a1", "Hell"))
      yield* time.settle
      yield* turn.draft(saying("a1", "Hello"))
      // From here on nothing of this instance reaches the store: it is as good as dead.
      cut.hold()
      const other = yield* open(store)
      yield* time.pass(lease + 1)
      yield* other.run(recover())
      yield* time.pass(lease + 1)
      yield* other.run(recover())
      equal(yield* other.run(stored("s", "a1")), ["Hell", false, "interrupted"])
      equal([yield* other.run(pathOf("s")), (yield* other.run(session("s"))).status], [["u1", "a1"], "interrupted"])
      cut.release()
      yield* time.pass(20_000)
      equal(yield* other.run(stored("s", "a1")), ["Hell", false, "interrupted"], "what a ghost has written")
    }),
  ),

  timedLaw("A68 MSG-04 a message that cannot be stored at all fails its turn, and its caller is told", (store, time) =>
    Effect.gen(function* () {
      const { run: on } = yield* open(store)
      yield* on(begin("s"))
      yield* on(ask("s", "u0"))
      yield* on(end("s", 1, { outcome: "completed", messages: [said("a0")] }))
      for (const [i, settles] of [true, false].entries()) {
        const body = (turn: Turn) =>
          Effect.gen(function* () {
            yield* turn.draft(saying("a0", "other"))
            yield* Effect.sleep(10 * checkpoint)
            if (settles) yield* turn.settle(saying("a0", "other"))
          })
        const running = yield* Effect.forkChild(on(run("s", { prompt: said(`u${i + 1}`) }, body)))
        yield* time.pass(10 * checkpoint)
        equal(yield* outcomeOf(Fiber.join(running)), { failed: "IdConflict" })
        const { error, status } = yield* on(session("s"))
        equal([status, error?.code, error?.source], ["failed", "IdConflict", "agent"])
        equal(yield* on(stored("s", "a0")), ["a0", false, undefined])
      }
    }),
  ),

  timedLaw(
    "MSG-04 STO-07 a write whose answer was lost is found again, not written twice, and not refused",
    (store, time) =>
      Effect.gen(function* () {
        const flaky = faulty(store)
        const { run: on } = yield* open(flaky.store)
        const lose = (matching: (writes: WriteStep) => boolean) => {
          let lost = false
          flaky.fail((writes) => {
            if (lost || !matching(writes)) return undefined
            lost = true
            return { reason: new CommitUncertain({}), committed: true }
          })
        }
        const body = (turn: Turn) =>
          Effect.gen(function* () {
            lose(writesEntry)
            yield* turn.draft(said("a1"))
            yield* Effect.sleep(2 * checkpoint)
            yield* turn.settle(saying("a1", "whole"))
            lose(writesEntry)
            yield* turn.draft(said("a2"))
            yield* Effect.sleep(1)
            yield* turn.settle(saying("a2", "whole"))
            lose(writesEntry)
            const settling = turn.settle(said("a3"))
            equal(yield* outcomeOf(settling), { failed: "CommitUncertain" })
            yield* settling
            yield* turn.draft(said("a4"))
            yield* Effect.sleep(1)
            yield* turn.draft(saying("a4", "whole"))
            lose(({ rows }) => rows.some(({ table }) => table.name === "turn"))
            return "answer"
          })
        yield* on(begin("s"))
        const running = yield* Effect.forkChild(on(run("s", prompt, body)))
        yield* time.pass(3 * checkpoint)
        equal(yield* Fiber.join(running), "answer")
        equal(flaky.failures(), 4)
        equal([(yield* on(session("s"))).status, yield* on(pathOf("s"))], ["idle", ["u1", "a1", "a2", "a3", "a4"]])
        for (const id of ["a1", "a2", "a4"]) equal(yield* on(stored("s", id)), ["whole", false, undefined])
      }),
  ),

  timedLaw("MSG-04 what is drafted while its message is being settled is refused, not lost", (store, time) =>
    Effect.gen(function* () {
      const slow = held(store)
      const { run: on } = yield* open(slow.store)
      yield* on(begin("s"))
      const body = (turn: Turn) =>
        Effect.gen(function* () {
          yield* turn.draft(said("a1"))
          yield* time.settle
          slow.hold()
          const settling = yield* Effect.forkChild(turn.settle(saying("a1", "whole")))
          yield* time.settle
          equal(yield* outcomeOf(turn.draft(saying("a1", "more"))), { failed: "InvalidInput" })
          slow.release()
          yield* Fiber.join(settling)
          yield* turn.draft(said("a2"))
        })
      yield* on(run("s", prompt, body))
      equal(yield* on(stored("s", "a1")), ["whole", false, undefined])
      equal(yield* on(pathOf("s")), ["u1", "a1", "a2"])
    }),
  ),

  timedLaw("MSG-04 messages that are settled at once get an id and a place each", (store, time) =>
    Effect.gen(function* () {
      const { run: on } = yield* open(store)
      yield* on(begin("s"))
      const messages = Array.from({ length: 8 }, (_, i) => ({
        role: "tool" as const,
        body: { role: "tool", content: `${i}` },
      }))
      const body = (turn: Turn) =>
        Effect.gen(function* () {
          yield* turn.draft({ role: "assistant", body: "thinking" })
          yield* turn.settle({ role: "assistant", body: "thought" })
          return yield* Effect.all(messages.map(turn.settle), { concurrency: "unbounded" })
        })
      const settled = yield* on(run("s", prompt, body))
      equal(
        settled.map(({ display }) => display),
        messages.map((message) => message.body),
      )
      equal(new Set(yield* on(pathOf("s"))).size, 10)
      yield* time.settle
    }),
  ),

  timedLaw(
    "MSG-04 API-06 a draft that is none is refused at once and by name, and the one before stays",
    (store, time) =>
      Effect.gen(function* () {
        const { run: on } = yield* open(store)
        yield* on(begin("s"))
        const kept: Array<Turn> = []
        const body = (turn: Turn) =>
          Effect.gen(function* () {
            kept.push(turn)
            equal(yield* outcomeOf(turn.draft({ role: "user", body: "x" })), { failed: "InvalidInput" })
            yield* turn.draft(said("a1"))
            const { body, id } = said("a1")
            const wrong: ReadonlyArray<readonly [unknown, string]> = [
              [said("u2"), "message.role"],
              [said("a2"), "message.id"],
              [{ id, role: "tool", body }, "message.role"],
              [{ id, role: "assistant", display: body }, "message"],
              [{ ...said("a1"), body: { n: Number.NaN } }, "message.body.n"],
              [{ ...said("a1"), colour: "red" }, "message.colour"],
              [{}, "message.body"],
              [null, "message"],
              ["text", "message"],
            ]
            for (const [message, field] of wrong) {
              const error = yield* Effect.flip(turn.draft(message as never))
              equal([error._tag, error.field], ["InvalidInput", field], JSON.stringify(message))
            }
            equal(yield* outcomeOf(turn.settle(said("a2"))), { failed: "InvalidInput" })
          })
        yield* on(run("s", prompt, body))
        equal(
          [yield* on(pathOf("s")), yield* on(stored("s", "a1"))],
          [
            ["u1", "a1"],
            ["a1", false, undefined],
          ],
        )
        // A turn that is over takes nothing more: what is drafted into it would be stored by nobody.
        const [turn] = kept
        equal(yield* outcomeOf(turn!.draft(said("a9"))), { failed: "InvalidInput" })
        equal(yield* outcomeOf(turn!.publish("more")), { failed: "InvalidInput" })
        equal(yield* outcomeOf(turn!.settle(said("a9"))), { failed: "StaleTurn" })
        yield* time.settle
        equal(yield* on(pathOf("s")), ["u1", "a1"])
      }),
  ),

  law("STO-04 drafts and heartbeats are relaxed; what begins, settles and ends is as durable as asked", (store) =>
    Effect.scoped(
      Effect.gen(function* () {
        const { store: recorded, writes } = recording(store)
        const { run: on } = yield* open(recorded)
        yield* on(begin("s"))
        const durabilityOf = (call: Parameters<typeof on>[0]) =>
          Effect.gen(function* () {
            writes.length = 0
            yield* on(call)
            equal(writes.length, 1, "how many commits it takes")
            return writes[0]!.durability
          })
        equal(yield* durabilityOf(ask("s", "u1")), "strict")
        equal(yield* durabilityOf(draft("s", 1, said("a1"))), "relaxed")
        equal(yield* durabilityOf(draft("s", 1, said("a1"))), "relaxed")
        equal(yield* durabilityOf(beat("s", 1)), "relaxed")
        equal(yield* durabilityOf(settle("s", 1, said("a1"))), "strict")
        equal(yield* durabilityOf(abort("s")), "strict")
        equal(yield* durabilityOf(end("s", 1)), "strict")
        const relaxed = { durability: "relaxed" } as const
        equal(yield* durabilityOf(start("s", {}, relaxed)), "relaxed")
        equal(yield* durabilityOf(Turns.use((turns) => turns.abort("s", relaxed))), "relaxed")
        equal(yield* durabilityOf(Turns.use((turns) => turns.end("s", 2, { outcome: "aborted" }, relaxed))), "relaxed")
      }),
    ),
  ),

  law(
    "MSG-03 what was said for a turn that never began is replaced by what is said now; anything else is IdConflict",
    (store) =>
      Effect.gen(function* () {
        const messages = yield* Messages
        const commit = (text: string, turn?: string, options?: { readonly epoch?: number }) =>
          messages.commitUserMessage(
            {
              sessionId: "s",
              messageKey: "k",
              body: { role: "user", content: text },
              ...(turn !== undefined && { turn }),
            },
            options,
          )
        yield* begin("s")
        const { message } = yield* commit("first", "t1")
        const before = yield* session("s")
        const { message: replaced, onPath } = yield* commit("second", "t2")
        equal([replaced.id, onPath, textOf(replaced.display), replaced.turn], [message.id, true, "second", "t2"])
        const after = yield* session("s")
        equal([after.preview, after.counts, after.head], ["second", before.counts, before.head])
        check(after.historyVersion > before.historyVersion, "what is replayed has changed")
        equal((yield* replayed("s")).map(textOf), ["second"])
        // The same again is the one that is stored.
        equal(yield* commit("second", "t2"), { message: replaced, onPath: true })
        // Once its turn has begun it stays.
        yield* start("s", {}, { turnId: "t2" })
        equal(yield* outcomeOf(commit("third", "t3")), { failed: "RunActive" })
        equal(yield* outcomeOf(commit("third", "t3", { epoch: 1 })), { failed: "IdConflict" })
        yield* end("s", 1, "aborted")
        equal(yield* outcomeOf(commit("third", "t3")), { failed: "IdConflict" })
        equal((yield* replayed("s")).map(textOf), ["second"])
        // What was said for no turn is nobody's to replace.
        yield* begin("other")
        const plain = { sessionId: "other", messageKey: "k", body: { role: "user", content: "first" } }
        yield* messages.commitUserMessage(plain)
        equal(yield* outcomeOf(messages.commitUserMessage({ ...plain, body: { role: "user", content: "second" } })), {
          failed: "IdConflict",
        })
      }).pipe(withServices(store)),
  ),
]
