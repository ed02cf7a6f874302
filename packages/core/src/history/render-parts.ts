/**
 * Rendering in parts: a path that is read piece by piece, given as it would be given as a whole.
 *
 * Guarantee: what `next` and `end` give, put together, is what `render` gives of all the entries. A path is cut only
 * where a user or the system begins to speak, no call before is answered behind, and no message before goes on behind.
 *
 * Not promised: a bound on what is held. It is as long as the longest answer, and from a call that is never answered on
 * everything is held to the end.
 */
import type { Dialect, Dialects, GenericMessage } from "./dialect.ts"
import { readEntries, renderPieces } from "./render.ts"
import type { Piece, RenderEntry } from "./render.ts"
import { toolUses } from "./rounds.ts"

export class PartsRenderer<M> {
  readonly #reader: Dialect<M>
  readonly #dialects: Dialects
  #held: Array<Piece<M>> = []
  /** How many calls of each id have no result yet. */
  readonly #open = new Map<string, number>()
  /** Ids of the messages since the last place to cut at. */
  readonly #ids = new Set<string | undefined>()
  /** Ids that calls were given so far. */
  readonly #used = new Set<string>()

  constructor(reader: Dialect<M>, dialects: Dialects) {
    this.#reader = reader
    this.#dialects = dialects
  }

  /** Takes the next entries, and gives the messages that are whole by now. */
  next(entries: ReadonlyArray<RenderEntry>): ReadonlyArray<M> {
    let whole = 0
    for (const piece of readEntries(entries, this.#reader, this.#dialects).pieces) {
      if (this.#mayBegin(piece.messages[0])) {
        whole = this.#held.length
        this.#ids.clear()
      }
      this.#held.push(piece)
      for (const { id } of piece.messages) this.#ids.add(id)
      for (const { id, type } of toolUses(piece.messages)) this.#count(id, type === "call" ? 1 : -1)
    }
    return this.#give(whole)
  }

  /** Gives what is still held when there are no more entries. */
  end(): ReadonlyArray<M> {
    return this.#give(this.#held.length)
  }

  #give(count: number): ReadonlyArray<M> {
    return renderPieces(this.#held.splice(0, count), this.#reader, { used: this.#used }).messages
  }

  #mayBegin(message: GenericMessage | undefined): boolean {
    if (message === undefined || this.#open.size > 0 || this.#ids.has(message.id)) return false
    const isSaid = message.role === "user" || message.role === "system"
    return isSaid && message.content.every((part) => part.type !== "tool-result")
  }

  #count(id: string, change: number): void {
    const open = (this.#open.get(id) ?? 0) + change
    // A result that answers no call is left out when it is rendered.
    if (open > 0) this.#open.set(id, open)
    else this.#open.delete(id)
  }
}
