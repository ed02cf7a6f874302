import { History } from "@skein/core/history"
import * as Effect from "effect/Effect"
import { dirname } from "node:path"
import { beforeAll, describe, expect, it } from "vitest"
import { importAll } from "../src/index.ts"
import type { ImportReport } from "../src/index.ts"
import { opencode } from "../src/opencode/index.ts"
import {
  alter,
  contentOf,
  copyOfFixture,
  expected,
  filesIn,
  importInto,
  insert,
  message,
  openStore,
  scenario,
  session,
  shownIn,
  userSaid,
} from "./support.ts"
import { Skein } from "@skein/core"
import { memory } from "@skein/adapter-memory"

interface OpencodeMetadata {
  readonly opencode: {
    readonly cost?: number
    readonly tokens?: { input: number; output: number; reasoning: number; cache: { read: number; write: number } }
  }
}

describe("a database written by opencode 1.18", () => {
  let skein: Skein
  let report: ImportReport
  beforeAll(async () => {
    skein = await Skein.open(memory(), { verify: true })
    report = await skein.run(importAll(opencode({ database: fixtureFile })))
    return () => skein.close()
  })
  const fixtureFile = new URL("../../../test/fixtures/opencode-sqlite-v1/opencode.db", import.meta.url).pathname

  it("IMP-04 comes in whole, and the report counts what the source has", () => {
    expect(report).toMatchObject({
      source: "opencode",
      partial: false,
      remarks: [],
      outcomes: { created: expected.totals["session"], updated: 0, unchanged: 0, failed: 0, deleted: 0 },
      messages: { source: expected.totals["message"], stored: expected.totals["message"], added: 47, deleted: 0 },
    })
  })

  it.each(expected.sessions)(
    "IMP-05 $title: title, times, parent, workspace, agent, model and archive flag",
    async (one) => {
      const stored = await skein.sessions.get(one.id)
      const isUntitled = one.title.startsWith("New session - ")

      expect(stored).toMatchObject({
        titleOrigin: isUntitled ? "none" : "manual",
        createdAt: one.time_created,
        updatedAt: one.time_updated,
        workspaceDir: one.directory,
        archived: one.archived !== null,
        kind: one.parent_id === null ? "conversation" : "task",
        origin: "opencode",
        readiness: "ready",
        counts: { entries: one.revert_messageID === null ? one.messages : 3 },
      })
      expect(stored.title).toBe(isUntitled ? undefined : one.title)
      expect(stored.parentId ?? null).toBe(one.parent_id)
      expect(stored.agent ?? null).toBe(one.agent)
      const { id, providerID, variant } = one.model ?? {}
      expect(stored.model).toEqual(id === undefined ? undefined : { provider: providerID, model: id, variant })
      expect(stored.metadata).toMatchObject({ opencode: one.todos.length > 0 ? { todos: one.todos } : {} })
    },
  )

  it.each(expected.sessions)("IMP-05 $title: its messages, in their order, with tokens and cost", async (one) => {
    const ids = one.message_ids_in_time_order
    const last = ids.at(-1)
    if (last !== undefined) await skein.heads.checkout(one.id, last)
    const page = await shownIn(skein, one.id)
    const all = await Promise.all(ids.map((id) => skein.messages.get(one.id, id)))

    expect(all.map(({ id }) => id)).toEqual(ids)
    // The one that nobody sees tells the model what its user ran in a shell.
    expect(page.map(({ id }) => id)).toEqual(ids.filter((id) => id !== "msg_22b999ac3001X3GZVQP8pLfJje"))
    const usage = all.map(({ metadata }) => (metadata as OpencodeMetadata).opencode)
    const sum = (count: (of: NonNullable<(typeof usage)[number]["tokens"]>) => number) =>
      usage.reduce((total, { tokens }) => total + (tokens === undefined ? 0 : count(tokens)), 0)
    expect({
      input: sum(({ input }) => input),
      output: sum(({ output }) => output),
      reasoning: sum(({ reasoning }) => reasoning),
      cache_read: sum(({ cache }) => cache.read),
      cache_write: sum(({ cache }) => cache.write),
    }).toEqual(one.tokens)
    expect(usage.reduce((total, { cost = 0 }) => total + cost, 0)).toBeCloseTo(one.assistant_cost_sum, 10)
    if (last !== undefined) await skein.heads.undo(one.id)
  })

  it.each(expected.sessions)(
    "HIS-02 $title: every call is replayed with one result, and nothing has to be repaired",
    async (one) => {
      const last = one.message_ids_in_time_order.at(-1)
      if (last !== undefined) await skein.heads.checkout(one.id, last)
      const { messages, repairs } = await skein.run(Effect.flatMap(History, (history) => history.read(one.id)))
      const parts = (messages as ReadonlyArray<{ content: string | ReadonlyArray<Record<string, string>> }>).flatMap(
        ({ content }) => (typeof content === "string" ? [] : content),
      )
      const calls = parts.filter(({ type }) => type === "tool-call").map(({ id }) => id)
      const results = parts.filter(({ type }) => type === "tool-result").map(({ callId }) => callId)

      expect(repairs).toEqual([])
      expect(results).toEqual(calls)
      // The calls of the session that was compacted stand before its summary.
      const made = Object.values(one.tools).reduce((sum, count) => sum + count, 0)
      expect(calls).toHaveLength(one.id === scenario["adder"] ? 0 : made)
      if (last !== undefined) await skein.heads.undo(one.id)
    },
  )

  it("IMP-05 a compaction is one here: its summary stands for what came before it", async () => {
    const id = scenario["adder"]!
    const replayed = JSON.stringify(await skein.history.read(id))

    expect(replayed).toContain("Keep the adder correct.")
    expect(replayed).toContain("Now go on after the summary")
    expect(replayed).not.toContain("Fix the adder in src/add.ts")
    const [question, answer] = (await shownIn(skein, id)).slice(7, 9)
    expect([question?.kind, answer?.kind, answer?.compaction?.summary.slice(0, 7)]).toEqual([
      "note",
      "compaction",
      "## Goal",
    ])
    expect((await skein.messages.prompts(id)).map(({ text }) => text)).toEqual([
      "Now go on after the summary",
      "Add a test for it",
      "Fix the adder in src/add.ts",
    ])
  })

  it("IMP-05 tools that failed, thoughts, files and text in any script are as they were", async () => {
    const [, answer] = await shownIn(skein, scenario["fork"]!)
    expect(answer?.display).toMatchObject({
      role: "assistant",
      content: [
        { type: "reasoning", text: "The file subtracts. I need to look first." },
        { type: "text", text: "Let me look." },
        { type: "tool-call", id: "call_0002_0", name: "read", input: { filePath: "/home/dev/project-a/src/add.ts" } },
        { type: "tool-call", id: "call_0002_1" },
        { type: "tool-result", callId: "call_0002_0", output: expect.stringContaining("a - b") },
        {
          type: "tool-result",
          callId: "call_0002_1",
          output: "File not found: /home/dev/project-a/src/missing.ts",
          isError: true,
        },
      ],
    })

    const [prompt, summary] = await shownIn(skein, scenario["attach"]!)
    expect(prompt?.display).toEqual({
      role: "user",
      content: [
        { type: "text", text: "添付を見て要約して" },
        { type: "file", mime: "text/plain", name: "notes.txt", url: "file:///home/dev/project-a/notes.txt" },
        { type: "file", mime: "image/png", name: "ピクセル.png", data: expect.stringMatching(/^iVBOR.*==$/) },
      ],
    })
    const model = JSON.stringify(prompt?.model)
    expect(model).toContain("Called the Read tool")
    expect(model).toContain("image/png")
    expect(model).not.toContain("file:///")
    expect(JSON.stringify(summary?.display)).toContain("👩‍👩‍👧‍👦 🇯🇵")
  })

  it("IMP-05 a staged revert: the session stands before it, and what was behind is still there", async () => {
    const id = scenario["revert"]!
    expect((await skein.sessions.get(id)).head).toBe("msg_22b998c91001WcNOz8f1sI1ZcB")
    expect(await shownIn(skein, id)).toHaveLength(3)

    await skein.heads.checkout(id, "msg_22b998e38001d58ikNbboCvklz")
    expect(await shownIn(skein, id)).toHaveLength(6)
    await skein.heads.undo(id)
  })

  it("IMP-05 what was running is interrupted, what was aborted or failed says so", async () => {
    const statuses = ["kill", "aborted", "b", "adder", "empty"].map(async (name) => {
      const { error, status } = await skein.sessions.get(scenario[name]!)
      return [name, status, error?.code]
    })
    expect(await Promise.all(statuses)).toEqual([
      ["kill", "interrupted", undefined],
      ["aborted", "aborted", undefined],
      ["b", "failed", "APIError"],
      ["adder", "idle", undefined],
      ["empty", "idle", undefined],
    ])
    expect((await shownIn(skein, scenario["kill"]!)).at(-1)?.display).toMatchObject({
      content: [
        { type: "text" },
        { type: "tool-call", id: "call_0030_0" },
        { type: "tool-result", callId: "call_0030_0", isError: true, output: expect.stringContaining("interrupted") },
      ],
    })
    const named = report.sessions.find(({ id }) => id === scenario["kill"])?.remarks
    expect(named).toMatchObject([{ kind: "repaired", position: "message msg_22b99aae7001Ih8XSaQE7Az6zg" }])
  })

  it("IMP-05 an error is kept without what may hold keys", async () => {
    const last = (await shownIn(skein, scenario["b"]!)).at(-1)
    expect(last?.display).toEqual({
      role: "assistant",
      content: [
        {
          type: "other",
          format: "opencode",
          value: { type: "error", name: "APIError", message: "mock bad request", statusCode: 400, isRetryable: false },
        },
      ],
    })
    expect(last?.model).toBeUndefined()
    expect(await contentOf(skein)).not.toMatch(/req-mock-1|responseHeaders|invalid_request_error/)
  })

  it("PRJ-01 sessions belong to the projects of the directories they worked in", async () => {
    const { sessions } = await skein.sessions.list({ workspace: "/home/dev/project-b" })
    expect(sessions.map(({ id }) => id)).toEqual([scenario["empty"], scenario["aborted"], scenario["b"]])
    expect(sessions[0]?.projectName).toBe("project-b")
    expect((await skein.sessions.children(scenario["parent"]!)).nodes).toMatchObject([
      { session: { id: scenario["child_of_parent"] } },
    ])
  })
})

