/** Runs the task one at a time. All calls during a run share one more run, which begins after them. */
export function coalesce(task: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | null = null;
  let next: Promise<void> | null = null;
  function run(): Promise<void> {
    if (running !== null) {
      next ??= running
        .catch(() => {})
        .then(() => {
          next = null;
          return run();
        });
      return next;
    }
    running = task().finally(() => {
      running = null;
    });
    return running;
  }
  return run;
}
