/**
 * Laws of lists of sessions: filters, order, pages, trees.
 */
import { SessionTable } from "@skein/core"
import { Messages } from "@skein/core/message"
import { Projects } from "@skein/core/project"
import { Sessions } from "@skein/core/session"
import type { ListQuery, NewSession, Session, SessionNode } from "@skein/core/session"
import { Storage, Tx } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import { atTime } from "../clock.ts"
import { counting } from "../counting.ts"
import { check, equal } from "../equal.ts"
import { law, lawWith } from "../law.ts"
import type { Law } from "../law.ts"
import { outcomeOf, tagOf } from "../outcome.ts"
import { makeRandom } from "../random.ts"
import type { Random } from "../random.ts"
import { withServices } from "../services.ts"

const ids = (query?: ListQuery) =>
  Sessions.use((sessions) => Effect.map(sessions.list(query), (page) => page.sessions.map(({ id }) => id)))

/** All pages of a query, one after another. */
const walk = (query: ListQuery) => Effect.map(walkAll(query), ({ pages }) => pages)

const walkAll = (query: ListQuery) =>
  Effect.gen(function* () {
    const sessions = yield* Sessions
    const pages: Array<ReadonlyArray<string>> = []
    const degraded: Array<string> = []
    let cursor: string | undefined
    do {
      const page = yield* sessions.list({ ...query, ...(cursor !== undefined && { cursor }) })
      pages.push(page.sessions.map(({ id }) => id))
      degraded.push(...page.degraded.map(({ id }) => id))
      cursor = page.next
    } while (cursor !== undefined)
    return { pages, degraded }
  })

const create = (at: number, input: NewSession) => atTime(at)(Sessions.use((sessions) => sessions.create(input)))

// What the oracle knows of a session, said without a line of the code under test.

const kinds = ["conversation", "task", "peek", "channel", "cron", "unknown"] as const
const statuses = ["idle", "running", "failed"] as const
const texts = ["Mend the gate", "mend THE fence", "100% of_it", "", "Tür"] as const

interface Known extends Pick<Session, "id" | "createdAt" | "activityAt" | "kind" | "status"> {
  readonly title: string
  readonly workspace: string | undefined
  readonly agent: string
  readonly owner: string | undefined
  readonly source: string | undefined
  readonly channelType: string | undefined
  readonly group: string | undefined
  readonly parentId: string | undefined
  readonly pinned: boolean
  readonly archived: boolean
  readonly hidden: boolean
}

const someSession = (random: Random, n: number): Known => ({
  id: `s${String(n).padStart(3, "0")}-${random.nat(1_000)}`,
  createdAt: random.nat(40),
  activityAt: random.nat(30),
  kind: random.pick(kinds),
  status: random.pick(statuses),
  title: random.pick(texts),
  workspace: random.pick(["/a", "/b", undefined]),
  agent: random.pick(["x", "y"]),
  owner: random.pick(["ada", "bob", undefined]),
  source: random.pick(["cli", undefined]),
  channelType: random.pick(["irc", "mail", undefined]),
  group: random.pick(["g", undefined]),
  parentId: undefined,
  pinned: random.nat(2) === 0,
  archived: random.nat(4) === 0,
  hidden: random.nat(4) === 0,
})

const someQuery = (random: Random, parents: ReadonlyArray<string>): ListQuery => {
  const maybe = <A>(name: string, odds: number, from: ReadonlyArray<A>): Record<string, A> =>
    random.nat(odds) === 0 ? { [name]: random.pick(from) } : {}
  const range = () => ({ from: random.nat(20), to: 5 + random.nat(35) })
  return {
    limit: random.pick([1, 3, 7, 50, 200]),
    ...maybe("workspace", 3, ["/a", "/b/"]),
    ...maybe("projectId", 5, ["default", "workspace:/a", "workspace:/a%0000ada", "default%0000bob"]),
    ...maybe("owner", 4, ["ada", "bob"]),
    ...maybe("agent", 5, ["x"]),
    ...maybe("kind", 2, [["task", "conversation"], "peek", ["cron", "peek", "task"], [...kinds], []]),
    ...maybe("type", 9, ["branch", "root"]),
    ...maybe("source", 6, ["cli"]),
    ...maybe("channel", 6, [{ type: "irc" }, {}]),
    ...maybe("group", 6, ["g", null]),
    ...maybe("archived", 3, [true, "any", false]),
    ...maybe("hidden", 3, [true, "any", false]),
    ...maybe("pinned", 5, [true, false]),
    ...maybe("status", 5, ["running", ["idle", "failed"]]),
    ...maybe("parentId", 6, [null, ...parents]),
    ...maybe("created", 6, [range(), { from: 10 }, { to: 10 }]),
    ...maybe("activity", 4, [range(), { from: 10 }, { to: 10 }]),
    ...maybe("text", 5, ["mend the", "%", "_", "TÜR", "gate\n"]),
  }
}

