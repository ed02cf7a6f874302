import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { makeLiveness } from "../../src/turn/liveness.ts"
import type { ActiveTurn } from "../../src/session/model.ts"

const turnOf = (owner: string): ActiveTurn => ({
  id: "t1",
  epoch: 1,
  owner,
  host: "here",
  startedAt: 0,
  beat: 0,
  lease: 30_000,
  until: 30_000,
  drafts: [],
})

it.effect("TRN-05 whoever judges many turns asks the system once about each owner", () =>
  Effect.gen(function* () {
    const questions: Array<string> = []
    const isHeld = (name: string) => Effect.sync(() => questions.push(name) > 0 && name === "owner-alive")
    const { judge } = yield* makeLiveness("me", "here", { hold: () => Effect.void, isHeld })

    const asked = new Map()
    const gone: Array<string> = []
    for (const owner of ["alive", "dead", "alive", "dead", "me"]) {
      gone.push((yield* judge("s1", turnOf(owner), asked)).ownerGone)
    }
    assert.deepStrictEqual(gone, ["no", "yes", "no", "yes", "no"])
    assert.deepStrictEqual(questions, ["owner-alive", "owner-dead"])

    // The next time anything may have happened.
    yield* judge("s1", turnOf("alive"))
    yield* judge("s1", turnOf("alive"))
    assert.lengthOf(questions, 4)
  }),
)
