/**
 * Random histories of whole families of sessions, after each step of which everything is walked.
 *
 * Guarantee: whatever is forked, moved, taken back, rewound, named, deleted and pruned, and in whatever order, no entry is
 * lost to which somebody can get, none stays after pruning to which nobody can, and nobody notices what others remove.
 */
import { Deletions } from "@skein/core/deletion"
import { Forks } from "@skein/core/fork"
import { Heads } from "@skein/core/head"
import { Messages } from "@skein/core/message"
import { Rewinds } from "@skein/core/rewind"
import { Sessions } from "@skein/core/session"
import type { Services } from "@skein/core"
import * as Effect from "effect/Effect"
import { atTime } from "../../clock.ts"
import { Difference, equal } from "../../equal.ts"
import { law } from "../../law.ts"
import type { Law } from "../../law.ts"
import { outcomeOf } from "../../outcome.ts"
import { makeRandom } from "../../random.ts"
import type { Random } from "../../random.ts"
import { withServices } from "../../services.ts"
import { said } from "../conversation.ts"
import { everything } from "../../everything.ts"
import type { Rows } from "../../everything.ts"
import { leftOver, walk } from "./walk.ts"
import type { Place, Walk } from "./walk.ts"

/** A step of a history: what is done, and to which session. */
interface Step {
  readonly name: string
  readonly session: string
  readonly work: Effect.Effect<unknown, unknown, Services>
  /** The session is deleted by it, if it comes through; with which others its answer says. */
  readonly deletes?: true
  /** It may remove entries of the session. */
  readonly removes?: true
  /** It may remove what a move leads to. */
  readonly gives?: true
  /** All that nobody needs of the session is gone after it. */
  readonly prunes?: true
}

const choose = (random: Random, sessions: ReadonlyArray<string>, n: number): Effect.Effect<Step, unknown, Services> =>
  Effect.gen(function* () {
    const messages = yield* Messages
    const heads = yield* Heads
    const session = random.pick(sessions)
    const { messages: page } = yield* messages.page(session, { limit: 500 })
    const ids = page.map(({ id }) => id)
    const branches = yield* messages.branches(session)
    const tips = branches.map(({ tip }) => tip)
    const somewhere = [...ids, ...tips]
    const prompts = page.filter(({ role }) => role === "user").map(({ id }) => id)
    const step = (name: string, work: Step["work"], more: Partial<Step> = {}): Step => ({
      name,
      session,
      work,
      ...more,
    })
    const dice = random.nat(100)
    if (dice < 30 || somewhere.length === 0) {
      const many = 1 + random.nat(3)
      const list = Array.from({ length: many }, (_, i) => said(`${(n + i) % 2 === 0 ? "u" : "a"}${n}-${i}`))
      return step("append", messages.appendMany(session, list))
    }
    if (dice < 42) return step("checkout", heads.checkout(session, random.nat(8) === 0 ? null : random.pick(somewhere)))
    if (dice < 50) return step("undo", heads.undo(session))
    if (dice < 54) return step("redo", heads.redo(session))
    if (dice < 60 && prompts.length > 0) {
      const rewinds = yield* Rewinds
      return step("rewind", rewinds.rewind(session, random.pick(prompts)))
    }
    if (dice < 70) {
      const forks = yield* Forks
      return step("fork", ids.length > 0 ? forks.fork(session, { at: random.pick(ids) }) : forks.fork(session))
    }
    if (dice < 73) return step("side", (yield* Forks).side(session))
    if (dice < 76) return step("create", (yield* Sessions).create({ id: `s${n}` }), { session: `s${n}` })
    const branch = branches.length === 0 ? 1 : random.pick(branches).branch
    if (dice < 80) return step("name a branch", heads.nameBranch(session, branch, `name ${n}`))
    if (dice < 83) return step("delete a branch", heads.deleteBranch(session, branch), { removes: true, gives: true })
    const deletions = yield* Deletions
    if (dice < 87)
      return step("prune before a time", deletions.prune(session, { before: n - random.nat(30) }), { removes: true })
    if (dice < 92) return step("prune", deletions.prune(session), { removes: true, prunes: true })
    if (dice < 94) return step("forget", deletions.forget(random.pick(["s1", "s2", `s${n - 1}`])))
    return step("delete", deletions.delete(session), { deletes: true })
  })

