import { setMaxListeners } from 'node:events';
import { setDefaultAutoSelectFamilyAttemptTimeout } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { errorMessage } from './base/errorMessage.ts';
import { limitHeap } from './base/garbage.ts';
import { exitStatus } from './cli/context.ts';
import { lastingCommands, runProgram } from './cli/program.ts';
import { ConfigError } from './config/problems.ts';

// For each length that a packet has ever had, mqtt.js keeps four bytes, and with them the whole pool from which they
// were cut. With the default pool of 8 KiB, that grows for months, up to 128 MiB.
Buffer.poolSize = 256;

limitHeap();

// If a name has several addresses, Node.js tries each for 250 ms and then the next. Over a slow link on which only IPv4
// works, it would never connect. Two seconds also survive one lost packet.
setDefaultAutoSelectFamilyAttemptTimeout(2_000);

/**
 * A stop takes at most two seconds and the time of the disk. Anything that still hangs after this time, in ms, is
 * abandoned. The rest of the five seconds is for a slow computer.
 */
const stopLimitMs = 4_000;

const stopping = new AbortController();

const print = (line: string) => process.stdout.write(`${line}\n`);
const complain = (line: string) => process.stderr.write(`${line}\n`);

async function main(): Promise<number> {
  // Every check listens to this signal, and the setup may run many checks.
  setMaxListeners(0, stopping.signal);
  let stoppedStatus: number = exitStatus.failed;
  const stop = () => {
    if (stopping.signal.aborted) return;
    stopping.abort();
    setTimeout(() => leave(stoppedStatus), stopLimitMs).unref();
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop);
  if (process.env['npm_lifecycle_event']) stopWithParent(stop);
  const { signal } = stopping;
  const context = { env: process.env, cwd: process.cwd(), print, complain, signal };
  return runProgram(process.argv.slice(2), context, (command) => {
    if (lastingCommands.includes(command)) stoppedStatus = exitStatus.done;
  });
}

/**
 * Ends the process at once, after a stop. `process.exit` alone would wait for the threads of Node.js: ten seconds and more
 * for a name that no DNS server answers, and for ever for a disk that hangs. So the program is replaced by one that ends at
 * once. Before 22.15, Node.js cannot do that, but its V8 ends the process with status 0 if flags contradict each other.
 */
function leave(status: number): never {
  process.emit('exit', status);
  if ('execve' in process && typeof process.execve === 'function') {
    process.execve(process.execPath, [process.execPath, '--eval', `process.exit(${status})`], {});
  } else if (status === exitStatus.done) {
    for (const flag of ['--exit-on-contradictory-flags', '--jitless', '--no-jitless'])
      setFlagsFromString(flag);
  }
  process.exit(status);
}

/** Stops when the parent process ends. The shell of `npm start` ends at a SIGTERM without passing the signal on. */
function stopWithParent(stop: () => void): void {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    stop();
  }, 500);
  timer.unref();
}

/** A reader that has seen enough, such as `head`, is no failure. A full disk is one. */
function statusAfter(error: NodeJS.ErrnoException): number {
  return error.code === 'EPIPE' ? exitStatus.done : exitStatus.failed;
}

// Without a listener, the first of these signals opens the debugger of Node.js, and the second ends the process.
for (const signal of ['SIGUSR1', 'SIGUSR2'] as const) process.on(signal, () => undefined);

process.stdout.on('error', (error) => process.exit(statusAfter(error)));
// If standard error cannot be written, the process goes on.
process.stderr.on('error', () => undefined);

try {
  const status = await main();
  // An immediate exit would cut off output that a slow reader has not read yet.
  process.stdout.write('', (error) => {
    const last = error ? statusAfter(error) : status;
    if (stopping.signal.aborted) leave(last);
    process.exit(last);
  });
} catch (error) {
  if (error instanceof ConfigError) {
    complain(error.message);
    process.exit(exitStatus.badUsage);
  }
  complain(errorMessage(error));
  process.exit(exitStatus.failed);
}
