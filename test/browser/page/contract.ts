/**
 * The contract of every adapter, one law at a time.
 */
import { report } from "@skein/contract-tests"
import { harnessOn } from "../../../packages/adapter-indexeddb/test/harness.ts"

const harness = harnessOn({ factory: indexedDB, keyRange: IDBKeyRange }, "law")

/** What a page says of a law: why it does not hold, or does not apply; nothing when it holds. */
export interface Trial {
  readonly broken?: string
  readonly notApplicable?: string
}

/** Runs one law. */
export const contractTrial = async (
  law: string,
  options: { readonly seed: number; readonly runs: number },
): Promise<Trial> => {
  const results = await report(harness, { ...options, only: [law] })
  const result = results.find((one) => one.law === law)
  switch (result?.status) {
    case "passed":
      return {}
    case "failed":
      return { broken: result.error.message }
    case "not applicable":
      return { notApplicable: result.reason }
    default:
      return { broken: "there is no law of that name" }
  }
}
