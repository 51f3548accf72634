#!/usr/bin/env node
import { setMaxListeners } from 'node:events';
import { setDefaultAutoSelectFamilyAttemptTimeout } from 'node:net';
import { setTimeout as passed } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { errorMessage } from './base/errorMessage.ts';
import { exitStatus } from './cli/context.ts';
import { lastingCommands, runProgram } from './cli/program.ts';
import { ConfigError } from './config/problems.ts';

// mqtt.js keeps four bytes for each length that a packet has ever had, and with them the whole pool that they were cut
// from: with the usual 8 KiB that grows for months, to 128 MiB at worst.
Buffer.poolSize = 256;

// V8 prefers taking memory to collecting it, which a Raspberry Pi feels: without these it takes 10 % more with ten sonics
// and a third more with ten thousand. It costs a refresh of these a sixth more processor time, and a quiet poll none. Both
// are read at each collection, so this is not late.
setFlagsFromString('--semi-space-growth-factor=1');
setFlagsFromString('--heap-growing-percent=30');

// Of a name with several addresses, Node.js gives each 250 ms and then tries the next: over a slow link, where only IPv4
// leads out, it would never connect. Two seconds also outlast one lost packet.
setDefaultAutoSelectFamilyAttemptTimeout(2_000);

/** A stop takes two seconds at most, and what the disk takes; whatever hangs then is left behind. */
const stopLimitMs = 4_500;

const heldUpCheckMs = 10;
const parentCheckMs = 500;

/** A Ctrl+C reaches every process of the terminal, and npm sends it to its child again, some milliseconds later. */
const sameWishMs = 500;

const print = (line: string) => process.stdout.write(`${line}\n`);
const complain = (line: string) => process.stderr.write(`${line}\n`);

async function main(): Promise<number> {
  const stopping = new AbortController();
  // Every check listens for it, and setup may take many.
  setMaxListeners(0, stopping.signal);
  let stoppedStatus: number = exitStatus.failed;
  const stop = () => {
    if (stopping.signal.aborted) return;
    stopping.abort();
    setTimeout(() => leave(stoppedStatus), stopLimitMs).unref();
  };
  let askedAt: number | null = null;
  const ask = () => {
    askedAt ??= performance.now();
    // Asked twice, a person does not want to wait.
    if (performance.now() - askedAt > sameWishMs) leave(exitStatus.failed);
    stop();
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, ask);
  if (process.env['npm_lifecycle_event']) stopWithParent(stop);
  const { signal } = stopping;
  const context = { env: process.env, cwd: process.cwd(), print, complain, signal };
  return runProgram(process.argv.slice(2), context, (command) => {
    if (lastingCommands.includes(command)) stoppedStatus = exitStatus.done;
  });
}

/** An exit waits for a disk or a DNS server that is being asked, and then nothing else happens, however long it hangs. */
function isExitHeldUp(): boolean {
  return process.getActiveResourcesInfo().some((each) => /^(FSReq|FileHandle|GetAddrInfo)/i.test(each));
}

/** Ends the process at once: a signal waits for nothing. The first process of a container cannot send it to itself. */
function leave(status: number): void {
  if (isExitHeldUp()) {
    process.removeAllListeners('SIGTERM');
    process.kill(process.pid, 'SIGTERM');
  }
  process.exit(status);
}

/** The shell of `npm start` ends at a SIGTERM without passing it on: its end is the only sign. */
function stopWithParent(stop: () => void): void {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    stop();
  }, parentCheckMs);
  timer.unref();
}

/** A reader that has seen enough, such as `head`, is no failure; a full disk is. */
function statusAfter(error: NodeJS.ErrnoException): number {
  return error.code === 'EPIPE' ? exitStatus.done : exitStatus.failed;
}

process.stdout.on('error', (error) => process.exit(statusAfter(error)));
// A complaint that nobody can read ends nothing.
process.stderr.on('error', () => undefined);

try {
  const status = await main();
  // Signals are still handled while this waits.
  while (isExitHeldUp()) await passed(heldUpCheckMs);
  // An exit would cut off what a slow reader has not taken yet.
  process.stdout.write('', (error) => process.exit(error ? statusAfter(error) : status));
} catch (error) {
  if (error instanceof ConfigError) {
    complain(error.message);
    process.exit(exitStatus.badUsage);
  }
  complain(errorMessage(error));
  process.exit(exitStatus.failed);
}
