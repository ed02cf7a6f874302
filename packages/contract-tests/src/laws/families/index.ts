/**
 * Random histories of a family of conversations by four clients at once, against an oracle: everything that goes back and
 * sideways, and everything that removes.
 *
 * Guarantee: what calls that were begun together answer, and what they leave, is what they come to one after another in
 * some order; what a session says, moves, deletes or prunes is seen in no other; and nothing is lost that somebody who is
 * left can get to.
 */
import { sideBoundary } from "@skein/core/fork"
import type { Services } from "@skein/core"
import { Sessions } from "@skein/core/session"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import { Difference, equal, show } from "../../equal.ts"
import { law } from "../../law.ts"
import type { Law, Store } from "../../law.ts"
import { makeRandom } from "../../random.ts"
import type { Random } from "../../random.ts"
import { openServices } from "../../services.ts"
import { keptIn, newFamily, pathTo, run, sees, shownBy, sidesOf } from "./oracle.ts"
import type { Answer, Family, Kind, Made, Operation, Talk } from "./oracle.ts"
import { answerTo, glance, seenOf, stored } from "./subject.ts"

/** How many clients do something at once, and how many of their rounds a family lives. */
const clients = 4
const roundsOfFamily = 40
/** Everything is looked at after so many rounds, and in the end. */
const lookEvery = 8
/** How many sessions a family has at most. */
const mostTalks = 12

/** The sessions that a family begins with, and their titles: numbers are counted in each tree. */
const beginning = new Map([
  ["s1", "Chores"],
  ["s2", "Errands (7)"],
  ["s3", undefined],
])

interface Called {
  readonly operation: Operation
  readonly answer: Answer
}

/**
 * Pruning and deleting are several commits. Between those of a prune others may move the same head, or go: then what is left
 * is not as if one had come after the other, though nothing is lost that somebody needs. So whoever prunes has the session
 * to himself, and nobody else removes anything meanwhile.
 */
const undisturbed = (asked: ReadonlyArray<Operation>): ReadonlyArray<Operation> => {
  const pruning = asked.find((one) => one.do === "prune")
  if (pruning === undefined) return asked
  const removes = ({ do: verb }: Operation) => verb === "prune" || verb === "delete"
  return asked.filter((one) => one === pruning || (one.session !== pruning.session && !removes(one)))
}

/** All orders of a few things, those as given first. */
function* ordersOf<A>(items: ReadonlyArray<A>): Generator<ReadonlyArray<A>> {
  if (items.length < 2) return yield items
  for (const [i, first] of items.entries()) {
    for (const rest of ordersOf(items.filter((_, j) => j !== i))) yield [first, ...rest]
  }
}

const living = (family: Family): ReadonlyArray<Talk> => [...family.talks.values()].filter(({ deleted }) => !deleted)

const decide = (family: Family, random: Random, name: string): Operation => {
  // Now and then somebody has not heard yet.
  const talks = random.nat(12) === 0 ? [...family.talks.values()] : living(family)
  const talk = random.pick(talks)
  const session = talk.id
  const path = pathTo(family, talk.head)
  const all = [...family.entries.keys()]
  const seen = all.filter((id) => sees(family, talk, id))
  const any = (ids: ReadonlyArray<string>) => {
    const from = random.nat(10) === 0 || ids.length === 0 ? all : ids
    return from.length === 0 ? "nobody" : random.pick(from)
  }
  const prompts = path.filter(({ kind }) => kind === "said").map(({ id }) => id)
  const choice = random.nat(28)
  const isFull = living(family).length >= mostTalks
  if (choice < 9) {
    const kinds = random.pick<ReadonlyArray<Kind>>([
      ["said"],
      ["answered"],
      ["given"],
      ["said", "answered"],
      ["said", "given", "answered"],
    ])
    const messages = kinds.map((kind, i) => ({ id: `${name}-${i}`, kind }))
    const file = random.nat(5) === 0 ? { file: `${random.nat(4)} of ${name}` } : {}
    return { do: "append", session, messages: messages.map((one, i) => (i === 0 ? { ...one, ...file } : one)) }
  }
  if (choice < 12) return { do: "checkout", session, to: random.nat(8) === 0 ? null : any(seen) }
  if (choice < 15) return { do: "undo", session }
  if (choice < 17) return { do: "redo", session }
  if (choice < 19) return { do: "rewind", session, message: any(prompts) }
  if (choice === 19) return { do: "edit", session, message: any(seen) }
  if (choice === 20) return { do: "retry", session, message: any(seen) }
  if (choice < 24 && !isFull) {
    return { do: "fork", session, at: random.nat(3) === 0 ? undefined : any(seen) }
  }
  if (choice === 24 && !isFull) return { do: "side", session }
  if (choice === 25) return { do: "prune", session }
  const isNeeded = living(family).length - sidesOf(family, session).length < 4
  return isNeeded ? { do: "redo", session } : { do: "delete", session }
}