/** What a step did that it must not have done. */
const wrongs = (before: Walk, after: Walk, step: Step, isDone: boolean): ReadonlyArray<string> => {
  const found = [...after.problems]
  const isPruned = (owner: string) => isDone && step.prunes === true && owner === step.session
  for (const place of leftOver(after, isPruned)) found.push(`${place} is kept, and nobody can get there`)
  for (const [place, entry] of before.entries) {
    const now = after.entries.get(place)
    if (now !== undefined && (now.content !== entry.content || now.before !== entry.before)) {
      found.push(`${place} is another than it was`)
    }
    const owner = before.own.get(place)
    // What a living session has is its own to give up.
    const isGivenUp = step.removes === true && owner === step.session
    if (now === undefined && owner !== undefined && after.sessions.has(owner) && !isGivenUp) {
      found.push(`${place} of ${owner} is lost`)
    }
  }
  for (const [branch, { owner, tip }] of before.named) {
    const isGivenUp = step.gives === true && owner === step.session
    if (after.sessions.has(owner) && !isGivenUp && !after.entries.has(tip)) found.push(`${branch} has lost its end`)
  }
  for (const [id, session] of before.sessions) {
    const now = after.sessions.get(id)
    if (now !== undefined && id !== step.session && now !== session) found.push(`${id} is another than it was`)
  }
  return found
}

/** Places at which something else stands than stood there before; and notes what stands there now. */
const reused = ({ entries }: Walk, seen: Map<Place, string>): ReadonlyArray<string> =>
  [...entries].flatMap(([place, { content }]) => {
    const before = seen.get(place)
    seen.set(place, content)
    return before === undefined || before === content ? [] : [`${place} was used twice`]
  })

/** The places of entries that are not there any more. */
const missing = (before: Walk, rows: Record<string, Rows>): ReadonlyArray<Place> => {
  const { entries } = walk(rows, new Set())
  return [...before.entries.keys()].filter((place) => !entries.has(place))
}

const stepsOfFamily = 60

export const deletionHistoryLaws: ReadonlyArray<Law> = [
  law("RWD-03 DEL-01 nothing that is reached is ever lost, and nothing that is not stays after pruning", (store) =>
    Effect.scoped(
      Effect.gen(function* () {
        const families = Math.max(2, Math.ceil(store.runs / 40))
        for (let family = 0; family < families; family++) {
          const random = makeRandom(store.seed + family)
          const place = yield* store.fresh
          const told: Array<string> = []
          yield* Effect.gen(function* () {
            yield* Sessions.use((sessions) => sessions.create({ id: "s1" }))
            yield* Sessions.use((sessions) => sessions.create({ id: "s2" }))
            const given = new Set<Place>()
            const seen = new Map<Place, string>()
            let before = walk(yield* everything, given)
            for (let n = 1; n <= stepsOfFamily; n++) {
              const sessions = [...before.sessions.keys()].toSorted()
              if (sessions.length === 0) {
                yield* Sessions.use((all) => all.create({ id: `t${n}` }))
                sessions.push(`t${n}`)
              }
              const step = yield* choose(random, sessions, n)
              const outcome = yield* outcomeOf(step.work.pipe(atTime(n)))
              const isDone = "done" in outcome
              if ("defect" in outcome) throw new Difference(`${step.name} of ${step.session} died: ${outcome.defect}`)
              told.push(`${step.name} ${step.session}${isDone ? "" : ` (${outcome.failed})`}`)
              const rows = yield* everything
              if (step.gives === true) for (const place of missing(before, rows)) given.add(place)
              const after = walk(rows, given)
              const found = [...wrongs(before, after, step, isDone), ...reused(after, seen)]
              if (found.length > 0) throw new Difference(`${found.join("; ")}; after ${told.join(", ")}`)
              if (step.deletes === true && isDone && after.sessions.has(step.session)) {
                throw new Difference(`${step.session} is there after it was deleted`)
              }
              before = after
            }
            for (const id of before.sessions.keys()) yield* Deletions.use((deletions) => deletions.prune(id))
            const last = walk(yield* everything, given)
            equal(
              leftOver(last, () => true),
              [],
              "what stays after everything is pruned",
            )
            for (const id of last.sessions.keys()) yield* outcomeOf(Deletions.use((deletions) => deletions.delete(id)))
            const { project: _project, tombstone: _tombstone, ...rest } = yield* everything
            const counted = Object.fromEntries(Object.entries(rest).filter(([, rows]) => rows.length > 0))
            equal(counted, {}, "what stays after everything is deleted")
          }).pipe(withServices(place))
        }
      }),
    ),
  ),
]
