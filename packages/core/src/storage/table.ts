/**
 * Tables: what is stored, declared once in core and created by every adapter.
 *
 * Guarantee: a declaration is complete. An adapter needs nothing but it to create, find and order rows, and two
 * programs with the same declaration read the same store. Key and index values are printable ASCII text or safe
 * integers, so that every engine sorts them alike.
 *
 * Not promised: that an adapter keeps index fields only once. Key columns are not repeated in a row's JSON; index
 * fields are.
 */
import type * as z from "zod/mini"
import { InvalidInput } from "./error.ts"

/** How a field is stored and sorted. `desc int` is stored negated, since no engine mixes directions in one bound. */
export type FieldKind = "int" | "text" | "desc int"

export interface Field<out Name extends string = string, out Kind extends FieldKind = FieldKind> {
  readonly name: Name
  readonly kind: Kind
}

/** A whole number between ±(2^53 − 1), sorted ascending. */
export const int = <const Name extends string>(name: Name): Field<Name, "int"> => ({ name, kind: "int" })
/** Printable ASCII, sorted by code unit. */
export const text = <const Name extends string>(name: Name): Field<Name, "text"> => ({ name, kind: "text" })
/** A whole number, sorted from the largest down. */
export const descInt = <const Name extends string>(name: Name): Field<Name, "desc int"> => ({ name, kind: "desc int" })

type NamesOf<Row, Value> = {
  [Name in keyof Row & string]-?: NonNullable<Row[Name]> extends Value ? Name : never
}[keyof Row & string]
type KeyField<Row> = Field<NamesOf<Row, string>, "text"> | Field<NamesOf<Row, number>, "int">
type IndexField<Row> = KeyField<Row> | Field<NamesOf<Row, number>, "desc int">

export type KeyPart = string | number
/** A key, or a place in an index, as engines hold it: one part a field, `desc int` negated. */
export type Key = ReadonlyArray<KeyPart>

type ValueOf<F> = F extends Field<string, "text"> ? string : number
type ValuesOf<Fields extends ReadonlyArray<Field>> = { readonly [I in keyof Fields]: ValueOf<Fields[I]> }

/** Every start of a key, the empty one and the whole one included. */
export type StartOf<Values extends ReadonlyArray<unknown>> = Values extends readonly [...infer Init, unknown]
  ? Values | StartOf<Readonly<Init>>
  : readonly []

/** Where an adapter finds one part of an index: in the key, or in the columns beside the JSON. */
export interface IndexPart {
  readonly from: "key" | "columns"
  readonly at: number
}

export interface Index {
  readonly name: string
  readonly unique: boolean
  /** The fields that were declared. */
  readonly fields: ReadonlyArray<Field>
  /** What rows are ordered by: `fields`, and the rest of the primary key where the index is not unique. */
  readonly order: ReadonlyArray<Field>
  /** The same as `order`, as places. */
  readonly parts: ReadonlyArray<IndexPart>
}

/** A real column beside key and JSON: an index field that is no key column. */
export interface Column {
  readonly name: string
  readonly field: string
  readonly kind: FieldKind
}

/** What the type of a table remembers of each index: its full order as a tuple of values, and whether it is unique. */
export interface IndexShape {
  readonly values: ReadonlyArray<KeyPart>
  readonly order: ReadonlyArray<KeyPart>
  readonly unique: boolean
}

/** What rows can belong to. */
export type Owner = "session"

export interface Table<
  out Name extends string,
  in out Row,
  out KeyTuple extends Key,
  out Indexes extends Record<string, IndexShape>,
> {
  readonly name: Name
  readonly row: z.ZodMiniType<Row>
  readonly key: ReadonlyArray<Field>
  readonly indexes: ReadonlyArray<Index>
  readonly columns: ReadonlyArray<Column>
  /** The one field that holds bytes, kept beside the JSON. */
  readonly bytes: string | undefined
  /** What its rows belong to, and go with. The first part of their key is its id. */
  readonly ownedBy: Owner | undefined
  /** Type only. */
  readonly "~shape"?: { readonly key: KeyTuple; readonly indexes: Indexes }
}