const expectedGlance = (family: Family, talk: Talk): unknown => {
  if (talk.deleted) return { failed: "SessionDeleted" }
  const path = pathTo(family, talk.head)
  const shown = shownBy(family, talk)
  const prompts = shown.filter(({ kind }) => kind === "said").map(({ id }) => id)
  return {
    done: {
      head: talk.head,
      title: talk.title,
      preview: prompts.at(-1) ?? "",
      counts: { entries: path.length, messages: shown.length, prompts: prompts.length, turns: 0 },
      shown: shown.map(({ id }) => id),
      degraded: false,
      replayed: path.map(({ id }) => (id.startsWith("m") && id.includes("-") ? id : sideBoundary)),
      prompts: prompts.toReversed(),
      files: path
        .flatMap(({ file }) => (file === undefined ? [] : [file]))
        .toReversed()
        .slice(0, 100),
    },
  }
}

const isAlike = (actual: unknown, expected: unknown): unknown => {
  try {
    equal(actual, expected)
    return undefined
  } catch (difference) {
    return difference
  }
}

/** What the family may be after calls: what each order comes to that explains the answers and what was seen after them. */
const explain = (
  before: ReadonlyArray<Family>,
  calls: ReadonlyArray<Called>,
  seen: ReadonlyMap<string, unknown>,
): ReadonlyArray<Family> => {
  const families = new Map<string, Family>()
  let problem: unknown
  for (const one of before) {
    for (const order of ordersOf(calls)) {
      const { family, found } = follow(one, order, seen)
      if (found === undefined) families.set(nameOf(family), family)
      else problem ??= found
    }
  }
  if (families.size === 0) throw problem
  return [...families.values()]
}

const follow = (before: Family, order: ReadonlyArray<Called>, seen: ReadonlyMap<string, unknown>) => {
  let family = before
  for (const { answer, operation } of order) {
    const step = run(family, operation, answer)
    const found = isAlike(answer, step.answer)
    if (found !== undefined) return { family, found }
    family = step.family
  }
  for (const [id, glanced] of seen) {
    const found = isAlike({ [id]: glanced }, { [id]: expectedGlance(family, family.talks.get(id)!) })
    if (found !== undefined) return { family, found }
  }
  return { family, found: undefined }
}

/** Tells families apart that came from one: by what is gone, and by who has moved where. */
const nameOf = ({ gone, talks }: Family): string =>
  JSON.stringify([[...gone].toSorted(), [...talks.values()].map(({ hidden: _hidden, ...talk }) => talk)])

/** Those of the families that look as what was found. */
const alike = (families: ReadonlyArray<Family>, found: unknown, look: (family: Family) => unknown, what: string) => {
  const kept = families.filter((family) => isAlike(found, look(family)) === undefined)
  if (kept.length === 0) equal(found, look(families[0]!), what)
  return kept
}

