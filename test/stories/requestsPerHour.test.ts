import { describe, expect, it } from 'vitest';
import { type Fleet, totalPerHour } from '../../scripts/docs/requestsPerHour.ts';
import { Home, hourMs, minuteMs, startedHome } from './home.ts';

const smallest: Fleet = { properties: 1, signals: 1, sonics: 1 };
/** Two pages of valves. The largest fleet of the page has ten of them, which would take half a minute. */
const severalPages: Fleet = { properties: 3, signals: 4, sonics: 12 };

/** How many requests there are in so many hours, but for those of the session. */
async function requestsIn(home: Home, hours: number): Promise<number> {
  const before = home.requests.length;
  await home.pass(hours * hourMs);
  return home.requests.slice(before).filter(({ target }) => !target.includes('/auth/')).length;
}

describe('the requests an hour that are documented', () => {
  it('are those that a bridge makes for several pages of valves', async () => {
    const home = new Home({ cloud: severalPages, config: { schedules: {} } });
    home.strike = ({ operation }) =>
      operation === 'list_wifi_sonics' ? { status: 404, headers: {}, text: '' } : null;
    await home.start();
    // Not from one round to the next of that kind: what is spread would be cut in two.
    await home.pass(10 * minuteMs);
    const wanted = totalPerHour(severalPages);
    const requests = await requestsIn(home, 1);
    expect(Math.abs(requests / wanted - 1), `${requests} rather than ${wanted}`).toBeLessThan(0.02);
  });

  it('are those of the hours around midnight, less what a day has once; a list of Wi-Fi sonics is a page more', async () => {
    const home = await startedHome({
      cloud: smallest,
      begins: '2026-03-02T22:30:00Z',
      config: { schedules: {} },
    });
    const hours = 3;
    // With a new day the month before is read, too. Of these two requests the other hours of the day have their part.
    const ofOtherHours = 2 * (1 - hours / 24);
    const requests = await requestsIn(home, hours);
    expect((requests - ofOtherHours) / hours).toBeCloseTo(totalPerHour(smallest) + 60, 0);
  });
});
