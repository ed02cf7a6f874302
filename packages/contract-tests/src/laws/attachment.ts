/**
 * Laws of attachments: files that come with messages, and how long their bytes are kept.
 */
import { Attachments } from "@skein/core/attachment"
import type { Attachment, ByteSource } from "@skein/core/attachment"
import { Deletions } from "@skein/core/deletion"
import { Forks } from "@skein/core/fork"
import { Heads } from "@skein/core/head"
import { Messages } from "@skein/core/message"
import type { MessageInput } from "@skein/core/message"
import { Queue } from "@skein/core/queue"
import { Sessions } from "@skein/core/session"
import { Turns } from "@skein/core/turn"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { atTime } from "../clock.ts"
import { counting } from "../counting.ts"
import { check, equal } from "../equal.ts"
import { countsOf } from "../everything.ts"
import { law } from "../law.ts"
import type { Law } from "../law.ts"
import { outcomeOf } from "../outcome.ts"
import { withServices } from "../services.ts"
import { begin, checkout, say, session } from "./conversation.ts"

const chunk = 512 * 1024
const hour = 60 * 60 * 1_000

const put = (data: ByteSource, name = "plan.txt", id = "s") =>
  Attachments.use((attachments) => attachments.put(id, { name, mime: "text/plain", data }))

/** Bytes that look like nothing else. */
const bytes = (length: number, seed = 1): Uint8Array => {
  const made = new Uint8Array(length)
  for (let i = 0, x = seed; i < length; i++) made[i] = (x = (Math.imul(x, 1_103_515_245) + 12_345) | 0) >>> 16
  return made
}

/** Gives bytes in pieces of some length, from one piece of memory. */
async function* pieces(of: Uint8Array, length: number): AsyncGenerator<Uint8Array> {
  const memory = new Uint8Array(length)
  for (let at = 0; at < of.length; at += length) {
    const piece = of.subarray(at, at + length)
    memory.set(piece)
    yield memory.subarray(0, piece.length)
  }
}

const opened = (hash: string, id = "s") =>
  Attachments.use((attachments) =>
    Effect.map(Stream.runCollect(attachments.open(id, hash)), (chunks) => {
      const all = new Uint8Array(chunks.reduce((sum, { length }) => sum + length, 0))
      let at = 0
      for (const one of chunks) {
        all.set(one, at)
        at += one.length
      }
      return all
    }),
  )

const withFiles = (id: string, ...attachments: ReadonlyArray<unknown>): MessageInput => ({
  id,
  body: { role: "user", content: id },
  attachments: [...attachments],
})

const attach = (id: string, ...attachments: ReadonlyArray<unknown>) =>
  Messages.use((messages) => messages.append("s", withFiles(id, ...attachments)))

const listed = (id = "s") =>
  Attachments.use((attachments) =>
    Effect.map(attachments.list(id), (page) => page.attachments.map(({ message, name }) => `${message} ${name}`)),
  )

const clean = Attachments.use((attachments) => attachments.clean())

/** How many blobs, chunks, uses by entries and uses by queue items there are. */
const counts = countsOf("blob", "blob_chunk", "blob_use", "queue_file")

/** A web stream of bytes, where the place that runs the laws has them. */
const streamOf = (bytes: Uint8Array): AsyncIterable<Uint8Array> => {
  const { Response } = globalThis as unknown as {
    readonly Response: new (body: Uint8Array) => { readonly body: AsyncIterable<Uint8Array> }
  }
  return new Response(bytes.slice()).body
}

