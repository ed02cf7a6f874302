/**
 * The checks of the port, one at a time.
 */
import * as Effect from "effect/Effect"
import { indexeddb } from "../../../packages/adapter-indexeddb/src/index.ts"
import { portChecks } from "../../port/checks.ts"

/**
 * Runs one check. The reason why it fails, or `undefined` when it does not. With `forwardOnly`, and from then on, the page
 * is a browser that cannot read backwards in bulk.
 */
export const portTrial = async (
  check: string,
  { forwardOnly, seed }: { readonly forwardOnly: boolean; readonly seed: number },
): Promise<string | undefined> => {
  if (forwardOnly) {
    for (const { prototype } of [IDBObjectStore, IDBIndex]) Reflect.deleteProperty(prototype, "getAllRecords")
  }
  const found = portChecks(seed).find(({ name }) => name === check)
  if (found === undefined) return "there is no check of that name"
  return Effect.runPromise(
    Effect.match(found.run(indexeddb({ name: `port ${crypto.randomUUID()}` })), {
      onSuccess: () => undefined,
      onFailure: String,
    }),
  )
}
