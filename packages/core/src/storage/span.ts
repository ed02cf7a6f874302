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
    inSpan(
      name,
      () => attributes,
      () => effect,
    )

/** As `span`, of an effect that is only made when it begins. */
export const inSpan = <A, E, R>(
  name: string,
  attributes: () => Attributes,
  work: () => Effect.Effect<A, E, R>,
): Effect.Effect<A, E, R> =>
  Effect.withFiber((fiber) =>
    isWired(fiber)
      ? (Effect.withSpan(Effect.suspend(work), name, {
          attributes: attributes(),
          captureStackTrace: false,
        }) as Effect.Effect<A, E, R>)
      : work(),
  )

/** Adds facts to the current span when the host has a tracer. */
export const annotate = (attributes: () => Attributes): Effect.Effect<void> => annotated(attributes, Effect.void)

/** The same, and goes on with `next`. */
export const annotated = <A, E, R>(
  attributes: () => Attributes,
  next: Effect.Effect<A, E, R>,
): Effect.Effect<A, E, R> =>
  Effect.withFiber((fiber) => (isWired(fiber) ? Effect.andThen(Effect.annotateCurrentSpan(attributes()), next) : next))
