import * as Effect from "effect/Effect"
import { copyFileSync } from "node:fs"
import { join } from "node:path"
import { Messages } from "../../packages/core/src/message/service.ts"
import { Turns } from "../../packages/core/src/turn/service.ts"
import { answer, sessionOf } from "../content.ts"
import { RawTurns } from "../raw-turns.ts"
import { compare } from "../row.ts"
import type { Suite } from "../row.ts"
import { openFile } from "../skein.ts"

const prompt = { role: "user", content: "What is a skein?" }

/** A turn as a loop of its own makes it: begun with a prompt, one answer, ended; each awaited before the next. */
const turnOneByOne = (durability: "strict" | "relaxed"): Suite => ({
  name: `turn-${durability}`,
  run: async ({ directory, rounds }) => {
    const ours = join(directory, "ours.db")
    const theirs = join(directory, "raw.db")
    const filled = openFile(ours)
    await filled.run(sessionOf("s1", 100, () => ({ body: answer })))
    await filled.close()
    copyFileSync(ours, theirs)

    const skein = openFile(ours)
    const raw = new RawTurns(theirs, durability)
    const { messages, turns } = await skein.run(Effect.all({ messages: Messages, turns: Turns }))
    const turn = Effect.gen(function* () {
      const { epoch } = (yield* turns.begin("s1", { prompt: { body: prompt } }, { durability })).turn
      yield* messages.append("s1", { body: answer }, { epoch, durability })
      yield* turns.end("s1", epoch, { outcome: "completed" }, { durability })
    })
    const row = await compare(
      { name: `begin, append and end of a turn, ${durability}`, unit: "µs" },
      {
        ours: () => Effect.runPromise(turn),
        baseline: () => {
          const epoch = raw.begin("s1", prompt)
          raw.append("s1", epoch, answer)
          raw.end("s1", epoch)
        },
      },
      { rounds: rounds(1_500), warmup: 500 },
    )
    raw.close()
    await skein.close()
    return [row]
  },
})

export const turnStrict = turnOneByOne("strict")
export const turnRelaxed = turnOneByOne("relaxed")
