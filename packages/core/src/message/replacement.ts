/**
 * What takes the place of content that goes: a text where somebody spoke, and what links an entry to others.
 */
import { redacted } from "../history/redaction.ts"
import { previewOf } from "../session/preview.ts"
import type { SkeinSettings } from "../settings.ts"
import type { Json } from "../storage/json.ts"
import { isPrompt } from "./placement.ts"
import type { RedactionOf } from "./redact.ts"

/** @param text  what stands for what was said */
export const redactionWith =
  ({ dialect, dialects }: SkeinSettings, text: string): RedactionOf =>
  (entry) => {
    const { amendment, body, compaction, display, format, link, model, role } = entry
    const bodies = Object.fromEntries(Object.entries({ body, display, model }).filter(([, one]) => one !== undefined))
    const left = redacted(bodies as Record<string, Json>, role, format?.dialect ?? dialect.name, dialects, text)
    return {
      ...left.bodies,
      format: left.format,
      ...(compaction !== undefined && { compaction: { ...compaction, summary: text } }),
      ...(amendment?.archive !== undefined && { amendment: { ...amendment, archive: text } }),
      ...(link !== undefined && { link: { ...link, title: text } }),
      ...(isPrompt(entry) && { preview: previewOf(text) }),
    }
  }
