/**
 * A child process, from its own side: gets its options, says that it is ready, waits, works, reports and ends.
 */
import type { FromChild } from "./processes.ts"

const send = (message: FromChild) => void process.send?.(message)

/** Tells the parent something on the way. */
export const tell = (news: unknown) => send({ _tag: "News", news })

/** Does `work` when the parent says so. What it resolves to is the result. */
export const child = <Options>(work: (options: Options) => Promise<unknown>): void => {
  const options = JSON.parse(process.argv[2] ?? "{}") as Options
  process.once("message", () => {
    void work(options).then(
      (result) => process.send?.({ _tag: "Done", result } satisfies FromChild, () => process.exit(0)),
      (failure: unknown) => {
        console.error(failure)
        process.exit(1)
      },
    )
  })
  // A parent that is gone needs nothing any more.
  process.on("disconnect", () => process.exit(1))
  send({ _tag: "Ready" })
}
