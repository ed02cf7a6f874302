/**
 * A history in words, for whoever has to find out what went wrong in it.
 */
import { show } from "../../equal.ts"
import type { History } from "./model.ts"
import type { Answer } from "./oracle.ts"
import type { Operation } from "./operation.ts"

/** A call as it went. */
export interface Called {
  readonly operation: Operation
  readonly storage: number
  readonly answer: Answer
}

/** One line a call; calls of one round have its number. */
export const tell = ({ shared }: History, rounds: ReadonlyArray<ReadonlyArray<Called>>): string =>
  rounds
    .flatMap((calls, i) =>
      calls.map(({ answer, operation, storage }) => {
        const { do: verb, ...rest } = operation
        return `${i + 1}. ${verb}${shared ? ` on storage ${storage}` : ""} ${show(rest)} → ${show(answer)}`
      }),
    )
    .join("\n")
