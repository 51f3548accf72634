import { describe, expect, it } from 'vitest';
import { fleets, totalPerHour } from '../../scripts/docs/requestsPerHour.ts';
import { Home, hourMs, minuteMs } from './home.ts';

/** How many requests there are in so many hours, but for those of the session. */
async function requestsIn(home: Home, hours: number): Promise<number> {
  const before = home.requests.length;
  await home.pass(hours * hourMs);
  return home.requests.slice(before).filter(({ target }) => !target.includes('/auth/')).length;
}

describe('the requests an hour that are documented', () => {
  it.each(fleets)('are those that a bridge makes for %j', async (fleet) => {
    const home = new Home({ cloud: fleet });
    home.strike = ({ operation }) =>
      operation === 'list_wifi_sonics' ? { status: 404, headers: {}, text: '' } : null;
    await home.start();
    // Not from one round to the next of that kind: what is spread would be cut in two.
    await home.pass(70 * minuteMs);
    const wanted = totalPerHour(fleet);
    const requests = await requestsIn(home, 1);
    expect(Math.abs(requests / wanted - 1), `${requests} rather than ${wanted}`).toBeLessThan(0.02);
    home.bridge.kill();
  });

  it('are those of a whole day, with its midnight; a list of Wi-Fi sonics is a page more', async () => {
    const [fleet] = fleets;
    if (!fleet) throw new Error('no fleet');
    const home = new Home({ cloud: fleet });
    await home.start();
    expect((await requestsIn(home, 24)) / 24).toBeCloseTo(totalPerHour(fleet) + 60, 0);
    home.bridge.kill();
  });
});