/** The project that a session is created in: its owner's. */
const projectOf = ({ owner, workspace }: Known): string =>
  (workspace === undefined ? "default" : `workspace:${workspace}`) + (owner === undefined ? "" : `%0000${owner}`)

const fits = (one: Known, query: ListQuery): boolean => {
  const { activity, archived = false, channel, created, hidden = false, kind, parentId, status } = query
  const within = (range: ListQuery["created"], time: number) =>
    range === undefined || ((range.from ?? -1) <= time && time < (range.to ?? 1_000))
  const wanted = kind === undefined ? ["conversation", "channel", "unknown"] : [kind].flat()
  return (
    wanted.includes(one.kind) &&
    (archived === "any" || one.archived === archived) &&
    (hidden === "any" || one.hidden === hidden) &&
    (query.workspace === undefined || `${one.workspace}` === query.workspace.replace(/\/$/, "")) &&
    (query.projectId === undefined || query.projectId === projectOf(one)) &&
    (query.owner === undefined || query.owner === one.owner) &&
    (query.agent === undefined || query.agent === one.agent) &&
    query.type !== "root" &&
    (query.source === undefined || query.source === one.source) &&
    (channel?.type === undefined || channel.type === one.channelType) &&
    (query.group === undefined || query.group === (one.group ?? null)) &&
    (query.pinned === undefined || query.pinned === one.pinned) &&
    (status === undefined || [status].flat().includes(one.status)) &&
    (parentId === undefined || parentId === (one.parentId ?? null)) &&
    within(created, one.createdAt) &&
    within(activity, one.activityAt) &&
    (query.text === undefined || one.title.toLowerCase().includes(query.text.toLowerCase()))
  )
}

const newestFirst = (a: Known, b: Known) => b.activityAt - a.activityAt || (a.id < b.id ? -1 : 1)

/** Stores sessions as they are known: what no call sets is written past the services. */
const store100 = (random: Random) =>
  Effect.gen(function* () {
    const storage = yield* Storage
    const known: Array<Known> = []
    for (let n = 0; n < 100; n++) {
      const parentId = n > 0 && random.nat(3) === 0 ? random.pick(known).id : undefined
      known.push({ ...someSession(random, n), parentId })
    }
    for (const one of known) {
      const { agent, archived, channelType, group, hidden, id, kind, owner, parentId, pinned, source, title } = one
      yield* create(one.createdAt, {
        id,
        kind,
        agent,
        pinned,
        visibility: hidden ? "hidden" : "visible",
        ...(title !== "" && { title }),
        ...(one.workspace !== undefined && { workspace: one.workspace }),
        ...(owner !== undefined && { owner }),
        ...(source !== undefined && { source }),
        ...(channelType !== undefined && { channel: { type: channelType } }),
        ...(group !== undefined && { group }),
        ...(parentId !== undefined && { parentId }),
      })
      if (archived) yield* Sessions.use((sessions) => sessions.archive(id))
      yield* storage.transact(
        Tx.make(function* (tx) {
          yield* tx.get(SessionTable, [id])
          tx.update(SessionTable, [id], (row) => ({ ...row, activityAt: one.activityAt, status: one.status }))
        }),
      )
    }
    return known
  })

