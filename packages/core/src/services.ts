/**
 * All services of skein over one backend.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Forks } from "./fork/service.ts"
import { Deletions } from "./deletion/service.ts"
import { Attachments } from "./attachment/service.ts"
import { Heads } from "./head/service.ts"
import { dialects } from "./history/dialect.ts"
import { History } from "./history/service.ts"
import { checkLayerOptions } from "./layer-options.ts"
import type { LayerOptions } from "./layer-options.ts"
import { Maintenance } from "./maintenance/service.ts"
import { Messages } from "./message/service.ts"
import { Projects } from "./project/service.ts"
import { QueryViews } from "./query-view/service.ts"
import { Queue } from "./queue/service.ts"
import { Rewinds } from "./rewind/service.ts"
import { coreSchema } from "./schema.ts"
import { Sessions } from "./session/service.ts"
import { defaultSettings, Settings } from "./settings.ts"
import type { SkeinSettings } from "./settings.ts"
import type { Backend } from "./storage/backend.ts"
import type { InvalidInput, StorageError } from "./storage/error.ts"
import { Storage } from "./storage/storage.ts"
import { liveDrafts } from "./stream/live-drafts.ts"
import { Rings } from "./stream/rings.ts"
import { Streams } from "./stream/service.ts"
import { Instance } from "./turn/instance.ts"
import { Turns } from "./turn/service.ts"
import { Usage } from "./usage/service.ts"

export type { LayerOptions }

export type Services =
  | Attachments
  | Sessions
  | Projects
  | Messages
  | Heads
  | Forks
  | History
  | Turns
  | Queue
  | Rewinds
  | Streams
  | QueryViews
  | Deletions
  | Maintenance
  | Usage
  | Storage

const settingsOf = ({ dialect = defaultSettings.dialect, ...options }: LayerOptions): SkeinSettings => ({
  owner: options.owner,
  idPrefix: options.idPrefix ?? defaultSettings.idPrefix,
  dialect,
  dialects: dialects(...defaultSettings.dialects.values(), ...(options.dialects ?? []), dialect),
  paths: options.paths ?? defaultSettings.paths,
  checkpointMs: options.checkpointMs ?? defaultSettings.checkpointMs,
  prices: options.prices,
  workspaces: options.workspaces,
  fileHistory: options.fileHistory,
  ring: { ...defaultSettings.ring, ...options.ring },
  onDelete: options.onDelete ?? defaultSettings.onDelete,
  limits: { ...defaultSettings.limits, ...options.limits },
  attachmentRoots: options.attachmentRoots ?? defaultSettings.attachmentRoots,
})

/**
 * Opens a store and provides all services on it. The scope of the layer closes it.
 *
 * @throws InvalidInput  an option that is unknown, or is not what it says; nothing was opened
 * @throws StorageError  the store cannot be opened; the reason says why
 *
 * @example
 * const Store = layer({ owner: "ann" }).pipe(Layer.provide(sqlite({ url: "file:chat.db" })))
 */
export const layer = (options: LayerOptions = {}): Layer.Layer<Services, StorageError | InvalidInput, Backend> =>
  Layer.unwrap(Effect.map(checkLayerOptions(options), servicesWith))

const servicesWith = (options: LayerOptions): Layer.Layer<Services, StorageError, Backend> =>
  Layer.mergeAll(Queue.layer, Rewinds.layer).pipe(
    Layer.provideMerge(Layer.mergeAll(Turns.layer, Maintenance.layer, Streams.layer, Forks.layer)),
    Layer.merge(
      Layer.mergeAll(
        Sessions.layer,
        Projects.layer,
        Messages.layer,
        Heads.layer,
        History.layer,
        QueryViews.layer,
        Usage.layer,
        Attachments.layer,
        Deletions.layer,
      ),
    ),
    Layer.provide(liveDrafts.pipe(Layer.provideMerge(Rings.layer), Layer.provideMerge(Instance.layer))),
    Layer.provideMerge(Storage.layer(coreSchema(options.tables), options)),
    // Given on, for what is built on top: it has to see the same settings.
    Layer.provideMerge(Layer.succeed(Settings, settingsOf(options))),
  )
