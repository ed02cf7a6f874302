/**
 * What is asked of a conversation, in its own words.
 */
import type { Kind } from "./model.ts"

export interface Draft {
  readonly id: string
  readonly kind: Kind
  readonly text: string
}

export interface Expected {
  readonly head?: string | null
  readonly version?: number
}

export type Operation =
  | {
      readonly do: "append"
      readonly messages: ReadonlyArray<Draft>
      readonly at: string | undefined
      readonly expected: Expected
    }
  | { readonly do: "checkout"; readonly to: string | number | null; readonly expected: Expected }
  | { readonly do: "undo" | "redo"; readonly expected: Expected }
  | {
      readonly do: "compact"
      readonly summary: string
      readonly keepFrom: string | undefined
      readonly expected: Expected
    }
  | {
      readonly do: "delete branch"
      readonly branch: number
      readonly moveTo: string | undefined
      readonly expected: Expected
    }
  | { readonly do: "name branch"; readonly branch: number; readonly name: string; readonly automatic: boolean }
  | { readonly do: "page"; readonly limit: number }
