import { readFile } from 'node:fs/promises';
import { type Clock, endsWithin } from '../base/clock.ts';
import { singleFlight } from '../base/singleFlight.ts';
import { readBytes } from './file.ts';

/** The longest wait for a disk that hangs, in ms. What the file had before serves as well. */
const patienceMs = 1_000;

/**
 * Files of the configuration that are read again while the bridge runs, because secrets and certificates are renewed. A
 * file that is empty or cannot be read now, or whose disk hangs, counts as unchanged. The files are read one after the
 * other, so that a disk that hangs holds up one of the runtime's few threads, and nobody else.
 *
 * Reads the files for the first time, and throws like `readBytes`. The returned function reads all of them again, if the
 * disk answers in time, and resolves to what they contain, by their paths.
 */
export function rereadFiles(
  paths: readonly (string | null)[],
  clock: Clock,
): () => Promise<ReadonlyMap<string | null, Buffer>> {
  const contents = new Map(paths.filter((path) => path !== null).map((path) => [path, readBytes(path)]));
  const readAgain = singleFlight(async () => {
    for (const path of contents.keys()) {
      const bytes = await readFile(path).catch(() => null);
      // An editor empties a file before it writes it.
      if (bytes?.length) contents.set(path, bytes);
    }
  });
  return async () => {
    if (contents.size > 0) await endsWithin(clock, patienceMs, readAgain());
    return contents;
  };
}
