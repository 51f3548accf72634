// Preloaded into the bridge, which knows nothing of it; tells its parent what the process holds:
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
  // The one that there is, of queryObjects, is the probe's own.
  if (name !== 'ExperimentalWarning') warnings.push(`${name}: ${message}`);
});

const listenersOf = (emitter) =>
  emitter.eventNames().reduce((sum, name) => sum + emitter.listenerCount(name), 0);
const sumOf = (objects, count) => objects.reduce((sum, object) => sum + count(object), 0);
const countOf = (type) => queryObjects(type, { format: 'count' });

const timer = setTimeout(() => {}, 0);
const Timeout = timer.constructor;
clearTimeout(timer);

/** Collected more than once, as what is finalized sets more free. */
async function collect() {
  for (let round = 0; round < 2; round++) {
    globalThis.gc();
    await turn();
  }
}

const answers = {
  /** Bytes on the heap, and of the process, after a collection. */
  async memory() {
    await collect();
    // It lets go of what is dead before that is counted as held by the bridge.
    signals.all();
    sockets.all();
    await collect();
    const { heapUsed, rss, external, arrayBuffers } = process.memoryUsage();
    return { heapUsed, rss, external, arrayBuffers };
  },

  /** What else it holds, after a collection. */
  async holdings() {
    await collect();
    const kinds = process.getActiveResourcesInfo();
    const handles = Object.fromEntries(
      [...new Set(kinds)].sort().map((kind) => [kind, kinds.filter((each) => each === kind).length]),
    );
    return {
      handles,
      descriptors: process.platform === 'linux' ? readdirSync('/proc/self/fd').length : null,
      timers: countOf(Timeout),
      emitters: countOf(EventEmitter),
      signals: countOf(AbortSignal),
      promises: countOf(Promise),
      listeners: {
        process: listenersOf(process),
        signals: sumOf(signals.all(), (signal) => getEventListeners(signal, 'abort').length),
        sockets: sumOf(sockets.all(), listenersOf),
      },
      warnings,
    };
  },

  /** Writes a heap snapshot, for the developer tools of a browser. */
  async snapshot(file) {
    await collect();
    return writeHeapSnapshot(file);
  },
};

serveParent(answers);
process.channel?.unref();