const filters: ReadonlyArray<Law> = [
  law("SES-05 SES-06 any filter gives what a plain look at all sessions gives, in order, over any pages", (store) =>
    Effect.gen(function* () {
      const random = makeRandom(store.seed)
      const known = yield* store100(random)
      for (let run = 0; run < store.runs; run++) {
        const query = someQuery(
          random,
          known.slice(0, 5).map(({ id }) => id),
        )
        const pages = yield* walk(query)
        const expected = known
          .filter((one) => fits(one, query))
          .toSorted(newestFirst)
          .map(({ id }) => id)
        equal(pages.flat(), expected, JSON.stringify(query))
        for (const page of pages.slice(0, -1)) equal(page.length, query.limit, `a page of ${JSON.stringify(query)}`)
        check(pages.length === 1 || pages.at(-1)!.length > 0, "a last page is not empty")
      }
    }).pipe(withServices(store)),
  ),

  law("SES-05 A12 without a filter people see no task, no side conversation, nothing hidden or archived", (store) =>
    Effect.gen(function* () {
      const sessions = yield* Sessions
      yield* create(10, { id: "P", workspace: "/w" })
      yield* create(20, { id: "C", workspace: "/w", kind: "task", parentId: "P" })
      yield* create(30, { id: "X", workspace: "/w", kind: "peek", parentId: "P", visibility: "hidden" })
      yield* create(40, { id: "cron", workspace: "/w", kind: "cron" })
      yield* create(50, { id: "hidden", workspace: "/w", visibility: "hidden" })
      yield* create(60, { id: "archived", workspace: "/w" })
      yield* sessions.archive("archived")
      equal((yield* sessions.latest({ workspace: "/w" }))?.id, "P")
      equal(yield* ids({ workspace: "/w" }), ["P"])
      equal(yield* ids({ kind: ["task"] }), ["C"])
      equal(yield* ids({ kind: "peek" }), [])
      equal(yield* ids({ kind: "peek", hidden: true }), ["X"])
      equal(yield* ids({ archived: "any", hidden: "any" }), ["archived", "hidden", "P"])
      equal((yield* sessions.get("C")).parentId, "P")
    }).pipe(withServices(store)),
  ),

  law("SES-05 rows carry the name of their project", (store) =>
    Effect.gen(function* () {
      yield* create(1, { id: "a", workspace: "/home/one" })
      yield* create(2, { id: "b" })
      yield* Projects.use((projects) => projects.rename("workspace:/home/one", "First"))
      const { sessions } = yield* Sessions.use((sessions) => sessions.list())
      equal(
        sessions.map(({ projectName }) => projectName),
        ["Default", "First"],
      )
    }).pipe(withServices(store)),
  ),

  law("SES-05 what is no filter, page or cursor is refused by name", (store) =>
    Effect.gen(function* () {
      const sessions = yield* Sessions
      const refused: ReadonlyArray<readonly [string, object]> = [
        ["query.limit", { limit: 0 }],
        ["query.limit", { limit: 201 }],
        ["query.limit", { limit: 1.5 }],
        ["query.limit", { limit: "50" }],
        ["query.cursor", { cursor: 7 }],
        ["query.kind", { kind: "other" }],
        ["query.archived", { archived: "yes" }],
        ["query.activity.until", { activity: { until: 7 } }],
        ["query.created.from", { created: { from: "monday" } }],
        ["query.projectId", { projectId: "päth" }],
        ["query.workspace", { workspace: "" }],
        ["query.colour", { colour: "red" }],
      ]
      for (const [field, query] of refused) {
        for (const call of [sessions.list(query as never), sessions.tree(query as never)]) {
          const error = yield* Effect.flip(call as Effect.Effect<unknown, object>)
          equal({ tag: tagOf(error), field: "field" in error && error.field }, { tag: "InvalidInput", field })
        }
      }
      equal(yield* outcomeOf(sessions.list(null as never)), { failed: "InvalidInput" })
      equal(yield* outcomeOf(sessions.latest({ limit: 1 } as never)), { failed: "InvalidInput" })
    }).pipe(withServices(store)),
  ),

  law("SES-07 A11 the latest is the one of latest activity, not the last created or the highest id", (store) =>
    Effect.gen(function* () {
      const sessions = yield* Sessions
      equal(yield* sessions.latest(), undefined)
      for (const n of [1, 2, 3]) yield* create(n, { id: `S${n}` })
      yield* atTime(10)(sessions.create({ id: "task", kind: "task", first: { role: "user", body: "x" } }))
      yield* atTime(10)(
        Messages.use((messages) => messages.append("S1", { body: { role: "user", content: "on with it" } })),
      )
      equal((yield* sessions.latest())?.id, "S1")
      equal(yield* ids(), ["S1", "S3", "S2"])
    }).pipe(withServices(store)),
  ),

  law(
    "SES-07 A13 the latest of a directory is found however many are newer elsewhere, and never one of another",
    (store) =>
      Effect.gen(function* () {
        const sessions = yield* Sessions
        yield* create(1, { id: "a", workspace: "/a", agent: "rare" })
        for (let n = 1; n <= 260; n++) yield* create(1 + n, { id: `b${n}`, workspace: "/b", agent: "common" })
        equal((yield* sessions.latest({ workspace: "/a" }))?.id, "a")
        equal(yield* sessions.latest({ workspace: "/c" }), undefined)
        equal((yield* sessions.latest({ agent: "rare" }))?.id, "a")
        equal(yield* sessions.latest({ agent: "rare", workspace: "/b" }), undefined)
      }).pipe(withServices(store)),
  ),
]

