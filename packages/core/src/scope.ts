/**
 * Whose rows a program may see: SES-16.
 */

/** The owner that a store was opened for. Undefined: everybody's rows are seen. */
export interface Scope {
  readonly owner: string | undefined
}

export const isSeen = (scope: Scope, row: { readonly owner?: string | undefined }): boolean =>
  scope.owner === undefined || row.owner === scope.owner
