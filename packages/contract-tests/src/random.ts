/**
 * Random choices that a seed repeats, for laws that have no use for shrinking.
 */

export interface Random {
  /** A whole number from 0 to `below` − 1. */
  readonly nat: (below: number) => number
  readonly pick: <A>(from: ReadonlyArray<A>) => A
  readonly shuffled: <A>(items: ReadonlyArray<A>) => Array<A>
}

export const makeRandom = (seed: number): Random => {
  // Scrambled, so that neighbouring seeds part at once; never 0, which xorshift does not leave.
  let state = Math.imul(seed, 0x9e3779b1) | 1
  const next = () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) / 2 ** 32
  }
  const nat = (below: number) => Math.floor(next() * below)
  const pick = <A>(from: ReadonlyArray<A>): A => {
    if (from.length === 0) throw new Error("there is nothing to pick from")
    return from[nat(from.length)] as A
  }
  return {
    nat,
    pick,
    shuffled: (items) =>
      items
        .map((item) => ({ item, place: next() }))
        .toSorted((a, b) => a.place - b.place)
        .map(({ item }) => item),
  }
}
