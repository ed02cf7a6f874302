/** What a campaign found. */
export interface Outcome {
  /** The figures in one line. */
  readonly figures: string
  /** One sentence for each thing that does not hold. Empty: all does. */
  readonly failures: ReadonlyArray<string>
}

/** A failure, unless what is said is so. */
export const unless = (holds: boolean, failure: string): ReadonlyArray<string> => (holds ? [] : [failure])