const pages: ReadonlyArray<Law> = [
  law("SES-06 A20 pages over equal times show everybody once, in one order, and end", (store) =>
    Effect.gen(function* () {
      yield* Effect.forEach(Array.from({ length: 200 }), (_, i) => create(5, { id: `s${(i * 77) % 200}` }))
      const first = yield* walk({ limit: 20 })
      equal(
        first.map((page) => page.length),
        Array.from({ length: 10 }, () => 20),
      )
      equal(new Set(first.flat()).size, 200)
      equal(yield* walk({ limit: 20 }), first)
    }).pipe(withServices(store)),
  ),

  law("SES-06 A20 a cursor that is damaged, or of another question, is InvalidCursor", (store) =>
    Effect.gen(function* () {
      const sessions = yield* Sessions
      for (const n of [1, 2, 3, 4]) yield* create(n, { id: `s${n}`, workspace: "/w" })
      yield* create(5, { id: "c1", parentId: "s1", kind: "task" })
      yield* create(6, { id: "c2", parentId: "s1", kind: "task" })
      const { next } = yield* sessions.list({ limit: 2 })
      const cursor = next!
      const damaged = ["", "garbage", cursor.slice(1), `${cursor}!`, cursor.replace(/\.[^.]*$/, ""), "a".repeat(5_000)]
      for (const one of damaged) {
        const error = yield* Effect.flip(sessions.list({ cursor: one }))
        equal([tagOf(error), "cursor" in error && error.cursor], ["InvalidCursor", one])
      }
      const strange = [
        { workspace: "/w" },
        { archived: true },
        { kind: "task" },
        { text: "x" },
        { parentId: null },
      ] as const
      for (const query of strange)
        equal(yield* outcomeOf(sessions.list({ ...query, cursor })), { failed: "InvalidCursor" })
      equal(yield* outcomeOf(sessions.children("s1", { cursor })), { failed: "InvalidCursor" })
      const children = (yield* sessions.children("s1", { limit: 1 })).next!
      equal(yield* outcomeOf(sessions.children("s2", { cursor: children })), { failed: "InvalidCursor" })
      equal(yield* outcomeOf(sessions.list({ cursor: children })), { failed: "InvalidCursor" })
      equal(
        (yield* sessions.children("s1", { cursor: children })).nodes.map(({ session }) => session.id),
        ["c1"],
      )
      equal(yield* ids({ cursor, limit: 1 }), ["s2"])
      equal(yield* ids({ cursor, kind: ["unknown", "channel", "conversation", "channel"] }), ["s2", "s1"])
    }).pipe(withServices(store)),
  ),

  law("SES-06 a walk shows those that did not move once, whatever comes and moves meanwhile", (store) =>
    Effect.gen(function* () {
      const sessions = yield* Sessions
      for (let n = 0; n < 10; n++) yield* create(n, { id: `s${n}` })
      const first = yield* sessions.list({ limit: 4 })
      yield* create(20, { id: "new" })
      yield* sessions.archive("s6")
      yield* atTime(30)(sessions.touch("s9"))
      const second = yield* sessions.list({ limit: 4, cursor: first.next! })
      const third = yield* sessions.list({ limit: 4, cursor: second.next! })
      equal(
        [first, second, third].map((page) => page.sessions.map(({ id }) => id)),
        [
          ["s9", "s8", "s7", "s6"],
          ["s5", "s4", "s3", "s2"],
          ["s1", "s0"],
        ],
      )
    }).pipe(withServices(store)),
  ),

  law("SES-10 A21 a list reads rows of sessions and their projects, as many as it shows, and no message", (store) => {
    const counted = counting(store.backend)
    return Effect.gen(function* () {
      const sessions = yield* Sessions
      for (let n = 0; n < 60; n++) {
        const first = { role: "user", body: { role: "user", content: "x".repeat(5_000) } } as const
        yield* create(n, { id: `s${n}`, workspace: n < 55 ? "/w" : "/v", first })
      }
      counted.reset()
      equal((yield* sessions.list({ workspace: "/w", limit: 50 })).sessions.length, 50)
      equal(["session", "project", "entry", "branch", "tree"].map(counted.rows), [51, 1, 0, 0, 0])
      counted.reset()
      equal((yield* sessions.latest({ workspace: "/w" }))?.id, "s54")
      equal(counted.rows("session"), 1)
      counted.reset()
      equal((yield* sessions.list({ agent: "nobody", limit: 10 })).sessions, [])
      equal(counted.rows("session"), 60)
    }).pipe(withServices(counted))
  }),
]

