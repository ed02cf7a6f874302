/**
 * Laws of links: other conversations at the head of a session.
 */
import { EntryTable } from "@skein/core"
import { Deletions } from "@skein/core/deletion"
import { Forks } from "@skein/core/fork"
import { Heads } from "@skein/core/head"
import type { LinkTarget } from "@skein/core/head"
import { Messages } from "@skein/core/message"
import { Sessions } from "@skein/core/session"
import { Storage, Tx } from "@skein/core/storage"
import { Turns } from "@skein/core/turn"
import * as Effect from "effect/Effect"
import { check, equal } from "../equal.ts"
import { law } from "../law.ts"
import type { Law } from "../law.ts"
import { outcomeOf } from "../outcome.ts"
import { withServices } from "../services.ts"
import { begin, checkout, pathOf, replayed, said, say, sayAll, session } from "./conversation.ts"
import { timedLaw } from "./turns/subject.ts"

const attach = (sessionId: string, to: LinkTarget) => Heads.use((heads) => heads.attach(sessionId, to))
const merge = (sessionId: string, link: string) => Heads.use((heads) => heads.merge(sessionId, link))
const unmerge = (sessionId: string, link: string) => Heads.use((heads) => heads.unmerge(sessionId, link))
/** The tips of a session's branches; of all of them, or of those that were not merged. */
const tips = (sessionId: string, merged?: boolean) =>
  Messages.use((messages) =>
    Effect.map(messages.branches(sessionId, merged === undefined ? {} : { merged }), (branches) =>
      branches.map(({ merged, tip }) => (merged === true ? `${tip} merged` : tip)),
    ),
  )
const pageOf = (sessionId: string) =>
  Messages.use((messages) => Effect.map(messages.page(sessionId), (page) => page.messages))

/** The sessions that are linked to, each as often as it is. */
const linked = (sessionId: string) =>
  Storage.use((storage) =>
    storage.read(
      Tx.make(function* (tx) {
        return (yield* tx.range(EntryTable, "byLinked", { prefix: [sessionId] })).length
      }),
    ),
  )

/** A session with two branches: the head is at the end of the second one, `u2b`; the first one ends with `a2`. */
const forked = Effect.gen(function* () {
  yield* begin("s")
  yield* sayAll("s", ["u1", "a1", "u2", "a2"])
  yield* checkout("s", "a1")
  yield* say("s", "u2b")
})

