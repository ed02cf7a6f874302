/**
 * What every call about a session has in common.
 *
 * Guarantee: an unsafe session id is refused as such before anything else happens, the call is a span of the host's
 * tracer, and nothing is thrown where an effect is promised.
 */
import * as Effect from "effect/Effect"
import { isId, unfitId } from "./id.ts"
import { inSpan } from "./storage/span.ts"

// Methods differ in all but their first argument, so the list of them has to leave the others open.
// oxlint-disable-next-line no-explicit-any
type SessionCall = (sessionId: string, ...rest: Array<any>) => Effect.Effect<any, any, any>

/** The methods of a service whose first argument is a session's id, as spans named after concept and method. */
export const sessionCalls = <Methods extends Readonly<Record<string, SessionCall>>>(
  concept: string,
  methods: Methods,
): Methods =>
  Object.fromEntries(
    Object.entries(methods).map(([name, method]): [string, SessionCall] => {
      const spanName = `skein.${concept}.${name}`
      return [
        name,
        (sessionId, ...rest) =>
          isId(sessionId)
            ? inSpan(
                spanName,
                () => ({ "skein.session": sessionId }),
                () => method(sessionId, ...rest),
              )
            : Effect.fail(unfitId("sessionId", sessionId)),
      ]
    }),
  ) as unknown as Methods
