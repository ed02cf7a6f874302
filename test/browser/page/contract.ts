/**
 * The contract of every adapter, one law at a time.
 */
import { report } from "@skein/contract-tests"
import { harnessOn } from "../../../packages/adapter-indexeddb/test/harness.ts"

const harness = harnessOn({ factory: indexedDB, keyRange: IDBKeyRange }, "law")

/** Runs one law. The reason why it does not hold, or `undefined` when it does. */
export const contractTrial = async (
  law: string,
  options: { readonly seed: number; readonly runs: number },
): Promise<string | undefined> => {
  const results = await report(harness, { ...options, only: [law] })
  const result = results.find((one) => one.law === law)
  switch (result?.status) {
    case "passed":
      return undefined
    case "failed":
      return result.error.message
    default:
      return `the law was not tried: ${result?.reason ?? "there is none of that name"}`
  }
}
