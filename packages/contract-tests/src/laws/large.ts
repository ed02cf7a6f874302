/**
 * Laws of large bodies: kept apart from their messages, given where they are asked for, and redacted.
 */
import { BlobChunkTable, EntryTable, SessionTable } from "@skein/core"
import { Forks } from "@skein/core/fork"
import { Heads } from "@skein/core/head"
import { History } from "@skein/core/history"
import { Messages } from "@skein/core/message"
import type { Message, MessageInput, RedactOptions } from "@skein/core/message"
import { Queue } from "@skein/core/queue"
import { Sessions } from "@skein/core/session"
import { Storage, Tx } from "@skein/core/storage"
import { Streams } from "@skein/core/stream"
import { Turns } from "@skein/core/turn"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { counting } from "../counting.ts"
import { check, equal } from "../equal.ts"
import { countsOf } from "../everything.ts"
import { law, lawWith } from "../law.ts"
import type { Law } from "../law.ts"
import { outcomeOf } from "../outcome.ts"
import { withServices } from "../services.ts"
import { begin, callOf, checkout, pathOf, recovered, replayed, said, say, session } from "./conversation.ts"

const append = (message: MessageInput) => Messages.use((messages) => messages.append("s", message))
const get = (id: string) => Messages.use((messages) => messages.get("s", id))
const page = Messages.use((messages) => messages.page("s"))
const redact = (id: string, options?: RedactOptions) => Messages.use((messages) => messages.redact("s", id, options))
const historyVersion = Effect.map(
  History.use((history) => history.read("s")),
  (read) => read.historyVersion,
)

/** A user's message whose JSON has so many bytes. */
const sized = (id: string, bytes: number, letter = "x"): MessageInput => {
  const empty = JSON.stringify({ role: "user", content: "" }).length
  return { id, body: { role: "user", content: letter.repeat(bytes - empty) } }
}

/** More than is kept in a row. */
const big = (id: string, letter = "x") => sized(id, 100_000, letter)

/** How many blobs, chunks and uses there are. */
const blobs = countsOf("blob", "blob_chunk", "blob_use")

/** All rows of the session's tree, as one text: what is nowhere in it is in none of them. */
const everything = Storage.use((storage) =>
  storage.read(
    Tx.make(function* (tx) {
      const { treeId } = (yield* tx.get(SessionTable, ["s"]))!
      const rows = yield* tx.all([
        tx.range(EntryTable, "key", { prefix: [treeId] }),
        tx.range(SessionTable, "key", {}),
        tx.range(BlobChunkTable, "key", {}),
      ])
      return JSON.stringify(rows, (_, value: unknown) =>
        value instanceof Uint8Array ? new TextDecoder().decode(value) : value,
      )
    }),
  ),
)

/** What a tool said in a message, and to which call. */
const resultIn = (message: unknown) => {
  const { content } = message as { readonly content: ReadonlyArray<{ callId: string; output: unknown }> }
  return [content[0]!.callId, content[0]!.output] as const
}

const toolResult = (id: string, call: string, output: string): MessageInput => ({
  id,
  body: { role: "tool", content: [{ type: "tool-result", callId: call, name: "run", output }] },
})

