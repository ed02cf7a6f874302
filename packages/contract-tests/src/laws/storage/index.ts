/**
 * What every adapter must do as a store of rows, seen through `Storage`.
 */
import type { Law } from "../../law.ts"
import { boundsLaws } from "./bounds.ts"
import { changeLaws } from "./changes.ts"
import { concurrencyLaws } from "./concurrency.ts"
import { contentionLaws } from "./contention.ts"
import { groupLaws } from "./groups.ts"
import { randomHistoryLaws } from "./histories/index.ts"
import { interruptionLaws } from "./interruption.ts"
import { lifeLaws } from "./life.ts"
import { lockLaws } from "./locks.ts"
import { orderingLaws } from "./ordering.ts"
import { uniquenessLaws } from "./uniqueness.ts"
import { unreadableLaws } from "./unreadable.ts"
import { valueLaws } from "./values.ts"
import { versionLaws } from "./versions.ts"
import { writingLaws } from "./writing.ts"

export const storageLaws: ReadonlyArray<Law> = [
  ...orderingLaws,
  ...boundsLaws,
  ...writingLaws,
  ...uniquenessLaws,
  ...valueLaws,
  ...groupLaws,
  ...concurrencyLaws,
  ...interruptionLaws,
  ...changeLaws,
  ...unreadableLaws,
  ...lifeLaws,
  ...lockLaws,
  ...versionLaws,
  ...contentionLaws,
  ...randomHistoryLaws,
]
