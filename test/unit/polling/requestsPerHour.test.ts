import { describe, expect, it } from 'vitest';
import { fleets, totalPerHour } from '../../../scripts/docs/requestsPerHour.ts';
import { pollNames } from '../../../src/polling/pollStatus.ts';
import { passTime } from '../../support/passTime.ts';
import { startPolling } from '../../support/polling.ts';

const hourMs = 3_600_000;

/** How many requests there are in so many hours. */
async function requestsIn(
  { clock, cloud }: Awaited<ReturnType<typeof startPolling>>,
  hours = 1,
  stepMs = 250,
) {
  const before = cloud.requests;
  await passTime(clock, hours * hourMs, stepMs);
  return cloud.requests - before;
}

/** What each sonic measures, so that it is at rest, or water flows through it. */
const telemetry = {
  'at rest': {},
  'while water flows': { water_flow: 4_000 },
} as const;
const conditions = ['at rest', 'while water flows'] as const;

describe('the requests an hour that are documented', () => {
  it.each(fleets.flatMap((fleet) => conditions.map((condition) => [fleet, condition] as const)))(
    'are those that a bridge makes for %j %s',
    async (fleet, condition) => {
      const running = await startPolling(fleet, () => telemetry[condition]);
      // Not from one round to the next of that kind: what is spread would be cut in two.
      await passTime(running.clock, (7 * hourMs) / 6, 250);
      const wanted = totalPerHour(fleet);
      const requests = await requestsIn(running);
      expect(Math.abs(requests / wanted - 1), `${requests} rather than ${wanted}`).toBeLessThan(0.02);
      for (const slice of pollNames) expect(running.poller.statuses.records[slice].failure, slice).toBeNull();
    },
  );

  it('are those of a cloud without a list of Wi-Fi sonics, which costs as much as a page of the other', async () => {
    const [fleet] = fleets;
    if (!fleet) throw new Error('no fleet');
    const running = await startPolling(fleet, () => ({}), { list_wifi_sonics: [] });
    await passTime(running.clock, hourMs / 6, 250);
    const requests = await requestsIn(running);
    expect(requests).toBeCloseTo(totalPerHour(fleet) + 60, 0);
  });

  it('are those of a whole day, with its midnight', async () => {
    const [fleet] = fleets;
    if (!fleet) throw new Error('no fleet');
    const running = await startPolling(fleet, () => ({}));
    const requests = await requestsIn(running, 24, 5_000);
    expect(requests / 24).toBeCloseTo(totalPerHour(fleet), 0);
  });
});