// A table is invariant in its row, so "any table" has to leave the row open.
// oxlint-disable-next-line no-explicit-any
export type AnyTable = Table<string, any, Key, Record<string, IndexShape>>
export type RowOf<T extends AnyTable> =
  T extends Table<string, infer Row, Key, Record<string, IndexShape>> ? Row : never
type ShapeOf<T extends AnyTable> = NonNullable<T["~shape"]>
export type KeyOf<T extends AnyTable> = ShapeOf<T>["key"]
export type IndexName<T extends AnyTable> = keyof ShapeOf<T>["indexes"] & string
/** Names of the unique indexes of a table. */
export type UniqueName<T extends AnyTable> = {
  [Name in IndexName<T>]: ShapeOf<T>["indexes"][Name]["unique"] extends true ? Name : never
}[IndexName<T>]
export type IndexValues<T extends AnyTable, Name extends IndexName<T>> = ShapeOf<T>["indexes"][Name]["values"]
/** The tuple that rows are ordered by, over the key or over an index. */
export type OrderOf<T extends AnyTable, Name extends IndexName<T> | "key"> = Name extends "key"
  ? KeyOf<T>
  : ShapeOf<T>["indexes"][Name]["order"]

interface IndexDeclaration<Fields extends ReadonlyArray<Field>, Unique extends boolean> {
  readonly fields: Fields
  readonly unique: Unique
}

/** An index whose equal values are ordered by the primary key. A row without one of the fields is not in it. */
export const index = <const Fields extends ReadonlyArray<Field>>(
  ...fields: Fields
): IndexDeclaration<Fields, false> => ({
  fields,
  unique: false,
})

/** An index in which a value stands once. A unique value never changes after `insert`. */
export const unique = <const Fields extends ReadonlyArray<Field>>(
  ...fields: Fields
): IndexDeclaration<Fields, true> => ({
  fields,
  unique: true,
})

/** The key fields that are not already among the index fields, as their values. */
type RestOf<KeyFields extends ReadonlyArray<Field>, Named extends string> = KeyFields extends readonly [
  infer First extends Field,
  ...infer Rest extends ReadonlyArray<Field>,
]
  ? First["name"] extends Named
    ? RestOf<Rest, Named>
    : readonly [ValueOf<First>, ...RestOf<Rest, Named>]
  : readonly []

type ShapesOf<
  KeyFields extends ReadonlyArray<Field>,
  Declared extends Record<string, IndexDeclaration<ReadonlyArray<Field>, boolean>>,
> = {
  readonly [Name in keyof Declared & string]: {
    readonly values: ValuesOf<Declared[Name]["fields"]>
    readonly order: Declared[Name]["unique"] extends true
      ? ValuesOf<Declared[Name]["fields"]>
      : readonly [...ValuesOf<Declared[Name]["fields"]>, ...RestOf<KeyFields, Declared[Name]["fields"][number]["name"]>]
    readonly unique: Declared[Name]["unique"]
  }
}

/**
 * Declares a table.
 *
 * `row` checks each row that is read, key fields included. `key` orders the rows; `indexes` are further orders.
 * `bytes` names one field of type `Uint8Array` that is kept beside the JSON. `ownedBy: "session"` says that the first part
 * of the key is the id of a session, with which the rows are deleted.
 *
 * @example
 * const Message = z.object({ chat: z.string(), seq: z.number(), author: z.string() })
 * const MessageTable = table("message", {
 *   row: Message,
 *   key: [text("chat"), int("seq")],
 *   indexes: { byAuthor: index(text("author"), descInt("seq")) },
 * })
 */
export const table = <
  const Name extends string,
  Schema extends z.ZodMiniType,
  const KeyFields extends ReadonlyArray<KeyField<z.output<Schema>>>,
  // oxlint-disable-next-line no-empty-object-type
  const Declared extends Record<string, IndexDeclaration<ReadonlyArray<IndexField<z.output<Schema>>>, boolean>> = {},
