import { setTimeout } from 'node:timers/promises';
import type { Figure, Target } from '../figures.ts';
import { Listener } from '../listener.ts';
import {
  type Bench,
  emptyScript,
  listBegins,
  onStage,
  type Raw,
  record,
  type Stage,
  type Story,
  type Subject,
  startBridge,
  startRaw,
  type Work,
  workOf,
  writeScript,
} from '../stage.ts';

/** The work of both, run by run. */
interface Works {
  readonly bridge: Work[];
  readonly raw: Work[];
}

const largeSize = 10_000;
/** What V8 has compiled after ten refreshes of 1,000 valves, a small account has after a day. */
const warmUps = (sonics: number) => Math.max(2, largeSize / sonics);
const quietMs = 300;
/** Longer than the bridge waits before it publishes its discovery messages once more. */
const discoveryAgainMs = 8_000;
/** Each of them takes half a minute. */
const mostLargeStarts = 2;

/** Everything is read and published: at the start, after a change, for a new broker, for Home Assistant, and without a change. */
export const refresh: Story = {
  name: 'refresh',
  sizes: [1_000, largeSize],
  run: (bench, sonics, isLargest) =>
    onStage(bench, { sonics }, async (stage) => {
      const most = sonics >= largeSize ? 1.4 : 1.2;
      const { script, bridge: recorded } = await record(stage, () => startBridge(stage));
      await recorded.stop();
      const everything = writeScript(stage, script);
      const figure = (what: string, works: Works, limit: number) => figuresOf(sonics, what, works, limit);
      const figures = figure('from the start', await fromTheStart(stage, everything), most);

      await stage.broker.restart();
      const bridge = startBridge(stage);
      await workOf(stage, bridge);
      figures.push(...figure('every valve changed', await changed(stage, bridge), most));
      if (isLargest) {
        const raw = await startRaw(everything);
        await raw.ask('refresh', 'overlapping');
        const again = writeScript(stage, { ...script, paths: [] });
        figures.push(...figure('reconnect', await reconnected(stage, bridge, raw, again), 1.1));
        figures.push(...figure('birth', await born(stage, bridge, raw, again), 1.1));
        await raw.stop();
      }
      await bridge.stop();
      if (isLargest) {
        const { works, published } = await unchanged(stage, everything);
        figures.push(...figure('quiet', works, 1));
        const what = 'quiet, messages';
        const target: Target = { by: 'value', most: 0 };
        figures.push({ story: 'refresh', sonics, what, unit: '', bridge: [published], raw: null, target });
      }
      return figures;
    }),
};

function figuresOf(sonics: number, what: string, { bridge, raw }: Works, most: number): Figure[] {
  const figure = (measured: string, unit: string, value: (work: Work) => number, target: Target | null) => ({
    ...{ story: 'refresh', sonics, what: `${what}, ${measured}`, unit, target },
    ...{ bridge: bridge.map(value), raw: raw.map(value) },
  });
  return [
    figure('wall', 'ms', ({ wallMs }) => wallMs, { by: 'ratio', most }),
    figure('CPU', 'ms', ({ cpuMs }) => cpuMs, { by: 'ratio', most }),
    // That both have sent the same is not a target, but what makes the two figures above comparable.
    figure('sent', 'kB', ({ sentBytes }) => sentBytes / 1_000, null),
  ];
}

/** Measures both in turn, after some runs that do not count. */
async function inTurn(
  { runs, isQuick, say }: Bench,
  what: string,
  ofBridge: () => Promise<Work>,
  ofRaw: () => Promise<Work>,
  notCounted = 0,
): Promise<Works> {
  const works: Works = { bridge: [], raw: [] };
  for (let run = isQuick ? 0 : -notCounted; run < runs; run++) {
    say(`${what}: run ${run + 1}`);
    const [bridge, raw] = [await ofBridge(), await ofRaw()];
    if (run < 0) continue;
    works.bridge.push(bridge);
    works.raw.push(raw);
  }
  return works;
}