const made = ({ answer }: Called): ReadonlyArray<string> =>
  "done" in answer && typeof answer.done === "object" && answer.done !== null && "title" in answer.done
    ? [(answer.done as Made).id]
    : []

const live = (store: Store, random: Random, told: Array<string>) =>
  Effect.gen(function* () {
    const openings = [yield* openServices(store), yield* openServices(store)]
    const on = <A, E>(i: number, effect: Effect.Effect<A, E, Services>) => Effect.provide(effect, openings[i % 2]!)
    for (const [id, title] of beginning) {
      const input = title === undefined ? { id } : { id, title }
      yield* on(
        0,
        Sessions.use((sessions) => sessions.create(input)),
      )
    }
    let families: ReadonlyArray<Family> = [newFamily(beginning)]
    const glances = (ids: Iterable<string>) =>
      Effect.map(
        Effect.all([...ids].map((id, i) => Effect.map(on(i, glance(id)), (found) => [id, found] as const))),
        (found) => new Map<string, unknown>(found),
      )
    for (let round = 1; round <= roundsOfFamily; round++) {
      const family = families[0]!
      const asked = undisturbed(Array.from({ length: clients }, (_, i) => decide(family, random, `m${round}_${i}`)))
      const calls = yield* Effect.all(
        asked.map((operation, i) => Effect.map(on(i, answerTo(operation)), (answer) => ({ operation, answer }))),
        { concurrency: "unbounded" },
      )
      for (const { answer, operation } of calls) told.push(`${round}. ${show(operation)} → ${show(answer)}`)
      const touched = new Set(calls.flatMap((call) => [call.operation.session, ...made(call)]))
      families = explain(families, calls, yield* glances(touched))
      if (round % lookEvery > 0 && round < roundsOfFamily) continue
      const [any] = families
      for (const [id, glanced] of yield* glances(any!.talks.keys())) {
        equal(glanced, expectedGlance(any!, any!.talks.get(id)!), `after round ${round}, ${id}`)
      }
      const ids = [...any!.entries.keys()].slice(-500)
      for (const { deleted, id } of any!.talks.values()) {
        const there = (one: Family) => ({ done: ids.filter((message) => sees(one, one.talks.get(id)!, message)) })
        const look = deleted ? () => ({ failed: "SessionDeleted" }) : there
        families = alike(families, yield* on(round, seenOf(id, ids)), look, `after round ${round}, what ${id} sees`)
      }
      const { ids: kept } = yield* on(round, stored)
      families = alike(families, kept, (one) => [...keptIn(one)].toSorted(), `after round ${round}, what is kept`)
    }
    for (const { id } of random.shuffled(living(families[0]!))) {
      // A side conversation may have gone with another one.
      yield* on(0, answerTo({ do: "delete", session: id }))
    }
    equal(yield* on(1, stored), { ids: [], others: 0 }, "when all are deleted, what is left")
  })

/** How many families live: ten calls for each run. */
const familiesFor = ({ runs }: Store): number => Math.ceil((10 * runs) / (clients * roundsOfFamily))

export const familyLaws: ReadonlyArray<Law> = [
  law(
    "ATT-01 FRK-01 FRK-03 FRK-06 RWD-01 RWD-03 RWD-04 DEL-01 DEL-02 any history of a family by four clients is as one after another would have it",
    (store) =>
      Effect.gen(function* () {
        for (let family = 0; family < familiesFor(store); family++) {
          const told: Array<string> = []
          const random = makeRandom(store.seed + family)
          const life = Effect.scoped(Effect.flatMap(store.fresh, (fresh) => live(fresh, random, told)))
          yield* Effect.catchCause(life, (cause) => {
            const problem = Cause.squash(cause)
            const text = problem instanceof Error ? problem.message : String(problem)
            return Effect.die(new Difference(`family ${family}: ${text}\n${told.join("\n")}`))
          })
        }
      }),
  ),
]
