/** At most this many names are listed. A longer list would be no clearer. */
const maxNames = 5;

/** Names as a list for people: the first few, and whether there are others. */
export function listNames(names: readonly string[]): string {
  return `${names.slice(0, maxNames).join(', ')}${names.length > maxNames ? ' and others' : ''}`;
}
