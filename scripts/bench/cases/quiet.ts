import type { Case } from '../case.ts';
import { pollInTurn, withBoth } from '../polls.ts';

/** A poll of the lists of sonics and incidents in which nothing has changed. */
export const quiet: Case = {
  name: 'quiet',
  what: 'a poll of the sonics and incidents in which nothing has changed',
  sizes: [10_000],
  run: (bench, sonics) =>
    withBoth(bench, sonics, { lists: ['sonics', 'incidents'] }, async (polling) => {
      bench.say(`quiet, ${sonics} sonics: polls`);
      const { bridge, raw } = await pollInTurn(polling, bench.runs(sonics));
      const common = { case: 'quiet', sonics };
      const both = (value: (polled: (typeof bridge)[number]) => number) => ({
        bridge: bridge.map(value),
        raw: raw.map(value),
      });
      return [
        {
          ...common,
          what: 'CPU',
          unit: 'ms',
          ...both(({ cpuMs }) => cpuMs),
          target: { by: 'ratio', most: 1.3 },
        },
        { ...common, what: 'wall', unit: 'ms', ...both(({ wallMs }) => wallMs), target: null },
        {
          ...common,
          what: 'messages',
          unit: '',
          bridge: bridge.map(({ messages }) => messages),
          raw: null,
          target: { by: 'value', most: 0 },
        },
      ];
    }),
};
