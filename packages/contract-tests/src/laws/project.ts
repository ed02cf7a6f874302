/**
 * Laws of projects.
 */
import { Projects } from "@skein/core/project"
import { Sessions } from "@skein/core/session"
import * as Effect from "effect/Effect"
import { atTime } from "../clock.ts"
import { counting } from "../counting.ts"
import { check, equal } from "../equal.ts"
import { law, lawWith } from "../law.ts"
import type { Law } from "../law.ts"
import { outcomeOf, tagOf } from "../outcome.ts"
import { withServices } from "../services.ts"

const sessionIds = (query?: Parameters<Sessions["Service"]["list"]>[0]) =>
  Sessions.use((sessions) => Effect.map(sessions.list(query), (page) => page.sessions.map(({ id }) => id)))

const projectIds = (filter?: Parameters<Projects["Service"]["list"]>[0]) =>
  Projects.use((projects) => Effect.map(projects.list(filter), (list) => list.projects.map(({ id }) => id)))

export const projectLaws: ReadonlyArray<Law> = [
  law(
    "PRJ-01 without a workspace, or when told so, a session is in the default project, else in its workspace's",
    (store) =>
      Effect.gen(function* () {
        const sessions = yield* Sessions
        equal((yield* sessions.create({ id: "none" })).projectId, "default")
        equal((yield* sessions.create({ id: "here", workspace: "/w" })).projectId, "workspace:/w")
        const told = yield* sessions.create({ id: "told", workspace: "/w", defaultWorkspace: true })
        equal([told.projectId, told.workspaceDir], ["default", "/w"])
        const error = yield* Effect.flip(sessions.create({ id: "not", workspace: "/w", projectId: "default" }))
        equal([tagOf(error), "field" in error && error.field], ["InvalidInput", "input.projectId"])
        equal(yield* sessionIds({ projectId: "default" }), ["none", "told"])
        equal(yield* sessionIds({ projectId: "workspace:/w" }), ["here"])
      }).pipe(atTime(5), withServices(store)),
  ),

  law("PRJ-01 a project that is named must be there, and nothing is written where it is not", (store) =>
    Effect.gen(function* () {
      const sessions = yield* Sessions
      equal(yield* outcomeOf(sessions.create({ id: "s", workspace: "/wt", projectId: "workspace:/m" })), {
        failed: "ProjectNotFound",
      })
      equal(yield* outcomeOf(sessions.get("s")), { failed: "SessionNotFound" })
      equal(yield* projectIds({ hidden: "any" }), [])
    }).pipe(withServices(store)),
  ),

  law(
    "PRJ-02 PRJ-03 a project is made once, also by calls at the same time, and is called after its directory",
    (store) =>
      Effect.gen(function* () {
        const projects = yield* Projects
        const made = yield* Effect.all(
          ["/home/ada/app", "/home/ada//app/", "/home/ada/./app"].map((path) => projects.ensureForWorkspace(path)),
          { concurrency: "unbounded" },
        )
        equal(
          made.map(({ id, name, workspaceDir }) => [id, name, workspaceDir]),
          made.map(() => ["workspace:/home/ada/app", "app", "/home/ada/app"]),
        )
        equal((yield* projects.ensureDefault()).id, "default")
        equal((yield* projects.ensureDefault()).createdAt, (yield* projects.get("default")).createdAt)
        equal((yield* projectIds()).toSorted(), ["default", "workspace:/home/ada/app"])
        equal(yield* outcomeOf(projects.get("workspace:/nowhere")), { failed: "ProjectNotFound" })
      }).pipe(withServices(store)),
  ),

  law("PRJ-02 projects are listed pinned first, then by the latest activity of their sessions", (store) =>
    Effect.gen(function* () {
      const projects = yield* Projects
      const sessions = yield* Sessions
      for (const [at, dir] of ["/a", "/b", "/c", "/d"].entries()) {
        yield* atTime(10 + at)(sessions.create({ id: `in${dir[1]}`, workspace: dir }))
      }
      yield* atTime(30)(sessions.create({ id: "later", workspace: "/b" }))
      yield* atTime(40)(sessions.create({ id: "task", workspace: "/a", kind: "task" }))
      yield* atTime(50)(projects.pin("workspace:/a"))
      equal(yield* projectIds(), ["workspace:/a", "workspace:/b", "workspace:/d", "workspace:/c"])
      equal((yield* projects.get("workspace:/b")).activityAt, 30)
      yield* projects.pin("workspace:/a", false)
      equal(yield* projectIds(), ["workspace:/b", "workspace:/d", "workspace:/c", "workspace:/a"])
    }).pipe(withServices(store)),
  ),

  law("PRJ-02 rename, pin and hide change that and nothing else; a new session shows a hidden project again", (store) =>
    Effect.gen(function* () {
      const projects = yield* Projects
      const sessions = yield* Sessions
      const made = yield* atTime(1)(projects.ensureForWorkspace("/w"))
      equal(yield* atTime(2)(projects.rename(made.id, "Work")), { ...made, name: "Work", updatedAt: 2 })
      equal(yield* atTime(1)(projects.hide(made.id)), { ...made, name: "Work", hidden: true, updatedAt: 2 })
      equal(yield* projectIds(), [])
      equal(yield* projectIds({ hidden: true }), [made.id])
      yield* atTime(3)(sessions.create({ id: "s", workspace: "/w" }))
      equal(yield* projects.get(made.id), { ...made, name: "Work", updatedAt: 3, activityAt: 3 })
      equal((yield* sessions.list()).sessions[0]?.projectName, "Work")
    }).pipe(withServices(store)),
  ),

  law("PRJ-02 relocate moves a project with all its sessions, and may be repeated", (store) =>
    Effect.gen(function* () {
      const projects = yield* Projects
      const sessions = yield* Sessions
      yield* atTime(1)(sessions.create({ id: "old", workspace: "/from", title: "kept" }))
      yield* atTime(2)(sessions.create({ id: "archived", workspace: "/from" }))
      yield* sessions.archive("archived")
      yield* atTime(3)(sessions.create({ id: "worktree", workspace: "/wt", projectId: "workspace:/from" }))
      yield* atTime(4)(sessions.create({ id: "elsewhere", workspace: "/from", defaultWorkspace: true }))
      yield* atTime(5)(sessions.create({ id: "other", workspace: "/from/sub" }))
      yield* projects.rename("workspace:/from", "Mine")
      yield* projects.pin("workspace:/from")
      const before = yield* sessions.get("old")
      const { moved, project } = yield* atTime(9)(projects.relocate({ from: "/from/", to: "/to" }))
      equal([moved, project?.id, project?.name, project?.pinned], [4, "workspace:/to", "Mine", true])
      equal(yield* sessions.get("old"), {
        ...before,
        projectId: "workspace:/to",
        workspaceDir: "/to",
        revision: before.revision + 1,
        updatedAt: 9,
      })
      equal(yield* sessionIds({ workspace: "/to", archived: "any" }), ["elsewhere", "archived", "old"])
      equal(yield* sessionIds({ projectId: "workspace:/to", archived: "any" }), ["worktree", "archived", "old"])
      equal((yield* sessions.get("worktree")).workspaceDir, "/wt")
      equal((yield* sessions.get("elsewhere")).projectId, "default")
      equal(yield* sessionIds({ workspace: "/from", archived: "any" }), [])
      equal(yield* sessionIds({ workspace: "/from/sub" }), ["other"])
      equal(yield* outcomeOf(projects.get("workspace:/from")), { failed: "ProjectNotFound" })
      equal((yield* projects.relocate({ from: "/from", to: "/to" })).moved, 0)
      equal((yield* projects.relocate({ from: "/from/sub", to: "/to/below" })).project?.name, "below")
      equal(yield* outcomeOf(projects.relocate({ from: "/x", to: "/y" })), { failed: "ProjectNotFound" })
    }).pipe(withServices(store)),
  ),

  law("PRJ-02 a project takes in the sessions of one that is moved onto it", (store) =>
    Effect.gen(function* () {
      const projects = yield* Projects
      const sessions = yield* Sessions
      yield* sessions.create({ id: "a", workspace: "/a" })
      yield* sessions.create({ id: "b", workspace: "/b" })
      yield* projects.rename("workspace:/b", "Stays")
      equal((yield* projects.relocate({ from: "/a", to: "/b" })).project?.name, "Stays")
      equal((yield* sessionIds({ workspace: "/b" })).toSorted(), ["a", "b"])
      equal(yield* projectIds(), ["workspace:/b"])
    }).pipe(withServices(store)),
  ),

  law("PRJ-02 relocate takes along what works in the directory without belonging to its project", (store) =>
    Effect.gen(function* () {
      const projects = yield* Projects
      const sessions = yield* Sessions
      yield* atTime(1)(sessions.create({ id: "s", workspace: "/from", defaultWorkspace: true }))
      equal(yield* projectIds(), ["default"])
      const move = { from: "/from", to: "/to" }
      equal(yield* projects.relocate(move), { moved: 1 })
      const { projectId, workspaceDir } = yield* sessions.get("s")
      equal([projectId, workspaceDir], ["default", "/to"])
      equal(yield* sessionIds({ workspace: "/to" }), ["s"])
      equal(yield* projects.relocate(move), { moved: 0 })
      equal(yield* projectIds(), ["default"])
      equal(yield* outcomeOf(projects.relocate({ from: "/from", to: "/else" })), { failed: "ProjectNotFound" })
    }).pipe(withServices(store)),
  ),

  law("PRJ-02 PRJ-04 relocate finds a directory as it was spelled, also when the link to it is gone", (store) =>
    Effect.gen(function* () {
      const linked = new Map([["/l/p", "/r/p"]])
      const resolve = (path: string) => Effect.sync(() => linked.get(path) ?? path)
      yield* Effect.gen(function* () {
        const projects = yield* Projects
        const sessions = yield* Sessions
        yield* atTime(1)(sessions.create({ id: "mine", workspace: "/l/p" }))
        yield* atTime(2)(sessions.create({ id: "default", workspace: "/l/p", defaultWorkspace: true }))
        yield* atTime(3)(sessions.create({ id: "other", workspace: "/l" }))
        yield* projects.pin("workspace:/r/p")
        linked.clear()
        const { moved, project } = yield* projects.relocate({ from: "/l/p/", to: "/new" })
        equal([moved, project?.id, project?.pinned], [2, "workspace:/new", true])
        equal(yield* sessionIds({ workspace: "/new" }), ["default", "mine"])
        equal(yield* sessionIds({ projectId: "workspace:/new" }), ["mine"])
        for (const workspace of ["/l/p", "/r/p"]) equal(yield* sessionIds({ workspace }), [], workspace)
        equal((yield* projectIds()).toSorted(), ["default", "workspace:/l", "workspace:/new"])
        equal((yield* projects.relocate({ from: "/l/p", to: "/new" })).moved, 0)
      }).pipe(withServices(store, { paths: { style: "posix", resolve } }))
    }),
  ),

  law(
    "PRJ-02 what is created while a directory moves is in a project that is there, at one place or the other",
    (store) =>
      Effect.gen(function* () {
        const projects = yield* Projects
        const sessions = yield* Sessions
        const ids = Array.from({ length: 40 }, (_, n) => `s${n}`)
        const create = (id: string, n: number) =>
          sessions.create({ id, workspace: "/from", ...(n % 4 === 0 && { defaultWorkspace: true }) })
        yield* Effect.forEach(ids.slice(0, 10), create)
        const relocate = projects.relocate({ from: "/from", to: "/to" })
        yield* Effect.all(
          ids.slice(10).flatMap((id, n) => (n % 10 === 5 ? [create(id, n), relocate] : [create(id, n)])),
          { concurrency: "unbounded" },
        )
        const known = yield* projectIds()
        for (const id of ids) {
          const { projectId, workspaceDir } = yield* sessions.get(id)
          check(known.includes(projectId), `${id} is in ${projectId}, which is none`)
          check(["default", `workspace:${workspaceDir}`].includes(projectId), `${id} is in ${projectId}`)
        }
        yield* relocate
        equal((yield* sessionIds({ workspace: "/to", limit: 200 })).length, ids.length)
        equal((yield* projectIds()).toSorted(), ["default", "workspace:/to"])
      }).pipe(withServices(store)),
  ),

  law("SES-16 PRJ-02 each owner has projects of their own, and sees and changes no others", (store) =>
    Effect.gen(function* () {
      const seen = (owner: string | undefined) => withServices(store, owner === undefined ? {} : { owner })
      const create = (id: string, at: number, more: object = {}) =>
        atTime(at)(Sessions.use((sessions) => sessions.create({ id, workspace: "/w", ...more })))
      const ann = (yield* create("a", 1).pipe(seen("ann"))).projectId
      const bob = (yield* create("b", 2).pipe(seen("bob"))).projectId
      const nobody = (yield* create("n", 3).pipe(seen(undefined))).projectId
      equal(nobody, "workspace:/w")
      equal(new Set([ann, bob, nobody]).size, 3)
      yield* Effect.gen(function* () {
        const projects = yield* Projects
        const sessions = yield* Sessions
        const before = yield* projects.get(ann)
        equal([before.owner, before.name, before.workspaceDir, before.activityAt], ["ann", "w", "/w", 1])
        equal(yield* projectIds({ hidden: "any" }), [ann])
        equal((yield* projects.ensureForWorkspace("/w/")).id, ann)
        for (const other of [bob, nobody]) {
          for (const call of [
            projects.get(other),
            projects.rename(other, "Mine"),
            projects.pin(other),
            projects.hide(other),
            sessions.create({ id: "in", workspace: "/w", projectId: other }),
          ]) {
            equal(yield* outcomeOf(call as Effect.Effect<unknown, unknown>), { failed: "ProjectNotFound" })
          }
        }
        yield* projects.rename(ann, "Ann's")
        equal(
          (yield* sessions.list()).sessions.map(({ id, projectName }) => [id, projectName]),
          [["a", "Ann's"]],
        )
        const home = yield* projects.ensureDefault()
        equal([home.owner, home.id === "default"], ["ann", false])
        equal((yield* sessions.create({ id: "a2" })).projectId, home.id)
        equal((yield* sessions.ensureRoot("agent")).projectId, home.id)
        equal(yield* outcomeOf(sessions.create({ id: "a3", workspace: "/w", projectId: home.id })), {
          failed: "InvalidInput",
        })
      }).pipe(atTime(4), seen("ann"))
      yield* Effect.gen(function* () {
        const projects = yield* Projects
        const sessions = yield* Sessions
        equal((yield* projects.get(bob)).name, "w")
        equal((yield* projectIds()).filter((id) => ![ann, bob, nobody].includes(id)).length, 1)
        equal((yield* sessions.create({ id: "a4", owner: "ann", workspace: "/w" })).projectId, ann)
        equal(yield* outcomeOf(sessions.create({ id: "in", workspace: "/x", projectId: ann })), {
          failed: "ProjectNotFound",
        })
      }).pipe(atTime(5), seen(undefined))
    }),
  ),

  law("SES-16 PRJ-02 relocate moves its owner's sessions, or everybody's, each to their owner's project", (store) =>
    Effect.gen(function* () {
      const owners = ["ann", "bob", undefined]
      const seen = (owner: string | undefined) => withServices(store, owner === undefined ? {} : { owner })
      for (const owner of owners) {
        yield* Effect.gen(function* () {
          const sessions = yield* Sessions
          yield* sessions.create({ id: `${owner}-1`, workspace: "/from" })
          yield* sessions.create({ id: `${owner}-2`, workspace: "/from", defaultWorkspace: true })
        }).pipe(atTime(1), seen(owner))
      }
      const placed = Sessions.use((sessions) =>
        Effect.forEach(
          owners.flatMap((owner) => [`${owner}-1`, `${owner}-2`]),
          (id) => Effect.map(sessions.get(id), ({ workspaceDir }) => `${id} ${workspaceDir}`),
        ),
      )
      const move = { from: "/from", to: "/to" }
      const before = yield* seen(undefined)(placed)
      const first = yield* Projects.use((projects) => projects.relocate(move)).pipe(seen("ann"))
      equal([first.moved, first.project?.owner, first.project?.workspaceDir], [2, "ann", "/to"])
      equal(yield* seen(undefined)(placed), ["ann-1 /to", "ann-2 /to", ...before.slice(2)])
      yield* Effect.gen(function* () {
        const projects = yield* Projects
        const { moved, project } = yield* projects.relocate(move)
        equal([moved, project?.id], [4, "workspace:/to"])
        equal((yield* projects.relocate(move)).moved, 0)
        equal(
          (yield* placed).every((line) => line.endsWith(" /to")),
          true,
        )
        const rows = (yield* projects.list()).projects.filter(({ workspaceDir }) => workspaceDir !== undefined)
        equal(rows.map(({ owner, workspaceDir }) => [owner, workspaceDir]).toSorted(), [
          [undefined, "/to"],
          ["ann", "/to"],
          ["bob", "/to"],
        ])
        for (const { id, owner } of rows) equal(yield* sessionIds({ projectId: id }), [`${owner}-1`])
      }).pipe(seen(undefined))
      equal(yield* seen("bob")(sessionIds({ workspace: "/to" })), ["bob-1", "bob-2"])
    }),
  ),

  law("SES-16 PRJ-02 the activity of an owner's project costs a row, however many sessions there are", (store) =>
    Effect.gen(function* () {
      const counted = counting(store.backend)
      yield* Effect.gen(function* () {
        const projects = yield* Projects
        const sessions = yield* Sessions
        const ids = Array.from({ length: 60 }, (_, n) => `s${n}`)
        yield* Effect.forEach(ids, (id) => sessions.create({ id, workspace: "/busy" }), { concurrency: "unbounded" })
        const { id } = yield* projects.ensureForWorkspace("/quiet")
        counted.reset()
        equal((yield* projects.get(id)).activityAt, undefined)
        check(counted.rows("session") === 0, `${counted.rows("session")} sessions were read`)
        yield* projects.list()
        check(counted.rows("session") <= 1, `${counted.rows("session")} sessions were read`)
      }).pipe(withServices(counted, { owner: "ann" }))
    }),
  ),

  law("PRJ-04 A14 a directory is one workspace by any spelling, also when the link to it is gone", (store) =>
    Effect.gen(function* () {
      const linked = new Map([["/l/p", "/r/p"]])
      const resolve = (path: string) =>
        Effect.suspend(() =>
          path === "/broken" ? Effect.die("no such directory") : Effect.succeed(linked.get(path) ?? path),
        )
      const options = { paths: { style: "posix", resolve } } as const
      yield* Effect.gen(function* () {
        const sessions = yield* Sessions
        const created = yield* sessions.create({ id: "s", workspace: "/l/p" })
        equal([created.workspaceDir, created.projectId], ["/l/p", "workspace:/r/p"])
        for (const workspace of ["/r/p", "/l/p", "/r/p/", "/r/./q/../p"]) {
          equal(yield* sessionIds({ workspace }), ["s"], workspace)
          equal((yield* sessions.latest({ workspace }))?.id, "s", workspace)
        }
        linked.clear()
        for (const workspace of ["/r/p", "/l/p", "/l/p/"]) equal(yield* sessionIds({ workspace }), ["s"], workspace)
        equal(yield* sessionIds({ workspace: "/l" }), [])
        yield* sessions.create({ id: "u", workspace: "/l/q" })
        linked.set("/l/q", "/r/q")
        equal(yield* sessionIds({ workspace: "/l/q" }), ["u"])
        equal((yield* sessions.create({ id: "t", workspace: "/broken" })).projectId, "workspace:/broken")
        equal(yield* sessionIds({ workspace: "/broken/" }), ["t"])
      }).pipe(withServices(store, options))
    }),
  ),

  law("PRJ-04 A15 letters and drives are folded under the Windows policy and not under POSIX", (store) =>
    Effect.gen(function* () {
      const spellings = ["C:\\Work\\App", "c:\\work\\app", "\\\\?\\C:\\Work\\App", "C:/Work/App/"]
      yield* Effect.gen(function* () {
        const sessions = yield* Sessions
        yield* sessions.create({ id: "w", workspace: spellings[0]! })
        for (const workspace of spellings) equal(yield* sessionIds({ workspace }), ["w"], workspace)
        equal((yield* sessions.get("w")).workspaceDir, "C:\\Work\\App")
        equal((yield* Projects.use((projects) => projects.get("workspace:c:\\work\\app"))).name, "App")
      }).pipe(withServices(store, { paths: { style: "windows", resolve: Effect.succeed } }))
      yield* Effect.gen(function* () {
        const sessions = yield* Sessions
        yield* sessions.create({ id: "p", workspace: "/w/App" })
        equal(yield* sessionIds({ workspace: "/w/App" }), ["p"])
        equal(yield* sessionIds({ workspace: "/w/app" }), [])
      }).pipe(withServices(store))
    }),
  ),

  law("A16 a worktree is asked for by its directory, or with all others by their project", (store) =>
    Effect.gen(function* () {
      const sessions = yield* Sessions
      yield* atTime(1)(sessions.create({ id: "main", workspace: "/m" }))
      yield* atTime(2)(
        sessions.create({
          id: "tree",
          workspace: "/wt",
          projectId: "workspace:/m",
          runLocation: { kind: "new-worktree", branch: "feature", parentRepository: "/m" },
        }),
      )
      equal(yield* sessionIds({ workspace: "/m" }), ["main"])
      equal(yield* sessionIds({ workspace: "/wt" }), ["tree"])
      equal(yield* sessionIds({ projectId: "workspace:/m" }), ["tree", "main"])
      equal((yield* sessions.latest({ workspace: "/wt" }))?.id, "tree")
      equal(yield* projectIds(), ["workspace:/m"])
    }).pipe(withServices(store)),
  ),

  law("PRJ-02 what is no project, path or name is refused by name", (store) =>
    Effect.gen(function* () {
      const projects = yield* Projects
      yield* projects.ensureDefault()
      const refused: ReadonlyArray<readonly [string, Effect.Effect<unknown, unknown>]> = [
        ["workspace", projects.ensureForWorkspace("")],
        ["workspace", projects.ensureForWorkspace("/a\0b")],
        ["workspace", projects.ensureForWorkspace(7 as never)],
        ["projectId", projects.get("")],
        ["projectId", projects.rename("päth", "x")],
        ["name", projects.rename("default", "  ")],
        ["name", projects.rename("default", "x".repeat(201))],
        ["pinned", projects.pin("default", "yes" as never)],
        ["filter.colour", projects.list({ colour: 1 } as never)],
        ["move.to", projects.relocate({ from: "/a" } as never)],
        ["options.speed", projects.ensureDefault({ speed: 1 } as never)],
      ]
      for (const [field, call] of refused) {
        const error = yield* Effect.flip(call)
        equal({ tag: tagOf(error), field: (error as { field?: string }).field }, { tag: "InvalidInput", field })
      }
      for (const given of [null, 5, "x", [], true]) {
        const options = given as never
        for (const call of [
          projects.ensureDefault(options),
          projects.ensureForWorkspace("/w", options),
          projects.rename("default", "x", options),
          projects.pin("default", true, options),
          projects.hide("default", true, options),
          projects.relocate({ from: "/a", to: "/b" }, options),
        ]) {
          const error = yield* Effect.flip(call as Effect.Effect<unknown, unknown>)
          equal([tagOf(error), (error as { field?: string }).field], ["InvalidInput", "options"])
        }
      }
      equal(
        (yield* projects.list()).projects.map(({ id, name }) => [id, name]),
        [["default", "Default"]],
      )
    }).pipe(withServices(store)),
  ),

  lawWith({ needs: ["damage"] }, "PRJ-02 A22 a project that cannot be read hides no other, nor its sessions", (store) =>
    Effect.gen(function* () {
      yield* Effect.gen(function* () {
        const sessions = yield* Sessions
        yield* sessions.create({ id: "a", workspace: "/a" })
        yield* sessions.create({ id: "b", workspace: "/b" })
      }).pipe(atTime(1), withServices(store))
      yield* store.damage("project", ["workspace:/a"])
      yield* Effect.gen(function* () {
        const projects = yield* Projects
        const { degraded, projects: found } = yield* projects.list()
        equal([found.map(({ id }) => id), degraded.map(({ id }) => id)], [["workspace:/b"], ["workspace:/a"]])
        equal(yield* outcomeOf(projects.get("workspace:/a")), { failed: "Corrupt" })
        const page = yield* Sessions.use((sessions) => sessions.list())
        equal(
          page.sessions.map(({ id, projectName }) => [id, projectName]),
          [
            ["a", undefined],
            ["b", "b"],
          ],
        )
      }).pipe(withServices(store))
    }),
  ),
]
