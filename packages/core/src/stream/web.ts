/**
 * Frames for the web: as an async iterator, and as server-sent events that a browser goes on with by itself.
 *
 * Guarantee: whoever stops reading, by `return` or `cancel`, is no reader any more when that call has ended.
 * Every event carries its frame's cursor as `id:`; a browser that lost the connection sends it back as `Last-Event-ID`,
 * and goes on behind it.
 *
 * The types of the web are declared by what is used of them: where the compiler knows the real ones, those are meant.
 */
import type { Frame } from "./frame.ts"

type Global<Name extends string, Otherwise> = typeof globalThis extends {
  readonly [_ in Name]: { readonly prototype: infer Real }
}
  ? Real
  : Otherwise

/** `Response`. */
export type WebResponse = Global<
  "Response",
  { readonly status: number; readonly headers: HasHeader["headers"]; readonly body: unknown; text(): Promise<string> }
>

/** `ReadableStream`, of bytes. */
export type WebReadable = Global<
  "ReadableStream",
  { getReader(): { read(): Promise<unknown>; cancel(): Promise<void> }; cancel(): Promise<void> }
>

/** What is used of a `Request`. */
export interface HasHeader {
  readonly headers: { get(name: string): string | null }
}

interface Controller {
  enqueue(bytes: Uint8Array): void
  close(): void
}

interface Web {
  readonly ReadableStream: new (
    source: { pull(controller: Controller): Promise<void>; cancel(): Promise<unknown> },
    strategy: { readonly highWaterMark: number },
  ) => WebReadable
  readonly Response: new (
    body: WebReadable,
    init: { readonly headers: Readonly<Record<string, string>> },
  ) => WebResponse
}

/** The globals of the runtime, looked up when they are used. */
const web = (): Web => globalThis as unknown as Web

/** The frames of a session, in any of the forms that they are wanted in. */
export interface FrameStream<M = unknown> extends AsyncIterable<Frame<M>> {
  /**
   * Server-sent events, one a frame: `id:` is its cursor, `data:` the frame as JSON.
   *
   * @param request  where it carries `Last-Event-ID`, that is gone on behind instead
   */
  toReadable(request?: HasHeader): WebReadable
  /**
   * The same as a response of type `text/event-stream`.
   *
   * @example
   * const GET = (request: Request) => skein.streams.resume(id).toResponse(request)
   */
  toResponse(request?: HasHeader): WebResponse
}

/** @param open  the frames; behind a cursor, where one is given */
export const frameStream = <M>(open: (cursor?: string) => AsyncIterable<Frame<M>>): FrameStream<M> => {
  const toReadable = (request?: HasHeader): WebReadable =>
    eventsOf(open(request?.headers.get("last-event-id") || undefined))
  return {
    [Symbol.asyncIterator]: () => open()[Symbol.asyncIterator](),
    toReadable,
    toResponse: (request) =>
      new (web().Response)(toReadable(request), {
        headers: {
          "content-type": "text/event-stream",
          "cache-control": "no-cache, no-transform",
          // Some proxies collect what they pass on unless they are told not to.
          "x-accel-buffering": "no",
        },
      }),
  }
}

const eventsOf = (frames: AsyncIterable<Frame>): WebReadable => {
  const iterator = frames[Symbol.asyncIterator]()
  const encoder = new TextEncoder()
  return new (web().ReadableStream)(
    {
      pull: async (controller) => {
        const { done, value } = await iterator.next()
        if (done === true) controller.close()
        else controller.enqueue(encoder.encode(`id: ${value.cursor}\ndata: ${JSON.stringify(value)}\n\n`))
      },
      cancel: () => iterator.return!(),
    },
    // Nothing is read before somebody asks.
    { highWaterMark: 0 },
  )
}
