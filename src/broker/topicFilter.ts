/** Whether any of the filters matches a topic. Filters with `#` are not supported. */
export function matchesAny(filters: readonly string[]): (topic: string) => boolean {
  // Thousands of messages are compared, so the filters are split only once.
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