export const largeLaws: ReadonlyArray<Law> = [
  law("MSG-08 a body of 64 KiB is kept with its message, and one of a byte more apart from it", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      const stays = yield* append(sized("u1", 65_536))
      equal(yield* blobs, [0, 0, 0])
      const goes = yield* append(sized("u2", 65_537))
      equal(yield* blobs, [1, 1, 1])
      equal([stays.display, goes.display], [sized("u1", 65_536).body, sized("u2", 65_537).body])
      const [one, two] = (yield* page).messages
      equal([one!.large, two!.display, two!.model], [undefined, undefined, undefined])
      equal([two!.large?.display?.bytes, two!.large?.model?.bytes, two!.large?.text], [65_537, 65_537, "x".repeat(80)])
      equal(yield* get("u2"), goes)
    }).pipe(withServices(store)),
  ),

  law("MSG-08 how large a body may be is counted in bytes, and can be set", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      yield* append({ id: "u1", role: "user", body: "x".repeat(1_022) })
      equal(yield* blobs, [0, 0, 0])
      for (const [i, text] of ["x".repeat(1_023), "é".repeat(512), "\0".repeat(171), "漢".repeat(342)].entries()) {
        yield* append({ id: `u2-${i}`, role: "user", body: text })
        equal(yield* blobs, [i + 1, i + 1, i + 1], text[0])
        equal((yield* get(`u2-${i}`)).display, text)
      }
      yield* append({ id: "u3", role: "user", display: ["small"], model: { large: [1, "y".repeat(2_000)] } })
      const [message] = (yield* page).messages.slice(-1)
      equal([message!.display, message!.model, message!.large?.display], [["small"], undefined, undefined])
      equal((yield* get("u3")).model, { large: [1, "y".repeat(2_000)] })
    }).pipe(withServices(store, { limits: { bodyBytes: 1_024 } })),
  ),

  law("MSG-08 lists load no large body; get, getMany, stream and what is replayed do", (store) =>
    Effect.gen(function* () {
      const counted = counting(store.backend)
      yield* Effect.gen(function* () {
        const messages = yield* Messages
        const history = yield* History
        yield* begin("s")
        const inputs = ["u1", "u2", "u3"].map((id, i) => big(id, "abc"[i]))
        yield* messages.appendMany("s", inputs)
        const bodies = inputs.map(({ body }) => body)
        counted.reset()
        const lists: ReadonlyArray<readonly [string, ReadonlyArray<Message>]> = [
          ["page", (yield* page).messages],
          ["prompts", (yield* messages.prompts("s")).toReversed()],
          ["path", yield* messages.path("s", "u3")],
          ["siblings", (yield* messages.siblings("s", "u3")).messages],
        ]
        const [view] = yield* Stream.runCollect(Stream.take(messages.watch("s"), 1))
        for (const [name, list] of [...lists, ["watch", view!.messages] as const]) {
          for (const { display, large } of list) equal([display, large?.display?.bytes], [undefined, 100_000], name)
        }
        equal((yield* messages.prompts("s"))[0]!.text, "c".repeat(80))
        equal((yield* messages.branches("s"))[0]!.lastText, "c".repeat(80))
        equal(counted.rows("blob_chunk"), 0)
        equal(yield* messages.latestUserText("s"), (bodies[2] as { content: string }).content)
        equal((yield* get("u2")).display, bodies[1])
        equal(
          (yield* messages.getMany("s", ["u3", "u1"])).map(({ display }) => display),
          [bodies[2], bodies[0]],
        )
        equal(
          (yield* Stream.runCollect(messages.stream("s"))).map(({ display }) => display),
          bodies,
        )
        equal(yield* replayed("s"), bodies)
        equal(yield* Stream.runCollect(history.stream("s")), bodies)
        equal((yield* history.tail("s", { tokens: 2, count: () => 1 })).messages, bodies.slice(1))
      }).pipe(withServices(counted))
    }),
  ),

  law("MSG-08 STO-05 a large body comes back exactly, also after reopening, and over several chunks", (store) =>
    Effect.gen(function* () {
      const odd = JSON.parse('{"b":1,"a":{"__proto__":{"x":true},"constructor":null},"n":[-7,1e21,0.1]}') as object
      const text = "\0 \u2028 \ud83d \udc00 😀 漢 é".repeat(60_000)
      const body = { role: "user", ...odd, content: [{ type: "text", text }] }
      yield* Effect.gen(function* () {
        yield* begin("s")
        yield* append({ id: "u1", body, metadata: { kept: true } })
        check((yield* blobs)[1]! > 2, "it has several chunks")
      }).pipe(withServices(store))
      yield* Effect.gen(function* () {
        const message = yield* get("u1")
        check(JSON.stringify(message.display) === JSON.stringify(body), "it comes back to the last code unit")
        equal(message.metadata, { kept: true })
      }).pipe(withServices(store))
    }),
  ),

  law("MSG-08 MSG-01 MSG-03 the same large body again is the same message, and another one is not", (store) =>
    Effect.gen(function* () {
      const messages = yield* Messages
      yield* begin("s")
      const first = yield* append(big("u1"))
      equal(yield* append(big("u1")), first)
      equal(yield* outcomeOf(append(big("u1", "y"))), { failed: "IdConflict" })
      equal(yield* outcomeOf(append(sized("u1", 100_001))), { failed: "IdConflict" })
      equal(yield* outcomeOf(append(said("u1"))), { failed: "IdConflict" })
      const submission = { sessionId: "s", messageKey: "k", turn: "turn_1" }
      const commit = (letter: string) =>
        messages.commitUserMessage({ ...submission, body: big("", letter).body as object })
      const one = yield* commit("p")
      equal(yield* commit("p"), one)
      equal(yield* blobs, [2, 2, 2])
      const other = yield* commit("q")
      equal([other.message.id, other.message.display], [one.message.id, big("", "q").body])
      equal((yield* get(one.message.id)).display, big("", "q").body)
      const [, chunks, uses] = yield* blobs
      equal([chunks, uses], [3, 2])
      yield* messages.commitUserMessage({ ...submission, body: { role: "user", content: "small" } })
      equal((yield* blobs)[2], 1)
      equal((yield* get(one.message.id)).display, { role: "user", content: "small" })
    }).pipe(withServices(store)),
  ),

  law("MSG-08 equal bodies are one blob, in one commit and in several", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      const same = { role: "user", content: "x".repeat(70_000) }
      yield* Messages.use((messages) =>
        messages.appendMany(
          "s",
          ["u1", "u2"].map((id) => ({ id, body: same })),
        ),
      )
      yield* append({ id: "u3", body: same })
      yield* append({ id: "u4", role: "user", display: same, model: same })
      equal(yield* blobs, [1, 1, 4])
      for (const id of ["u1", "u2", "u3", "u4"]) equal((yield* get(id)).model, same)
    }).pipe(withServices(store)),
  ),

  law("MSG-08 MSG-04 drafts leave no blobs behind; settled, cut or found dead a large one becomes one", (store) =>
    Effect.gen(function* () {
      const answer = (id: string, letter: string): MessageInput => ({
        ...big(id, letter),
        body: { role: "assistant", content: letter.repeat(100_000) },
      })
      const texts = yield* Effect.gen(function* () {
        const turns = yield* Turns
        yield* begin("s")
        yield* turns.begin("s", { prompt: big("u1") })
        for (const letter of "abcdef") yield* turns.draft("s", 1, answer("a1", letter))
        equal(yield* blobs, [1, 1, 1])
        equal((yield* turns.settle("s", 1, answer("a1", "g"))).display, answer("a1", "g").body)
        equal((yield* turns.settle("s", 1, answer("a1", "g"))).display, answer("a1", "g").body)
        equal(yield* blobs, [2, 2, 2])
        yield* turns.draft("s", 1, answer("a2", "h"))
        yield* turns.end("s", 1, { outcome: "completed", messages: [answer("a3", "i")] })
        equal(yield* blobs, [4, 4, 4])
        yield* turns.begin("s", { prompt: said("u2") })
        yield* turns.draft("s", 2, answer("a4", "j"))
        return yield* replayed("s")
      }).pipe(withServices(store))
      yield* Effect.gen(function* () {
        equal(yield* recovered, ["s"])
        equal(yield* blobs, [5, 5, 5])
        for (const { id, large } of (yield* page).messages) check(large !== undefined || id === "u2", `${id} is apart`)
        equal((yield* get("a4")).display, answer("a4", "j").body)
        equal(yield* replayed("s"), [...texts, answer("a4", "j").body])
      }).pipe(withServices(store))
    }),
  ),

  law("MSG-08 QUE-04 a large message is sent from the queue, and its turn is given it whole", (store) =>
    Effect.gen(function* () {
      const queue = yield* Queue
      yield* begin("s")
      yield* queue.enqueue("s", big("u1") as never)
      const dispatched = yield* queue.dispatch("s")
      check(dispatched.turn !== undefined && dispatched.prompt?.display !== undefined, "the prompt is whole")
      equal(dispatched.turn !== undefined && dispatched.prompt!.display, big("u1").body)
      equal(yield* blobs, [1, 1, 1])
      equal((yield* page).messages[0]!.large?.display?.bytes, 100_000)
    }).pipe(withServices(store)),
  ),

  law("MSG-08 HIS-03 a boundary knows the tool calls of large bodies, and an amendment their results", (store) =>
    Effect.gen(function* () {
      const history = yield* History
      yield* begin("s")
      yield* say("s", "u1")
      const call = {
        role: "assistant",
        content: [{ type: "tool-call", id: "c1", name: "run", input: "x".repeat(70_000) }],
      }
      yield* append({ id: "a1", body: call })
      yield* append(toolResult("r1", "c1", "y".repeat(70_000)))
      const error = yield* Effect.flip(history.compact("s", { summary: "x", keepFrom: "r1" }))
      equal([error._tag, "nearest" in error && error.nearest], ["InvalidBoundary", "a1"])
      yield* history.amend("s", { message: "r1", archive: "gone" })
      equal(resultIn((yield* replayed("s"))[2]), ["c1", "gone"])
      yield* history.compact("s", { summary: "x", keepFrom: "a1" })
      equal((yield* replayed("s")).length, 3)
    }).pipe(withServices(store)),
  ),

  lawWith({ slow: true }, "A04 MSG-08 a tool output above a provider's limit is stored, and can be replaced", (store) =>
    Effect.gen(function* () {
      const output = "0123456789abcdef".repeat(12 * 65_536)
      equal(output.length, 12_582_912)
      const counted = counting(store.backend)
      yield* Effect.gen(function* () {
        const sessions = yield* Sessions
        const messages = yield* Messages
        yield* begin("s")
        yield* say("s", "u1")
        yield* append(callOf("a1", "c1"))
        yield* append(toolResult("r1", "c1", output))
        yield* say("s", "u2")
        counted.reset()
        yield* sessions.list()
        const { messages: last } = yield* messages.page("s", { limit: 2 })
        equal(
          last.map(({ id }) => id),
          ["r1", "u2"],
        )
        check(last[0]!.large!.display!.bytes > 12_582_912, "it says how long it is")
        equal(counted.rows("blob_chunk"), 0)
        equal(resultIn((yield* get("r1")).display)[1] === output, true)
        yield* History.use((history) => history.amend("s", { message: "r1", trim: 100 }))
        check(JSON.stringify(yield* replayed("s")).length < 1_000, "the model is spared it")
        yield* redact("r1", { replacement: "too long" })
        equal(yield* pathOf("s"), ["u1", "a1", "r1", "u2"])
        equal(resultIn((yield* get("r1")).display), ["c1", "too long"])
        equal(resultIn((yield* replayed("s"))[2]), ["c1", "too long"])
        equal(yield* blobs, [0, 0, 0])
      }).pipe(withServices(counted))
    }),
  ),

  law("MSG-08 a redacted message keeps id, place and tool links, and nothing of its content is left", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      yield* append({ id: "u1", body: { role: "user", content: "my SECRET" }, metadata: { note: "SECRET" } })
      yield* append({ ...callOf("a1", "c1"), sourceContext: { from: "SECRET" } })
      yield* append(toolResult("r1", "c1", "SECRET"))
      yield* append({
        id: "a2",
        body: {
          role: "assistant",
          content: [
            { type: "reasoning", text: "SECRET" },
            { type: "text", text: "SECRET" },
            { type: "tool-call", id: "c2", name: "run", input: { key: "SECRET" } },
          ],
        },
      })
      yield* append(toolResult("r2", "c2", `SECRET ${"x".repeat(100_000)}`))
      yield* append({ id: "odd", role: "user", body: { odd: "SECRET" }, format: { dialect: "lost", version: 1 } })
      yield* append({ id: "both", role: "user", display: "SECRET", model: { role: "user", content: "SECRET" } })
      const before = yield* page
      const version = yield* historyVersion
      const ids = before.messages.map(({ id }) => id)
      for (const [i, id] of ids.entries()) {
        yield* redact(id, { replacement: "GONE" })
        equal((yield* historyVersion) > version + i, true, id)
      }
      check(!(yield* everything).includes("SECRET"), "nothing is left of it")
      const after = yield* page
      equal(
        after.messages.map(({ branch, createdAt, id, role }) => [branch, createdAt, id, role]),
        before.messages.map(({ branch, createdAt, id, role }) => [branch, createdAt, id, role]),
      )
      check(
        after.messages.every(({ redacted }) => redacted !== undefined),
        "they say that they were redacted",
      )
      const { messages, repairs } = yield* History.use((history) => history.read("s"))
      equal(repairs, [])
      equal(messages[3], {
        role: "assistant",
        content: [
          { type: "text", text: "GONE" },
          { type: "tool-call", id: "c2", name: "run", input: {} },
        ],
      })
      equal([messages[2], messages[4]].map(resultIn), [
        ["c1", "GONE"],
        ["c2", "GONE"],
      ])
      equal((yield* session("s")).preview, "GONE")
      equal(yield* blobs, [0, 0, 0])
    }).pipe(withServices(store)),
  ),

  law("MSG-08 HIS-03 a redacted compaction says nothing of what it had summarised", (store) =>
    Effect.gen(function* () {
      const history = yield* History
      yield* begin("s")
      yield* say("s", "u1")
      const { id } = yield* history.compact("s", { summary: "SECRET" })
      yield* redact(id)
      check(!(yield* everything).includes("SECRET"), "nothing is left of it")
      check(JSON.stringify(yield* replayed("s")).includes("[redacted]"), "the summary stands for itself")
    }).pipe(withServices(store)),
  ),

  law("MSG-08 a redaction is told to whoever reads, and what they were told before is not told again", (store) =>
    Effect.gen(function* () {
      const messages = yield* Messages
      yield* begin("s")
      yield* say("s", "u1")
      yield* say("s", "u2")
      const { activityAt, revision } = yield* session("s")
      yield* redact("u1")
      const after = yield* session("s")
      equal([after.revision > revision, after.activityAt], [true, activityAt])
      const [view] = yield* Stream.runCollect(Stream.take(messages.watch("s"), 1))
      equal(view!.messages[0]!.display, { role: "user", content: "[redacted]" })
      equal(yield* outcomeOf(append(said("u1"))), { failed: "IdConflict" })
      const committed = messages.commitUserMessage({ sessionId: "s", messageKey: "k", turn: "t", body: "SECRET" })
      const { message } = yield* committed
      yield* redact(message.id)
      equal(yield* outcomeOf(committed), { failed: "IdConflict" })
      check(!(yield* everything).includes("SECRET"), "a repeated submission does not bring it back")
    }).pipe(withServices(store)),
  ),

  law(
    "MSG-08 STR-05 a reader that comes after a redaction is not told what went before it, but to begin anew",
    (store) =>
      Effect.gen(function* () {
        const messages = yield* Messages
        const streams = yield* Streams
        yield* begin("s")
        yield* Turns.use((turns) => turns.begin("s", { prompt: said("u1") }))
        const cursor = yield* streams.publish("s", { data: "before" })
        yield* messages.append("s", { ...said("a2"), body: { role: "assistant", content: "SECRET" } }, { epoch: 1 })
        const late = streams.resume("s", { afterCursor: cursor })
        const [told] = yield* Stream.runCollect(Stream.take(late, 1))
        check(JSON.stringify(told).includes("SECRET"), "it is told what was said")
        yield* redact("a2")
        const frames = yield* Stream.runCollect(late)
        equal(
          frames.map(({ kind }) => kind),
          ["resync-required"],
        )
      }).pipe(withServices(store)),
  ),

  law("MSG-08 HIS-05 a redaction is for every session of the tree, whichever of them asks for it", (store) =>
    Effect.gen(function* () {
      const forks = yield* Forks
      const history = yield* History
      const messages = yield* Messages
      yield* begin("s")
      yield* append({ id: "u1", body: { role: "user", content: "SECRET" } })
      yield* append({ id: "a2", body: { role: "assistant", content: `SECRET ${"x".repeat(70_000)}` } })
      const fork = yield* forks.fork("s")
      const side = yield* forks.side("s")
      const sessions = ["s", fork.id, side.id]
      const looked = Effect.forEach(sessions, (id) =>
        Effect.all([session(id), Effect.map(history.read(id), ({ historyVersion: version }) => version)]),
      )
      const before = yield* looked
      yield* messages.redact(fork.id, "u1")
      yield* messages.redact("s", "a2")
      const after = yield* looked
      check(!(yield* everything).includes("SECRET"), "nothing is left of it")
      for (const [i, [now, version]] of after.entries()) {
        check(version > before[i]![1] && now.revision > before[i]![0].revision, `${sessions[i]} is told`)
        check(!JSON.stringify(yield* replayed(sessions[i]!)).includes("SECRET"), `${sessions[i]} replays nothing of it`)
      }
      equal(
        after.map(([{ preview }]) => preview),
        ["[redacted]", "[redacted]", before[2]![0].preview],
      )
      equal(yield* pathOf(fork.id), ["u1", "a2"])
    }).pipe(withServices(store)),
  ),

  law("MSG-08 what is being written, or holds nothing, cannot be redacted, and what is beside the path can", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      yield* say("s", "u1")
      yield* say("s", "a2")
      yield* checkout("s", "u1")
      yield* append(callOf("a3", "c1"))
      yield* append(toolResult("r1", "c1", "found"))
      const { id } = yield* History.use((history) => history.amend("s", { message: "r1", trim: 0 }))
      equal(yield* outcomeOf(redact(id!)), { failed: "InvalidInput" })
      equal(yield* outcomeOf(redact("nobody")), { failed: "MessageNotFound" })
      equal(yield* outcomeOf(redact("a b")), { failed: "InvalidInput" })
      equal(yield* outcomeOf(redact("u1", { replacement: "\0" })), { failed: "InvalidInput" })
      equal(yield* outcomeOf(redact("u1", { replacement: "x".repeat(10_001) })), { failed: "InvalidInput" })
      yield* redact("a2")
      equal((yield* get("a2")).display, { role: "assistant", content: "[redacted]" })
      yield* Turns.use((turns) => turns.begin("s", { prompt: said("u5") }))
      yield* Turns.use((turns) => turns.draft("s", 1, said("a6")))
      equal(yield* outcomeOf(redact("a6")), { failed: "InvalidInput" })
      yield* redact("u5")
      equal((yield* session("s")).preview, "[redacted]")
    }).pipe(withServices(store)),
  ),

  law("MSG-08 HED-01 the uses of what is deleted go with it, and a body that others use stays", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      const same = { role: "user", content: "x".repeat(70_000) }
      yield* say("s", "u1")
      yield* append({ id: "u2", body: same })
      yield* checkout("s", "u1")
      yield* append({ id: "u3", body: same })
      yield* append(big("u4"))
      equal(yield* blobs, [2, 2, 3])
      yield* checkout("s", "u2")
      yield* Heads.use((heads) => heads.deleteBranch("s", 2))
      equal((yield* blobs)[2], 1)
      equal((yield* get("u2")).display, same)
      yield* redact("u2")
      equal((yield* blobs)[2], 0)
    }).pipe(withServices(store)),
  ),
]
