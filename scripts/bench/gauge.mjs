// This file is preloaded into the bridge and into the raw loop alike, and tells the benchmark what they use:
//   node --import ./scripts/bench/gauge.mjs dist/main.js run
import { subscribe } from 'node:diagnostics_channel';
import { serveParent } from '../measure/serveParent.mjs';

// At a stop the bridge leaves without the end of Node.js, which writes the profile.
if (process.execArgv.includes('--cpu-prof')) process.on('exit', (status) => process.reallyExit(status));

/** Sockets are looked at this often. A broker or cloud that sends much could not tell the time as cheaply. */
const sampleMs = 5;
/** A ping is shorter than any request or message. */
const fewestBytes = 100;
/** After such a pause, less than this is not the work that is measured, such as the end of a subscription. */
const longestPauseMs = 100;
const fewestBytesAfterPause = 1_000;

/** The clock of the machine, which all processes share, and the processor time used so far; in ms. */
function mark() {
  const { user, system } = process.cpuUsage();
  return { atMs: Number(process.hrtime.bigint()) / 1e6, cpuMs: (user + system) / 1_000 };
}

let sockets = [];
let lastLook = mark();

function watched(socket, begun = null) {
  const { bytesRead, bytesWritten } = socket;
  const bytes = { bytesRead, bytesWritten, writtenBefore: bytesWritten };
  return { socket, ...bytes, begun, isWorking: begun !== null, wroteAtMs: lastLook.atMs, received: null };
}

function look() {
  const now = mark();
  for (const each of sockets) {
    const { bytesRead, bytesWritten } = each.socket;
    const written = bytesWritten - each.bytesWritten;
    if (written > 0) {
      const isAfterPause = each.begun !== null && now.atMs - each.wroteAtMs > longestPauseMs;
      each.isWorking = written >= (isAfterPause ? fewestBytesAfterPause : fewestBytes);
      each.wroteAtMs = now.atMs;
    }
    if (each.isWorking) each.begun ??= lastLook;
    const read = bytesRead - each.bytesRead;
    if (each.begun !== null && read > (each.isWorking ? 0 : fewestBytesAfterPause)) each.received = now;
    each.bytesRead = bytesRead;
    each.bytesWritten = bytesWritten;
  }
  lastLook = now;
}

subscribe('net.client.socket', ({ socket }) => sockets.push(watched(socket, mark())));
setInterval(look, sampleMs).unref();

globalThis.gauge = {
  mark,

  /** Forgets all work until now. */
  watch() {
    look();
    sockets = sockets.filter(({ socket }) => !socket.destroyed).map(({ socket }) => watched(socket));
  },

  /** The work since then: from the first bytes sent to the last bytes received. A refused connection is no work. */
  work() {
    const used = sockets.filter(({ received }) => received !== null);
    if (used.length === 0) return null;
    const first = used.map(({ begun }) => begun).reduce((a, b) => (b.atMs < a.atMs ? b : a));
    const last = used.map(({ received }) => received).reduce((a, b) => (b.atMs > a.atMs ? b : a));
    const sentBytes = used.reduce((sum, each) => sum + each.bytesWritten - each.writtenBefore, 0);
    return { endMs: last.atMs, wallMs: last.atMs - first.atMs, cpuMs: last.cpuMs - first.cpuMs, sentBytes };
  },
};
// The raw loop serves these functions together with its own.
if (process.argv[2] === 'run') {
  serveParent(globalThis.gauge);
  process.channel?.unref();
}