>(
  name: Name,
  declaration: {
    readonly row: Schema
    readonly key: KeyFields
    readonly indexes?: Declared
    readonly bytes?: keyof z.output<Schema> & string
    readonly ownedBy?: Owner
  },
): Table<Name, z.output<Schema>, ValuesOf<KeyFields>, ShapesOf<KeyFields, Declared>> => {
  const key: ReadonlyArray<Field> = declaration.key
  const columns: Array<Column> = []
  const partOf = (field: Field): IndexPart => {
    const inKey = key.findIndex((one) => one.name === field.name && one.kind === field.kind)
    if (inKey >= 0) return { from: "key", at: inKey }
    const known = columns.findIndex((one) => one.field === field.name && one.kind === field.kind)
    if (known >= 0) return { from: "columns", at: known }
    return { from: "columns", at: columns.push({ name: columnName(field), field: field.name, kind: field.kind }) - 1 }
  }
  const declared: Record<string, IndexDeclaration<ReadonlyArray<Field>, boolean>> = declaration.indexes ?? {}
  const indexes = Object.entries(declared).map(([indexName, { fields, unique }]): Index => {
    const rest = unique ? [] : key.filter((one) => !fields.some((field) => field.name === one.name))
    const order = [...fields, ...rest]
    return { name: indexName, unique, fields, order, parts: order.map(partOf) }
  })
  checkNames(name, key, columns, Object.keys(declared))
  if (declaration.ownedBy !== undefined && key[0]?.kind !== "text") {
    throw new Error(
      `table ${name}: its key must begin with the id of the ${declaration.ownedBy} that its rows belong to`,
    )
  }
  return {
    name,
    row: declaration.row as z.ZodMiniType<z.output<Schema>>,
    key,
    indexes,
    columns,
    bytes: declaration.bytes,
    ownedBy: declaration.ownedBy,
  }
}

const nameForm = /^[A-Za-z][A-Za-z0-9_]{0,62}$/

/** Columns that every adapter with columns has beside those that are declared. */
const reservedColumns = ["json", "bytes"]

/**
 * Refuses names that some engine could not tell apart, or takes for itself. A mistake in a declaration is thrown where it
 * is made, not when a store is opened.
 */
const checkNames = (
  tableName: string,
  key: ReadonlyArray<Field>,
  columns: ReadonlyArray<Column>,
  indexNames: ReadonlyArray<string>,
): void => {
  const refuse = (name: string, problem: string): never => {
    throw new Error(`table ${tableName}: the name ${JSON.stringify(name)} ${problem}`)
  }
  const columnNames = [...key, ...columns].map(({ name }) => name)
  for (const name of [tableName, ...columnNames, ...indexNames]) {
    if (!nameForm.test(name)) refuse(name, "must be a letter and then letters, digits and _, at most 63")
  }
  if (/^(sqlite|skein)_/i.test(tableName)) refuse(tableName, "begins like the tables that adapters keep for themselves")
  for (const names of [columnNames, indexNames]) {
    const seen = new Set(names === columnNames ? reservedColumns : [])
    for (const name of names) {
      if (seen.has(name.toLowerCase())) refuse(name, "is taken, without regard to case")
      seen.add(name.toLowerCase())
    }
  }
}

/** `desc int` columns hold the negated value, and say so in their name. */
const columnName = (field: Field) => (field.kind === "desc int" ? `${field.name}_desc` : field.name)

/** The index with this name. An unknown name is a mistake of the programmer, not a condition. */
export const indexNamed = (of: AnyTable, name: string): Index => {
  const found = of.indexes.find((one) => one.name === name)
  if (found === undefined) throw new Error(`table ${of.name} has no index ${name}`)
  return found
}

/** Printable ASCII: what text in keys and index fields may hold. */
const printable = /^[\x20-\x7e]*$/

