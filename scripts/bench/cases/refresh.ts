import { processCpuMs } from '../../measure/processCpu.ts';
import { median } from '../../measure/statistics.ts';
import type { Case } from '../case.ts';
import type { Figure, Target } from '../figures.ts';
import { type Script, writeScript } from '../script.ts';
import {
  type Bench,
  lastReceived,
  mustKeep,
  onStage,
  portOf,
  raiseBridge,
  recordScript,
  rest,
  type Stage,
  sampleMs,
  settled,
} from '../stage.ts';
import { type Order, type SocketMarks, type Subject, startRaw } from '../subjects.ts';

/** What one full refresh took, in ms. */
interface Refreshed {
  /** From the first connection to the last acknowledgement of the broker, or the last answer if that comes later. */
  readonly wallMs: number;
  /** From the first connection to the last answer of the cloud. */
  readonly askedMs: number;
  readonly cpuMs: number;
  readonly cloudCpuMs: number;
  readonly brokerCpuMs: number | null;
}

const small = 1_000;
const large = 10_000;

/** Everything is requested and published to an empty broker. */
export const refresh: Case = {
  name: 'refresh',
  what: 'everything is requested, and published to an empty broker',
  sizes: [1_000, 10_000],
  run: (bench, sonics) =>
    onStage(bench, sonics, async (stage) => {
      const script = await recordScript(stage);
      const bytes = script.messages.reduce((sum, { payload }) => sum + Buffer.byteLength(payload), 0);
      const made = `${script.paths.length} requests, ${script.messages.length} messages of ${(bytes / 1e6).toFixed(1)} MB`;
      bench.note(`refresh of ${sonics} sonics: ${made}`);
      const bridge: Refreshed[] = [];
      const raws: Record<Order, Refreshed[]> = { 'one after the other': [], overlapping: [] };
      for (let run = 0; run < bench.runs(sonics); run++) {
        bench.say(`refresh, ${sonics} sonics: run ${run + 1}`);
        bridge.push(await bridgeRefresh(stage, script));
        for (const order of Object.keys(raws) as Order[]) {
          raws[order].push(await rawRefresh(bench, stage, script, order));
        }
      }
      return figuresOf(bench, sonics, bridge, raws);
    }),
  conclude: (figures) => {
    const wallOf = (sonics: number) =>
      figures.find(
        (figure) => figure.case === 'refresh' && figure.sonics === sonics && figure.what === 'wall',
      );
    const [one, ten] = [wallOf(small), wallOf(large)];
    if (!one?.raw || !ten?.raw) return [];
    return [
      {
        case: 'refresh',
        sonics: large,
        what: `wall, by that of ${small}`,
        unit: 'times',
        bridge: [median(ten.bridge) / median(one.bridge)],
        raw: [median(ten.raw) / median(one.raw)],
        target: { by: 'value', most: 11 },
      },
    ];
  },
};

function figuresOf(
  bench: Bench,
  sonics: number,
  bridge: readonly Refreshed[],
  raws: Readonly<Record<Order, readonly Refreshed[]>>,
): Figure[] {
  const wallOf = (order: Order) => median(raws[order].map(({ wallMs }) => wallMs));
  const order = wallOf('overlapping') < wallOf('one after the other') ? 'overlapping' : 'one after the other';
  const other = order === 'overlapping' ? 'one after the other' : 'overlapping';
  bench.note(
    `refresh of ${sonics} sonics: the raw loop is faster with requests and publishes ${order}: ` +
      `${wallOf(order).toFixed(0)} ms, else ${wallOf(other).toFixed(0)} ms`,
  );
  const figure = (what: string, value: (refreshed: Refreshed) => number | null, target: Target | null) => {
    const valuesOf = (all: readonly Refreshed[]) => all.map(value).filter((each) => each !== null);
    const given = { bridge: valuesOf(bridge), raw: valuesOf(raws[order]) };
    return { case: 'refresh', sonics, what, unit: 'ms', ...given, target };
  };
  return [
    figure('wall', ({ wallMs }) => wallMs, { by: 'ratio', most: 1.2 }),
    figure('wall to the last answer', ({ askedMs }) => askedMs, null),
    figure('CPU', ({ cpuMs }) => cpuMs, null),
    figure('CPU of the cloud', ({ cloudCpuMs }) => cloudCpuMs, null),
    figure('CPU of the broker', ({ brokerCpuMs }) => brokerCpuMs, null),
  ].filter(({ bridge: values }) => values.length > 0);
}

async function bridgeRefresh(stage: Stage, script: Script): Promise<Refreshed> {
  return measured(
    stage,
    script,
    () => raiseBridge(stage, { sampleMs }),
    (bridge) => settled(stage, bridge),
  );
}

async function rawRefresh(bench: Bench, stage: Stage, script: Script, order: Order): Promise<Refreshed> {
  const folder = bench.newFolder();
  writeScript(folder, script, stage);
  return measured(
    stage,
    script,
    () => startRaw(folder, { sampleMs }),
    async (raw) => {
      await raw.ask('load', folder);
      await raw.ask('refresh', order);
      await rest();
    },
  );
}

async function measured<Each extends Subject>(
  stage: Stage,
  script: Script,
  begin: () => Each,
  done: (subject: Each) => Promise<void>,
): Promise<Refreshed> {
  const { cloud, broker } = stage;
  await broker.restart();
  await rest();
  const cloudBefore = (await cloud.ask('traffic')).cpuMs;
  const brokerBefore = processCpuMs(broker.pid());
  const subject = begin();
  await done(subject);
  const sockets = await subject.ask('sockets');
  const brokerAfter = processCpuMs(broker.pid());
  const cloudCpuMs = (await cloud.ask('traffic')).cpuMs - cloudBefore;
  await subject.stop();
  await mustKeep(broker, script);
  const brokerCpuMs = brokerBefore === null || brokerAfter === null ? null : brokerAfter - brokerBefore;
  return { ...refreshedBy(sockets, stage), cloudCpuMs, brokerCpuMs };
}

function refreshedBy(sockets: readonly SocketMarks[], { broker, account }: Stage) {
  const first = sockets
    .map(({ opened }) => opened)
    .reduce((left, right) => (left.atMs < right.atMs ? left : right));
  const acknowledged = lastReceived(sockets, portOf(broker));
  const answered = lastReceived(sockets, Number(new URL(account.base_url).port));
  if (!acknowledged || !answered) throw new Error('the cloud or the broker was not reached');
  // Where both go on at the same time, the requests may be what ends last.
  const last = acknowledged.atMs > answered.atMs ? acknowledged : answered;
  return {
    wallMs: last.atMs - first.atMs,
    askedMs: answered.atMs - first.atMs,
    cpuMs: last.cpuMs - first.cpuMs,
  };
}
