/**
 * Transaction programs: what to read, then what to write, as a value.
 *
 * Guarantee: a program runs against one state of the store and its writes are applied all together or not at all. It is
 * a plain function of its reads: `Storage` may run it again from the start, beside other programs in one transaction,
 * over maps, callbacks or awaits alike. It cannot wait for anything but a storage read.
 *
 * Rules, each kept by a type or by a thrown `TxDefect`:
 * 1. `yield*` only reads (`get`, `find`, `range`, `all`), `fail`, or another program.
 * 2. Reads first, then writes. A concept whose program has both halves exposes a plan that reads and an apply that
 *    writes.
 * 3. Pure: ids and the time are arguments, rows are read-only, and a program may run more than once.
 *
 * Known holes: `yield*` of an `any` compiles and is caught when it runs; a program (not a step of `tx`) named as a
 * statement without `yield*` does nothing.
 */
import type { AnyTable, IndexName, IndexValues, KeyOf, OrderOf, RowOf, StartOf, UniqueName } from "./table.ts"
import type { Bound, EngineRead } from "./backend.ts"

/** At most this many rows come from one range; longer streams are several reads, continued by key. */
export const maxRange = 500

/**
 * What a program yields: a read, or a failure of type `E`. Opaque: only a handle makes one. The key is a sentence
 * because it ends the compiler's message when something else is yielded, and a string because it survives two copies of
 * this package in one program.
 */
export interface Yielded<out E> {
  readonly "~a transaction program can only yield* tx.get, tx.find, tx.range, tx.all, tx.fail or another program": (
    _: never,
  ) => E
}

/** A transaction program that answers `A` or fails with `E`. */
export interface Tx<out A, out E = never> {
  // The answers that come back are of many types; `make` closes this hole for the body of a program.
  // oxlint-disable-next-line no-explicit-any
  [Symbol.iterator](): Iterator<Yielded<E>, A, any>
}

/** What a program answers. */
export type Success<T> = T extends Tx<infer A, unknown> ? A : never
/** How a program fails. */
export type Failure<T> = T extends Tx<unknown, infer E> ? E : never

/** One read. Only reads can be grouped with `tx.all`. */
export interface Query<out A> extends Tx<A> {
  readonly "~read": SingleRead
}

/**
 * Which rows of an order (the key or an index) a range gives, and which way. Each bound is a start of the order's
 * tuple: one shorter than the tuple stands for all rows that begin with it. Bounds are meant in the sense of the order,
 * so that `after` on a `desc int` means smaller numbers.
 */
export interface Bounds<Order extends ReadonlyArray<unknown>> {
  /** All rows begin with this. Other bounds must begin with it too. */
  readonly prefix?: StartOf<Order>
  /** First row, inclusive. */
  readonly from?: StartOf<Order>
  /** First row, exclusive. */
  readonly after?: StartOf<Order>
  /** Last row, inclusive. */
  readonly to?: StartOf<Order>
  /** Last row, exclusive. */
  readonly before?: StartOf<Order>
  /** Default `false`. When true, rows come from the last to the first. */
  readonly reverse?: boolean
  /** 0 to 500. Default 500. */
  readonly limit?: number
  /** Default: an unreadable row fails the program with `Corrupt`. `"keep"` gives it in its place. */
  readonly unreadable?: "keep"
}

/** Bounds without direction and limit, over the key. */
export type KeyBounds<Order extends ReadonlyArray<unknown>> = Pick<
  Bounds<Order>,
  "prefix" | "from" | "after" | "to" | "before"
>

/** Stands in its place for a row that is stored but cannot be read. */
export class Unreadable {
  readonly _tag = "Unreadable"
  readonly table: string
  readonly key: ReadonlyArray<string | number>
  readonly problem: string
  constructor(table: string, key: ReadonlyArray<string | number>, problem: string) {
    this.table = table
    this.key = key
    this.problem = problem
  }
}

export const isUnreadable = (row: unknown): row is Unreadable => row instanceof Unreadable

type Kept<B> = B extends { readonly unreadable: "keep" } ? Unreadable : never

/** What a program does its work with. Valid only while that program runs. */
export interface Handle {
  /** The row with this key, or `undefined`. */
  get<T extends AnyTable>(table: T, key: KeyOf<T>): Query<Readonly<RowOf<T>> | undefined>
  /** The row with these values in a unique index, or `undefined`. */
  find<T extends AnyTable, Name extends UniqueName<T>>(
    table: T,
    index: Name,
    values: IndexValues<T, Name>,
  ): Query<Readonly<RowOf<T>> | undefined>
  /** Rows in the order of the key or of an index. */
  range<T extends AnyTable, Name extends IndexName<T> | "key", const B extends Bounds<OrderOf<T, Name>>>(
    table: T,
    order: Name,
    bounds: B & Bounds<OrderOf<T, Name>>,
  ): Query<ReadonlyArray<Readonly<RowOf<T>> | Kept<B>>>
  /** Several reads in one step. */
  all<const Queries extends ReadonlyArray<Query<unknown>>>(
    queries: Queries,
  ): Tx<{ readonly [I in keyof Queries]: Success<Queries[I]> }>
  /** Ends the program; nothing it wrote is kept. Use as `return yield* tx.fail(…)`. */
  fail<const E>(error: E): Tx<never, E>