export const attachmentLaws: ReadonlyArray<Law> = [
  law(
    "ATT-01 a file is put and opened again, whatever its length and however it comes, also after reopening",
    (store) =>
      Effect.gen(function* () {
        const lengths = [0, 1, chunk - 1, chunk, chunk + 1, 2 * chunk, 3 * chunk + 7]
        const files = yield* Effect.gen(function* () {
          yield* begin("s")
          const put_: Array<Attachment> = []
          for (const [i, length] of lengths.entries()) {
            const file = bytes(length, i + 1)
            const whole = yield* put(file, `f${i}`)
            equal([whole.bytes, whole.name, whole.mime], [length, `f${i}`, "text/plain"])
            const before = yield* counts
            for (const size of [70_000, chunk, 1_000_003]) {
              equal((yield* put(pieces(file, size))).hash, whole.hash, `pieces of ${size}`)
            }
            const stream = streamOf(file)
            equal((yield* put(stream)).hash, whole.hash, "a stream")
            equal(yield* counts, before, "one file is kept once")
            put_.push(whole)
          }
          yield* attach("u1", ...put_)
          return put_
        }).pipe(withServices(store))
        yield* Effect.gen(function* () {
          for (const [i, { hash }] of files.entries())
            equal(yield* opened(hash), bytes(lengths[i]!, i + 1), `file ${i}`)
          equal((yield* Messages.use((messages) => messages.get("s", "u1"))).attachments, [...files])
        }).pipe(withServices(store))
      }),
  ),

  law("ATT-01 opening reads chunk by chunk, as it is asked, and listing reads none", (store) =>
    Effect.gen(function* () {
      const counted = counting(store.backend)
      yield* Effect.gen(function* () {
        const attachments = yield* Attachments
        yield* begin("s")
        const { hash } = yield* put(bytes(5 * chunk))
        yield* attach("u1", yield* put(bytes(5 * chunk)))
        counted.reset()
        equal(yield* listed(), ["u1 plan.txt"])
        equal(counted.rows("blob_chunk"), 0)
        yield* Stream.runCollect(Stream.take(attachments.open("s", hash), 2))
        check(counted.rows("blob_chunk") <= 3, `${counted.rows("blob_chunk")} chunks were read for two`)
      }).pipe(withServices(counted))
    }),
  ),

  law("ATT-01 a message without files costs what it did: one row read and two written", (store) =>
    Effect.gen(function* () {
      const counted = counting(store.backend)
      yield* Effect.gen(function* () {
        yield* begin("s")
        yield* say("s", "u1")
        counted.reset()
        yield* say("s", "u2")
        equal(
          ["session", "entry", "blob", "blob_use", "blob_chunk"].map((table) => counted.reads(table)),
          [1, 0, 0, 0, 0],
        )
      }).pipe(withServices(counted))
    }),
  ),

  law(
    "ATT-01 files are listed newest first, page by page, inherited ones included, as far as they are on the path",
    (store) =>
      Effect.gen(function* () {
        const attachments = yield* Attachments
        yield* begin("s")
        const one = yield* put(bytes(10, 1), "one")
        const two = yield* put(bytes(10, 2), "two")
        yield* attach("u1", one, two)
        yield* say("s", "a2")
        yield* attach("u3", two)
        yield* attach("u4", { host: "JSON of its own" })
        equal(yield* listed(), ["u3 two", "u1 two", "u1 one"])
        const fork = yield* Forks.use((forks) => forks.fork("s", { at: "a2" }))
        equal(yield* listed(fork.id), ["u1 two", "u1 one"])
        yield* Messages.use((messages) => messages.append(fork.id, withFiles("f5", one)))
        equal(yield* listed(fork.id), ["f5 one", "u1 two", "u1 one"])
        equal(yield* opened(one.hash, fork.id), bytes(10, 1))
        yield* checkout("s", "a2")
        equal(yield* listed(), ["u1 two", "u1 one"])
        yield* attach("u6", one)
        equal(yield* listed(), ["u6 one", "u1 two", "u1 one"])
        const names: Array<string> = []
        let before: string | undefined
        do {
          const page = yield* attachments.list("s", { limit: 1, ...(before !== undefined && { before }) })
          names.push(...page.attachments.map(({ message, name }) => `${message} ${name}`))
          before = page.before
        } while (before !== undefined)
        equal(names, ["u6 one", "u1 two", "u1 one"])
        const [newest] = (yield* attachments.list("s")).attachments
        equal([newest!.hash, newest!.mime, newest!.bytes], [one.hash, "text/plain", 10])
        equal(yield* outcomeOf(attachments.list("s", { before: "x" })), { failed: "InvalidCursor" })
        equal(yield* outcomeOf(attachments.list("s", { limit: 0 })), { failed: "InvalidInput" })
        yield* begin("t")
        equal(yield* listed("t"), [])
        equal(yield* outcomeOf(opened(one.hash, "t")), { failed: "AttachmentNotFound" })
        const { hash } = yield* put(bytes(10, 3))
        equal(yield* outcomeOf(opened(hash)), { failed: "AttachmentNotFound" })
      }).pipe(withServices(store)),
  ),

  law("ATT-01 files over a branch are listed from any depth of branches", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      yield* attach("u0", yield* put(bytes(1), "first"))
      for (let i = 1; i <= 70; i++) {
        yield* say("s", `u${i}`)
        yield* say("s", `u${i}-beside`)
        yield* checkout("s", `u${i}`)
      }
      yield* attach("u-last", yield* put(bytes(2), "last"))
      equal(yield* listed(), ["u-last last", "u0 first"])
    }).pipe(withServices(store)),
  ),

  law("ATT-01 what is too large, too many, no bytes or not there is refused, and nothing is kept or said", (store) =>
    Effect.gen(function* () {
      const attachments = yield* Attachments
      yield* begin("s")
      const small = yield* put(bytes(1_000))
      const other = yield* put(bytes(1_000, 2))
      const before = yield* session("s")
      let isStopped = false
      async function* endless(): AsyncGenerator<Uint8Array> {
        try {
          for (;;) yield bytes(400)
        } finally {
          isStopped = true
        }
      }
      async function* failing(): AsyncGenerator<Uint8Array> {
        yield bytes(10)
        throw new Error("the disk is gone")
      }
      async function* texts(): AsyncGenerator<Uint8Array> {
        yield "text" as never
      }
      const file = { name: "x", mime: "text/plain", data: bytes(1) }
      const refused: ReadonlyArray<Effect.Effect<unknown, unknown>> = [
        attachments.put("s", { ...file, data: bytes(1_001) }),
        attachments.put("s", { ...file, data: endless() }),
        attachments.put("s", { ...file, data: failing() }),
        attachments.put("s", { ...file, data: texts() }),
        attachments.put("s", { ...file, data: "text" as never }),
        attachments.put("s", { ...file, name: "" }),
        attachments.put("s", { ...file, name: "x\0" }),
        attachments.put("s", { ...file, mime: "text" }),
        attachments.put("s", { ...file, mime: "text/plain; charset=utf-8" }),
        attachments.put("s", null as never),
        attachments.put("a b", file),
        opened("sha256-1"),
        opened("../plan.txt"),
      ].map((one) => one as Effect.Effect<unknown, unknown>)
      for (const [i, one] of refused.entries()) equal([i, yield* outcomeOf(one)], [i, { failed: "InvalidInput" }])
      check(isStopped, "a source that is too long is told to stop")
      equal(yield* outcomeOf(attachments.put("nobody", file)), { failed: "SessionNotFound" })
      const hash = `sha256-${"0".repeat(64)}`
      for (const wrong of [
        [small, small, other],
        [small, other, { ...other, name: "again" }],
        [{ ...small, bytes: 999 }],
        [{ ...small, hash }],
        [{ hash: small.hash }],
        [{ ...small, more: 1 }],
        [{ ...small, bytes: 1_001 }],
        [{ x: undefined, y: Number.NaN }],
      ]) {
        equal(yield* outcomeOf(attach("u1", ...wrong)), { failed: "InvalidInput" }, JSON.stringify(wrong))
      }
      equal(yield* session("s"), before)
      equal((yield* counts)[2], 0)
      yield* attach("u1", small, other)
    }).pipe(withServices(store, { limits: { fileBytes: 1_000, messageBytes: 2_000, files: 2 } })),
  ),

  law(
    "ATT-01 files come with what a turn settles, with what it begins with, and with what is sent from the queue",
    (store) =>
      Effect.gen(function* () {
        const turns = yield* Turns
        const queue = yield* Queue
        yield* begin("s")
        const files = yield* Effect.forEach([1, 2, 3, 4, 5], (i) => put(bytes(10, i), `f${i}`))
        yield* Sessions.use((sessions) => sessions.create({ id: "t", first: withFiles("t1", files[0]) }))
        equal(yield* listed("t"), ["t1 f1"])
        yield* turns.begin("s", { prompt: withFiles("u1", files[0]) })
        const answer = { ...withFiles("a2", files[1]), body: { role: "assistant", content: "See here." } }
        yield* turns.draft("s", 1, answer)
        equal(yield* listed(), ["u1 f1"])
        yield* turns.settle("s", 1, answer)
        yield* turns.end("s", 1, { outcome: "completed", messages: [{ ...answer, id: "a3", attachments: [files[2]] }] })
        equal(yield* listed(), ["a3 f3", "a2 f2", "u1 f1"])
        yield* queue.enqueue("s", withFiles("u4", files[3]) as never)
        yield* queue.enqueue("s", { id: "u5", body: "text" }, { attachments: [files[4], { host: 1 }] })
        equal((yield* counts)[3], 2)
        equal(
          (yield* queue.list("s")).map(({ attachments }) => attachments),
          [[files[3]], [files[4], { host: 1 }]],
        )
        yield* queue.dispatch("s")
        equal((yield* counts)[3], 1)
        equal((yield* listed())[0], "u4 f4")
        equal(yield* outcomeOf(queue.enqueue("s", "x" as never, { attachments: [{ ...files[0], bytes: 9 }] })), {
          failed: "InvalidInput",
        })
      }).pipe(withServices(store)),
  ),

  law("ATT-01 the same message with the same files is stored once, and with others it is another one", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      const one = yield* put(bytes(10, 1))
      const two = yield* put(bytes(10, 2))
      const first = yield* attach("u1", one)
      equal(yield* attach("u1", one), first)
      equal(yield* outcomeOf(attach("u1", two)), { failed: "IdConflict" })
      equal(yield* outcomeOf(attach("u1")), { failed: "IdConflict" })
      equal((yield* counts)[2], 1)
    }).pipe(withServices(store)),
  ),

  law("ATT-01 what nothing uses is freed after an hour, and not a millisecond before; what is used stays", (store) =>
    Effect.gen(function* () {
      const kept = yield* Effect.gen(function* () {
        yield* begin("s")
        yield* put(bytes(2 * chunk, 1))
        const used = yield* put(bytes(10, 2))
        yield* attach("u1", used)
        return used
      }).pipe(atTime(0), withServices(store))
      yield* Effect.gen(function* () {
        equal(yield* clean.pipe(atTime(hour - 1)), { blobs: 0, bytes: 0 })
        equal(yield* clean.pipe(atTime(hour)), { blobs: 1, bytes: 2 * chunk })
        equal(yield* counts, [1, 1, 1, 0])
        equal(yield* clean.pipe(atTime(10 * hour)), { blobs: 0, bytes: 0 })
        equal(yield* opened(kept.hash), bytes(10, 2))
        const late = { ...kept, hash: `sha256-${"1".repeat(64)}` }
        equal(yield* outcomeOf(attach("u2", late)), { failed: "InvalidInput" })
      }).pipe(withServices(store))
    }),
  ),

  law(
    "ATT-01 putting again, and using late, keep a file for another hour; one whose message went has an hour too",
    (store) =>
      Effect.gen(function* () {
        yield* begin("s")
        const at = (time: number) => atTime(time)
        const file = yield* put(bytes(10)).pipe(at(0))
        yield* put(bytes(10)).pipe(at(hour - 1))
        equal((yield* clean.pipe(at(hour))).blobs, 0)
        yield* say("s", "u1")
        // What is about to be used is there for another hour, so that nothing frees it before the commit.
        const messages = yield* Messages
        const stale = messages.append("s", withFiles("u2", file), { expectedHead: null })
        equal(yield* outcomeOf(stale.pipe(at(2 * hour - 2))), { failed: "HeadMoved" })
        equal((yield* clean.pipe(at(3 * hour - 3))).blobs, 0)
        yield* attach("u2", file).pipe(at(3 * hour - 3))
        yield* clean.pipe(at(4 * hour))
        equal((yield* counts)[0], 1)
        yield* checkout("s", "u1")
        yield* say("s", "u3")
        yield* Heads.use((heads) => heads.deleteBranch("s", 1)).pipe(at(5 * hour))
        equal((yield* counts).slice(0, 3), [1, 1, 0])
        equal((yield* clean.pipe(at(6 * hour - 1))).blobs, 0)
        equal((yield* clean.pipe(at(6 * hour))).blobs, 1)
        equal(yield* counts, [0, 0, 0, 0])
      }).pipe(withServices(store)),
  ),

  law("ATT-01 QUE-06 an item that waits keeps its files, however long, and lets them go when it leaves", (store) =>
    Effect.gen(function* () {
      const queue = yield* Queue
      yield* begin("s")
      const at = (time: number) => atTime(time)
      const one = yield* put(bytes(10, 1)).pipe(at(0))
      const two = yield* put(bytes(10, 2)).pipe(at(0))
      const { id } = yield* queue.enqueue("s", { body: "text" }, { attachments: [one, two] }).pipe(at(0))
      equal((yield* clean.pipe(at(2 * hour))).blobs, 0)
      yield* queue.update("s", id, { attachments: [two] }).pipe(at(2 * hour))
      equal((yield* clean.pipe(at(3 * hour))).blobs, 1)
      yield* queue.cancel("s", id).pipe(at(3 * hour))
      equal((yield* clean.pipe(at(4 * hour))).blobs, 1)
      equal(yield* counts, [0, 0, 0, 0])
    }).pipe(withServices(store)),
  ),

  law(
    "ATT-01 MSG-08 DEL-01 forks share files, and what was deleted with its last session is freed an hour later",
    (store) =>
      Effect.gen(function* () {
        const at = (time: number) => atTime(time)
        yield* begin("s")
        const file = yield* put(bytes(2 * chunk))
        yield* attach("u1", file)
        yield* say("s", "a2")
        yield* Messages.use((messages) =>
          messages.append("s", { id: "u3", body: { role: "user", content: "x".repeat(100_000) } }),
        )
        yield* Queue.use((queue) => queue.enqueue("s", { body: "text" }, { attachments: [file] }))
        const fork = yield* Forks.use((forks) => forks.fork("s", { at: "a2" }))
        const reading = Attachments.use((attachments) =>
          Stream.runForEach(attachments.open("s", file.hash), () => Effect.ignore(gone("s"))),
        )
        const gone = (id: string) => Deletions.use((deletions) => deletions.delete(id)).pipe(at(0))
        equal(yield* outcomeOf(reading), { failed: "SessionDeleted" })
        yield* clean.pipe(at(hour))
        equal(yield* counts, [1, 2, 1, 0])
        equal(yield* opened(file.hash, fork.id), bytes(2 * chunk))
        yield* gone(fork.id)
        equal((yield* counts)[2], 0)
        yield* clean.pipe(at(hour))
        equal(yield* counts, [0, 0, 0, 0])
      }).pipe(withServices(store)),
  ),

  law("ATT-01 a clean-up works through many in small steps", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      for (let i = 1; i <= 210; i++) yield* put(bytes(8, i)).pipe(atTime(0))
      for (let i = 1; i <= 3; i++) yield* put(bytes(6 * chunk, i)).pipe(atTime(0))
      equal(yield* clean.pipe(atTime(hour)), { blobs: 213, bytes: 210 * 8 + 18 * chunk })
      equal(yield* counts, [0, 0, 0, 0])
    }).pipe(withServices(store)),
  ),

  law("ATT-01 a put that never came to its end leaves nothing after an hour", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      async function* broken(): AsyncGenerator<Uint8Array> {
        yield bytes(3 * chunk)
        throw new Error("the line is dead")
      }
      equal(yield* outcomeOf(put(broken()).pipe(atTime(0))), { failed: "InvalidInput" })
      yield* clean.pipe(atTime(hour))
      equal(yield* counts, [0, 0, 0, 0])
    }).pipe(withServices(store)),
  ),

  law(
    "ATT-01 MSG-08 a redacted message has no files any more, and their bytes are gone unless others use them",
    (store) =>
      Effect.gen(function* () {
        yield* begin("s")
        const own = yield* put(bytes(10, 1))
        const shared = yield* put(bytes(10, 2))
        yield* attach("u1", own, shared)
        yield* attach("u2", shared)
        const message = yield* Messages.use((messages) => messages.redact("s", "u1"))
        equal(message.attachments, undefined)
        equal(yield* listed(), ["u2 plan.txt"])
        equal(yield* counts, [1, 1, 1, 0])
        equal(yield* opened(shared.hash), bytes(10, 2))
      }).pipe(withServices(store)),
  ),

  law("ATT-02 a path is admitted inside the session's own directory and the allowed ones, links resolved", (store) =>
    Effect.gen(function* () {
      const links: Readonly<Record<string, string>> = {
        "/home/ada/app/.openprogram/sessions/s/workdir/attachments/out": "/etc",
        "/home/ada/app/.openprogram/sessions/s/workdir/attachments/out/passwd": "/etc/passwd",
        "/home/ada/app/.openprogram/sessions/s/workdir/attachments/shadow": "/etc/shadow",
        "/srv/channel": "/data/channel",
        "/srv/channel/a.png": "/data/channel/a.png",
        "/shortcut/a.png": "/data/channel/a.png",
      }
      const paths = {
        style: "posix" as const,
        resolve: (path: string) => Effect.succeed(Object.hasOwn(links, path) ? links[path]! : path),
      }
      const own = "/home/ada/app/.openprogram/sessions/s/workdir/attachments"
      yield* Effect.gen(function* () {
        const attachments = yield* Attachments
        yield* Sessions.use((sessions) => sessions.create({ id: "s", workspace: "/home/ada/app" }))
        yield* begin("bare")
        const resolve = (path: string, id = "s") => attachments.resolve(id, path)
        for (const [given, expected] of [
          [`${own}/plan.txt`, `${own}/plan.txt`],
          [`${own}/deep/./er/plan.txt`, `${own}/deep/er/plan.txt`],
          ["/old/place/.openprogram/sessions/s/workdir/attachments/deep/plan.txt", `${own}/deep/plan.txt`],
          ["/srv/channel/a.png", "/data/channel/a.png"],
          ["/shortcut/a.png", "/data/channel/a.png"],
        ] as const) {
          equal(yield* resolve(given), expected, given)
        }
        equal(yield* resolve("/srv/channel/a.png", "bare"), "/data/channel/a.png")
        const refused = [
          "/etc/passwd",
          own,
          `${own}/../../../../../secrets`,
          `${own}/a/../plan.txt`,
          `${own}/out/passwd`,
          `${own}/out/not-there`,
          `${own}/shadow`,
          `${own}x/plan.txt`,
          "plan.txt",
          "./plan.txt",
          `${own}/a\0`,
          "",
          "/srv/channel",
          "/srv/channelx/a.png",
          "/old/.openprogram/sessions/t/workdir/attachments/plan.txt",
          "/old/.openprogram/sessions/s/workdir/attachments",
          "/old/.openprogram/sessions/s/workdir/files/plan.txt",
          "/old/.openprogram/sessions/s/workdir/attachments/out/passwd",
          "/old/.openprogram/sessions/s/workdir/attachments/.openprogram/sessions/s/workdir/attachments/plan.txt",
          "/old/.openprogram/x/.openprogram/sessions/s/workdir/attachments/plan.txt",
        ]
        for (const path of refused) equal([path, yield* outcomeOf(resolve(path))], [path, { failed: "InvalidInput" }])
        equal(yield* outcomeOf(resolve(`${own}/plan.txt`, "bare")), { failed: "InvalidInput" })
        equal(yield* outcomeOf(resolve("/srv/channel/a.png", "nobody")), { failed: "SessionNotFound" })
      }).pipe(withServices(store, { paths, attachmentRoots: ["/srv/channel"] }))
    }),
  ),

  law("ATT-02 paths of Windows are compared as Windows does, and a host that fails admits nothing more", (store) =>
    Effect.gen(function* () {
      const paths = { style: "windows" as const, resolve: () => Effect.die("no such drive") }
      const own = "C:\\Users\\Ada\\App\\.openprogram\\sessions\\s\\workdir\\attachments"
      yield* Effect.gen(function* () {
        const attachments = yield* Attachments
        yield* Sessions.use((sessions) => sessions.create({ id: "s", workspace: "C:\\Users\\Ada\\App" }))
        for (const path of [`${own}\\plan.txt`, `${own.toLowerCase()}/plan.txt`]) {
          equal(yield* attachments.resolve("s", path), `${own}\\plan.txt`)
        }
        equal(yield* attachments.resolve("s", "D:/Files/plan.txt"), "D:/Files/plan.txt")
        for (const path of [`${own}\\..\\plan.txt`, `${own}/../plan.txt`, "\\plan.txt", "C:plan.txt", "C:\\plan.txt"]) {
          equal([path, yield* outcomeOf(attachments.resolve("s", path))], [path, { failed: "InvalidInput" }])
        }
      }).pipe(withServices(store, { paths, attachmentRoots: ["d:\\files"] }))
    }),
  ),
]
