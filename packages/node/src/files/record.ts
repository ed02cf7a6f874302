/**
 * What is kept of a turn: each file that it changed, as the turn found it and as it left it.
 *
 * On the disk, in a directory of the turn: `record.json`, and contents under their hashes. What is damaged there counts as
 * not there.
 */
import { join } from "node:path"
import * as z from "zod/mini"
import { readJson, writeWhole } from "../disk.ts"
import { State } from "./state.ts"

const ChangedFile = z.strictObject({
  /** As the turn found it. */
  before: State,
  /** As the turn left it. Absent: the turn was cut off while it changed it. */
  after: z.optional(State),
  /** Of a file that was not there: the directory above it that was. */
  directory: z.optional(z.string()),
  /** Somebody else changed it between two changes of the turn. */
  disturbed: z.optional(z.literal(true)),
})
export type ChangedFile = z.output<typeof ChangedFile>

const Record = z.strictObject({
  version: z.literal(1),
  /** When it was last written, in milliseconds since 1970. */
  at: z.number(),
  /** Each with its path below the workspace, with `/`. */
  files: z.array(z.tuple([z.string(), ChangedFile])),
})
export type Record = z.output<typeof Record>

export const recordFile = "record.json"

export const readRecord = async (directory: string): Promise<Record | undefined> => {
  const read = z.safeParse(Record, await readJson(join(directory, recordFile)))
  return read.success ? read.data : undefined
}

export const writeRecord = (directory: string, record: Record): Promise<void> =>
  writeWhole(join(directory, recordFile), JSON.stringify(record))
