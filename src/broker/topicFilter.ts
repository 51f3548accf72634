/** Tells whether any of the filters finds a topic; one that ends with `#` is not understood. */
export function matchesAny(filters: readonly string[]): (topic: string) => boolean {
  // A home is told in thousands of messages: the filters are taken apart once.
  const wanted = filters.map((filter) => filter.split('/'));
  return (topic) => {
    const parts = topic.split('/');
    return wanted.some((levels) => {
      return (
        levels.length === parts.length && levels.every((level, at) => level === '+' || level === parts[at])
      );
    });
  };
}