describe("importing again", () => {
  it("A69 and IMP-03 writes nothing where nothing is new", async () => {
    const database = copyOfFixture()
    const skein = await openStore()
    await importInto(skein, database)
    const before = await contentOf(skein)

    const report = await importInto(skein, database)

    expect(report).toMatchObject({
      outcomes: { unchanged: 11 },
      messages: { source: 47, stored: 47, added: 0 },
      partial: false,
    })
    expect(report.sessions.filter(({ remarks }) => remarks.length > 0)).toHaveLength(2)
    expect(await contentOf(skein)).toBe(before)
  })

  it("A69 and IMP-03 adds exactly what is new when the source has grown, and keeps what was changed here", async () => {
    const database = copyOfFixture()
    const skein = await openStore()
    await importInto(skein, database)
    const web = scenario["web"]!
    const child = scenario["child_of_parent"]!
    await skein.sessions.rename(web, "Mine")
    await skein.messages.append(child, { id: "mine", body: { role: "user", content: "said here" } })
    const later = 1_796_027_830_000
    alter(
      database,
      ...message(web, "msg_new1", later, ...userSaid("one more")),
      ...message(child, "msg_new2", later, ...userSaid("and one here")),
      `UPDATE session SET title = 'Theirs', time_updated = ${later} WHERE id = '${web}'`,
      session("ses_new", later),
      ...message("ses_new", "msg_new3", later, ...userSaid("a new one")),
    )

    const report = await importInto(skein, database)

    expect(report).toMatchObject({
      outcomes: { created: 1, updated: 2, unchanged: 9, failed: 0, deleted: 0 },
      messages: { source: 50, stored: 50, added: 3 },
      partial: false,
    })
    expect(await skein.sessions.get(web)).toMatchObject({ title: "Mine", head: "msg_new1", preview: "one more" })
    expect((await skein.sessions.get(child)).head).toBe("mine")
    expect((await skein.messages.siblings(child, "msg_new2")).messages.map(({ id }) => id)).toEqual([
      "mine",
      "msg_new2",
    ])
  })

  it("DEL-03 what was deleted here stays so, until it is to be restored", async () => {
    const database = copyOfFixture()
    const skein = await openStore()
    await importInto(skein, database)
    const id = scenario["kill"]!
    const before = await shownIn(skein, id)
    await skein.sessions.delete(id)
    alter(database, `UPDATE session SET title = 'Theirs', time_updated = 1796027900000 WHERE id = '${id}'`)

    expect(await importInto(skein, database)).toMatchObject({
      outcomes: { created: 0, updated: 0, failed: 0, deleted: 1 },
      partial: false,
    })
    await expect(skein.sessions.get(id)).rejects.toMatchObject({ _tag: "SessionDeleted" })

    const restored = await skein.run(importAll(opencode({ database }), { restore: true }))
    expect(restored).toMatchObject({ outcomes: { created: 1, deleted: 0 }, partial: false })
    expect(await shownIn(skein, id)).toEqual(before)
  })

  it("IMP-03 what was unfinished comes in its later version", async () => {
    const database = copyOfFixture()
    const skein = await openStore()
    await importInto(skein, database)
    const id = scenario["kill"]!
    alter(
      database,
      `UPDATE part SET time_updated = 1796027900000, data = json_set(data, '$.state.status', 'completed', '$.state.output', 'all done')
       WHERE session_id = '${id}' AND data LIKE '%call_0030_0%'`,
      `UPDATE message SET time_updated = 1796027900000, data = json_set(data, '$.time.completed', 1796027900000)
       WHERE id = 'msg_22b99aae7001Ih8XSaQE7Az6zg'`,
    )

    expect(await importInto(skein, database)).toMatchObject({ outcomes: { updated: 1 }, messages: { added: 1 } })

    expect(JSON.stringify(await skein.history.read(id))).toContain("all done")
    expect((await skein.sessions.get(id)).status).toBe("idle")
    expect(await shownIn(skein, id)).toHaveLength(2)
  })
})

