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
 */
export class RereadFiles {
  readonly #contents: Map<string, Buffer>;
  readonly #clock: Clock;
  readonly #readAgain = singleFlight(async () => {
    for (const path of this.#contents.keys()) {
      const bytes = await readFile(path).catch(() => null);
      // An editor empties a file before it writes it.
      if (bytes?.length) this.#contents.set(path, bytes);
    }
  });

  /** Reads the files for the first time. Throws like `readBytes`. */
  constructor(paths: readonly (string | null)[], clock: Clock) {
    this.#contents = new Map(paths.filter((path) => path !== null).map((path) => [path, readBytes(path)]));
    this.#clock = clock;
  }

  /** Reads all of them again, if the disk answers in time, and resolves to what they contain, by their paths. */
  async read(): Promise<ReadonlyMap<string | null, Buffer>> {
    if (this.#contents.size > 0) await endsWithin(this.#clock, patienceMs, this.#readAgain());
    return this.#contents;
  }
}
