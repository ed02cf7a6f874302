/** All that is measured. A new file of `rows/` is added here. */
import type { Suite } from "./row.ts"
import { appendRelaxed, appendStrict } from "./rows/append.ts"
import { crossedBranches } from "./rows/branches.ts"
import { rowsOfAppend } from "./rows/count.ts"
import { forksOfLongConversations } from "./rows/fork.ts"
import { lengthOfConversation } from "./rows/length.ts"
import { concurrentAppends } from "./rows/producers.ts"
import { readConversation } from "./rows/read.ts"
import { listSessions } from "./rows/sessions.ts"
import { liveStream } from "./rows/stream.ts"
import { dispatchRelaxed, dispatchStrict, turnRelaxed, turnStrict } from "./rows/turn.ts"
import { usageOfAYear } from "./rows/usage.ts"

export const suites: ReadonlyArray<Suite> = [
  appendStrict,
  appendRelaxed,
  concurrentAppends,
  readConversation,
  listSessions,
  lengthOfConversation,
  crossedBranches,
  rowsOfAppend,
  forksOfLongConversations,
  turnStrict,
  turnRelaxed,
  dispatchStrict,
  dispatchRelaxed,
  usageOfAYear,
  liveStream,
]
