import type { Case } from '../case.ts';
import { askedToPoll, type Polls, pollInTurn, withBoth } from '../polls.ts';

/** Whoever asks for it usually hears nothing new; after an outage of the cloud much may be. */
const changed = [
  { what: 'nothing changed', share: 0 },
  { what: 'every sonic changed', share: 1 },
] as const;

/** A bridge that has shown everything is told to poll all of it. */
export const again: Case = {
  name: 'again',
  what: 'a bridge that runs is told to poll everything',
  sizes: [1_000, 10_000],
  run: (bench, sonics) =>
    withBoth(bench, sonics, { lists: [] }, async (polling) => {
      const figures = [];
      for (const { what, share } of changed) {
        bench.say(`again, ${sonics} sonics: ${what}`);
        const change = async () => void (share > 0 && (await polling.stage.cloud.ask('change', share)));
        const polls = await pollInTurn(polling, bench.runs(sonics), { change, begin: askedToPoll });
        figures.push(...figuresOf(sonics, what, polls));
      }
      return figures;
    }),
};

function figuresOf(sonics: number, what: string, { bridge, raw }: Polls) {
  const figure = (measured: 'wallMs' | 'cpuMs' | 'messages', name: string, unit: string) => ({
    ...{ case: 'again', sonics, what: `${what}, ${name}`, unit, target: null },
    bridge: bridge.map((polled) => polled[measured]),
    raw: raw.map((polled) => polled[measured]),
  });
  return [figure('wallMs', 'wall', 'ms'), figure('cpuMs', 'CPU', 'ms'), figure('messages', 'messages', '')];
}
