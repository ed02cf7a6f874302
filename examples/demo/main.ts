/**
 * Skein in two minutes: conversations of a real opencode database are brought in, one of them is continued, branched, taken
 * back and compacted, and a new process finds it all again.
 *
 * Ends with 1 when the second process sees anything else than the first.
 */
import { sqlite } from "@skein/adapter-sqlite"
import { Skein } from "@skein/core"
import { importAll } from "@skein/plugin-legacy-import"
import { opencode } from "@skein/plugin-legacy-import/opencode"
import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { line, table, tree } from "./draw.ts"
import { answer, editedAnswer, editedPrompt, lastAnswer, lastPrompt, prompt, summary } from "./script.ts"
import { styleFor, wantsColour } from "./terminal.ts"
import type { Style } from "./terminal.ts"

const database = fileURLToPath(new URL("../../test/fixtures/opencode-sqlite-v1/opencode.db", import.meta.url))
const workspace = "/home/dev/project-a"

const print = (...lines: ReadonlyArray<string>) => {
  for (const one of lines) process.stdout.write(one === "" ? "\n" : `  ${one}\n`)
}

/** What a process sees of a store and of one session in it. */
interface Seen {
  readonly lines: ReadonlyArray<string>
  /** All of it, where the lines are cut. Two processes have to agree on this. */
  readonly facts: string
}

const look = async (skein: Skein, id: string, style: Style): Promise<Seen> => {
  const [{ sessions }, session, branches, replayed, moves] = await Promise.all([
    skein.sessions.list(),
    skein.sessions.get(id),
    skein.heads.branches(id),
    skein.history.read(id),
    skein.heads.moves(id),
  ])
  const ways = await Promise.all(
    branches.map(async ({ branch, name = "", tip }) => {
      return { branch, name, messages: await skein.messages.path(id, tip, { limit: 500 }) }
    }),
  )
  const lines = [
    ...table(sessions, style),
    "",
    style.bold(session.title ?? "untitled"),
    ...tree(ways, session.head, style),
    "",
    `${branches.length} branches, ${moves.length} moves of the head, ${replayed.length} messages for the model.`,
  ]
  return { lines, facts: JSON.stringify({ sessions, session, ways, replayed, moves }) }
}

/** Does what the headings say, and answers what it sees at the end of the session it worked in. */
const first = async (url: string, style: Style): Promise<Seen & { readonly id: string }> => {
  let step = 0
  const heading = (text: string) => process.stdout.write(`\n${style.bold(style.green(`${++step} ${text}`))}\n`)
  const skein = await Skein.open(sqlite({ url }))
  try {
    heading("Import every conversation of an opencode database")
    const started = performance.now()
    const report = await skein.run(importAll(opencode({ database })))
    const { messages, outcomes, partial } = report
    print(
      `${outcomes.created} sessions with ${messages.stored} of ${messages.source} messages in ${Math.round(performance.now() - started)} ms` +
        `${partial ? "; the report says what is missing" : ", nothing is missing"}.`,
      ...report.sessions.flatMap(({ remarks }) => remarks).map(({ kind, reason }) => style.dim(`${kind}: ${reason}`)),
    )
    const again = await skein.run(importAll(opencode({ database })))
    print(`Once more: ${again.messages.added} new, nothing twice.`)

    heading("List them")
    print(...table((await skein.sessions.list()).sessions, style))

    heading(`Open the latest of ${workspace}`)
    const session = await skein.sessions.latest({ workspace })
    if (session === undefined) throw new Error(`no session of ${workspace}`)
    const { id } = session
    const show = async () => {
      const { head } = await skein.sessions.get(id)
      print(...(await skein.messages.page(id, { limit: 4 })).messages.map((message) => line(message, 76, style, head)))
    }
    print(style.bold(session.title ?? "untitled"))
    await show()

    heading("Say something, and get an answer")
    const said = await skein.messages.append(id, prompt)
    const answered = await skein.messages.append(id, answer)
    await show()

    heading("Say it differently: the same place again, a new branch, nothing overwritten")
    const [before] = await skein.messages.path(id, said.id, { limit: 2 })
    await skein.heads.checkout(id, before?.id ?? null)
    const edited = await skein.messages.append(id, editedPrompt)
    const better = await skein.messages.append(id, editedAnswer)
    await show()
    const { index, messages: siblings } = await skein.messages.siblings(id, edited.id)
    print(style.dim(`This is prompt ${index + 1} of ${siblings.length} at its place.`))
    await skein.heads.nameBranch(id, answered.branch, "in the background")
    await skein.heads.nameBranch(id, better.branch, "skip the steps")

    heading("Undo")
    await skein.heads.undo(id)
    await show()

    heading("Redo")
    await skein.heads.redo(id)
    await show()

    heading("Compact, and go on")
    const full = await skein.history.read(id)
    await skein.history.compact(id, { summary, keepFrom: edited.id })
    const compacted = await skein.history.read(id)
    await skein.messages.append(id, lastPrompt)
    await skein.messages.append(id, lastAnswer)
    print(
      `The model was given ${full.length} messages, and then ${compacted.length}: the summary and what it kept. People see all:`,
    )
    await show()

    heading("The whole picture")
    const seen = await look(skein, id, style)
    print(...seen.lines)
    return { ...seen, id }
  } finally {
    await skein.close()
  }
}

/** Another process, which knows where the store is and which session to look at, and nothing else. */
const second = async (url: string, id: string, colour: boolean): Promise<void> => {
  const skein = await Skein.open(sqlite({ url }))
  try {
    process.stdout.write(JSON.stringify(await look(skein, id, styleFor(colour))))
  } finally {
    await skein.close()
  }
}

const demo = async (): Promise<boolean> => {
  const started = performance.now()
  const colour = wantsColour()
  const style = styleFor(colour)
  const directory = mkdtempSync(join(tmpdir(), "skein-demo-"))
  const url = `file:${join(directory, "demo.db")}`
  process.stdout.write(`${style.bold("Skein")}, the session layer for AI agents. This store is ${url}\n`)
  try {
    const { facts, id } = await first(url, style)
    process.stdout.write(`\n${style.bold(style.green("A new process, over the same file"))}\n`)
    const again = [...process.execArgv, fileURLToPath(import.meta.url), url, id, String(colour)]
    const child = spawnSync(process.execPath, again, { encoding: "utf8" })
    if (child.status !== 0) throw new Error(`the second process failed: ${child.stderr}`)
    const seen = JSON.parse(child.stdout) as Seen
    const isSame = seen.facts === facts
    const seconds = ((performance.now() - started) / 1_000).toFixed(1)
    print(
      ...seen.lines,
      "",
      isSame ? style.green(`It sees the same. All this took ${seconds} s.`) : style.red("It does not see the same."),
    )
    return isSame
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

const [url, id, colour] = process.argv.slice(2)
if (url !== undefined && id !== undefined) await second(url, id, colour === "true")
else process.exitCode = (await demo()) ? 0 : 1
