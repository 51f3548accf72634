import { describe, expect, it } from 'vitest';
import { CloudError, type CloudErrorKind } from '../../../src/cloud/errors.ts';
import { passTime } from '../../support/passTime.ts';
import { startPolling } from '../../support/polling.ts';
import { anIncident } from '../../support/views.ts';

const fleet = { properties: 1, signals: 1, sonics: 3 };
const readsOf = (asked: readonly string[], operation: string) =>
  asked.filter((each) => each.split(' ')[0] === operation);
const telemetryOf = (index: number) => `read_telemetry sonic-${index}`;

/** A bridge of three sonics one minute after its start, and what has been asked since. */
async function startSettled(
  telemetry: Parameters<typeof startPolling>[1] = () => ({}),
  sonics = fleet.sonics,
) {
  const running = await startPolling({ ...fleet, sonics }, telemetry);
  await passTime(running.clock, 61_000, 1_000);
  running.cloud.takeAsked();
  return running;
}

/** A cloud that fails in this way for the first sonic, unless that is switched off. */
function failing(kind: CloudErrorKind) {
  const cloud = {
    isFailing: true,
    telemetry: (_: number, id: string) => {
      if (!cloud.isFailing || id !== 'sonic-0') return {};
      throw new CloudError(kind, 'read_telemetry', 'no', { mayHaveActed: false });
    },
  };
  return cloud;
}

describe('polls', () => {
  it('look at a sonic to which something happened, and at the list, in the middle of their periods', async () => {
    const { poller, clock, cloud } = await startSettled();
    poller.stir('sonic-1');
    await passTime(clock, 35_000, 1_000);
    const asked = cloud.takeAsked();
    expect(readsOf(asked, 'read_telemetry')).toEqual([telemetryOf(1)]);
    expect(readsOf(asked, 'list_sonics')).toHaveLength(1);
    expect(readsOf(asked, 'list_signals')).toEqual([]);
    await passTime(clock, 30_000, 1_000);
    expect(readsOf(cloud.takeAsked(), 'read_telemetry').toSorted()).toEqual([0, 1, 2].map(telemetryOf));
  });

  it('are hurried by an incident that opens, but not by those that are open at the start', async () => {
    const incidents = [anIncident({ id: 'old', sonic_id: 'sonic-0' })];
    const running = await startPolling(fleet, () => ({}), { list_incidents: incidents });
    const { clock, cloud } = running;
    cloud.takeAsked();
    await passTime(clock, 59_000, 1_000);
    const early = cloud.takeAsked();
    expect(readsOf(early, 'read_telemetry')).toEqual([]);
    expect(readsOf(early, 'list_sonics')).toEqual([]);
    incidents.push(anIncident({ id: 'new', sonic_id: 'sonic-1' }));
    await passTime(clock, 3_000, 1_000);
    cloud.takeAsked();
    await passTime(clock, 33_000, 1_000);
    const asked = cloud.takeAsked();
    expect(readsOf(asked, 'read_telemetry')).toEqual([telemetryOf(1)]);
    expect(readsOf(asked, 'list_sonics')).toHaveLength(1);
  });

  it('look at once when more than half of the period is over', async () => {
    const { poller, clock, cloud } = await startSettled();
    await passTime(clock, 40_000, 1_000);
    cloud.takeAsked();
    poller.stir('sonic-1');
    await passTime(clock, 0);
    clock.advance(1);
    await passTime(clock, 0);
    const asked = cloud.takeAsked();
    expect(readsOf(asked, 'read_telemetry')).toEqual([telemetryOf(1)]);
    expect(readsOf(asked, 'list_sonics')).toHaveLength(1);
  });

  it('are not hurried while they wait for the budget', async () => {
    const { poller, clock, cloud } = await startSettled();
    cloud.pollWaitMs = 100;
    poller.stir('sonic-1');
    await passTime(clock, 50_000, 1_000);
    const asked = cloud.takeAsked();
    expect(readsOf(asked, 'read_telemetry')).toEqual([]);
    expect(readsOf(asked, 'list_sonics')).toEqual([]);
  });

  it('ask for everything when that is wanted, whatever is due', async () => {
    const { poller, clock, cloud } = await startSettled();
    await passTime(clock, 10_000, 1_000);
    poller.refresh();
    await passTime(clock, 0);
    expect(readsOf(cloud.takeAsked(), 'read_telemetry')).toHaveLength(3);
  });

  it('do not take a sonic without telemetry, asked by itself, for a cloud without', async () => {
    const { telemetry } = failing('notFound');
    const { poller, clock, cloud } = await startSettled(telemetry);
    poller.stir('sonic-0');
    await passTime(clock, 35_000, 1_000);
    expect(readsOf(cloud.takeAsked(), 'read_telemetry')).toEqual([telemetryOf(0)]);
    expect(cloud.givenUp).toEqual([]);
    expect(poller.records.telemetry.failure).toBeNull();
  });

  it.each([
    ['rejected', 'incomplete'],
    ['unavailable', 'unavailable'],
  ] as const)('take one sonic asked by itself that is %s for %s', async (kind, shown) => {
    const cloud = failing(kind);
    cloud.isFailing = false;
    const { poller, clock, cloud: counting } = await startSettled(cloud.telemetry);
    poller.stir('sonic-0');
    cloud.isFailing = true;
    await passTime(clock, 31_000, 1_000);
    expect(readsOf(counting.takeAsked(), 'read_telemetry')).toEqual([telemetryOf(0)]);
    expect(poller.records.telemetry.failure).toMatchObject({ kind: shown });
    cloud.isFailing = false;
    await passTime(clock, 10_000, 1_000);
    expect(readsOf(counting.takeAsked(), 'read_telemetry')).toEqual([telemetryOf(0)]);
    expect(poller.records.telemetry.failure).toBeNull();
  });

  it.each([
    [19, 19],
    [30, 3],
  ])(
    'ask %i sonics for telemetry in such a way that %i of them are asked in the first two seconds',
    async (sonics, soon) => {
      const { clock, cloud } = await startSettled(() => ({}), sonics);
      await passTime(clock, 58_999, 1_000);
      cloud.takeAsked();
      await passTime(clock, 2_000, 100);
      expect(readsOf(cloud.takeAsked(), 'read_telemetry')).toHaveLength(soon);
      await passTime(clock, 27_000, 100);
      expect(readsOf(cloud.takeAsked(), 'read_telemetry')).toHaveLength(sonics - soon);
    },
  );

  it('of incidents are as few as the webhook allows, and more as soon as it does not any more', async () => {
    let periodMs = 120_000;
    const { poller, clock, cloud } = await startPolling(
      fleet,
      () => ({}),
      {},
      () => periodMs,
    );
    const polls = () => readsOf(cloud.takeAsked(), 'list_incidents').length;
    polls();
    await passTime(clock, 600_000, 1_000);
    expect(polls()).toBe(5);
    await passTime(clock, 60_000, 1_000);
    periodMs = 30_000;
    expect(polls()).toBe(0);
    poller.hasten('incidents');
    await passTime(clock, 1_000, 1_000);
    expect(polls()).toBe(1);
    await passTime(clock, 300_000, 1_000);
    expect(polls()).toBe(10);
    expect(poller.counts('incidents')).toEqual({ success: 17, incomplete: 0, failure: 0 });
  });
});
