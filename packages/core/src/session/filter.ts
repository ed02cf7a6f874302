/**
 * Which sessions a list is about, and where in the store they stand.
 *
 * Guarantee: a filter is exact. What an index does not say is tested on the rows, before they are counted.
 */
import * as z from "zod/mini"
import { bindingOf } from "../cursor.ts"
import { defaultProjectId, ProjectId } from "../project/model.ts"
import { placesOf, projectIdOf, WorkspacePath } from "../project/workspace.ts"
import type { Workspace } from "../project/workspace.ts"
import { key } from "../storage/key.ts"
import { SessionKind, SessionStatus } from "./model.ts"
import type { SessionRow, Shelf } from "./model.ts"

/** The kinds of session that people see in a list. */
export const listedKinds: ReadonlyArray<SessionKind> = ["channel", "conversation", "unknown"]

/** From `from` on and before `to`, in milliseconds since 1970. */
export interface TimeRange {
  readonly from?: number
  readonly to?: number
}

/** Fields that are absent do not filter, unless a default is named. */
export interface SessionFilter {
  /** A directory, however it is spelled. */
  readonly workspace?: string
  readonly projectId?: string
  readonly agent?: string
  readonly owner?: string
  /** Default: `conversation`, `channel` and `unknown`. */
  readonly kind?: SessionKind | ReadonlyArray<SessionKind>
  readonly type?: "root" | "branch"
  readonly source?: string
  /** The fields that are given must be so. */
  readonly channel?: { readonly type?: string; readonly account?: string; readonly peerId?: string }
  /** `null`: those without a group. */
  readonly group?: string | null
  /** Default `false`: those that are not. `"any"`: both. */
  readonly archived?: boolean | "any"
  /** Default `false`: those that are not. `"any"`: both. */
  readonly hidden?: boolean | "any"
  readonly pinned?: boolean
  readonly status?: SessionStatus | ReadonlyArray<SessionStatus>
  /** The session that started it; `null`: those that nobody started. */
  readonly parentId?: string | null
  readonly created?: TimeRange
  readonly activity?: TimeRange
  /** Stands in the title or the preview, letter by letter; capitals count as small letters. */
  readonly text?: string
}

const oneOrMore = <Schema extends z.ZodMiniType>(schema: Schema) => z.optional(z.union([schema, z.array(schema)]))
const Times = z.optional(z.strictObject({ from: z.optional(z.int()), to: z.optional(z.int()) }))
type CheckedTimes = NonNullable<z.output<typeof Times>>
const Either = z.optional(z.union([z.boolean(), z.literal("any")]))
const text = z.optional(z.string())

export const filterFields = {
  workspace: z.optional(WorkspacePath),
  projectId: z.optional(ProjectId),
  agent: text,
  owner: text,
  kind: oneOrMore(SessionKind),
  type: z.optional(z.enum(["root", "branch"])),
  source: text,
  channel: z.optional(z.strictObject({ type: text, account: text, peerId: text })),
  group: z.optional(z.nullable(z.string())),
  archived: Either,
  hidden: Either,
  pinned: z.optional(z.boolean()),
  status: oneOrMore(SessionStatus),
  parentId: z.optional(z.nullable(z.string())),
  created: Times,
  activity: Times,
  text,
}
const FilterInput = z.strictObject(filterFields)
export type CheckedFilter = z.output<typeof FilterInput>

/** A part of an index in which all rows have one shelf and, but for `byShelf`, one key. */
export type Source =
  | { readonly index: "byShelf"; readonly shelf: Shelf }
  | {
      readonly index: "byWorkspace" | "bySpelling" | "byProject" | "byOwner"
      readonly shelf: Shelf
      readonly key: string
    }

/** A filter, as a list works with it. */
export interface Query {
  /** Every session that fits is in at least one of these. */
  readonly sources: ReadonlyArray<Source>
  readonly activity: CheckedTimes
  /** The project that its sessions most likely belong to. */
  readonly projectId: string
  readonly matches: (row: Readonly<SessionRow>) => boolean
  /** What cursors of this query are bound to. */
  readonly binding: () => string
}

