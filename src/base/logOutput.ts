import { constants, openSync, write, writeSync } from 'node:fs';
import type { DestinationStream } from 'pino';

/** How many characters may wait for a slow reader or a full disk. Further lines are lost. */
const maxWaitingCharacters = 1_000_000;

/** When a full pipe is tried again, in ms. In the next constant: when other failures are, such as a full disk. */
const fullPipeMs = 100;
const failureMs = 1_000;

/** How long the end of the process waits for the reader of a full pipe, in ms. */
const goodbyeMs = 200;

/**
 * Writes a log to standard error without ever blocking the process. Lines are written in the background, and failed
 * writes are repeated. So a pipe without a reader, or a full disk, only loses lines. Lost lines are counted, and
 * reported once lines can be written again. The library's own destination would end the process at an error, or lose
 * count.
 */
export class LogOutput implements DestinationStream {
  readonly #descriptor = openStandardError();
  readonly #onLost: (lines: number) => void;
  #waiting: string[] = [];
  /** The number of characters in the waiting lines. */
  #size = 0;
  /** The lines that are being written now. They come before the waiting lines. */
  #current = Buffer.alloc(0);
  #isWriting = false;
  #isRetryDue = false;
  #lost = 0;

  /** `onLost` receives the number of lines that were lost since the last written line. */
  constructor(onLost: (lines: number) => void) {
    this.#onLost = onLost;
    process.on('exit', () => this.flushSync());
  }

  /** Queues a line; never throws and never blocks. */
  write(line: string): void {
    if (this.#size + this.#current.length + line.length > maxWaitingCharacters) {
      this.#lost += 1;
      return;
    }
    this.#waiting.push(line);
    this.#size += line.length;
    if (!this.#isWriting && !this.#isRetryDue) this.#writeNext();
  }

  /** Writes the waiting lines before the process ends. It waits only a short time for a full pipe. */
  flushSync(): void {
    const until = performance.now() + goodbyeMs;
    // A write in progress finishes in the background, and the end of the process waits for it.
    let bytes = this.#isWriting ? this.#takeWaiting() : Buffer.concat([this.#current, this.#takeWaiting()]);
    if (!this.#isWriting) this.#current = Buffer.alloc(0);
    while (bytes.length > 0) {
      try {
        bytes = bytes.subarray(writeSync(this.#descriptor, bytes));
      } catch (error) {
        if (!isFullPipe(error) || performance.now() > until) return;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
      }
    }
  }

  #takeWaiting(): Buffer<ArrayBuffer> {
    const bytes = Buffer.from(this.#waiting.join(''));
    this.#waiting = [];
    this.#size = 0;
    return bytes;
  }

  #writeNext(): void {
    this.#isRetryDue = false;
    if (this.#current.length === 0) this.#current = this.#takeWaiting();
    if (this.#current.length === 0) return;
    this.#isWriting = true;
    write(this.#descriptor, this.#current, (error, count) => {
      this.#isWriting = false;
      if (error) {
        this.#isRetryDue = true;
        setTimeout(() => this.#writeNext(), isFullPipe(error) ? fullPipeMs : failureMs).unref();
        return;
      }
      this.#current = this.#current.subarray(count);
      // Reported only now, because there is room for the report again, and no more lines are being lost.
      if (this.#current.length === 0 && this.#lost > 0) {
        const lost = this.#lost;
        this.#lost = 0;
        this.#onLost(lost);
      }
      if (!this.#isWriting) this.#writeNext();
    });
  }
}

/**
 * Opens a descriptor of standard error on which no write waits for a reader. Node.js opens pipes and sockets like that,
 * but not terminals, and a user can pause a terminal (Ctrl+S).
 */
function openStandardError(): number {
  if (!process.stderr.isTTY) return 2;
  try {
    return openSync('/dev/stderr', constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    return 2;
  }
}

function isFullPipe(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EAGAIN';
}
