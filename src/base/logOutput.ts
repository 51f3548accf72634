import { constants, openSync } from 'node:fs';
import type { DestinationStream } from 'pino';
import sonicBoom from 'sonic-boom';

/** How many bytes may wait for a slow reader or a full disk. Further lines are lost. */
const maxLength = 1_000_000;

/**
 * Standard error as the destination of a log. Lines are written in the background, and a line that could not be written
 * is tried again with the next one. So a pipe without a reader, or a full disk, only loses lines. `onLost` receives
 * their number once there is room again. Nothing is flushed when the process ends: the library would try for ever.
 */
export function standardError(onLost: (lines: number) => void): DestinationStream {
  let lost = 0;
  const ignore = () => undefined;
  return new sonicBoom.SonicBoom({ fd: openStandardError(), sync: false, maxLength })
    .on('error', ignore)
    .on('drop', () => {
      lost += 1;
    })
    .on('drain', () => {
      const lines = lost;
      lost = 0;
      if (lines > 0) onLost(lines);
    });
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
