/**
 * Turns as promises: the body of a run as a plain asynchronous function.
 *
 * Guarantee: the body is told to stop by its signal, and has a few seconds to end by itself: what it settles until then
 * is stored. After that the turn ends without it, and its writes are refused.
 */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { MessageInput } from "../message/body.ts"
import type { Message } from "../message/record.ts"
import type { QueueItem } from "../queue/record.ts"
import type { InvalidInput } from "../storage/error.ts"
import type { UsageInput } from "../usage/input.ts"
import type * as service from "./service.ts"

/** A running turn, as its body sees it. */
export interface Turn<M> {
  readonly id: string
  readonly sessionId: string
  /** The fence of what this turn writes: give it to `messages.append` and the like. */
  readonly epoch: number
  /** The prompt that it answers. Absent where nobody has said anything. */
  readonly prompt?: Message<M>
  /** The item of the queue that it sends: its model, its attachments. */
  readonly item?: QueueItem<M>
  /** Fires when the turn is to stop: it was aborted, taken over or found dead. Give it to whatever takes long. */
  readonly signal: AbortSignal
  /** What the model is given, without what this turn is still writing. */
  history(): Promise<ReadonlyArray<M>>
  /** The answer as it is by now: heard by readers at once, stored now and then, and at the end. Throws `InvalidInput`. */
  draft(answer: M): void
  /** Stores a message as it stays: the one that was drafted, or a new one. The next draft is the next message. */
  settle(message: M): Promise<Message<M>>
  /** Gives a frame of the turn to everybody who reads the session. Nothing is stored. Throws `InvalidInput`. */
  publish(data: unknown, options?: service.PublishOptions): void
  /** Records a model call of the turn, under its own id. `usage`: what the AI SDK, OpenAI or Anthropic report, as it came. */
  spent(call: Omit<UsageInput, "turnId">): Promise<void>
  /** What the user has queued meanwhile as text: messages of this turn now, for the model to be given next. */
  injected(): Promise<ReadonlyArray<M>>
  /** The turn ends, when its body returns, as waiting for an answer to these tool calls; default: all open ones. */
  needsInput(calls?: ReadonlyArray<string>): void
  /** The turn ends, when its body returns, as the last one: the task will not go on. */
  done(): void
}

/** How long a body may go on after it was told to stop, in milliseconds. */
export const graceMs = 5_000

/** A body that gives a promise, as `Turns.run` takes it. */
export const promiseBody =
  <M, A>(body: (turn: Turn<M>) => Promise<A>, toInput: (message: M) => MessageInput) =>
  (turn: service.Turn): Effect.Effect<A, unknown> =>
    Effect.flatMap(Effect.context<never>(), (context) =>
      Effect.tryPromise({
        try: async () => body(toPromiseTurn(turn, toInput, context)),
        catch: (thrown) => thrown,
      }),
    )

const toPromiseTurn = <M>(
  {
    done,
    draft,
    epoch,
    history,
    id,
    injected,
    item,
    needsInput,
    prompt,
    publish,
    sessionId,
    settle,
    signal,
    spent,
  }: service.Turn,
  toInput: (message: M) => MessageInput,
  context: Context.Context<never>,
): Turn<M> => {
  const runSync = Effect.runSyncWith(context)
  const runPromise = Effect.runPromiseWith(context)
  /** Runs what waits for nothing. */
  const now = (effect: Effect.Effect<unknown, InvalidInput>) => {
    const wrong = runSync(Effect.match(effect, { onSuccess: () => undefined, onFailure: (error) => error }))
    if (wrong !== undefined) throw wrong
  }
  return {
    id,
    sessionId,
    epoch,
    // Bodies are of the reader's dialect as far as the caller keeps to it; `M` says so and nothing is checked.
    ...(prompt !== undefined && { prompt: prompt as Message<M> }),
    ...(item !== undefined && { item: item as QueueItem<M> }),
    signal,
    history: () => runPromise(Effect.map(history, ({ messages }) => messages as ReadonlyArray<M>)),
    draft: (answer) => now(draft(toInput(answer))),
    settle: (message) => runPromise(Effect.map(settle(toInput(message)), (stored) => stored as Message<M>)),
    publish: (data, options) => now(publish(data, options)),
    spent: (call) => runPromise(spent(call)),
    injected: () =>
      runPromise(Effect.map(injected, (messages) => messages.map(({ display, model }) => (model ?? display) as M))),
    needsInput: (calls) => runSync(needsInput(calls)),
    done: () => runSync(done),
  }
}
