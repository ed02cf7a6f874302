/**
 * Laws of erasing: nobody reads any more what a session has written, and nothing counts what it cost.
 */
import { Deletions } from "@skein/core/deletion"
import { Forks } from "@skein/core/fork"
import { History } from "@skein/core/history"
import { Messages } from "@skein/core/message"
import { Sessions } from "@skein/core/session"
import { Usage } from "@skein/core/usage"
import * as Effect from "effect/Effect"
import { check, equal } from "../../equal.ts"
import { law } from "../../law.ts"
import type { Law } from "../../law.ts"
import { outcomeOf } from "../../outcome.ts"
import { withServices } from "../../services.ts"
import { begin, callOf, pathOf, replayed, resultOf, say, session } from "../conversation.ts"
import { remove } from "./delete.ts"
import { counts, everything } from "../../everything.ts"

const erase = (sessionId: string) => Deletions.use((deletions) => deletions.erase(sessionId))
const fork = (sessionId: string, at: string) => Forks.use((forks) => forks.fork(sessionId, { at }))
const tell = (sessionId: string, id: string, content: string) =>
  Messages.use((messages) => messages.append(sessionId, { id, body: { role: "user", content } }))
const spend = (sessionId: string, callId: string) =>
  Usage.use((usage) =>
    usage.record(sessionId, { callId, provider: "p", model: "m", at: 1_000, input: 10, output: 5, cost: 3 }),
  )
const summary = Usage.use((usage) => usage.summary({}))

const secret = "the word is xyzzy"

export const eraseLaws: ReadonlyArray<Law> = [
  law("DEL-05 what an erased session has written is nowhere, also where forks share it, and they still work", (store) =>
    Effect.gen(function* () {
      yield* begin("other")
      yield* spend("other", "kept")
      const before = { usage: yield* summary, counts: yield* counts }
      yield* begin("s")
      yield* tell("s", "u1", secret)
      yield* Messages.use((messages) => messages.append("s", callOf("a1", "call1")))
      yield* Messages.use((messages) =>
        messages.append("s", { ...resultOf("r1", "call1"), metadata: { secret }, sourceContext: { secret } }),
      )
      yield* say("s", "a2")
      yield* tell("s", "u3", `${secret} ${"x".repeat(100_000)}`)
      yield* History.use((history) => history.amend("s", { message: "r1", archive: secret }))
      yield* History.use((history) => history.compact("s", { summary: secret, keepFrom: "u1" }))
      yield* say("s", "a4")
      yield* tell("s", "u5", secret)
      yield* spend("s", "c1")
      yield* spend("s", "c2")
      const child = yield* fork("s", "a4")
      yield* say(child.id, "u9")
      const late = yield* fork("s", "a2")
      const { deleted, failures, touched } = yield* erase("s")
      equal([deleted.map(({ id }) => id), failures], [["s"], []])
      equal(touched, [child.id, late.id].toSorted())
      const found = yield* everything
      check(!JSON.stringify(found).includes("xyzzy"), "somebody still has the word")
      equal(
        found["entry"]!.some((row) => row["id"] === "u5"),
        false,
      )
      equal(
        (yield* pathOf(child.id)).filter((id) => !id.startsWith("cmp")),
        ["u1", "a1", "r1", "a2", "u3", "a4", "u9"],
      )
      equal(yield* pathOf(late.id), ["u1", "a1", "r1", "a2"])
      equal((yield* session(late.id)).preview, "[erased]")
      equal((yield* replayed(late.id)).length, 4)
      equal((yield* History.use((history) => history.read(late.id))).repairs, [])
      equal(yield* summary, before.usage)
      equal(yield* Usage.use((usage) => usage.verify()).pipe(Effect.map(({ differences }) => differences)), [])
      yield* say(late.id, "u8")
      yield* remove(late.id)
      yield* remove(child.id)
      const { blob: _blob, blob_chunk: _chunks, ...rest } = yield* counts
      equal(rest, { ...before.counts, tombstone: 3 })
      equal(yield* outcomeOf(erase("s")), { failed: "SessionDeleted" })
    }).pipe(withServices(store)),
  ),
  law("DEL-05 what a fork inherited is its source's, and what it started for itself is erased with it", (store) =>
    Effect.gen(function* () {
      yield* begin("p")
      yield* tell("p", "u1", "of the source")
      const { id } = yield* fork("p", "u1")
      yield* tell(id, "u2", secret)
      yield* Sessions.use((sessions) => sessions.create({ id: "task", parentId: id, kind: "task" }))
      yield* tell("task", "u3", secret)
      const shared = yield* fork("task", "u3")
      equal((yield* erase(id)).touched, [shared.id])
      equal(yield* replayed("p"), [{ role: "user", content: "of the source" }])
      check(!JSON.stringify(yield* everything).includes("xyzzy"), "somebody still has the word")
      equal(yield* pathOf(shared.id), ["u3"])
    }).pipe(withServices(store)),
  ),
]