const damage: ReadonlyArray<Law> = [
  lawWith(
    { needs: ["damage"] },
    "STO-09 PRJ-04 a damaged session is named once, also where a link leads to it",
    (store) =>
      Effect.gen(function* () {
        const linked = new Map([["/l", "/old"]])
        const resolve = (path: string) => Effect.sync(() => linked.get(path) ?? path)
        const options = { paths: { style: "posix", resolve } } as const
        yield* Effect.gen(function* () {
          yield* create(4, { id: "by-link-then", workspace: "/l" })
          linked.set("/l", "/new")
          yield* create(5, { id: "by-path", workspace: "/new" })
          yield* create(3, { id: "by-link", workspace: "/l" })
          yield* create(2, { id: "first", workspace: "/l" })
          yield* create(9, { id: "last", workspace: "/l" })
        }).pipe(withServices(store, options))
        for (const id of ["by-link-then", "by-path", "by-link"]) yield* store.damage("session", [id])
        yield* Effect.gen(function* () {
          const { degraded, sessions } = yield* Sessions.use((all) => all.list({ workspace: "/l" }))
          equal(
            sessions.map(({ id }) => id),
            ["last", "first"],
          )
          equal(degraded.map(({ id }) => id).toSorted(), ["by-link", "by-link-then", "by-path"])
        }).pipe(withServices(store, options))
      }),
  ),

  lawWith(
    { needs: ["damage"] },
    "STO-09 SES-06 a walk over damaged rows shows every other session once, and names every damaged one once",
    (store) =>
      Effect.gen(function* () {
        const random = makeRandom(store.seed)
        const all = Array.from({ length: 60 }, (_, n) => ({
          id: `s${n}`,
          at: random.nat(20),
          agent: random.pick(["x", "y"]),
        }))
        const damaged = new Set(
          random
            .shuffled(all)
            .slice(0, 25)
            .map(({ id }) => id),
        )
        yield* Effect.forEach(all, ({ agent, at, id }) => create(at, { id, agent, workspace: "/w" })).pipe(
          withServices(store),
        )
        yield* Effect.forEach(damaged, (id) => store.damage("session", [id]))
        const readable = all
          .filter(({ id }) => !damaged.has(id))
          .toSorted((a, b) => b.at - a.at || (a.id < b.id ? -1 : 1))
        yield* Effect.gen(function* () {
          for (const limit of [1, 2, 3, 10, 60]) {
            for (const query of [
              {},
              { workspace: "/w" },
              { agent: "x" },
              { kind: ["conversation", "task"] },
            ] as const) {
              const { degraded, pages } = yield* walkAll({ ...query, limit })
              const expected = readable.filter(({ agent }) => !("agent" in query) || agent === "x")
              equal(
                pages.flat(),
                expected.map(({ id }) => id),
                `${limit} of ${JSON.stringify(query)}`,
              )
              equal(
                degraded.toSorted(),
                [...damaged].toSorted(),
                `what is degraded in ${limit} of ${JSON.stringify(query)}`,
              )
            }
          }
        }).pipe(withServices(store))
      }),
  ),
]

/** A tree as its ids: `["a", "b"]` for a session without children, `{ a: [...] }` for one with some. */
const shape = (nodes: ReadonlyArray<SessionNode>): ReadonlyArray<unknown> =>
  nodes.map(({ children, session }) => (children.length === 0 ? session.id : { [session.id]: shape(children) }))