describe("what is damaged at the source", () => {
  it("A71 and IMP-04 is named, and costs nothing else", async () => {
    const time = 1_796_027_900_000
    const database = copyOfFixture(
      session("ses_damaged", time),
      ...message("ses_damaged", "msg_1", time + 1, ...userSaid("first")),
      ...message("ses_damaged", "msg_2", time + 2, "{ not json", { type: "text", text: "gone" }),
      ...message("ses_damaged", "msg_3", time + 3, { role: "narrator" }),
      ...message("ses_damaged", "msg_4", time + 4, { role: "user" }, "[1]", { type: "text", text: "kept" }),
      ...message("ses_damaged", "msg_5", time + 5, { role: "user" }, { type: "hologram", shape: "cube" }),
      ...message("ses_damaged", "msg_6", time + 6, { role: "assistant" }, { type: "tool", tool: "bash", state: 7 }),
      ...message("ses_damaged", "msg_7", time + 7, ...userSaid("last")),
      session("ses_orphan", time, { parent_id: "ses_nowhere", title: "" }),
      session("ses_blank", time, { title: " ", directory: "" }),
      `UPDATE session SET title = CAST(x'66ff6f' AS TEXT) WHERE id = 'ses_blank'`,
    )
    const skein = await openStore()

    const report = await importInto(skein, database)

    expect(report).toMatchObject({
      partial: true,
      outcomes: { created: 14, failed: 0 },
      messages: { source: 54, stored: 52 },
    })
    const damaged = report.sessions.find(({ id }) => id === "ses_damaged")
    expect(damaged).toMatchObject({ partial: true, messages: { source: 7, stored: 5 } })
    expect(damaged?.remarks.map(({ kind, position }) => `${kind}: ${position}`)).toEqual([
      "lost: message msg_2",
      "lost: message msg_3",
      "lost: message msg_4, part msg_4_0",
      "repaired: message msg_5",
      "repaired: message msg_6",
    ])
    expect((await shownIn(skein, "ses_damaged")).map(({ id }) => id)).toEqual([
      "msg_1",
      "msg_4",
      "msg_5",
      "msg_6",
      "msg_7",
    ])
    expect(await skein.sessions.get("ses_orphan")).toMatchObject({ kind: "conversation", titleOrigin: "none" })
    expect(await skein.sessions.get("ses_blank")).toMatchObject({ title: "f\ufffdo", projectId: "default" })

    // It says so again, although nothing is read again.
    expect(await importInto(skein, database)).toMatchObject({ partial: true, outcomes: { unchanged: 14 } })
  })

  it("IMP-04 one session that cannot be stored fails alone, and is tried again", async () => {
    const database = copyOfFixture()
    const skein = await openStore()
    await skein.sessions.create({ id: scenario["web"]!, title: "Made here" })

    const report = await importInto(skein, database)

    expect(report).toMatchObject({ partial: true, outcomes: { created: 10, failed: 1 } })
    expect(report.sessions.find(({ outcome }) => outcome === "failed")).toMatchObject({
      id: scenario["web"],
      remarks: [{ kind: "lost", reason: expect.stringContaining("taken by another content") }],
    })
    expect((await skein.sessions.get(scenario["web"]!)).title).toBe("Made here")
    expect(await importInto(skein, database)).toMatchObject({ outcomes: { unchanged: 10, failed: 1 } })
  })

  it.each([
    ["a part of a compaction that was never answered", [{ type: "compaction", auto: true }], undefined],
    ["a compaction whose tail is not there", [{ type: "compaction", tail_start_id: "msg_nowhere" }], "Summed up."],
    ["a summary that is empty", [{ type: "compaction" }], " "],
  ])("IMP-05 %s hides nothing", async (_, question, answer) => {
    const time = 1_796_027_900_000
    const database = copyOfFixture(
      session("ses_c", time),
      ...message("ses_c", "msg_1", time + 1, ...userSaid("first")),
      ...message("ses_c", "msg_2", time + 2, { role: "user" }, ...question),
      ...(answer === undefined
        ? []
        : message(
            "ses_c",
            "msg_3",
            time + 3,
            { role: "assistant", summary: true, parentID: "msg_2", time: { created: 1, completed: 2 } },
            { type: "text", text: answer },
          )),
      ...message("ses_c", "msg_4", time + 4, ...userSaid("last")),
    )
    const skein = await openStore()
    await importInto(skein, database)

    expect(await skein.history.read("ses_c")).toEqual([
      { role: "user", content: "first" },
      { role: "user", content: "last" },
    ])
  })

  it("IMP-05 a compaction keeps its tail", async () => {
    const time = 1_796_027_900_000
    const database = copyOfFixture(
      session("ses_c", time),
      ...message("ses_c", "msg_1", time + 1, ...userSaid("first")),
      ...message("ses_c", "msg_2", time + 2, ...userSaid("second")),
      ...message("ses_c", "msg_3", time + 3, { role: "user" }, { type: "compaction", tail_start_id: "msg_2" }),
      ...message(
        "ses_c",
        "msg_4",
        time + 4,
        { role: "assistant", summary: true, parentID: "msg_3", time: { created: 1, completed: 2 } },
        { type: "text", text: "Summed up." },
      ),
    )
    const skein = await openStore()
    await importInto(skein, database)

    const [summary, ...tail] = await skein.history.read("ses_c")
    expect(JSON.stringify(summary)).toContain("Summed up.")
    expect(tail).toEqual([{ role: "user", content: "second" }])
  })

  it("IMP-05 messages keep their order where opencode's ids begin again, and where their times are equal", async () => {
    const wrap = Date.UTC(2026, 7, 14, 11, 19, 55, 136)
    const database = copyOfFixture(
      session("ses_wrap", wrap - 10),
      ...message("ses_wrap", "msg_fffffffff000AAAAAAAAAAAAAA", wrap - 1, ...userSaid("before")),
      ...message("ses_wrap", "msg_000000000001AAAAAAAAAAAAAA", wrap, ...userSaid("after")),
      ...message("ses_wrap", "msg_z", wrap + 1, ...userSaid("one")),
      ...message("ses_wrap", "msg_a", wrap + 1, ...userSaid("two")),
    )
    const skein = await openStore()
    await importInto(skein, database)

    expect((await skein.messages.prompts("ses_wrap")).map(({ text }) => text)).toEqual([
      "two",
      "one",
      "after",
      "before",
    ])
  })
})

