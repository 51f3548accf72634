/**
 * Runs the task, but never twice at a time. All calls during a run share one more run after it. Each call resolves at
 * the end of a run that began after the call.
 */
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
