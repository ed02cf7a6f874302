/**
 * Turns the numbers of a call into what they stand for, in the conversation as it is when the round begins.
 */
import type { Kind, OperationSpec, Seen, Which } from "./model.ts"
import type { Draft, Expected, Operation } from "./operation.ts"
import { isLive, pathTo } from "./oracle.ts"
import type { Talk } from "./oracle.ts"

/** Decides what a call asks for. `name` is used by no other call of the history. */
export const decide = (talk: Talk, spec: OperationSpec, name: number): Operation => {
  switch (spec.do) {
    case "append":
      return { do: "append", messages: drafts(spec.kinds, name), at: undefined, expected: seenOf(talk, spec.seen) }
    case "append beside":
      return {
        do: "append",
        messages: drafts(spec.kinds, name),
        at: idOf(talk, spec.at),
        expected: seenOf(talk, spec.seen),
      }
    case "append again":
      return again(talk, spec, name)
    case "checkout":
      return { do: "checkout", to: idOf(talk, spec.which), expected: seenOf(talk, spec.seen) }
    case "checkout branch":
      return { do: "checkout", to: branchOf(talk, spec.branch), expected: seenOf(talk, spec.seen) }
    case "checkout root":
      return { do: "checkout", to: null, expected: seenOf(talk, spec.seen) }
    case "undo":
    case "redo":
      return { do: spec.do, expected: seenOf(talk, spec.seen) }
    case "compact": {
      const path = pathTo(talk, talk.head)
      const onPath = path.at(-1 - ((spec.keep ?? 0) % Math.max(1, path.length)))?.id
      const keepFrom = spec.keep === undefined ? undefined : spec.onPath ? onPath : idOf(talk, spec.keep)
      // A summary's caller knows the head by its message alone.
      const { head } = seenOf(talk, spec.seen)
      return { do: "compact", summary: `summary${name}`, keepFrom, expected: head === undefined ? {} : { head } }
    }
    case "delete branch": {
      const moveTo = spec.moveTo === undefined ? undefined : idOf(talk, spec.moveTo)
      const branch = branchOf(talk, spec.branch)
      return { do: "delete branch", branch, moveTo, expected: seenOf(talk, spec.seen) }
    }
    case "name branch":
      return {
        do: "name branch",
        branch: branchOf(talk, spec.branch),
        name: `name${name}`,
        automatic: spec.automatic,
      }
    case "page":
      return spec
  }
}

const drafts = (kinds: ReadonlyArray<Kind>, name: number): ReadonlyArray<Draft> =>
  kinds.map((kind, i) => ({ id: `m${name}-${i}`, kind, text: `text${name}-${i}` }))

const again = (talk: Talk, spec: Extract<OperationSpec, { readonly do: "append again" }>, name: number): Operation => {
  const found = talk.spoken[spec.which % Math.max(1, talk.spoken.length)]
  if (found === undefined) return { do: "append", messages: drafts(["said"], name), at: undefined, expected: {} }
  const message = spec.same ? found.draft : { ...found.draft, text: `text${name}` }
  const at = spec.as === "at" && found.behind !== null ? found.behind : undefined
  return { do: "append", messages: [message], at, expected: spec.as === "head" ? { head: found.behind } : {} }
}

const idOf = (talk: Talk, which: Which): string => {
  const live = talk.entries.filter(isLive)
  const ids = which % 8 === 7 || live.length === 0 ? talk.spoken.map(({ draft }) => draft.id) : live.map(({ id }) => id)
  return ids[which % Math.max(1, ids.length)] ?? "nobody"
}

/** The numbers of the branches that were ever opened, and one more. */
const branchOf = (talk: Talk, which: number): number => {
  const numbers = talk.branches.map(({ number }) => number)
  return which % 8 === 7 ? 1 + (which % (talk.opened + 1)) : (numbers[which % Math.max(1, numbers.length)] ?? 1)
}

const seenOf = (talk: Talk, seen: Seen): Expected => {
  const head = talk.head === null ? null : talk.entries[talk.head]!.id
  switch (seen) {
    case "nothing":
      return {}
    case "head":
      return { head }
    case "version":
      return { version: talk.headVersion }
    case "another head":
      return { head: head === null ? "nobody" : null }
    case "another version":
      return { version: talk.headVersion + 1 }
  }
}