describe("secrets", () => {
  it("IMP-05 of accounts, credentials, shares and response headers are in no row", async () => {
    const secret = "SECRET-7f3a-DO-NOT-IMPORT"
    const time = 1_796_027_900_000
    const database = copyOfFixture(
      insert("account", {
        id: "a",
        email: `${secret}@example.com`,
        url: secret,
        access_token: secret,
        refresh_token: secret,
        time_created: 1,
        time_updated: 1,
      }),
      insert("credential", { id: "c", label: secret, value: secret, time_created: 1, time_updated: 1 }),
      insert("session_share", {
        session_id: scenario["b"]!,
        id: "s",
        secret,
        url: `https://example.com/${secret}`,
        time_created: 1,
        time_updated: 1,
      }),
      `UPDATE session SET share_url = '${secret}', permission = '"${secret}"' WHERE id = '${scenario["b"]}'`,
      ...message(scenario["b"]!, "msg_error", time, {
        role: "assistant",
        error: {
          name: "APIError",
          data: {
            message: "no",
            responseHeaders: { authorization: secret },
            responseBody: secret,
            metadata: { url: secret },
          },
        },
      }),
    )
    const skein = await openStore()
    await importInto(skein, database)

    const content = await contentOf(skein)
    expect(content).toContain("msg_error")
    expect(content).not.toContain(secret)
  })
})

