/**
 * The few globals that Node, Bun, Deno and every browser share and that the packages without `node:` and without a DOM may
 * use. Those packages compile against this list instead of `lib.dom`, so that reaching for anything else is a type error.
 */

interface AbortSignal {
  readonly aborted: boolean
  readonly reason: unknown
  throwIfAborted(): void
  addEventListener(type: "abort", listener: () => void, options?: { readonly once?: boolean }): void
  removeEventListener(type: "abort", listener: () => void): void
}

interface AbortController {
  readonly signal: AbortSignal
  abort(reason?: unknown): void
}

declare const AbortController: { new (): AbortController }

interface TextEncoder {
  encode(text: string): Uint8Array<ArrayBuffer>
}

declare const TextEncoder: { new (): TextEncoder }

interface TextDecoder {
  decode(bytes: Uint8Array): string
}

declare const TextDecoder: { new (label?: "utf-8", options?: { readonly fatal?: boolean }): TextDecoder }

declare const crypto: { getRandomValues<Bytes extends Uint8Array>(bytes: Bytes): Bytes }
