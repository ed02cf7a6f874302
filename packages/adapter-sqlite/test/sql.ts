/**
 * What another connection sees and does.
 */
import type { SqlRow, SqlValue } from "../src/driver.ts"
import { libsql } from "../src/libsql.ts"

export const query = (path: string, sql: string, ...values: ReadonlyArray<SqlValue>): ReadonlyArray<SqlRow> => {
  const connection = libsql(`file:${path}`)
  try {
    return connection.prepare(sql).all(values)
  } finally {
    connection.close()
  }
}

export const execute = (path: string, sql: string): void => {
  const connection = libsql(`file:${path}`)
  try {
    connection.exec(sql)
  } finally {
    connection.close()
  }
}
