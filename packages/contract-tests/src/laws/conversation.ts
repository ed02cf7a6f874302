/**
 * What the laws of conversations share: a session to talk in, and short ways to say and read things.
 */
import { Sessions } from "@skein/core/session"
import { Heads } from "@skein/core/head"
import { History } from "@skein/core/history"
import { Maintenance } from "@skein/core/maintenance"
import { Messages } from "@skein/core/message"
import type { AppendOptions, MessageInput } from "@skein/core/message"
import * as Effect from "effect/Effect"
import { atSteadyTime } from "../clock.ts"

/** A new session with this id. */
export const begin = (id: string) => Sessions.use((sessions) => sessions.create({ id }))

/** A message whose id is also its text: `u…` is said by the user, `a…` by the assistant, `r…` by a tool. */
export const said = (id: string): MessageInput => ({ id, role: roleOf(id), body: { role: roleOf(id), content: id } })

const roleOf = (id: string) => (id.startsWith("u") ? "user" : id.startsWith("r") ? "tool" : "assistant")

/** A message of the assistant that makes these tool calls, and one with the result of a call. */
export const callOf = (id: string, ...calls: ReadonlyArray<string>): MessageInput => ({
  id,
  role: "assistant",
  body: { role: "assistant", content: calls.map((call) => ({ type: "tool-call", id: call, name: "run", input: {} })) },
})
export const resultOf = (id: string, call: string): MessageInput => ({
  id,
  role: "tool",
  body: { role: "tool", content: [{ type: "tool-result", callId: call, name: "run", output: `did ${call}` }] },
})

export const say = (sessionId: string, id: string, options?: AppendOptions) =>
  Messages.use((messages) => messages.append(sessionId, said(id), options))

/** Says several things, one after another. */
export const sayAll = (sessionId: string, ids: ReadonlyArray<string>) => Effect.forEach(ids, (id) => say(sessionId, id))

/** The ids of what people see on the path, at most 500. */
export const pathOf = (sessionId: string) =>
  Messages.use((messages) =>
    Effect.map(messages.page(sessionId, { limit: 500 }), (page) => page.messages.map((message) => message.id)),
  )

export const checkout = (sessionId: string, to: string | number | null) =>
  Heads.use((heads) => heads.checkout(sessionId, to))

export const session = (sessionId: string) => Sessions.use((sessions) => sessions.get(sessionId))

/** What the model is given. */
export const replayed = (sessionId: string) =>
  History.use((history) => Effect.map(history.read(sessionId), ({ messages }) => messages))

const far = Date.UTC(2100, 0)

/**
 * Recovers the store when everybody who ran a turn has been silent for long, and answers whose turns were ended. Where
 * nothing else proves that an owner is gone its silence has to be seen for the length of a lease.
 */
export const recovered = Effect.map(
  Effect.forEach([far, far + 200_000], (time) =>
    Maintenance.use((maintenance) => maintenance.recover()).pipe(atSteadyTime(time)),
  ),
  (recoveries) => recoveries.flatMap(({ interrupted }) => interrupted),
)