/** The value of one field as engines hold it; `undefined` when the row lacks it. Throws `InvalidInput`. */
const stored = (of: AnyTable, field: string, kind: FieldKind, value: unknown): KeyPart | undefined => {
  if (value === undefined || value === null) return undefined
  if (kind === "text") {
    if (typeof value === "string" && printable.test(value)) return value
    throw new InvalidInput({ field: `${of.name}.${field}`, value, problem: "must be printable ASCII text" })
  }
  // `+ 0` turns a negative zero into a zero: engines disagree on it.
  if (Number.isSafeInteger(value)) return kind === "int" ? (value as number) + 0 : 0 - (value as number)
  throw new InvalidInput({ field: `${of.name}.${field}`, value, problem: "must be a whole number between ±(2^53 − 1)" })
}

/** The key of a row. Throws `InvalidInput` when a part is missing or is not what its field says. */
export const keyOf = (of: AnyTable, row: Readonly<Record<string, unknown>>): Key =>
  of.key.map((field) => keyPart(of, field, row[field.name]))

/** A key given by a program, checked. */
export const checkedKey = (of: AnyTable, key: Key): Key => {
  if (key.length !== of.key.length) {
    throw new InvalidInput({ field: `${of.name} key`, value: key, problem: `must have ${of.key.length} parts` })
  }
  return of.key.map((field, i) => keyPart(of, field, key[i]))
}

const keyPart = (of: AnyTable, field: Field, value: unknown): KeyPart => {
  const part = stored(of, field.name, field.kind, value)
  if (part === undefined)
    throw new InvalidInput({
      field: `${of.name}.${field.name}`,
      value,
      problem: "must be given: it is part of the key",
    })
  return part
}

/** Values given for the first fields of an order, as engines hold them. Throws `InvalidInput`. */
export const checkedStart = (of: AnyTable, order: ReadonlyArray<Field>, values: Key): Key => {
  if (values.length > order.length) {
    throw new InvalidInput({
      field: `${of.name} bound`,
      value: values,
      problem: `must have at most ${order.length} parts`,
    })
  }
  return values.map((value, i) => keyPart(of, order[i]!, value))
}

/** The columns of a row beside key and JSON; `null` where the row lacks the field. Throws `InvalidInput`. */
export const columnsOf = (of: AnyTable, row: Readonly<Record<string, unknown>>): ReadonlyArray<KeyPart | null> =>
  of.columns.map((column) => stored(of, column.field, column.kind, row[column.field]) ?? null)

/** A row's place in an index; `undefined` when a field is absent and the row is not in it. */
export const placeIn = (index: Index, key: Key, columns: ReadonlyArray<KeyPart | null>): Key | undefined => {
  const place: Array<KeyPart> = []
  for (const { at, from } of index.parts) {
    const part = from === "key" ? key[at] : columns[at]
    if (part === undefined || part === null) return undefined
    place.push(part)
  }
  return place
}

/**
 * Compares two keys, or a key and the start of one: a start equals every key that begins with it.
 *
 * Parts are compared by code unit or by number; parts at one place have one type.
 */
export const compare = (a: Key, b: Key): number => {
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) {
    const left = a[i]!
    const right = b[i]!
    if (left !== right) return left < right ? -1 : 1
  }
  return 0
}

/** A key as one string, for maps. Keys hold no NUL, and parts at one place have one type. */
export const keyId = (key: Key): string => (key.length === 1 ? String(key[0]) : key.join("\0"))

/**
 * The declaration as text, without the row schema: what an adapter stores beside a table to know whether it was
 * created from another declaration.
 */
export const fingerprint = (of: AnyTable): string =>
  JSON.stringify({
    key: of.key.map(({ kind, name }) => [name, kind]),
    indexes: of.indexes.map(({ fields, name, unique }) => [
      name,
      unique,
      fields.map((field) => [field.name, field.kind]),
    ]),
    bytes: of.bytes ?? null,
  })
