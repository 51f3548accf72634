/** Runs at most `most` tasks at a time. Rejects with the first failure, and then starts no more tasks. */
export async function forEachLimit<T>(
  most: number,
  items: Iterable<T>,
  task: (item: T) => Promise<void>,
): Promise<void> {
  const waiting = items[Symbol.iterator]();
  let hasFailed = false;
  const work = async () => {
    for (let next = waiting.next(); !next.done && !hasFailed; next = waiting.next()) {
      try {
        await task(next.value);
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: most }, work));
}
