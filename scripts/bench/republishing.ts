import type { Broker } from '../measure/broker.ts';
import type { Part } from '../measure/part.ts';
import { waitUntil } from '../measure/waitUntil.ts';
import type { Figure } from './figures.ts';
import { type Script, writeScript } from './script.ts';
import {
  type Bench,
  lastReceived,
  onStage,
  portOf,
  raiseBridge,
  type Stage,
  sampleMs,
  scriptOf,
  settled,
  withBroker,
} from './stage.ts';
import { type RawDeeds, type SocketMarks, type Subject, startRaw } from './subjects.ts';

/** How long everything took to be published again, in ms. */
export interface Republished {
  readonly wallMs: number;
  readonly cpuMs: number;
}

/** The bridge on its stage, and the raw loop, which publishes the same to a broker of its own. */
export interface Republishing {
  readonly stage: Stage;
  readonly bridge: Subject;
  readonly raw: Part<RawDeeds>;
  readonly rawBroker: Broker;
  readonly script: Script;
}

/** Lets both publish everything again, in turn. */
export function republish(
  bench: Bench,
  sonics: number,
  name: string,
  bridgeRun: (republishing: Republishing) => Promise<Republished>,
  rawRun: (republishing: Republishing) => Promise<Republished>,
): Promise<Figure[]> {
  return onStage(bench, sonics, async (stage) => {
    const bridge = raiseBridge(stage, { sampleMs });
    await settled(stage, bridge);
    const script = await scriptOf(stage);
    return withBroker(bench, async (rawBroker) => {
      const raw = await loadedRaw(bench, stage, rawBroker, script);
      const republishing = { stage, bridge, raw, rawBroker, script };
      const both = { bridge: [] as Republished[], raw: [] as Republished[] };
      for (let run = 0; run < bench.runs(sonics); run++) {
        bench.say(`${name}, ${sonics} sonics: run ${run + 1}`);
        both.bridge.push(await bridgeRun(republishing));
        both.raw.push(await rawRun(republishing));
      }
      await raw.stop();
      await bridge.stop();
      const figure = (what: string, value: (republished: Republished) => number) => ({
        ...{ case: name, sonics, what, unit: 'ms', target: null },
        bridge: both.bridge.map(value),
        raw: both.raw.map(value),
      });
      return [figure('wall', ({ wallMs }) => wallMs), figure('CPU', ({ cpuMs }) => cpuMs)];
    });
  });
}

/** Resolves once a socket to the broker is as it should be. */
export function untilSocket(
  what: string,
  subject: Subject,
  broker: Broker,
  isSo: (socket: SocketMarks) => boolean,
): Promise<void> {
  const port = portOf(broker);
  return waitUntil(what, async () => {
    const sockets = await subject.ask('sockets');
    return sockets.some((each) => each.port === port && isSo(each)) ? null : 'it has not begun';
  });
}

/** From when the newest connection to the broker was opened, or first used, to the last acknowledgement. */
export function republishedBy(
  sockets: readonly SocketMarks[],
  broker: Broker,
  from: 'opened' | 'sent',
): Republished {
  const port = portOf(broker);
  const used = sockets.filter((each) => each.port === port).at(-1);
  const begin = used?.[from];
  const end = lastReceived(sockets, port);
  if (!begin || !end) throw new Error('nothing was published');
  return { wallMs: end.atMs - begin.atMs, cpuMs: end.cpuMs - begin.cpuMs };
}

async function loadedRaw(bench: Bench, { account }: Stage, broker: Broker, script: Script) {
  const folder = bench.newFolder();
  writeScript(folder, script, { account, broker });
  const raw = startRaw(folder, { sampleMs });
  await raw.ask('load', folder);
  return raw;
}
