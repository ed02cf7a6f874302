/**
 * Storage: tables, transaction programs, the port for adapters and the service on top of it.
 */
export { Backend } from "./backend.ts"
export type {
  Bound,
  Capabilities,
  Durability,
  Engine,
  EngineLocks,
  EngineRead,
  Machine,
  RangeRead,
  RangeRemoval,
  ReadStep,
  RowWrite,
  RunOptions,
  Space,
  StoredRow,
  WriteStep,
} from "./backend.ts"
export type { Change, ChangedRow } from "./changes.ts"
export * from "./error.ts"
export * from "./json.ts"
export * from "./key.ts"
export * from "./locks.ts"
export * from "./schema.ts"
export * from "./storage.ts"
export * from "./table.ts"
export * as Tx from "./transaction.ts"
