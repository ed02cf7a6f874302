/**
 * Rewinds a session with its files, and dies at the n-th change to the disk. Prints how many there were if it does not.
 */
import process from "node:process"
import { sqlite } from "@skein/adapter-sqlite"
import { Skein } from "@skein/core"
import { fileHistory } from "../../src/index.ts"
import { dieAt } from "./dying.ts"

const [url, directory, n, when] = process.argv.slice(2) as [string, string, string, "before" | "behind"]
const skein = await Skein.open(sqlite({ url }), { fileHistory: fileHistory({ directory }) })
const count = dieAt(Number(n), when)
await skein.rewinds.rewind("ses_1", "u1")
console.log(count())
await skein.close()
