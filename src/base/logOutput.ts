import { constants, openSync, write, writeSync } from 'node:fs';
import type { DestinationStream } from 'pino';

/** How much waits for a reader that is slow or a disk that is full, in characters. Further lines are lost. */
const maxWaitingCharacters = 1_000_000;

/** How soon a full pipe is tried again, and a full disk or a reader that has closed its end, in ms. */
const fullPipeMs = 100;
const failureMs = 1_000;

/** How long the end of the process waits for the reader of a pipe that is full, in ms. */
const goodbyeMs = 200;
const pauseMs = 10;

/**
 * Standard error for a log that nothing waits for. It is written in the background, and failed writes are repeated. So a pipe
 * without a reader or a full disk only loses lines. These are counted, and reported when lines can be written again. The
 * library's own destination ends the process at an error, or loses count.
 */
export class LogOutput implements DestinationStream {
  readonly #descriptor = openStandardError();
  readonly #onLost: (lines: number) => void;
  #waiting: string[] = [];
  /** Characters of the lines that wait. */
  #size = 0;
  /** The lines that are being written, before those that wait. */
  #current = Buffer.alloc(0);
  #isWriting = false;
  #isRetryDue = false;
  #lost = 0;

  /** `onLost` receives the number of lines that are missing between the last and the next one that is written. */
  constructor(onLost: (lines: number) => void) {
    this.#onLost = onLost;
    process.on('exit', () => this.flushSync());
  }

  /** Takes a line; never throws and never waits. */
  write(line: string): void {
    if (this.#size + this.#current.length + line.length > maxWaitingCharacters) {
      this.#lost += 1;
      return;
    }
    this.#waiting.push(line);
    this.#size += line.length;
    if (!this.#isWriting && !this.#isRetryDue) this.#writeNext();
  }

  /** Writes the waiting lines before the process ends. A full pipe has only a short time. */
  flushSync(): void {
    const until = performance.now() + goodbyeMs;
    // A write in progress is finished in the background. The end of the process waits for that.
    let bytes = this.#isWriting ? this.#takeWaiting() : Buffer.concat([this.#current, this.#takeWaiting()]);
    if (!this.#isWriting) this.#current = Buffer.alloc(0);
    while (bytes.length > 0) {
      try {
        bytes = bytes.subarray(writeSync(this.#descriptor, bytes));
      } catch (error) {
        if (!isFullPipe(error) || performance.now() > until) return;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pauseMs);
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
      // Only now there is room again, and all lost lines are counted.
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
 * A descriptor of standard error at which no write waits for a reader. Node.js opens pipes and sockets like that, but
 * not terminals, and a terminal can be paused (Ctrl+S).
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
