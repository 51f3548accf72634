import { totalPerHour } from '../../docs/requestsPerHour.ts';
import type { Case } from '../case.ts';

/** As homes are. */
const sonicsPerProperty = 4;

/** What the cloud is asked in an hour; reckoned from the schedules, as tests hold it to what is counted. */
export const requests: Case = {
  name: 'requests',
  what: 'requests an hour at the default schedules',
  sizes: [1, 10, 100, 1_000, 10_000],
  run: async (_bench, sonics) => {
    const homes = Math.ceil(sonics / sonicsPerProperty);
    const fleet = { properties: homes, signals: homes, sonics };
    return [
      {
        ...{ case: 'requests', sonics, what: 'an hour', unit: '' },
        ...{ bridge: [totalPerHour(fleet)], raw: null, target: null },
      },
    ];
  },
};
