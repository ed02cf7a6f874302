/**
 * Storage: tables, transaction programs, the port for adapters and the service on top of it.
 */
export * from "./backend.ts"
export * from "./error.ts"
export * from "./json.ts"
export * from "./schema.ts"
export * from "./table.ts"
