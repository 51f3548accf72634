import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { waitUntil } from '../../measure/time.ts';
import { Listener } from '../listener.ts';
import {
  bundledRaw,
  emptyScript,
  onStage,
  type Stage,
  type Story,
  startBridge,
  startRaw,
  writeScript,
} from '../stage.ts';

/** With the default schedules, everything that is frequent happens at least once in this time. */
const idleMs = { usually: 60_000, quickly: 1_000 };
/** Code is compiled, and what happens once has happened. */
const restMs = { usually: 20_000, quickly: 1_000 };

/** What follows the start at once is over then. */
const quietMs = 3_000;

/** The bridge runs with default options, in a home where little happens. */
export const idle: Story = {
  name: 'idle',
  sizes: [10],
  run: (bench, sonics) =>
    onStage(bench, { sonics, isAlive: true }, async (stage) => {
      const pace = bench.isQuick ? 'quickly' : 'usually';
      // What looks at the sockets two hundred times a second would cost more than the bridge.
      const bridge = startBridge(stage, { isAsUsual: true, hasGauge: false });
      const file = await bundledRaw(bench);
      const folder = writeScript(stage, { ...emptyScript, paths: ['/ape/v1/incidents?page=1'] });
      const raw = await startRaw(folder, { order: 'idle', file });
      await shown(stage);
      await pause(restMs[pace]);
      const used = () => [bridge, raw].map(({ pid }) => usedMs(pid));
      const [before, startedAt] = [used(), performance.now()];
      await pause(idleMs[pace]);
      const passedMs = performance.now() - startedAt;
      const [ofBridge = 0, ofRaw = 0] = used().map((ms, at) => ((ms - (before[at] ?? 0)) / passedMs) * 100);
      const memory = privateMemory(bridge.pid);
      await Promise.all([bridge.stop(), raw.stop()]);
      const common = { story: 'idle', sonics };
      return [
        {
          ...{ ...common, what: 'CPU of a core', unit: '%', bridge: [ofBridge], raw: [ofRaw] },
          target: { by: 'ratio', most: 1.7 },
        },
        { ...common, what: 'private memory', unit: 'MB', bridge: [memory], raw: null, target: null },
      ];
    }),
};

/** What the bridge takes from the other programs of a small computer, after the start with default options. */
export const memory: Story = {
  name: 'memory',
  sizes: [10],
  run: (bench, sonics) =>
    onStage(bench, { sonics }, async (stage) => {
      const ready = { topic: 'raw', payload: Buffer.from('ready'), retain: false };
      const folder = writeScript(stage, { paths: [], messages: [ready] });
      const listener = await Listener.start(stage.rawBroker.url, [ready.topic]);
      const file = await bundledRaw(bench);
      const ofBridge: number[] = [];
      const ofRaw: number[] = [];
      for (let run = 0; run < bench.runs; run++) {
        bench.say(`memory: run ${run + 1}`);
        await stage.broker.restart();
        const bridge = startBridge(stage, { isAsUsual: true, hasGauge: false });
        await shown(stage);
        ofBridge.push(privateMemory(bridge.pid));
        await bridge.stop();
        const isReady = listener.until(() => true);
        const raw = await startRaw(folder, { order: 'overlapping', file });
        await isReady;
        await pause(quietMs);
        ofRaw.push(privateMemory(raw.pid));
        await raw.stop();
      }
      await listener.stop();
      const common = { story: 'memory', sonics, unit: 'MB', bridge: ofBridge };
      return [{ ...common, what: 'private', raw: ofRaw, target: { by: 'value', most: 40 } }];
    }),
};

/** Resolves once the bridge has shown all sonics, and has been quiet for a while. */
async function shown({ broker, sonics }: Stage): Promise<void> {
  const listener = await Listener.start(broker.url, ['sonic2mqtt/#']);
  await waitUntil('all sonics', () => {
    const topics = new Set(listener.heard.map(({ topic }) => topic));
    const count = [...topics].filter((topic) => /^sonic2mqtt\/sonic\/[^/]+$/.test(topic)).length;
    return count >= sonics ? null : `${count} are shown`;
  });
  await pause(quietMs);
  await listener.stop();
}

/** The processor time that all threads of a process have used, in ms. */
function usedMs(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`);
  const used = threads.map((thread) => readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8'));
  return used.reduce((sum, text) => sum + Number(text.split(' ', 1)[0]) / 1e6, 0);
}

/** The memory that a process shares with no other, in MB. */
function privateMemory(pid: number): number {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  const kilobytes = [...text.matchAll(/^Private_(?:Clean|Dirty): +(\d+) kB$/gm)].map(([, each]) =>
    Number(each),
  );
  return kilobytes.reduce((sum, each) => sum + each, 0) / 1_000;
}
