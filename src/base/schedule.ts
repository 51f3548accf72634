/** When something is repeated: every so many ms, or by a cron expression of 5 or 6 fields, seconds first. */
export type Schedule =
  | { readonly kind: 'every'; readonly everyMs: number }
  | { readonly kind: 'cron'; readonly expression: string };
