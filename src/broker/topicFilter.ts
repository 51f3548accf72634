/** Whether a filter finds the topic; one that ends with `#` is not understood. */
export function matches(filter: string, topic: string): boolean {
  const parts = topic.split('/');
  const wanted = filter.split('/');
  return (
    wanted.length === parts.length && wanted.every((part, index) => part === '+' || part === parts[index])
  );
}