export const linkLaws: ReadonlyArray<Law> = [
  timedLaw("HED-04 a link stands at the head, says what it leads to, and is not replayed", (store, time) =>
    Effect.gen(function* () {
      yield* forked
      yield* Sessions.use((sessions) => sessions.create({ id: "o", title: "Hotels" }))
      yield* sayAll("o", ["u5", "a5"])
      const before = yield* session("s")
      const given = yield* replayed("s")
      yield* time.pass(1_000)
      const link = yield* attach("s", "o")
      equal(link.link, { session: "o", entry: "a5", title: "Hotels" })
      equal([link.kind, (link.display as { readonly content: unknown }).content], ["link", "Hotels"])
      equal(yield* replayed("s"), given)
      equal((yield* pageOf("s")).at(-1), link)
      const after = yield* session("s")
      equal([after.head, after.headVersion], [link.id, before.headVersion + 1])
      equal(
        [after.activityAt, after.historyVersion, after.preview],
        [before.activityAt, before.historyVersion, before.preview],
      )
      equal(after.updatedAt, before.updatedAt + 1_000)
      equal((yield* Heads.use((heads) => heads.moves("s"))).length, 1, "an append is no move")
      // The other one is as it was, and what it says afterwards changes no link.
      equal(yield* pathOf("o"), ["u5", "a5"])
      yield* say("o", "u6")
      yield* Sessions.use((sessions) => sessions.rename("o", "Inns"))
      equal((yield* pageOf("s")).at(-1), link)
      const branch = yield* attach("s", 1)
      equal(branch.link, { session: "s", branch: 1, entry: "a2", title: "u2" })
      equal([yield* linked("o"), yield* linked("s")], [1, 0])
      yield* say("s", "a3")
      equal(yield* pathOf("s"), ["u1", "a1", "u2b", link.id, branch.id, "a3"])
    }).pipe(withServices(store)),
  ),

  law("HED-04 HED-02 a link is refused where there is nothing to link to, or the head is another one", (store) =>
    Effect.gen(function* () {
      const heads = yield* Heads
      yield* forked
      yield* begin("empty")
      yield* begin("o")
      yield* say("o", "u5")
      const before = yield* session("s")
      for (const [to, failed] of [
        ["nobody", "SessionNotFound"],
        ["s", "InvalidInput"],
        ["empty", "InvalidInput"],
        ["no id", "InvalidInput"],
        [2, "InvalidInput"],
        [9, "BranchNotFound"],
        [0, "InvalidInput"],
        [null, "InvalidInput"],
      ] as const) {
        equal(yield* outcomeOf(attach("s", to as LinkTarget)), { failed }, `to ${to}`)
      }
      for (const options of [{ expectedHead: "a2" }, { expectedVersion: before.headVersion - 1 }]) {
        equal(yield* outcomeOf(heads.attach("s", "o", options)), { failed: "HeadMoved" })
        equal(yield* outcomeOf(heads.merge("s", "u1", options)), { failed: "HeadMoved" })
      }
      equal(yield* outcomeOf(merge("s", "u1")), { failed: "InvalidInput" }, "no link")
      equal(yield* outcomeOf(merge("s", "u5")), { failed: "MessageNotFound" }, "another session's message")
      equal(yield* session("s"), before)
      yield* heads.attach("s", "o", { expectedHead: "u2b", expectedVersion: before.headVersion })
    }).pipe(withServices(store)),
  ),

  law("HED-04 what was merged is listed only where it is asked for, until more is said on it", (store) =>
    Effect.gen(function* () {
      yield* forked
      const link = yield* attach("s", 1)
      equal(yield* tips("s"), ["a2", link.id])
      const { revision } = yield* session("s")
      equal([yield* merge("s", link.id), yield* merge("s", link.id)], [true, true])
      equal((yield* session("s")).revision, revision + 1, "what was merged is merged")
      equal([yield* tips("s"), yield* tips("s", true)], [[link.id], ["a2 merged", link.id]])
      yield* unmerge("s", link.id)
      yield* unmerge("s", link.id)
      equal(
        [yield* tips("s"), yield* tips("s", true)],
        [
          ["a2", link.id],
          ["a2", link.id],
        ],
      )
      yield* merge("s", link.id)
      // It is still there, and goes on.
      yield* checkout("s", 1)
      equal(yield* pathOf("s"), ["u1", "a1", "u2", "a2"])
      equal(yield* tips("s"), [link.id])
      yield* say("s", "u3")
      equal(yield* tips("s"), ["u3", link.id])
      equal(yield* merge("s", link.id), false, "the link leads to what is not the end any more")
    }).pipe(withServices(store)),
  ),

  law("HED-04 the end of another session is merged in that one's branches", (store) =>
    Effect.gen(function* () {
      const turns = yield* Turns
      yield* forked
      yield* begin("o")
      yield* say("o", "u5")
      const { id } = yield* attach("s", "o")
      const { turn } = yield* turns.begin("o", { prompt: said("u6") })
      equal(yield* outcomeOf(merge("s", id)), { failed: "RunActive" }, "a turn runs there")
      yield* turns.end("o", turn.epoch, { outcome: "completed" })
      equal(yield* merge("s", id), false, "it has gone on")
      const again = yield* attach("s", "o")
      equal(yield* merge("s", again.id), true)
      equal([yield* tips("o"), yield* tips("o", true)], [[], ["u6 merged"]])
      equal(yield* tips("s"), ["a2", again.id])
      equal(yield* pathOf("o"), ["u5", "u6"])
      yield* unmerge("s", again.id)
      equal(yield* tips("o"), ["u6"])
      // A fork that has said nothing ends on a branch of somebody else's.
      yield* begin("p")
      yield* sayAll("p", ["u7", "a7"])
      const fork = yield* Forks.use((forks) => forks.fork("p"))
      const ofFork = yield* attach("o", fork.id)
      equal([ofFork.link?.entry, yield* merge("o", ofFork.id), yield* tips("p")], ["a7", false, ["a7"]])
    }).pipe(withServices(store)),
  ),

  law("HED-04 a link stays when what it leads to is gone", (store) =>
    Effect.gen(function* () {
      yield* forked
      yield* begin("o")
      yield* say("o", "u5")
      const links = [yield* attach("s", "o"), yield* attach("s", 1)]
      yield* Deletions.use((deletions) => deletions.delete("o"))
      yield* Heads.use((heads) => heads.deleteBranch("s", 1))
      equal((yield* pageOf("s")).slice(-2), links)
      for (const { id } of links) equal(yield* merge("s", id), false)
      equal(yield* linked("o"), 1)
      check((yield* tips("s")).includes(links[1]!.id), "the session's own branch must stay")
      yield* say("s", "u3")
      equal((yield* pathOf("s")).slice(-3), [...links.map(({ id }) => id), "u3"])
    }).pipe(withServices(store)),
  ),

  law("HED-04 MSG-08 of a link that is redacted only what it leads to is left", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      yield* Sessions.use((sessions) => sessions.create({ id: "o", title: "Hotels" }))
      yield* say("o", "u5")
      const { id, link } = yield* attach("s", "o")
      const redacted = yield* Messages.use((messages) => messages.redact("s", id))
      equal(redacted.link, { ...link, title: "[redacted]" })
      check(!JSON.stringify(yield* pageOf("s")).includes("Hotels"), "the title must be gone")
      equal(yield* merge("s", id), true)
    }).pipe(withServices(store)),
  ),
]