/** A new process reads and publishes everything. */
function fromTheStart(stage: Stage, folder: string): Promise<Works> {
  const { bench, sonics, broker, rawBroker } = stage;
  const runs = sonics >= largeSize ? Math.min(bench.runs, mostLargeStarts) : bench.runs;
  return inTurn(
    { ...bench, runs },
    'refresh, from the start',
    async () => {
      await broker.restart();
      const bridge = startBridge(stage);
      const work = await workOf(stage, bridge);
      await bridge.stop();
      return work;
    },
    async () => {
      await rawBroker.restart();
      const raw = await startRaw(folder);
      await raw.ask('refresh', 'overlapping');
      const work = await workOf(stage, raw, quietMs);
      await raw.stop();
      return work;
    },
  );
}

/** The raw loop does what is in a folder. */
async function workOfRaw(stage: Stage, raw: Raw, folder: string): Promise<Work> {
  await raw.ask('load', folder);
  await raw.ask('watch');
  await raw.ask('run', 'overlapping');
  return workOf(stage, raw, quietMs);
}

/** A bridge that runs reads everything, when every valve has changed. The raw loop is a new process each time. */
async function changed(stage: Stage, bridge: Subject): Promise<Works> {
  const { bench, sonics, cloud, broker } = stage;
  const listener = await Listener.start(broker.url);
  const refreshed = async () => {
    await cloud.ask('change');
    await bridge.ask('watch');
    await listener.publish('sonic2mqtt/bridge/refresh', 'now');
    return bridge;
  };
  // After the start, all discovery messages are published a second time. They are no part of a refresh.
  await setTimeout(discoveryAgainMs);
  const { script } = await record(stage, refreshed);
  const folder = writeScript(stage, script);
  const works = await inTurn(
    bench,
    'refresh, every valve changed',
    async () => workOf(stage, await refreshed()),
    async () => {
      const raw = await startRaw(folder);
      await raw.ask('signIn');
      await raw.ask('connect');
      const work = await workOfRaw(stage, raw, folder);
      await raw.stop();
      return work;
    },
    warmUps(sonics),
  );
  await listener.stop();
  return works;
}

/** The broker has restarted with nothing retained. */
function reconnected(stage: Stage, bridge: Subject, raw: Raw, folder: string): Promise<Works> {
  const { bench, broker, rawBroker } = stage;
  return inTurn(
    bench,
    'refresh, reconnect',
    async () => {
      await setTimeout(discoveryAgainMs);
      await broker.stop();
      await bridge.ask('watch');
      await broker.start();
      return workOf(stage, bridge);
    },
    async () => {
      await rawBroker.restart();
      await raw.ask('load', folder);
      await raw.ask('watch');
      await raw.ask('connect');
      await raw.ask('run', 'overlapping');
      return workOf(stage, raw, quietMs);
    },
  );
}

/** Home Assistant has started. The bridge waits for up to 1.5 s on purpose, which does not count. */
async function born(stage: Stage, bridge: Subject, raw: Raw, folder: string): Promise<Works> {
  const { bench, broker } = stage;
  const listener = await Listener.start(broker.url);
  const works = await inTurn(
    bench,
    'refresh, birth',
    async () => {
      await setTimeout(discoveryAgainMs);
      await bridge.ask('watch');
      await listener.publish('homeassistant/status', 'online');
      return workOf(stage, bridge);
    },
    () => workOfRaw(stage, raw, folder),
  );
  await listener.stop();
  return works;
}

/** The lists of sonics are read by their schedule, and nothing has changed. */
async function unchanged(stage: Stage, everything: string): Promise<{ works: Works; published: number }> {
  const { bench, sonics } = stage;
  // The raw loop has its turn between two reads.
  const period = sonics >= largeSize ? '7s' : '3s';
  const bridge = startBridge(stage, { schedules: { sonics: period } });
  await workOf(stage, bridge);
  // A raw loop that has run for longer than the bridge would have more compiled code.
  const raw = await startRaw(everything);
  await raw.ask('refresh', 'overlapping');
  const { script, published } = await record(stage, () => listBegins(stage, bridge), quietMs);
  const folder = writeScript(stage, { ...emptyScript, paths: script.paths });
  const works = await inTurn(
    bench,
    'refresh, quiet',
    async () => workOf(stage, await listBegins(stage, bridge), quietMs),
    () => workOfRaw(stage, raw, folder),
    warmUps(sonics),
  );
  await bridge.stop();
  await raw.stop();
  return { works, published };
}
