/**
 * A history as data: tables, and clients that run programs on them.
 *
 * Everything is a small number, to be read against the tables of the history, so that every combination means something
 * and shrinks well: a value picks from a pool, a place counts from the front and starts over.
 */

/** Fields that any table may use in its key or its indexes. */
export const fieldNames = ["a", "b", "c", "s", "t", "u"] as const
export type FieldName = (typeof fieldNames)[number]
export const isInt = (name: FieldName): boolean => name === "a" || name === "b" || name === "c"

/** Few values, so that histories collide; the last ones are never stored, only asked for. */
export const ints: ReadonlyArray<number> = [0, -2, 7, Number.MAX_SAFE_INTEGER, 1]
export const texts: ReadonlyArray<string> = ["", "a", "B", "a b", "aa"]
/** How many of them rows may have. */
export const storedValues = 4

export interface IndexSpec {
  readonly unique: boolean
  readonly fields: ReadonlyArray<{ readonly name: FieldName; readonly desc: boolean }>
}
export interface TableSpec {
  readonly key: ReadonlyArray<FieldName>
  readonly indexes: ReadonlyArray<IndexSpec>
  readonly bytes: boolean
}

/** One number a field, in the order of `fieldNames`. */
export type Numbers = readonly [number, number, number, number, number, number]

export interface EndSpec {
  readonly kind: "none" | "inclusive" | "exclusive"
  /** How many parts of the order it gives. */
  readonly parts: number
  readonly values: Numbers
}
export interface BoundsSpec {
  readonly prefix: number
  readonly prefixValues: Numbers
  readonly lower: EndSpec
  readonly upper: EndSpec
}
export type ReadSpec =
  | { readonly do: "get"; readonly table: number; readonly values: Numbers }
  | { readonly do: "find"; readonly table: number; readonly index: number; readonly values: Numbers }
  | {
      readonly do: "range"
      readonly table: number
      /** 0 is the key, then come the indexes. */
      readonly order: number
      readonly bounds: BoundsSpec
      readonly reverse: boolean
      /** 6 and more stand for no limit. */
      readonly limit: number
    }

/** A row to write, or what to change in one: `note` is any JSON, `blob` a length, 0 for no bytes. */
export interface RowSpec {
  readonly values: Numbers
  readonly note: unknown
  readonly blob: number
}
export type WriteSpec =
  | { readonly do: "insert" | "put"; readonly table: number; readonly row: RowSpec }
  /** `seen` counts through the rows that the program has read. */
  | { readonly do: "update"; readonly seen: number; readonly fields: ReadonlyArray<FieldName>; readonly row: RowSpec }
  | { readonly do: "remove"; readonly table: number; readonly values: Numbers; readonly seen: number | undefined }
  | { readonly do: "removeRange"; readonly table: number; readonly bounds: BoundsSpec }

export interface ProgramSpec {
  readonly reads: ReadonlyArray<ReadSpec>
  /** Whether all reads are one step. */
  readonly together: boolean
  readonly writes: ReadonlyArray<WriteSpec>
  readonly end: "answer" | "fail" | "throw" | "bad value"
}

export interface StepSpec {
  readonly program: ProgramSpec
  /** Which of two storages, where the history has two. */
  readonly storage: 0 | 1
  /** Whether a program without writes goes through `read`, where the history has two storages. */
  readonly read: boolean
  readonly durability: "strict" | "relaxed"
}

export interface History {
  readonly tables: ReadonlyArray<TableSpec>
  /** Two storages on one store, and a clock in it that counts their commits; instead of one storage. */
  readonly shared: boolean
  /** What is done before the clients begin, so that they find something. */
  readonly before: ReadonlyArray<StepSpec>
  /** Each runs its steps one after another, beside the others. */
  readonly clients: ReadonlyArray<ReadonlyArray<StepSpec>>
}
