import { descInt, index, int, table, text, unique } from "@skein/core/storage"
import type { AnyTable, Bound, Index, KeyPart } from "@skein/core/storage"
import { expect, it } from "vitest"
import * as z from "zod/mini"
import { boundValues, formAmongOthers, formOf, isEmpty } from "../src/bounds.ts"
import { createStatements, indexName, orderOf } from "../src/layout.ts"
import { libsql } from "../src/libsql.ts"
import { getSql, joinedRangeSql, manyRangesSql, singleRowsSql } from "../src/read-sql.ts"
import type { RangeForm } from "../src/read-sql.ts"
import { removalSql, updateSql, writeSql } from "../src/writes.ts"

const Row = z.object({
  tree: z.string(),
  branch: z.number(),
  pos: z.number(),
  id: z.string(),
  at: z.number(),
  label: z.optional(z.string()),
})
const Entry = table("entry", {
  row: Row,
  key: [text("tree"), int("branch"), int("pos")],
  indexes: {
    byId: unique(text("tree"), text("id")),
    byUid: unique(text("id")),
    byAge: index(text("label"), descInt("at")),
    byLabel: index(text("tree"), text("label")),
    byBranch: index(int("branch")),
    byReverse: index(descInt("branch"), descInt("pos")),
  },
})
const Counter = table("counter", {
  row: z.object({ n: z.number(), label: z.optional(z.string()) }),
  key: [int("n")],
  indexes: { byLabel: index(text("label")) },
})
const Name = table("name", { row: z.object({ id: z.string() }), key: [text("id")] })
const tables: ReadonlyArray<AnyTable> = [Entry, Counter, Name]

const database = libsql(":memory:")
for (const table of tables) for (const statement of createStatements(table)) database.exec(statement)

/** The steps of SQLite's plan. */
const planOf = (sql: string) =>
  database
    .prepare(`EXPLAIN QUERY PLAN ${sql}`)
    .all([])
    .map((row) => String(row[3]))

const a: Record<string, KeyPart> = { text: "m", int: 5 }
const b: Record<string, KeyPart> = { text: "n", int: 9 }

/** Bounds of every length and kind, with the same and with other first parts. */
const boundsOf = (table: AnyTable, of: Index | undefined): ReadonlyArray<Bound | undefined> => {
  const kinds = orderOf(table, of).map(({ kind }) => (kind === "text" ? "text" : "int"))
  const keys = kinds.flatMap((_, length) => {
    const start = kinds.slice(0, length + 1)
    const same = start.map((kind) => a[kind]!)
    return [same, [...same.slice(0, -1), b[start.at(-1)!]!], start.map((kind) => b[kind]!)]
  })
  return [undefined, ...keys.flatMap((key) => [true, false].map((inclusive) => ({ key, inclusive })))]
}

interface Case {
  readonly name: string
  readonly forms: ReadonlyArray<RangeForm & { readonly bounded: boolean }>
}

const cases: ReadonlyArray<Case> = tables.flatMap((table) =>
  [undefined, ...table.indexes].map((index): Case => {
    const bounds = boundsOf(table, index)
    const forms = bounds.flatMap((lower) =>
      bounds.flatMap((upper) =>
        [formOf, formAmongOthers].flatMap((make) =>
          [true, false].map((reverse) => {
            const form = make({ lower, upper })
            return { table, index, form, reverse, bounded: boundValues({ lower, upper }, form).length > 0 }
          }),
        ),
      ),
    )
    const seen = new Set<string>()
    const distinct = forms.filter(
      ({ form, reverse }) => !seen.has(`${form} ${reverse}`) && seen.add(`${form} ${reverse}`),
    )
    return { name: `${table.name} by ${index?.name ?? "key"}`, forms: distinct }
  }),
)

/** How a plan says that it follows the order's own index, from bound to bound. */
const follows = (alias: string, { bounded, index, table }: Case["forms"][number]): RegExp => {
  const isRowId = index === undefined && table.key.length === 1 && table.key[0]!.kind === "int"
  const name = index === undefined ? `sqlite_autoindex_${table.name}_1` : indexName(table, index)
  const using = isRowId ? "( USING INTEGER PRIMARY KEY)?" : ` USING (COVERING )?INDEX ${name}`
  return new RegExp(`^${bounded ? "SEARCH" : "(SEARCH|SCAN)"} ${alias}${using}`)
}

/** What is wrong with the plans of a form. */
const problemsOf = (form: Case["forms"][number]): ReadonlyArray<unknown> => {
  const isOrdered = (plan: ReadonlyArray<string>, alias: string) =>
    plan.filter((step) => follows(alias, form).test(step)).length === 1 &&
    !plan.some((step) => step.includes("TEMP B-TREE"))
  const goesByRowId = (plan: ReadonlyArray<string>) =>
    plan.some((step) => step.startsWith("SEARCH t USING INTEGER PRIMARY KEY"))
  const [joined, single, many] = [joinedRangeSql(form), singleRowsSql(form), manyRangesSql(form)].map(planOf)
  return [
    ...(isOrdered(joined!, "t") ? [] : [joined]),
    ...(isOrdered(single!, "t") ? [] : [single]),
    ...(isOrdered(many!, "x") && goesByRowId(many!) ? [] : [many]),
  ]
}

it.each(cases)("STO-03 $name: $forms.length forms of bounds, each served by its index without a sort", ({ forms }) => {
  expect(forms.flatMap(problemsOf)).toEqual([])
})

it("STO-03 a bound of several parts narrows the index in all of them", () => {
  const plan = (lower: Bound, upper: Bound) =>
    planOf(singleRowsSql({ table: Entry, index: undefined, form: formOf({ lower, upper }), reverse: false }))[0]
  const bound = (inclusive: boolean, ...key: ReadonlyArray<KeyPart>) => ({ key, inclusive })
  expect(plan(bound(true, "t", 1, 5), bound(true, "t", 1, 9))).toContain("(tree=? AND branch=? AND pos>? AND pos<?)")
  expect(plan(bound(true, "t", 1, 5), bound(true, "t"))).toContain("(tree=? AND (branch,pos)>(?,?))")
  expect(plan(bound(false, "t", 1, 5), bound(true, "u", 2))).toContain("((tree,branch,pos)>(?,?,?)")
})

it("STO-03 reading, changing and removing by key is a search of the key", () => {
  for (const table of tables) {
    const statements = [getSql(table), updateSql(table, -1), updateSql(table, 0), writeSql.Remove(table)]
    for (const plan of statements.map(planOf)) {
      expect(plan.join()).toMatch(/^SEARCH \w+ USING (INDEX sqlite_auto|INTEGER PRIMARY)/)
    }
  }
  for (const { forms } of cases.filter(({ forms }) => forms[0]!.index === undefined)) {
    for (const form of forms.filter(({ bounded }) => bounded)) {
      expect(planOf(removalSql(form.table, form.form)).join()).toMatch(/^SEARCH/)
    }
  }
})

it("STO-03 the empty key bounds nothing when it is inclusive, and everything when it is not", () => {
  const empty = (inclusive: boolean) => ({ key: [], inclusive })
  expect(isEmpty({ lower: empty(true), upper: empty(true) })).toBe(false)
  expect(isEmpty({ lower: empty(false), upper: undefined })).toBe(true)
  expect(isEmpty({ lower: undefined, upper: empty(false) })).toBe(true)
})
