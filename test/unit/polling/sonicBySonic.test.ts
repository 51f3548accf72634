import { describe, expect, it } from 'vitest';
import type { Store } from '../../../src/store/store.ts';
import type { StubAnswer, StubHandler } from '../../support/cloudStub.ts';
import { FakeClock } from '../../support/fakeClock.ts';
import { list, noon, startPoller } from '../../support/pollerBench.ts';
import { waitFor } from '../../support/waitFor.ts';

describe('telemetry', () => {
  it('that was asked of a sonic just removed, and of no other, is asked of the others later', async () => {
    let isListed = true;
    const { client, poller } = await startPoller(({ path }) => {
      if (path.endsWith('/telemetry')) {
        isListed = false;
        return { status: 404 };
      }
      return path.endsWith('/sonics_wifi') && isListed ? list({ id: 'one' }) : list();
    }, noon());
    await poller.runNow('sonics');
    await poller.runNow('telemetry');
    expect(client.operationState('read_wifi_telemetry')).toBe('available');
  });

  it('was not read well as long as nobody knows the sonics', async () => {
    const { poller } = await startPoller(({ path }) => (path.endsWith('/sonics') ? { status: 422 } : list()));
    expect(poller.statuses.records.telemetry.lastSuccessAt).toBeNull();
  });
});

