import type { Broker } from '../../measure/broker.ts';
import { nowMs } from '../../measure/now.ts';
import type { Part } from '../../measure/part.ts';
import { bundledRaw } from '../bundle.ts';
import type { Case } from '../case.ts';
import { Listener } from '../listener.ts';
import { type Script, writeScript } from '../script.ts';
import { type Bench, onStage, raiseBridge, recordScript, rest, type Stage } from '../stage.ts';
import { type GaugeDeeds, type RawDeeds, startRaw } from '../subjects.ts';

const sonicFilter = 'sonic2mqtt/sonic/+';
/** Hoped for with the ten sonics of a usual home. */
const judgedSonics = 10;

/** From the start of the process to the first retained sonic. */
export const start: Case = {
  name: 'start',
  what: 'from the start of the process to the first retained sonic',
  sizes: [1, 10, 1_000, 10_000],
  run: (bench, sonics) =>
    onStage(bench, sonics, async (stage) => {
      const script = await recordScript(stage);
      const bridge: number[] = [];
      const raw: number[] = [];
      const bundled: number[] = [];
      const bundle = await bundledRaw(bench.newFolder());
      for (let run = 0; run < bench.runs(sonics); run++) {
        bench.say(`start, ${sonics} sonics: run ${run + 1}`);
        bridge.push(await bridgeStart(stage));
        raw.push(await rawStart(bench, stage, script));
        bundled.push(await rawStart(bench, stage, script, bundle));
      }
      const target = sonics === judgedSonics ? ({ by: 'ratio', most: 1.5 } as const) : null;
      const common = { case: 'start', sonics, unit: 'ms', bridge, target };
      return [
        { ...common, what: 'first sonic', raw },
        { ...common, what: 'first sonic, raw loop bundled', raw: bundled },
      ];
    }),
};

async function bridgeStart(stage: Stage): Promise<number> {
  const begin = () => raiseBridge(stage, { hasGauge: false, profileFolder: null });
  return (await timed(stage.broker, begin)).firstMs;
}

async function rawStart(
  bench: Bench,
  { account, broker }: Stage,
  script: Script,
  file?: URL,
): Promise<number> {
  const folder = bench.newFolder();
  writeScript(folder, script, { account, broker });
  const args = [folder, 'one after the other'];
  const asked = (raw: Part<RawDeeds>) => raw.ask('loadedMs');
  const { firstMs, answer } = await timed(
    broker,
    () => startRaw(folder, { hasGauge: false }, args, file),
    asked,
  );
  // What it is to do, the bridge finds out itself.
  return firstMs - answer;
}

/** Starts something, and ends it once it has published a sonic and answered a last question. */
async function timed<Deeds extends GaugeDeeds, Answer>(
  broker: Broker,
  begin: () => Part<Deeds>,
  ask?: (part: Part<Deeds>) => Promise<Answer>,
): Promise<{ firstMs: number; answer: Answer }> {
  await broker.restart();
  const listener = await Listener.start(broker.url, [sonicFilter]);
  await rest();
  const first = listener.next(({ payload }) => payload !== '');
  const begunAtMs = nowMs();
  const part = begin();
  const { atMs } = await first;
  await listener.unsubscribe([sonicFilter]);
  const answer = (await ask?.(part)) as Answer;
  await part.stop();
  await listener.stop();
  return { firstMs: atMs - begunAtMs, answer };
}
