/**
 * All services of skein over one backend.
 */
import * as Layer from "effect/Layer"
import { Heads } from "./head/service.ts"
import { dialects } from "./history/dialect.ts"
import type { Dialect } from "./history/dialect.ts"
import { History } from "./history/service.ts"
import { Messages } from "./message/service.ts"
import { Projects } from "./project/service.ts"
import { coreSchema } from "./schema.ts"
import { Sessions } from "./session/service.ts"
import { defaultSettings, Settings } from "./settings.ts"
import type { PathPolicy, SkeinSettings } from "./settings.ts"
import type { Backend } from "./storage/backend.ts"
import type { StorageError } from "./storage/error.ts"
import { Storage } from "./storage/storage.ts"
import type { StorageOptions } from "./storage/storage.ts"
import type { AnyTable } from "./storage/table.ts"

export type Services = Sessions | Projects | Messages | Heads | History | Storage

export interface LayerOptions extends StorageOptions {
  /** What the bodies of messages mean, and in what form history is given. Default: `generic`. */
  readonly dialect?: Dialect<unknown>
  /** Further dialects that stored bodies may be in. */
  readonly dialects?: ReadonlyArray<Dialect<unknown>>
  /** Binds everything to the sessions of one owner. Default: everybody's are seen. */
  readonly owner?: string
  /** What minted session ids begin with. Default `ses_`. */
  readonly idPrefix?: string
  /** How workspaces are compared. Default: POSIX paths, links unresolved. */
  readonly paths?: PathPolicy
  /** Tables of your own, kept beside skein's. */
  readonly tables?: ReadonlyArray<AnyTable>
}

const settingsOf = ({ dialect = defaultSettings.dialect, ...options }: LayerOptions): SkeinSettings => ({
  owner: options.owner,
  idPrefix: options.idPrefix ?? defaultSettings.idPrefix,
  dialect,
  dialects: dialects(...defaultSettings.dialects.values(), ...(options.dialects ?? []), dialect),
  paths: options.paths ?? defaultSettings.paths,
})

/** Opens a store and provides all services on it. The scope of the layer closes it. */
export const layer = (options: LayerOptions = {}): Layer.Layer<Services, StorageError, Backend> => {
  const { tables, ...storageOptions } = options
  return Layer.mergeAll(Sessions.layer, Projects.layer, Messages.layer, Heads.layer, History.layer).pipe(
    Layer.provideMerge(Storage.layer(coreSchema(tables), storageOptions)),
    // Given on, for what is built on top: it has to see the same settings.
    Layer.provideMerge(Layer.succeed(Settings, settingsOf(options))),
  )
}
