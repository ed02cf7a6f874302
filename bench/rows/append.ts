import * as Effect from "effect/Effect"
import { Messages } from "../../packages/core/src/message/service.ts"
import { answer } from "../content.ts"
import { Raw } from "../raw.ts"
import { compare } from "../row.ts"
import type { Budget, Suite } from "../row.ts"
import { openBeside } from "../skein.ts"

/** One message after the other, each awaited before the next. */
const appendOneByOne = (durability: "strict" | "relaxed", budget: Budget): Suite => ({
  name: `append-${durability}`,
  run: async ({ directory, rounds }) => {
    const { copy, ...skein } = await openBeside(directory)
    const raw = new Raw(copy, durability)
    const messages = await skein.run(Effect.service(Messages))
    const row = await compare(
      { name: `append one by one, ${durability}`, unit: "µs", budget },
      {
        ours: () => Effect.runPromise(messages.append("s1", { body: answer }, { durability })),
        baseline: () => raw.append("s1", answer),
      },
      { rounds: rounds(4_000), warmup: 2_000 },
    )
    raw.close()
    await skein.close()
    return [row]
  },
})

export const appendStrict = appendOneByOne("strict", { atMost: 1.4 })
export const appendRelaxed = appendOneByOne("relaxed", { atMost: 1.5 })
