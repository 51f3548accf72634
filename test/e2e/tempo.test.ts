import { beforeAll, describe, expect, it } from 'vitest';
import type { OperationName } from '../../src/cloud/operations.ts';
import { type House, startHouse } from '../support/house.ts';
import { waitFor } from '../support/waitFor.ts';

const periodMs = 300;

/** How long the bridge took from one request to the next, in periods, since that many requests. */
function gaps({ simulator }: House, operation: OperationName, since: number): number[] {
  const times = simulator.requests.entries
    .filter((entry) => entry.operation === operation)
    .map(({ at }) => at);
  return times.slice(since + 1).map((at, index) => (at - (times[since + index] ?? 0)) / periodMs);
}

const countOf = ({ simulator }: House, operation: OperationName) => simulator.requests.count(operation);

/** Waits for three such gaps in a row, which chance does not make; says how many requests there were then. */
async function untilGaps(
  house: House,
  operation: OperationName,
  what: string,
  since: number,
  isSo: (periods: number) => boolean,
): Promise<number> {
  const hasThree = () => {
    const each = gaps(house, operation, since).map(isSo);
    return each.some((_, index) => each.slice(index, index + 3).join() === 'true,true,true');
  };
  await waitFor(hasThree, { what: `${what} of ${operation}`, timeoutMs: 20_000 });
  return countOf(house, operation);
}

const isQuick = (periods: number) => periods < 0.75;
const isUnhurried = (periods: number) => periods > 0.9;

describe('a bridge', () => {
  let house: House;
  let sonic = '';
  beforeAll(async () => {
    const period = `${periodMs}ms`;
    house = await startHouse({
      cloud: { properties: 1, signals: 1, sonics: 1, valveTravelMs: 100 },
      config: { schedules: { sonics: period, telemetry: period, incidents: period } },
    });
    [sonic = ''] = house.simulator.world.sonics.ids;
    await house.watcher.waitForTopic(`sonic2mqtt/sonic/${sonic}/telemetry`, () => true, 10_000);
    // Behind a closed valve nothing flows, which would keep it quick.
    await close();
    await house.watcher.waitForTopic(
      `sonic2mqtt/sonic/${sonic}`,
      (text) => JSON.parse(text).valve === 'closed',
    );
    await untilGaps(house, 'list_sonics', 'the calm', countOf(house, 'list_sonics'), isUnhurried);
    await untilGaps(house, 'read_telemetry', 'the calm', countOf(house, 'read_telemetry'), isUnhurried);
  }, 40_000);

  async function close(): Promise<void> {
    const before = house.events('command').length;
    await house.watcher.publish(`sonic2mqtt/sonic/${sonic}/valve/set`, 'CLOSE');
    await waitFor(() => house.events('command').length > before, { what: 'the outcome' });
    expect(house.events('command').at(-1)).toMatchObject({ status: 'ok' });
  }

  it('reads the valve and the water more often for a while after a command, and nothing else', async () => {
    const since = (operation: OperationName) => countOf(house, operation) - 1;
    const [sonics, telemetry, incidents] = [
      since('list_sonics'),
      since('read_telemetry'),
      since('list_incidents'),
    ];
    await close();
    const [afterSonics, afterTelemetry] = await Promise.all([
      untilGaps(house, 'list_sonics', 'the hurry', sonics, isQuick),
      untilGaps(house, 'read_telemetry', 'the hurry', telemetry, isQuick),
    ]);
    await Promise.all([
      untilGaps(house, 'list_sonics', 'the calm', afterSonics, isUnhurried),
      untilGaps(house, 'read_telemetry', 'the calm', afterTelemetry, isUnhurried),
    ]);
    const between = gaps(house, 'list_incidents', incidents).toSorted((left, right) => left - right);
    expect(between[Math.floor(between.length / 2)]).toSatisfy(isUnhurried);
  }, 40_000);

  it('does so after an incident opened', async () => {
    const since = countOf(house, 'list_sonics') - 1;
    house.simulator.world.openIncident({ type: 'low_battery_level', sonicId: sonic });
    const after = await untilGaps(house, 'list_sonics', 'the hurry', since, isQuick);
    await untilGaps(house, 'list_sonics', 'the calm', after, isUnhurried);
  }, 40_000);
});
