// Preloaded into the bridge and into the raw loop alike; tells their parent what they use:
//   node --expose-gc --import ./scripts/bench/gauge.mjs --import ./scripts/bench/servedGauge.mjs dist/main.js run
// Where GAUGE_SAMPLE_MS says how often to look, it also notes when their sockets have sent and received.
import { subscribe } from 'node:diagnostics_channel';
import { setImmediate as turn } from 'node:timers/promises';

/** The clock of the machine, which all its processes share, and the processor time so far; in ms. */
function mark() {
  const { user, system } = process.cpuUsage();
  return { atMs: Number(process.hrtime.bigint()) / 1e6, cpuMs: (user + system) / 1_000 };
}

const sampleMs = Number(process.env.GAUGE_SAMPLE_MS ?? 0);
let sockets = [];

/** A socket's bytes so far; when it first sent and last received is noted from now on. */
function watched({ socket, opened }) {
  const { bytesRead, bytesWritten } = socket;
  return { socket, opened, bytesRead, bytesWritten, port: null, sent: null, received: null };
}

function look(each) {
  const { bytesRead, bytesWritten, remotePort } = each.socket;
  // A socket that is closed has none any more.
  each.port ??= remotePort ?? null;
  if (bytesWritten !== each.bytesWritten) each.sent ??= mark();
  if (bytesRead !== each.bytesRead) each.received = mark();
  each.bytesRead = bytesRead;
  each.bytesWritten = bytesWritten;
}

let sampler;
if (sampleMs > 0) {
  subscribe('net.client.socket', ({ socket }) => sockets.push(watched({ socket, opened: mark() })));
  sampler = setInterval(() => sockets.forEach(look), sampleMs).unref();
}

/** What a process is asked; see servedGauge.mjs and raw.mjs. */
globalThis.gauge = {
  mark,

  /** Bytes, as they are. */
  rss: () => process.memoryUsage.rss(),

  /** Bytes after a collection; twice, as what is finalized sets more free. */
  async memory() {
    for (let round = 0; round < 2; round++) {
      globalThis.gc();
      await turn();
    }
    const { rss, heapUsed } = process.memoryUsage();
    return { rss, heapUsed };
  },

  /** What each socket has done since it was opened, or watched anew. */
  sockets: () => sockets.map(({ port, opened, sent, received }) => ({ port, opened, sent, received })),

  /** Looks at them no more, which costs. */
  lookAway: () => clearInterval(sampler),

  /** Watches those that are open anew. */
  watch() {
    sockets = sockets.filter(({ socket }) => !socket.destroyed).map(watched);
  },
};
