// This file is preloaded into the bridge, and tells its parent what the process holds:
//   node --expose-gc --import ./scripts/soak/probe.mjs dist/main.js run
import { subscribe } from 'node:diagnostics_channel';
import { EventEmitter, getEventListeners } from 'node:events';
import { readdirSync } from 'node:fs';
import { setImmediate as turn } from 'node:timers/promises';
import { queryObjects, writeHeapSnapshot } from 'node:v8';
import { serveParent } from '../measure/serveParent.mjs';

/** Objects that are not kept alive by being remembered. */
class Alive {
  #refs = [];

  add(object) {
    this.#refs.push(new WeakRef(object));
  }

  all() {
    this.#refs = this.#refs.filter((ref) => ref.deref() !== undefined);
    return this.#refs.map((ref) => ref.deref());
  }
}

const sockets = new Alive();
subscribe('net.client.socket', ({ socket }) => sockets.add(socket));

const signals = new Alive();
globalThis.AbortController = class extends AbortController {
  constructor() {
    super();
    signals.add(this.signal);
  }
};

const warnings = [];
process.on('warning', ({ name, message }) => {
  // This one comes from queryObjects below.
  if (name !== 'ExperimentalWarning') warnings.push(`${name}: ${message}`);
});

const timer = setTimeout(() => {}, 0);
const Timeout = timer.constructor;
clearTimeout(timer);

const countOf = (type) => queryObjects(type, { format: 'count' });
const listenersOf = (emitter) =>
  emitter.eventNames().reduce((sum, name) => sum + emitter.listenerCount(name), 0);
const sumOf = (objects, count) => objects.reduce((sum, object) => sum + count(object), 0);

/** Collects garbage twice, because finalized objects release others. */
async function collect() {
  for (let round = 0; round < 2; round++) {
    globalThis.gc();
    // These references end here, so that they do not count as the bridge's.
    signals.all();
    sockets.all();
    await turn();
  }
}

serveParent({
  async look() {
    await collect();
    const { heapUsed, rss, external } = process.memoryUsage();
    return {
      heapUsed,
      held: heapUsed + external,
      rss,
      handles: process.getActiveResourcesInfo().length,
      descriptors: readdirSync('/proc/self/fd').length,
      timers: countOf(Timeout),
      emitters: countOf(EventEmitter),
      signals: countOf(AbortSignal),
      promises: countOf(Promise),
      processListeners: listenersOf(process),
      signalListeners: sumOf(signals.all(), (signal) => getEventListeners(signal, 'abort').length),
      socketListeners: sumOf(sockets.all(), listenersOf),
    };
  },

  /** Node.js warns of too many listeners, for example. */
  warnings: () => warnings,

  /** Writes a heap snapshot, for the developer tools of a browser. */
  async snapshot(file) {
    await collect();
    return writeHeapSnapshot(file);
  },
});
process.channel?.unref();
