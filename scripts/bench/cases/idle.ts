import { setTimeout as pause } from 'node:timers/promises';
import { nowMs } from '../../measure/now.ts';
import type { Case } from '../case.ts';
import { Listener } from '../listener.ts';
import { writeScript } from '../script.ts';
import { onStage, raiseBridge, sampleMs, settled } from '../stage.ts';
import { type Subject, startRaw } from '../subjects.ts';

const usualMs = 180_000;
const quickMs = 1_000;
/** Nothing is compiled any more, and what happens once has happened. */
const restMs = 30_000;

/** What the processor has to do for a home in which little happens, everything being as it is unless configured. */
export const idle: Case = {
  name: 'idle',
  what: 'share of a core at the default schedules',
  sizes: [10],
  run: (bench, sonics) =>
    onStage(
      bench,
      sonics,
      async (stage) => {
        const { cloud, broker, account } = stage;
        const periodMs = bench.isQuick ? quickMs : usualMs;
        bench.say(`idle, ${sonics} sonics: ${periodMs / 1_000} s`);
        const bridge = raiseBridge(stage, { isAsUsual: true, sampleMs });
        await settled(stage, bridge, 1_000);
        await bridge.ask('lookAway');
        if (!bench.isQuick) await pause(restMs);
        const listener = await Listener.start(broker.url);
        await listener.quiet();
        listener.heard = [];
        await cloud.ask('note');
        const beganAtMs = nowMs();
        const share = await shareOf(bridge, () => pause(periodMs));
        const requests = (await cloud.ask('noted')).map(({ path, atMs }) => ({
          path,
          inMs: atMs - beganAtMs,
        }));
        const messages = listener.heard.map(({ topic, payload, atMs }) => ({
          ...{ topic, payload },
          inMs: atMs - beganAtMs,
        }));
        await bridge.stop();
        await listener.stop();
        const folder = bench.newFolder();
        writeScript(folder, { paths: [], messages: [] }, { account, broker });
        const raw = startRaw(folder, {});
        await raw.ask('load', folder);
        await raw.ask('signIn');
        await raw.ask('connect');
        const rawShare = await shareOf(raw, () =>
          Promise.all([pause(periodMs), raw.ask('replay', requests, messages)]),
        );
        await raw.stop();
        const common = { case: 'idle', sonics };
        return [
          {
            ...common,
            what: 'CPU, of a core',
            unit: '%',
            bridge: [share],
            raw: [rawShare],
            target: { by: 'value', most: 0.3 },
          },
          {
            ...common,
            what: 'requests meanwhile',
            unit: '',
            bridge: [requests.length],
            raw: null,
            target: null,
          },
        ];
      },
      { isAlive: true },
    ),
};

/** Of a core, in percent, while something goes on. */
async function shareOf(subject: Subject, act: () => Promise<unknown>): Promise<number> {
  const before = await subject.ask('mark');
  await act();
  const after = await subject.ask('mark');
  return ((after.cpuMs - before.cpuMs) / (after.atMs - before.atMs)) * 100;
}
