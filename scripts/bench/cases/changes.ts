import type { Case } from '../case.ts';
import { pollInTurn, withBoth } from '../polls.ts';

const share = 0.01;

/** A poll in which one sonic of a hundred has changed. */
export const changes: Case = {
  name: 'changes',
  what: 'a poll of the sonics and incidents in which 1 % of the sonics have changed',
  sizes: [10_000],
  run: (bench, sonics) =>
    withBoth(bench, sonics, { lists: ['sonics', 'incidents'] }, async (polling) => {
      bench.say(`changes, ${sonics} sonics: polls`);
      const { bridge, raw } = await pollInTurn(polling, bench.runs(sonics), {
        change: async () => void (await polling.stage.cloud.ask('change', share)),
      });
      const both = (value: (polled: (typeof bridge)[number]) => number) => ({
        bridge: bridge.map(value),
        raw: raw.map(value),
      });
      const common = { case: 'changes', sonics, target: null };
      return [
        { ...common, what: 'CPU', unit: 'ms', ...both(({ cpuMs }) => cpuMs) },
        { ...common, what: 'wall', unit: 'ms', ...both(({ wallMs }) => wallMs) },
        { ...common, what: 'messages', unit: '', ...both(({ messages }) => messages) },
      ];
    }),
};
