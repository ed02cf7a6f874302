/**
 * The tables most laws use, and the programs they share.
 */
import { descInt, index, int, table, text, Tx, unique } from "@skein/core/storage"
import type { AnyTable, IndexName, OrderOf, RowOf } from "@skein/core/storage"
import * as z from "zod/mini"
import { schemaOf } from "../../storage.ts"

/** A plain table: text and number in the key, indexes of both directions, any JSON as body. */
export const Note = table("note", {
  row: z.object({
    shelf: z.string(),
    n: z.number(),
    rank: z.optional(z.number()),
    tag: z.optional(z.string()),
    body: z.optional(z.unknown()),
  }),
  key: [text("shelf"), int("n")],
  indexes: { byRank: index(int("rank")), newest: index(text("tag"), descInt("rank")), byTag: index(text("tag")) },
})
export type Note = RowOf<typeof Note>

/** A table in which names, and pairs of bank and number, stand once. */
export const Account = table("account", {
  row: z.object({
    id: z.string(),
    balance: z.number(),
    name: z.optional(z.string()),
    bank: z.optional(z.string()),
    number: z.optional(z.number()),
  }),
  key: [text("id")],
  indexes: {
    byName: unique(text("name")),
    byNumber: unique(text("bank"), int("number")),
    byBalance: index(descInt("balance")),
  },
})
export type Account = RowOf<typeof Account>

/** A table with bytes beside its rows. */
export const File = table("file", {
  row: z.object({
    path: z.string(),
    size: z.number(),
    content: z.optional(z.custom<Uint8Array>((value) => value instanceof Uint8Array)),
  }),
  key: [text("path")],
  indexes: { bySize: index(int("size")) },
  bytes: "content",
})

export const schema = schemaOf(Note, Account, File)

export const note = (n: number, rest: Partial<Note> = {}): Note => ({ shelf: "a", n, ...rest })
export const account = (id: string, rest: Partial<Account> = {}): Account => ({ id, balance: 0, ...rest })

/** Adds rows to one table in one commit. */
export const insertAll = <T extends AnyTable>(into: T, rows: ReadonlyArray<NoInfer<RowOf<T>>>) =>
  Tx.make(function* (tx) {
    for (const row of rows) tx.insert(into, row)
  })

export const getNote = (n: number, shelf = "a") =>
  Tx.make(function* (tx) {
    return yield* tx.get(Note, [shelf, n])
  })

export const getAccount = (id: string) =>
  Tx.make(function* (tx) {
    return yield* tx.get(Account, [id])
  })

export const removeAccount = (id: string) =>
  Tx.make(function* (tx) {
    tx.remove(Account, [id])
  })

/** One range as a program. */
export const rangeOf = <T extends AnyTable, Name extends IndexName<T> | "key">(
  of: T,
  order: Name,
  bounds: Tx.Bounds<OrderOf<T, Name>> = {},
) =>
  Tx.make(function* (tx) {
    return yield* tx.range(of, order, bounds)
  })

/** The numbers of notes in an order. */
export const numbersOf = <Name extends IndexName<typeof Note> | "key">(
  order: Name,
  bounds: Tx.Bounds<OrderOf<typeof Note, Name>> = {},
) =>
  Tx.make(function* (tx) {
    const notes = yield* tx.range(Note, order, bounds)
    return notes.map(({ n }) => n)
  })

/** Adds `by` to the balance of an account that is there; answers the new balance. */
export const deposit = (id: string, by: number) =>
  Tx.make(function* (tx) {
    const found = yield* tx.get(Account, [id])
    if (found === undefined) return yield* tx.fail("no such account" as const)
    tx.update(Account, [id], (row) => ({ ...row, balance: row.balance + by }))
    return found.balance + by
  })
