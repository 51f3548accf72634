import { waitUntil } from '../../measure/waitUntil.ts';
import { bundledRaw } from '../bundle.ts';
import type { Case } from '../case.ts';
import type { Figure, Target } from '../figures.ts';
import { type Bench, onStage, raiseBridge, sampleMs, settled } from '../stage.ts';
import { type Subject, startRaw } from '../subjects.ts';

/** What a process keeps in memory, in MB, as it is and after a collection. */
interface Kept {
  readonly rss: number;
  readonly collected: number;
}

type Name = 'started' | 'polled' | 'imports' | 'bundle';

const period = '100ms';
const usualPolls = 1_000;
const quickPolls = 5;
const longestMs = 600_000;
/** A large fleet is judged by itself, a home by what the packages take. */
const largeSize = 10_000;
const ratioTarget = { by: 'ratio', most: 1.25 } as const;
const largeTarget = { by: 'value', most: 200 } as const;

/** What the process keeps in memory. */
export const memory: Case = {
  name: 'memory',
  what: 'memory after the start and after 1,000 polls, against a process that only imports the same packages',
  sizes: [10, 10_000],
  run: async (bench, sonics) => {
    const kept: Record<Name, Kept[]> = { started: [], polled: [], imports: [], bundle: [] };
    const bundle = await bundledRaw(bench.newFolder());
    for (let run = 0; run < bench.runs(sonics); run++) {
      bench.say(`memory, ${sonics} sonics: run ${run + 1}`);
      // Polls take their time, and more of them show no more.
      const polls = run > 0 || sonics >= largeSize ? 0 : bench.isQuick ? quickPolls : usualPolls;
      const { started, polled } = await keptByBridge(bench, sonics, polls);
      kept.started.push(started);
      if (polled) kept.polled.push(polled);
      kept.imports.push(await keptByRaw(bench));
      kept.bundle.push(await keptByRaw(bench, bundle));
    }
    return figuresOf(sonics, kept);
  },
};

function figuresOf(sonics: number, kept: Readonly<Record<Name, readonly Kept[]>>): Figure[] {
  const isLarge = sonics >= largeSize;
  const target = isLarge ? largeTarget : ratioTarget;
  const figure = (what: string, bridge: Name, raw: Name, value: keyof Kept, aim: Target | null) => ({
    ...{ case: 'memory', sonics, what, unit: 'MB', target: aim },
    bridge: kept[bridge].map((each) => each[value]),
    raw: kept[raw].map((each) => each[value]),
  });
  return [
    figure('RSS after the start', 'started', 'imports', 'rss', target),
    figure('RSS after the start, raw loop bundled', 'started', 'bundle', 'rss', isLarge ? null : target),
    figure('the same after a collection', 'started', 'bundle', 'collected', null),
    figure('RSS after many polls', 'polled', 'imports', 'rss', target),
    figure('RSS after many polls, raw loop bundled', 'polled', 'bundle', 'rss', isLarge ? null : target),
    figure('the same after a collection of many polls', 'polled', 'bundle', 'collected', null),
  ].filter(({ bridge }) => bridge.length > 0);
}

function keptByBridge(
  bench: Bench,
  sonics: number,
  polls: number,
): Promise<{ started: Kept; polled?: Kept }> {
  return onStage(bench, sonics, async (stage) => {
    const { cloud } = stage;
    const bridge = raiseBridge(stage, { sampleMs });
    await settled(stage, bridge);
    const started = await keptBy(bridge);
    await bridge.stop();
    if (polls === 0) return { started };
    const poller = raiseBridge(stage, { schedules: { sonics: period, incidents: period } });
    await cloud.ask('note');
    const missing = async () => {
      const lists = (await cloud.ask('noted')).filter(({ path }) => path === '/ape/v1/sonics?page=1');
      return lists.length >= polls ? null : `${lists.length} polls so far`;
    };
    await waitUntil('the polls', missing, longestMs, 1_000);
    const polled = await keptBy(poller);
    await poller.stop();
    return { started, polled };
  });
}

async function keptByRaw(bench: Bench, file?: URL): Promise<Kept> {
  const raw = startRaw(bench.newFolder(), {}, [], file);
  // It answers once it has imported all.
  await raw.ask('mark');
  const kept = await keptBy(raw);
  await raw.stop();
  return kept;
}

async function keptBy(subject: Subject): Promise<Kept> {
  const megabytes = (bytes: number) => bytes / 1e6;
  const rss = megabytes(await subject.ask('rss'));
  return { rss, collected: megabytes((await subject.ask('memory')).rss) };
}
