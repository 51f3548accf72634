import type { Part } from '../../measure/part.ts';
import { nowMs } from '../../measure/time.ts';
import { Listener } from '../listener.ts';
import {
  bundledRaw,
  onStage,
  record,
  type Stage,
  type Story,
  startBridge,
  startRaw,
  writeScript,
} from '../stage.ts';

/** A usual home is this far away from the cloud, there and back. */
const latencyMs = 150;

/** The bridge starts, and shows its first valve. The raw loop reads everything first. */
export const start: Story = {
  name: 'start',
  sizes: [10],
  run: (bench, sonics) =>
    onStage(bench, { sonics }, async (stage) => {
      const { script, bridge: recorded } = await record(stage, () => startBridge(stage));
      await recorded.stop();
      const folder = writeScript(stage, script);
      const file = await bundledRaw(bench);
      const order = 'one after the other';
      const bridge: number[] = [];
      const raw: number[] = [];
      const bundled: number[] = [];
      for (let run = 0; run < bench.runs; run++) {
        bridge.push((await shownAfterMs(stage, 1, () => startBridge(stage, { hasGauge: false }))).first);
        raw.push((await shownAfterMs(stage, 1, () => startRaw(folder, { order }))).first);
        bundled.push((await shownAfterMs(stage, 1, () => startRaw(folder, { order, file }))).first);
      }
      const common = { story: 'start', sonics, unit: 'ms', bridge };
      return [
        { ...common, what: 'first valve', raw, target: { by: 'ratio', most: 1 } },
        { ...common, what: 'first valve, raw loop in one file', raw: bundled, target: null },
      ];
    }),
};

/** The bridge starts with default options, and the cloud is far away. */
export const distant: Story = {
  name: 'distant',
  sizes: [10],
  run: (bench, sonics) =>
    onStage(bench, { sonics, latencyMs }, async (stage) => {
      const first: number[] = [];
      const last: number[] = [];
      for (let run = 0; run < bench.runs; run++) {
        const begin = () => startBridge(stage, { hasGauge: false, isAsUsual: true });
        const shown = await shownAfterMs(stage, sonics, begin);
        first.push(shown.first);
        last.push(shown.last);
      }
      const common = { story: 'distant', sonics, unit: 'ms', raw: null };
      return [
        { ...common, what: 'first valve', bridge: first, target: { by: 'value', most: 1_050 } },
        { ...common, what: 'last valve', bridge: last, target: { by: 'value', most: 1_400 } },
      ];
    }),
};

/** A first start of a large account, until the last value of the last valve is on the broker. */
export const values: Story = {
  name: 'values',
  sizes: [10_000],
  run: (bench, sonics) =>
    onStage(bench, { sonics }, async (stage) => {
      const { script, bridge: recorded } = await record(stage, () => startBridge(stage));
      await recorded.stop();
      // The bridge publishes its discovery messages after them.
      const messages = script.messages.filter(({ topic }) => topic.startsWith('sonic2mqtt/'));
      const folder = writeScript(stage, { ...script, messages });
      const filter = 'sonic2mqtt/sonic/#';
      const wanted = messages.filter(({ topic }) => topic.startsWith('sonic2mqtt/sonic/')).length;
      const bridge: number[] = [];
      const raw: number[] = [];
      for (let run = 0; run < bench.runs; run++) {
        const begin = () => startBridge(stage, { hasGauge: false });
        bridge.push((await shownAfterMs(stage, wanted, begin, filter)).last);
        const beginRaw = () => startRaw(folder, { order: 'overlapping' });
        raw.push((await shownAfterMs(stage, wanted, beginRaw, filter)).last);
      }
      const common = { story: 'values', sonics, unit: 'ms' };
      return [{ ...common, what: 'last value', bridge, raw, target: { by: 'ratio', most: 1.6 } }];
    }),
};

/** Starts a process with empty brokers, and ends it when it has published as many topics as are wanted. */
async function shownAfterMs(
  { broker, rawBroker }: Stage,
  wanted: number,
  begin: () => Part<never> | Promise<Part<never>>,
  filter = 'sonic2mqtt/sonic/+',
): Promise<{ readonly first: number; readonly last: number }> {
  await Promise.all([broker.restart(), rawBroker.restart()]);
  const filters = [filter];
  const listeners = [await Listener.start(broker.url, filters), await Listener.start(rawBroker.url, filters)];
  const shownAt = new Map<string, number>();
  const all = Promise.race(
    listeners.map((listener) =>
      listener.until(({ topic, payload, atMs }) => {
        if (payload.length > 0 && !shownAt.has(topic)) shownAt.set(topic, atMs);
        return shownAt.size === wanted;
      }),
    ),
  );
  const begunAtMs = nowMs();
  const part = await begin();
  await all;
  await part.stop();
  for (const listener of listeners) await listener.stop();
  const times = [...shownAt.values()].slice(0, wanted).map((atMs) => atMs - begunAtMs);
  return { first: Math.min(...times), last: Math.max(...times) };
}