/** `owner` is the one that the list is bound to, `workspace` the located one of the filter. */
export const toQuery = (filter: CheckedFilter, owner: string | undefined, workspace: Workspace | undefined): Query => {
  const { activity = {}, archived = false, hidden = false } = filter
  const kinds = kindsOf(filter)
  const places = narrowest(filter, owner, workspace)
  const shelves = shelvesOf(archived, hidden, kinds)
  const isPlain = archived === false && hidden === false && kinds === listedKinds
  const tests = [
    ...(isPlain ? [] : shelfTests(archived, hidden, kinds)),
    ...fieldTests(filter, owner, places[0]!.index),
  ]
  return {
    sources: shelves.flatMap((shelf) => places.map((place): Source => ({ ...place, shelf }))),
    activity,
    projectId: filter.projectId ?? projectIdOf(workspace?.identity ?? defaultProjectId, owner),
    matches: (row) => tests.every((test) => test(row)),
    binding: () =>
      bindingOf({
        ...filter,
        archived: undefined,
        hidden: undefined,
        kind: undefined,
        shelves: isPlain ? undefined : [archived, hidden, kinds],
        owner,
        workspace: workspace?.spelledKey,
      }),
  }
}

const kindsOf = ({ kind }: CheckedFilter): ReadonlyArray<SessionKind> => {
  if (kind === undefined) return listedKinds
  const kinds = [...new Set([kind].flat())].toSorted()
  return kinds.join() === listedKinds.join() ? listedKinds : kinds
}

type Place = { readonly index: "byShelf" } | Omit<Exclude<Source, { readonly index: "byShelf" }>, "shelf">

/** The narrowest index that the filter admits. */
const narrowest = (
  filter: CheckedFilter,
  owner: string | undefined,
  workspace: Workspace | undefined,
): ReadonlyArray<Place> => {
  if (workspace !== undefined) return placesOf(workspace)
  if (filter.projectId !== undefined) return [{ index: "byProject", key: filter.projectId }]
  return owner === undefined ? [{ index: "byShelf" }] : [{ index: "byOwner", key: key(owner) }]
}

const internal: ReadonlyArray<SessionKind & Shelf> = ["task", "peek", "cron"]

/** Where sessions stand that are archived or not, hidden or not, and of one of these kinds: see `shelfOf`. */
const shelvesOf = (
  archived: boolean | "any",
  hidden: boolean | "any",
  kinds: ReadonlyArray<SessionKind>,
): ReadonlyArray<Shelf> => {
  const shelves: Array<Shelf> = archived === false ? [] : ["archived"]
  if (archived === true) return shelves
  if (kinds.some((kind) => listedKinds.includes(kind))) {
    if (hidden !== true) shelves.push("main")
    if (hidden !== false) shelves.push("hidden")
  }
  return [...shelves, ...internal.filter((kind) => kinds.includes(kind))]
}

type Test = Query["matches"]

/** What the shelves do not say: the archive holds all kinds, and other shelves what is hidden too. */
const shelfTests = (
  archived: boolean | "any",
  hidden: boolean | "any",
  kinds: ReadonlyArray<SessionKind>,
): ReadonlyArray<Test> => {
  const tests: Array<Test> = [(row) => kinds.includes(row.kind)]
  if (archived !== "any") tests.push((row) => row.archived === archived)
  if (hidden !== "any") tests.push((row) => (row.visibility === "hidden") === hidden)
  return tests
}

/** What the fields of a row have to be. Workspace and activity are said by the index. */
const fieldTests = (filter: CheckedFilter, owner: string | undefined, index: Source["index"]): ReadonlyArray<Test> => {
  const { agent, channel, created, group, parentId, pinned, projectId, source, type } = filter
  const statuses = filter.status === undefined ? undefined : [filter.status].flat()
  const needle = filter.text?.toLowerCase()
  const tests: Array<Test> = []
  if (projectId !== undefined && index !== "byProject") tests.push((row) => row.projectId === projectId)
  if (owner !== undefined && index !== "byOwner") tests.push((row) => row.owner === owner)
  if (agent !== undefined) tests.push((row) => row.agent === agent)
  if (type !== undefined) tests.push((row) => row.type === type)
  if (source !== undefined) tests.push((row) => row.source === source)
  if (pinned !== undefined) tests.push((row) => row.pinned === pinned)
  if (group !== undefined) tests.push((row) => (row.group ?? null) === group)
  if (parentId !== undefined) tests.push((row) => (row.parentId ?? null) === parentId)
  if (statuses !== undefined) tests.push((row) => statuses.includes(row.status))
  if (created !== undefined) tests.push((row) => isWithin(created, row.createdAt))
  if (needle !== undefined) {
    tests.push(({ preview, title = "" }) => [title, preview].some((line) => line.toLowerCase().includes(needle)))
  }
  for (const name of ["type", "account", "peerId"] as const) {
    const wanted = channel?.[name]
    if (wanted !== undefined) tests.push((row) => row.channel?.[name] === wanted)
  }
  return tests
}

const isWithin = ({ from, to }: CheckedTimes, time: number): boolean =>
  (from === undefined || time >= from) && (to === undefined || time < to)