  /** Adds a row. If its key or a unique value is taken the program fails with the reason `Constraint`. */
  insert<T extends AnyTable>(table: T, row: NoInfer<RowOf<T>>): void
  /** Adds or replaces a row, of a table without unique index. */
  put<T extends AnyTable>(table: T & ([UniqueName<T>] extends [never] ? unknown : never), row: NoInfer<RowOf<T>>): void
  /**
   * Changes a row that this program read or wrote. `change` is pure and gets the row as this program has already
   * changed it, so that composed writes to one row add up. Answers the row as it is now.
   */
  update<T extends AnyTable>(table: T, key: KeyOf<T>, change: (row: Readonly<RowOf<T>>) => RowOf<T>): Readonly<RowOf<T>>
  /** Removes a row; one that is absent is no mistake. */
  remove<T extends AnyTable>(table: T, key: KeyOf<T>): void
  /** Removes all rows with a key in these bounds, however many. Comes before other writes of its table. */
  removeRange<T extends AnyTable>(table: T, bounds: KeyBounds<KeyOf<T>>): void

  /**
   * Tells listeners in this process, once the commit is durable, what it meant. Notices of a program that fails or runs
   * again are dropped with its writes.
   */
  notify(notice: Notice): void
}

/** What a commit meant, for listeners in this process: what changed in rows is said by `changes`. */
export interface Notice {
  readonly _tag: string
}

/** A mistake in a program. It is thrown, and is part of no error type. */
export class TxDefect extends Error {
  override readonly name = "TxDefect"
}

type ErrorOf<Y> = Y extends Yielded<infer E> ? E : never

/** A read as the machine takes it. */
export interface SingleRead {
  readonly _tag: "Single"
  readonly read: EngineRead
  /** Whether the program gets one row instead of a list. */
  readonly one: boolean
  /** Whether unreadable rows are given instead of failing the program. */
  readonly keepUnreadable: boolean
}
export type Instruction =
  | SingleRead
  | { readonly _tag: "All"; readonly reads: ReadonlyArray<SingleRead> }
  | { readonly _tag: "Fail"; readonly error: unknown }
  | { readonly _tag: "Self" }

const self: Instruction = { _tag: "Self" }

type Body<Y, A, Args extends ReadonlyArray<unknown>> = (tx: Handle, ...args: Args) => Generator<Y, A, never>

/**
 * Makes a program. Its answer and its errors are inferred from the body.
 *
 * @example
 * const rename = (id: string, title: string) =>
 *   Tx.make(function* (tx) {
 *     const session = yield* tx.get(SessionTable, [id])
 *     if (session === undefined) return yield* tx.fail(new SessionNotFound({ sessionId: id }))
 *     tx.update(SessionTable, [id], (row) => ({ ...row, title }))
 *     return session.title
 *   }) // Tx<string, SessionNotFound>
 */
export const make = <Y extends Yielded<unknown>, A>(body: Body<Y, A, []>): Tx<A, ErrorOf<Y>> => new Program(body, [])

/**
 * Makes a function that makes programs: as `make` in a function, without a new generator function at each call. Engines
 * pay for one with a microsecond and with memory that only a full collection gives back, so that what runs at each
 * message is made this way.
 *
 * @example
 * const rename = Tx.fn(function* (tx, id: string, title: string) {
 *   const session = yield* tx.get(SessionTable, [id])
 *   if (session === undefined) return yield* tx.fail(new SessionNotFound({ sessionId: id }))
 *   tx.update(SessionTable, [id], (row) => ({ ...row, title }))
 *   return session.title
 * }) // (id: string, title: string) => Tx<string, SessionNotFound>
 */
export const fn =
  <Y extends Yielded<unknown>, A, Args extends ReadonlyArray<unknown>>(
    body: Body<Y, A, Args>,
  ): ((...args: Args) => Tx<A, ErrorOf<Y>>) =>
  (...args) =>
    new Program(body, args)

/** A body that has not begun. It may begin many times. */
class Program<Y, A, Args extends ReadonlyArray<unknown>> implements Tx<A, ErrorOf<Y>> {
  readonly #body: Body<Y, A, Args>
  readonly #args: Args
  constructor(body: Body<Y, A, Args>, args: Args) {
    this.#body = body
    this.#args = args
  }
  // The answers that come back are of many types, as in `Tx`.
  // oxlint-disable-next-line no-explicit-any
  [Symbol.iterator](): Iterator<any, A, any> {
    return new Beginning(this.#body, this.#args)
  }
}

/**
 * The steps of a program: first it asks for the handle of the run that it is in, which is how a composed program joins
 * the running transaction; then its body has the word.
 */
class Beginning<Y, A, Args extends ReadonlyArray<unknown>> implements Iterator<unknown, A, unknown> {
  readonly #body: Body<Y, A, Args>
  readonly #args: Args
  #steps: Iterator<unknown, A, unknown> | undefined
  #hasAsked = false
  constructor(body: Body<Y, A, Args>, args: Args) {
    this.#body = body
    this.#args = args
  }
  next(answer: unknown): IteratorResult<unknown, A> {
    if (this.#steps !== undefined) return this.#steps.next(answer)
    if (!this.#hasAsked) {
      this.#hasAsked = true
      return { done: false, value: self }
    }
    this.#steps = this.#body(answer as Handle, ...this.#args)
    return this.#steps.next(undefined)
  }
}

/** A program that reads nothing and answers `value`. */
export const succeed = <A>(value: A): Tx<A> =>
  make(function* () {
    return value
  })

/** Bounds as an engine takes them. */
export interface EngineBounds {
  readonly lower: Bound | undefined
  readonly upper: Bound | undefined
}