describe('what is asked for sonic by sonic', () => {
  const linked = ['one', 'two'].map((id) => ({ id, radio_connection: 'connected' }));
  const byPoll = {
    usage: {
      path: 'daily_usage',
      json: { daily: [{ date: '2026-11-20', liters: 5 }] },
      operation: 'read_daily_usage',
    },
    pressure_tests: {
      path: 'pressure_tests',
      json: { by_day: { '2026-11-20': [{ id: 'a' }] } },
      operation: 'read_pressure_tests',
    },
    telemetry: { path: 'telemetry', json: { pressure: 3_000 }, operation: 'read_telemetry' },
  } as const;
  const figures = ['usage', 'pressure_tests'] as const;
  const sound: StubHandler = ({ path }) => Object.values(byPoll).find((each) => path.endsWith(each.path));
  const shown = (store: Store, poll: keyof typeof byPoll, id: string) => {
    const view = store.sonicView(id);
    return { usage: view?.usage, pressure_tests: view?.pressureTests, telemetry: view?.telemetry }[poll];
  };

  /** A cloud with these sonics that answers as told where the figures are asked for. */
  const cloudOf =
    (sonics: readonly object[], answer: StubHandler): StubHandler =>
    (request) => {
      if (/(daily_usage|pressure_tests|telemetry)$/.test(request.path)) return answer(request);
      return request.path.endsWith('/sonics') ? list(...sonics) : list();
    };

  it('is asked for by month, and also of a sonic without a radio link', async () => {
    const sonics = [{ id: 'one', radio_connection: 'disconnected' }];
    const { store, stub, poller } = await startPoller(
      cloudOf(sonics, () => byPoll.usage),
      noon(),
    );
    const asked = stub.requests.filter(({ path }) => path.endsWith('/things/one/daily_usage'));
    expect(asked.map(({ query }) => query)).toEqual([
      { month: '11', year: '2026' },
      { month: '10', year: '2026' },
    ]);
    expect(store.sonicView('one')?.usage).toMatchObject({ todayL: 5, totalL: 5 });
    expect(poller.statuses.records.usage.failure).toBeNull();
  });

  const refusals = ([...figures, 'telemetry'] as const).flatMap((poll) =>
    [404, 405].map((status) => [poll, status] as const),
  );

  it.each(refusals)('(%s) is shown for the sonics that have any: %i', async (poll, status) => {
    const { json, operation } = byPoll[poll];
    for (const [having, without] of [
      ['one', 'two'],
      ['two', 'one'],
    ] as const) {
      const handler = cloudOf(linked, ({ path }) => (path.includes(`/${without}/`) ? { status } : { json }));
      const { store, poller, client } = await startPoller(handler, noon());
      expect(shown(store, poll, having)).toBeTruthy();
      expect(shown(store, poll, without)).toBeNull();
      expect(poller.statuses.records[poll].failure).toBeNull();
      expect(client.operationState(operation)).toBe('available');
    }
  });

  it.each(refusals)('(%s) is given up where no sonic has any: %i', async (poll, status) => {
    const { store, poller, client } = await startPoller(
      cloudOf(linked, () => ({ status })),
      noon(),
    );
    expect(poller.statuses.records[poll].failure).toBeNull();
    expect(shown(store, poll, 'one')).toBeNull();
    // A single round of refusals does not decide. The usage of two months is two rounds.
    if (poll !== 'usage') expect(client.operationState(byPoll[poll].operation)).toBe('available');
    await poller.runNow('sonics');
    await poller.runNow(poll);
    expect(client.operationState(byPoll[poll].operation)).toBe('unavailable');
    expect(poller.statuses.records[poll].failure).toBeNull();
    expect(shown(store, poll, 'one')).toBeNull();
  });

  it.each(figures)('(%s) is amiss where the cloud knows it of no sonic any more', async (poll) => {
    let answer: StubAnswer = { json: poll === 'usage' ? { daily: [] } : { by_day: {} } };
    const { poller } = await startPoller(
      cloudOf(linked, () => answer),
      noon(),
    );
    expect(poller.statuses.records[poll].failure).toBeNull();
    answer = { status: 404 };
    poller.refresh();
    await waitFor(() => poller.statuses.records[poll].failure !== null, { what: 'the failure' });
    expect(poller.statuses.records[poll].failure?.message).toMatch(/404/);
  });

  it.each(figures)(
    '(%s) is refused of one sonic for good: no failure, and no sooner request',
    async (poll) => {
      const clock = noon();
      const answer: StubHandler = ({ path }) => (path.includes('/two/') ? { status: 403 } : byPoll[poll]);
      const { store, poller, stub } = await startPoller(cloudOf(linked, answer), clock);
      expect(poller.statuses.records[poll].failure).toBeNull();
      expect(shown(store, poll, 'one')).toBeTruthy();
      expect([...poller.refused[byPoll[poll].operation]]).toEqual(['two']);
      const before = stub.requests.length;
      clock.advance(600_000);
      await new Promise((resolve) => setTimeout(resolve, 50));
      expect(stub.requests.slice(before).filter(({ path }) => path.endsWith(byPoll[poll].path))).toEqual([]);
    },
  );

  it.each(figures)('(%s) fails for one sonic: it alone is read again before its time', async (poll) => {
    const clock = noon();
    let isFailing = true;
    const answer: StubHandler = ({ path }) =>
      isFailing && path.includes('/two/') ? { status: 422 } : byPoll[poll];
    const { poller, stub, store } = await startPoller(cloudOf(linked, answer), clock);
    const message = expect.stringMatching(/, for valve "two"$/);
    expect(poller.statuses.records[poll].failure).toMatchObject({ kind: 'incomplete', message });
    expect(shown(store, poll, 'one')).toBeTruthy();
    expect(shown(store, poll, 'two')).toBeUndefined();
    const before = stub.requests.length;
    isFailing = false;
    clock.advance(10_000);
    await waitFor(() => poller.statuses.records[poll].failure === null, { what: 'the retry' });
    expect(shown(store, poll, 'two')).toBeTruthy();
    const again = stub.requests.slice(before).filter(({ path }) => path.endsWith(byPoll[poll].path));
    expect(new Set(again.map(({ path }) => path.split('/').at(-2)))).toEqual(new Set(['two']));
  });

  it.each(figures)('(%s) fails by itself where no sonic can be read', async (poll) => {
    const answer: StubHandler = ({ path }) =>
      path.endsWith(byPoll[poll].path) ? { status: 422 } : undefined;
    const { poller } = await startPoller(cloudOf(linked, answer), noon());
    expect(poller.statuses.records[poll]).toMatchObject({
      lastSuccessAt: null,
      failure: { kind: 'rejected' },
    });
    expect(poller.statuses.records.sonics.failure).toBeNull();
  });

  it('is asked for of three sonics at a time, and leaves the other request to what matters more', async () => {
    const sonics = Array.from({ length: 9 }, (_, index) => ({ id: `sonic-${index}` }));
    let open = 0;
    let mostOpen = 0;
    const answer: StubHandler = async ({ path }) => {
      mostOpen = Math.max(mostOpen, ++open);
      // Time enough for a fourth to come, if one would.
      await new Promise((resolve) => setTimeout(resolve, 5));
      open--;
      return Object.values(byPoll).find((each) => path.endsWith(each.path));
    };
    const { stub } = await startPoller(cloudOf(sonics, answer), noon());
    expect(stub.requests.filter(({ path }) => path.endsWith('daily_usage'))).toHaveLength(18);
    expect(mostOpen).toBe(3);
  });

  it('is asked for soon of a sonic that is new, before the others', async () => {
    const sonics = [{ id: 'one' }];
    const { stub, store, poller } = await startPoller(cloudOf(sonics, sound), noon());
    sonics.push({ id: 'two' });
    const before = stub.requests.length;
    void poller.runNow('sonics');
    await waitFor(() => store.sonicView('two')?.usage && store.sonicView('two')?.pressureTests, {
      what: 'the figures of the new sonic',
    });
    for (const figure of ['daily_usage', 'pressure_tests']) {
      const asked = stub.requests.slice(before).find(({ path }) => path.endsWith(figure));
      expect(asked?.path).toBe(`/iot-core/customer_app/things/two/${figure}`);
    }
  });

  it('begins a new day at midnight without the cloud, and asks it soon after', async () => {
    // The hourly poll is not due before a while after midnight.
    const clock = new FakeClock(Date.parse('2026-11-20T23:40:00Z'));
    let liters = 5;
    const answer: StubHandler = ({ path, query }) => {
      if (!path.endsWith('daily_usage')) return byPoll.pressure_tests;
      return { json: { daily: query['month'] === '11' ? [{ date: '2026-11-20', liters }] : [] } };
    };
    const { store, stub } = await startPoller(cloudOf(linked, answer), clock);
    const asked = () => stub.requests.filter(({ path }) => path.endsWith('/one/daily_usage')).length;
    clock.advance(1_200_000 - 1);
    expect(store.sonicView('one')?.usage).toMatchObject({ todayL: 5 });
    const before = asked();
    liters = 6;
    clock.advance(1);
    expect(store.sonicView('one')?.usage).toMatchObject({
      todayL: 0,
      yesterdayL: 5,
      lastReset: '2026-11-21T00:00:00+00:00',
    });
    expect(store.sonicView('one')?.pressureTests).toMatchObject({ todayCount: 0, lastDay: '2026-11-20' });
    await waitFor(() => asked() === before + 2, { what: 'this month and the one before' });
    await waitFor(() => store.sonicView('one')?.usage?.yesterdayL === 6, { what: 'what ran until midnight' });
  });

  it('is given up when the poller stops', async () => {
    const clock = noon();
    const sonics = [{ id: 'sonic-0' }];
    const { stub, poller } = await startPoller(cloudOf(sonics, sound), clock);
    for (let index = 1; index < 30; index++) sonics.push({ id: `sonic-${index}` });
    void poller.runNow('sonics');
    await waitFor(() => stub.requests.filter(({ path }) => path.endsWith('daily_usage')).length > 2, {
      what: 'the first of the next round',
    });
    await poller.stop();
    await new Promise((resolve) => setImmediate(resolve));
    const before = stub.requests.length;
    clock.advance(3_600_000);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(stub.requests.slice(before).filter(({ path }) => path.endsWith('daily_usage'))).toEqual([]);
  });
});
