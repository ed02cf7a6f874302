/**
 * From a stored row to a row of its table.
 *
 * Guarantee: what a program is given has passed its table's schema, and is otherwise exactly what was stored, unknown
 * fields included. What cannot be read becomes an `Unreadable`, never an exception, and never hides its neighbours.
 */
import * as z from "zod/mini"
import { conforms } from "../conforms.ts"
import type { StoredRow } from "./backend.ts"
import { defineOwn } from "./schema.ts"
import type { AnyTable } from "./table.ts"
import type { Row } from "./run.ts"
import { Unreadable } from "./transaction.ts"

export const decode = (table: AnyTable, stored: StoredRow, freeze: boolean): Row | Unreadable => {
  const { bytes, json, key } = stored
  if (typeof json !== "string") return new Unreadable(table.name, key, "its JSON column holds no text")
  let row: unknown
  try {
    row = JSON.parse(json)
  } catch {
    return new Unreadable(table.name, key, "its text is not JSON")
  }
  if (typeof row !== "object" || row === null || Array.isArray(row)) {
    return new Unreadable(table.name, key, "its JSON is not an object")
  }
  const fields = row as Record<string, unknown>
  for (let i = 0; i < table.key.length; i++) defineField(fields, table.key[i]!.name, key[i])
  if (table.bytes !== undefined && bytes !== undefined) defineField(fields, table.bytes, bytes)
  if (!conforms(table.row, fields)) {
    const checked = z.safeParse(table.row, fields)
    if (!checked.success) {
      const issue = checked.error.issues[0]
      return new Unreadable(table.name, key, `${issue?.path.join(".") ?? "it"}: ${issue?.message ?? "is not valid"}`)
    }
  }
  return freeze ? deepFreeze(fields) : fields
}

const defineField = (row: Record<string, unknown>, name: string, value: unknown): void => {
  if (name === "__proto__") defineOwn(row, name, value)
  else row[name] = value
}

const deepFreeze = <T>(value: T): T => {
  // Views of bytes cannot be frozen.
  if (typeof value === "object" && value !== null && !ArrayBuffer.isView(value)) {
    Object.freeze(value)
    for (const item of Object.values(value)) deepFreeze(item)
  }
  return value
}