describe("what opencode's database may be", () => {
  it("IMP-05 columns that a version does not have are absent", async () => {
    const time = 1_700_000_000_000
    const database = copyOfFixture(
      "DROP TABLE part",
      "DROP TABLE message",
      "DROP TABLE session",
      "DROP TABLE todo",
      "CREATE TABLE session (id text PRIMARY KEY, title text, time_created real)",
      "CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created integer, data text)",
      "CREATE TABLE part (id text PRIMARY KEY, message_id text, time_created integer, data text)",
      insert("session", { id: "ses_old", title: "Old", time_created: time + 0.5 }),
      insert("message", { id: "msg_old", session_id: "ses_old", time_created: time, data: `{"role":"user"}` }),
      insert("part", { id: "prt_old", message_id: "msg_old", time_created: time, data: `{"type":"text","text":"hi"}` }),
    )
    const skein = await openStore()

    expect(await importInto(skein, database)).toMatchObject({ partial: false, outcomes: { created: 1 } })
    expect(await skein.sessions.get("ses_old")).toMatchObject({ createdAt: time, projectId: "default", preview: "hi" })
  })

  it("IMP-04 sessions of opencode 2 in the same file are named as not read", async () => {
    const database = copyOfFixture("CREATE TABLE session_v2 (id text)", "INSERT INTO session_v2 VALUES ('x'), ('y')")
    const skein = await openStore()

    expect(await importInto(skein, database)).toMatchObject({
      partial: true,
      remarks: [{ kind: "lost", reason: expect.stringContaining("2 sessions of opencode 2") }],
    })
  })

  it.each([
    ["no such file", () => `${dirname(copyOfFixture())}/nothing.db`, "cannot be found"],
    ["a file that is no database", () => new URL(import.meta.url).pathname, "is no SQLite database"],
    ["another program's database", () => copyOfFixture("DROP TABLE part"), "has no table part"],
    [
      "a database without what matters",
      () => copyOfFixture("ALTER TABLE message RENAME data TO body"),
      "has no column data",
    ],
  ])("IMP-04 %s is refused with a sentence", async (_, database, problem) => {
    const skein = await openStore()
    const refused = await importInto(skein, database()).catch((error: unknown) => error)
    expect(refused).toMatchObject({ _tag: "SourceFailed", problem: expect.stringContaining(problem) })
    expect((await skein.sessions.list()).sessions).toEqual([])
  })

  it("IMP-07 keeps its bytes and names", async () => {
    const database = copyOfFixture()
    const before = filesIn(dirname(database))
    await importInto(await openStore(), database)
    expect(filesIn(dirname(database))).toEqual(before)
  })
})
