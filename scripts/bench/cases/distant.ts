import { nowMs } from '../../measure/now.ts';
import type { Case } from '../case.ts';
import { Listener } from '../listener.ts';
import { onStage, raiseBridge, rest, type Stage } from '../stage.ts';

/** How far the cloud is away from a usual home, there and back. */
const latencyMs = 150;
const homeSonics = 10;

/** The start with all as it is unless configured, and a cloud that takes its time. */
export const distant: Case = {
  name: 'distant',
  what: `from the start of the process to the retained sonics, the cloud ${latencyMs} ms away`,
  sizes: [homeSonics, 100],
  run: (bench, sonics) =>
    onStage(
      bench,
      sonics,
      async (stage) => {
        const first: number[] = [];
        const last: number[] = [];
        for (let run = 0; run < bench.runs(sonics); run++) {
          bench.say(`distant, ${sonics} sonics: run ${run + 1}`);
          const afterMs = await shownAfterMs(stage);
          first.push(Math.min(...afterMs));
          last.push(Math.max(...afterMs));
        }
        const common = { case: 'distant', sonics, unit: 'ms', raw: null };
        // What the program itself takes, and four ways to the cloud and back.
        const target = sonics === homeSonics ? ({ by: 'value', most: 450 + 4 * latencyMs } as const) : null;
        return [
          { ...common, what: 'first sonic', bridge: first, target },
          { ...common, what: 'last sonic', bridge: last, target: null },
        ];
      },
      { latencyMs },
    ),
};

/** When each sonic came, after the start of the process. */
async function shownAfterMs(stage: Stage): Promise<readonly number[]> {
  const { broker, sonics } = stage;
  await broker.restart();
  const listener = await Listener.start(broker.url, ['sonic2mqtt/sonic/+']);
  await rest();
  const shownAt = new Map<string, number>();
  const all = listener.next(({ topic, payload, atMs }) => {
    if (payload !== '' && !shownAt.has(topic)) shownAt.set(topic, atMs);
    return shownAt.size === sonics;
  });
  const begunAtMs = nowMs();
  const bridge = raiseBridge(stage, { hasGauge: false, profileFolder: null, isAsUsual: true });
  await all;
  await bridge.stop();
  await listener.stop();
  return [...shownAt.values()].map((atMs) => atMs - begunAtMs);
}
