/**
 * Spans of what skein does: `skein.storage.transact`, `skein.session.create` and so on, with ids and counts, never
 * bodies.
 *
 * Guarantee: silent unless wired. Without a tracer of the host's, no span is made and nothing is measured.
 */
import * as Effect from "effect/Effect"
import * as Tracer from "effect/Tracer"

type Attributes = Readonly<Record<string, string | number | boolean>>

const isWired = (fiber: { getRef(reference: typeof Tracer.Tracer): Tracer.Tracer }) =>
  fiber.getRef(Tracer.Tracer) !== Tracer.nativeTracer

/** Wraps an effect in a span when the host has a tracer. */
export const span =
  (name: string, attributes: Attributes = {}) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.withFiber((fiber) =>
      isWired(fiber)
        ? (Effect.withSpan(effect, name, { attributes, captureStackTrace: false }) as Effect.Effect<A, E, R>)
        : effect,
    )

/** Adds facts to the current span when the host has a tracer. */
export const annotate = (attributes: () => Attributes): Effect.Effect<void> =>
  Effect.withFiber((fiber) => (isWired(fiber) ? Effect.annotateCurrentSpan(attributes()) : Effect.void))