const trees: ReadonlyArray<Law> = [
  law("SES-09 a tree shows what nobody started, and below it what was started, of any depth", (store) =>
    Effect.gen(function* () {
      const sessions = yield* Sessions
      const parents: ReadonlyArray<readonly [string, string | undefined]> = [
        ["a", undefined],
        ["b", undefined],
        ["a1", "a"],
        ["a2", "a"],
        ["a2x", "a2"],
        ["a2y", "a2"],
        ["a2yz", "a2y"],
      ]
      for (const [at, [id, parentId]] of parents.entries()) {
        const kind = parentId === undefined ? "conversation" : at % 2 === 0 ? "task" : "peek"
        yield* create(at, { id, kind, ...(parentId !== undefined && { parentId, visibility: "hidden" }) })
      }
      const tree = yield* sessions.tree()
      equal(shape(tree.nodes), ["b", { a: [{ a2: [{ a2y: ["a2yz"] }, "a2x"] }, "a1"] }])
      equal([tree.next, tree.degraded], [undefined, []])
      equal(shape((yield* sessions.children("a")).nodes), [{ a2: [{ a2y: ["a2yz"] }, "a2x"] }, "a1"])
      const flat = yield* sessions.children("a", { depth: 0 })
      equal(shape(flat.nodes), ["a2", "a1"])
      const rest = yield* sessions.children("a2", { cursor: flat.nodes[0]!.next! })
      equal(shape(rest.nodes), [{ a2y: ["a2yz"] }, "a2x"])
      equal(shape((yield* sessions.tree({ depth: 1 })).nodes), ["b", { a: ["a2", "a1"] }])
    }).pipe(withServices(store)),
  ),

  law("SES-09 every level of a tree is paged", (store) =>
    Effect.gen(function* () {
      const sessions = yield* Sessions
      for (let n = 0; n < 7; n++) yield* create(n, { id: `top${n}` })
      for (let n = 0; n < 5; n++) yield* create(10, { id: `child${n}`, parentId: "top6", kind: "task" })
      const first = yield* sessions.tree({ limit: 3 })
      equal(shape(first.nodes), [{ top6: ["child0", "child1", "child2"] }, "top5", "top4"])
      const more = yield* sessions.children("top6", { limit: 3, cursor: first.nodes[0]!.next! })
      equal([shape(more.nodes), more.next], [["child3", "child4"], undefined])
      const second = yield* sessions.tree({ limit: 3, cursor: first.next! })
      const third = yield* sessions.tree({ limit: 3, cursor: second.next! })
      equal([...shape(second.nodes), ...shape(third.nodes)], ["top3", "top2", "top1", "top0"])
      equal([third.next, first.nodes[1]!.next], [undefined, undefined])
    }).pipe(withServices(store)),
  ),

  law("SES-09 an answer holds at most 500 sessions, and what is missing can be paged", (store) =>
    Effect.gen(function* () {
      const sessions = yield* Sessions
      const count = (nodes: ReadonlyArray<SessionNode>): number =>
        nodes.reduce((sum, { children }) => sum + 1 + count(children), 0)
      for (let top = 0; top < 6; top++) {
        yield* create(top, { id: `t${top}` })
        for (let n = 0; n < 100; n++) yield* create(n, { id: `t${top}-${n}`, parentId: `t${top}`, kind: "task" })
      }
      const { nodes } = yield* sessions.tree({ limit: 100 })
      check(count(nodes) <= 500, `a tree of ${count(nodes)} sessions is too large`)
      const missing = nodes.filter(({ children }) => children.length === 0)
      equal(missing.length > 0, true)
      for (const { next, session } of missing) {
        equal((yield* sessions.children(session.id, { cursor: next!, limit: 200 })).nodes.length, 100)
      }
    }).pipe(withServices(store)),
  ),

  law("SES-09 sessions that start each other in a circle end", (store) =>
    Effect.gen(function* () {
      const sessions = yield* Sessions
      yield* create(1, { id: "a" })
      yield* create(2, { id: "b", parentId: "a" })
      yield* Storage.use((storage) =>
        storage.transact(
          Tx.make(function* (tx) {
            yield* tx.get(SessionTable, ["a"])
            tx.update(SessionTable, ["a"], (row) => ({ ...row, parentId: "b" }))
          }),
        ),
      )
      equal(shape((yield* sessions.children("a")).nodes), ["b"])
      equal(yield* ids(), ["b", "a"])
    }).pipe(withServices(store)),
  ),
]

export const sessionListLaws: ReadonlyArray<Law> = [...filters, ...pages, ...damage, ...trees]
