/**
 * All laws. A new list is one more line here.
 */
import type { Law } from "../law.ts"
import { amendmentLaws } from "./amendment.ts"
import { attachmentLaws } from "./attachment.ts"
import { conversationLaws } from "./conversations/index.ts"
import { familyLaws } from "./families/index.ts"
import { forkLaws } from "./fork.ts"
import { deletionLaws } from "./deletion/index.ts"
import { headLaws } from "./head.ts"
import { historyLaws } from "./history.ts"
import { largeLaws } from "./large.ts"
import { longSessionLaws } from "./long-session.ts"
import { linkLaws } from "./link.ts"
import { messageLaws } from "./message.ts"
import { ownTableLaws } from "./own-tables.ts"
import { projectLaws } from "./project.ts"
import { queryViewLaws } from "./query-view.ts"
import { queueHistoryLaws } from "./queue-histories.ts"
import { queueSendingLaws } from "./queue-sending.ts"
import { queueLaws } from "./queue.ts"
import { rewindFileLaws } from "./rewind-files.ts"
import { rewindLaws } from "./rewind.ts"
import { sessionLaws } from "./session.ts"
import { streamLaws } from "./stream.ts"
import { turnEventLaws } from "./turn-event.ts"
import { storageLaws } from "./storage/index.ts"
import { turnLaws } from "./turns/index.ts"
import { watchLaws } from "./watch.ts"
import { usageLaws } from "./usage/index.ts"

export const laws: ReadonlyArray<Law> = [
  ...storageLaws,
  ...projectLaws,
  ...sessionLaws,
  ...messageLaws,
  ...largeLaws,
  ...longSessionLaws,
  ...attachmentLaws,
  ...headLaws,
  ...linkLaws,
  ...forkLaws,
  ...familyLaws,
  ...historyLaws,
  ...amendmentLaws,
  ...turnLaws,
  ...queryViewLaws,
  ...watchLaws,
  ...turnEventLaws,
  ...streamLaws,
  ...queueLaws,
  ...queueSendingLaws,
  ...queueHistoryLaws,
  ...rewindLaws,
  ...rewindFileLaws,
  ...conversationLaws,
  ...usageLaws,
  ...ownTableLaws,
  ...deletionLaws,
]
