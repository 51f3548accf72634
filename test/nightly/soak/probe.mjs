// Preloaded into the bridge: at each SIGUSR2 it writes a line of what the process holds to the file SOAK_FIGURES.
import { EventEmitter } from 'node:events';
import { appendFileSync, readdirSync } from 'node:fs';
import { setImmediate as turn } from 'node:timers/promises';
import { queryObjects, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');
const file = process.env['SOAK_FIGURES'];

const timer = setTimeout(() => {}, 0);
const Timeout = timer.constructor;
clearTimeout(timer);

let warnings = 0;
process.on('warning', ({ name }) => {
  // This one comes from queryObjects below.
  if (name !== 'ExperimentalWarning') warnings += 1;
});

const countOf = (type) => queryObjects(type, { format: 'count' });
const listenersOf = (emitter) =>
  emitter.eventNames().reduce((sum, name) => sum + emitter.listenerCount(name), 0);

process.on('SIGUSR2', async () => {
  // Twice, because finalized objects release others.
  for (let round = 0; round < 2; round++) {
    collect();
    await turn();
  }
  const { heapUsed, external } = process.memoryUsage();
  const figures = {
    heapUsed,
    held: heapUsed + external,
    handles: process.getActiveResourcesInfo().length,
    descriptors: readdirSync('/proc/self/fd').length,
    timers: countOf(Timeout),
    emitters: countOf(EventEmitter),
    signals: countOf(AbortSignal),
    promises: countOf(Promise),
    listeners: listenersOf(process),
    warnings,
  };
  appendFileSync(file, `${JSON.stringify(figures)}\n`);
});
