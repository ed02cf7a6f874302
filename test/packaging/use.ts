/** What a user's project may look like. It is compiled against the published packages, by every supported compiler. */
import * as core from "@skein/core"
import * as storage from "@skein/core/storage"
import * as indexeddb from "@skein/adapter-indexeddb"
import * as memory from "@skein/adapter-memory"
import * as sqlite from "@skein/adapter-sqlite"
import * as contract from "@skein/contract-tests"
import * as legacyImport from "@skein/plugin-legacy-import"
import * as opencode from "@skein/plugin-legacy-import/opencode"

export const everything = [core, storage, indexeddb, memory, sqlite, contract, legacyImport, opencode]

export const isRetryable = (error: storage.StorageError): boolean => error.isRetryable

// A declaration that cannot be resolved is `any`, which would accept this.
// @ts-expect-error a retry is yes or no
export const notANumber = (error: storage.StorageError): number => error.isRetryable
