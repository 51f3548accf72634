/**
 * Runs the task one at a time. All calls while it runs share one more run. Resolves when a run has ended that began after the
 * call.
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
