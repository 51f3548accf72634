import { describe, expect, it, onTestFinished } from 'vitest';
import { type Clock, systemClock } from '../../../src/base/clock.ts';
import { Ledger } from '../../../src/bridge/ledger.ts';
import { Poller } from '../../../src/bridge/poller.ts';
import { type Happening, Store } from '../../../src/bridge/store.ts';
import type { RouteOverrides } from '../../../src/cloud/request.ts';
import { bridgeOf, type Shard, wholeAccount } from '../../../src/model/shard.ts';
import { type StubAnswer, type StubHandler, stubEmail } from '../../support/cloudStub.ts';
import { FakeClock } from '../../support/fakeClock.ts';
import { logLines } from '../../support/logLines.ts';
import { temporaryFolder } from '../../support/program.ts';
import { startBench } from '../../support/testClient.ts';
import { waitFor } from '../../support/waitFor.ts';

const hourly = { kind: 'every', everyMs: 3_600_000 } as const;
const list = (...data: object[]) => ({
  json: { data, page_number: 1, page_size: 10, total_entries: data.length, total_pages: 1 },
});

/** A clock that stands still: whatever takes long is waited for. */
const noon = () => new FakeClock(Date.parse('2026-11-20T12:00:00Z'));

/** A poller that polls when it is told to, on a stub of the cloud. */
async function startPoller(
  handler: StubHandler,
  clock: Clock = systemClock,
  {
    routes = {},
    shard = wholeAccount,
    selection = [],
  }: {
    readonly routes?: RouteOverrides;
    readonly shard?: Shard;
    readonly selection?: readonly string[];
  } = {},
) {
  const session = { token: 'kept', since: Date.now() };
  const { client, stub } = await startBench(handler, { session, routes });
  const store = new Store({ selection, shard, staleAfterMs: 300_000 }, () => {});
  const account = { baseUrl: stub.url, email: stubEmail };
  const ledger = new Ledger(temporaryFolder(), account, logLines('error').log);
  await ledger.open();
  onTestFinished(() => ledger.flush());
  const happened: Happening[] = [];
  const schedules = {
    properties: hourly,
    signals: hourly,
    sonics: hourly,
    incidents: hourly,
    telemetry: hourly,
    usage: hourly,
    pressure_tests: hourly,
  };
  const poller = new Poller(
    client,
    store,
    ledger,
    { schedules, timezone: 'UTC', staleAfterMs: 300_000, requestTimeoutMs: 5_000 },
    { happened: (happenings) => void happened.push(...happenings), polled: () => {} },
    clock,
    Math.random,
    logLines('error').log,
  );
  onTestFinished(() => poller.stop());
  await poller.start();
  return { poller, store, happened, client, stub };
}

async function pollIncidents(poller: Poller): Promise<void> {
  const polls = poller.counts('incidents').success;
  poller.refresh();
  await waitFor(() => poller.counts('incidents').success > polls, { what: 'the incidents to be polled' });
}

describe('an incident that the list of open ones misses', () => {
  const leak = { id: 'leak', open: true, type: 'long_flow_alert', state: 'contacting' };

  /** A cloud whose list names the incident only at first. */
  async function startWith(record: object) {
    let isListed = true;
    const bench = await startPoller(({ path }) => {
      if (path.endsWith('/incidents/leak')) return record;
      return path.endsWith('/incidents') && isListed ? list(leak) : list();
    });
    isListed = false;
    const before = bench.stub.requests.length;
    bench.poller.refresh();
    await waitFor(
      () => bench.stub.requests.slice(before).some(({ path }) => path.endsWith('/incidents/leak')),
      { what: 'the question' },
    );
    const names = () => bench.happened.map(({ event }) => event);
    return { ...bench, names };
  }

  it.each([
    ['the cloud itself says that it is', { json: leak }],
    ['nobody knows', { status: 422 }],
  ])('stays open while %s', async (_, answer) => {
    const { store, poller, stub, names } = await startWith(answer);
    poller.refresh();
    const asked = () => stub.requests.filter(({ path }) => path.endsWith('/incidents/leak'));
    await waitFor(() => asked().length === 2, { what: 'the second question' });
    expect(store.incident('leak')).toMatchObject({ open: true });
    expect(names()).toEqual(['incident_opened']);
  });

  /** A cloud that answers so when asked for the incident; polls it, the list naming the incident or not. */
  async function startDoubting(status: number) {
    let isListed = true;
    const bench = await startPoller(({ path }) => {
      if (path.endsWith('/incidents/leak')) return { status };
      return path.endsWith('/incidents') && isListed ? list(leak) : list();
    });
    const poll = async (isNamed: boolean) => {
      isListed = isNamed;
      await pollIncidents(bench.poller);
      return bench.store.incident('leak') !== null;
    };
    return { ...bench, poll };
  }

  it.each([400, 405, 410, 500])(
    'is closed with the third such list where the cloud answers %i',
    async (status) => {
      const { poll, happened } = await startDoubting(status);
      expect([await poll(false), await poll(false), await poll(false)]).toEqual([true, true, false]);
      expect(happened.map(({ event }) => event)).toEqual(['incident_opened', 'incident_closed']);
    },
  );

  it('is in doubt anew after a list that names it', async () => {
    const { poll } = await startDoubting(422);
    for (const isNamed of [false, false, true, false, false]) expect(await poll(isNamed)).toBe(true);
    expect(await poll(false)).toBe(false);
  });

  it('is closed at once where asking for one is switched off', async () => {
    let isListed = true;
    const routes = { read_incident: null };
    const { store, poller } = await startPoller(
      ({ path }) => (path.endsWith('/incidents') && isListed ? list(leak) : list()),
      systemClock,
      { routes },
    );
    expect(store.incident('leak')).not.toBeNull();
    isListed = false;
    await pollIncidents(poller);
    expect(store.incident('leak')).toBeNull();
  });

  it('is closed by what the cloud says of it, with the last word', async () => {
    const resolved = { ...leak, open: false, state: 'resolved', possible_actions: ['reopen'] };
    const { store, happened, names } = await startWith({ json: resolved });
    await waitFor(() => store.incident('leak') === null, { what: 'the end' });
    expect(names()).toEqual(['incident_opened', 'incident_closed']);
    expect(happened.at(-1)?.record).toMatchObject({ state: 'resolved', possible_actions: ['reopen'] });
  });

  it('is closed when the cloud knows it no more', async () => {
    const { store, names } = await startWith({ status: 404 });
    await waitFor(() => store.incident('leak') === null, { what: 'the end' });
    expect(names()).toEqual(['incident_opened', 'incident_closed']);
  });
});

describe('a signal that the list of its property misses, where bridges share an account', () => {
  it('is asked for once more at once: another bridge may show it by now', async () => {
    const shard = { index: bridgeOf('home', 2), count: 2 };
    let owned = list({ id: 'hub' });
    const { poller, store, stub } = await startPoller(
      ({ path }) => {
        if (path.endsWith('/home/signals')) return owned;
        return path.endsWith('/properties') ? list({ id: 'home' }) : list({ id: 'hub' });
      },
      systemClock,
      { shard },
    );
    const asked = () => stub.requests.filter(({ path }) => path.endsWith('/home/signals')).length;
    expect([asked(), store.signalView('hub')?.propertyId]).toEqual([1, 'home']);
    owned = list();
    poller.request('properties');
    await waitFor(() => store.signalView('hub')?.propertyId === null, { what: 'the second list' });
    await poller.stop();
    expect(asked()).toBe(3);
  });
});

describe('what is asked for property by property', () => {
  const lists: Readonly<Record<string, StubAnswer>> = {
    '/properties': list({ id: 'home' }, { id: 'shop' }, { id: 'barn' }, { id: 'shed' }),
    '/home/signals': list({ id: 'hub' }),
    '/v1/signals': list({ id: 'hub' }),
    '/sonics': list({ id: 'kitchen', signal_id: 'hub' }),
    '/incidents': list({ id: 'leak', open: true, sonic_id: 'kitchen' }),
    '/daily_usage': { json: { daily: [] } },
    '/settings': { json: { timezone: 'UTC' } },
    '/notifications': { json: {} },
  };
  const answerTo = (path: string) =>
    Object.entries(lists).find(([ending]) => path.endsWith(ending))?.[1] ?? list();

  /** A cloud that leaves all such questions unanswered until the valves and the leaks are known. */
  async function startWithSlow(pattern: RegExp) {
    const asked: string[] = [];
    let answer = () => {};
    const wereAsked = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const bench = await startPoller(async ({ path }) => {
      asked.push(path);
      if (pattern.test(path)) await wereAsked;
      else if (['/sonics', '/incidents'].every((ending) => asked.some((each) => each.endsWith(ending))))
        answer();
      return answerTo(path);
    });
    await waitFor(() => bench.poller.records.properties.lastSuccessAt !== null, { what: 'the properties' });
    return { ...bench, asked };
  }

  it.each([
    ['which signals it has', /properties\/.*\/signals$/],
    ['its settings', /properties\/.*\/settings$/],
    ['its notification settings', /notifications$/],
    ['what properties there are', /\/properties$/],
  ])('does not hold up the valves and the leaks (%s)', async (_, pattern) => {
    const { poller, store } = await startWithSlow(pattern);
    expect(poller.counts('properties')).toEqual({ success: 1, incomplete: 0, failure: 0 });
    expect(store.sonicView('kitchen')).toMatchObject({ propertyId: 'home' });
    expect(store.incident('leak')).not.toBeNull();
  });

  it('tells when the days of usage begin, which is not asked for before', async () => {
    const { asked } = await startWithSlow(/properties\/.*\/settings$/);
    const isUsage = (path: string) => path.endsWith('/daily_usage');
    await waitFor(() => asked.some(isUsage), { what: 'the usage' });
    expect(asked.findIndex(isUsage)).toBeGreaterThan(
      asked.findLastIndex((path) => /properties\/.*\/settings$/.test(path)),
    );
  });

  it('comes first where only some properties are shown, as nobody knows before whose the sonics are', async () => {
    const clock = noon();
    const asked: string[] = [];
    let answered = 0;
    const { store } = await startPoller(
      async ({ path }) => {
        asked.push(path);
        if (path.endsWith('/home/signals')) {
          clock.advance(60_000);
          // Time enough for the lists to be asked for, if they would be.
          for (let turn = 0; turn < 200; turn++) await new Promise((resolve) => setImmediate(resolve));
          answered = asked.length;
        }
        return answerTo(path);
      },
      clock,
      { selection: ['home'] },
    );
    expect(asked.slice(0, answered)).toEqual(['/ape/v1/properties', '/ape/v1/properties/home/signals']);
    expect(store.ids('sonic')).toEqual(['kitchen']);
    expect(store.incident('leak')).not.toBeNull();
  });
});

describe('a list that fails', () => {
  it('makes its devices old only if the cloud answered elsewhere when they were old', async () => {
    const clock = new FakeClock(Date.parse('2026-11-20T09:00:00Z'));
    let signals: StubAnswer = list({ id: 'hub' });
    let sonics: StubAnswer | Promise<StubAnswer> = list();
    const { poller, store } = await startPoller(({ path }) => {
      if (path.endsWith('/signals')) return signals;
      return path.endsWith('/sonics') ? sonics : list();
    }, clock);
    const failToReadSignals = async () => {
      const before = poller.records.signals.consecutiveFailures;
      clock.advance(300_001);
      poller.refresh();
      const hasFailed = () => poller.records.signals.consecutiveFailures > before;
      await waitFor(hasFailed, { what: 'the list to fail' });
    };
    signals = { status: 422 };
    let answer = () => {};
    sonics = new Promise((resolve) => {
      answer = () => resolve(list());
    });
    await failToReadSignals();
    expect(store.signalView('hub')?.isUnread).toBe(false);
    answer();
    await waitFor(() => poller.records.sonics.answeredAt > 0, { what: 'the cloud to answer' });
    await failToReadSignals();
    expect(store.signalView('hub')?.isUnread).toBe(true);
  });
});

describe('telemetry', () => {
  const sonics = ['one', 'two'].map((id) => ({ id, radio_connection: 'connected' }));

  it.each([
    ['one', 'two'],
    ['two', 'one'],
  ])('that sonic %s does not have is shown for sonic %s', async (without, having) => {
    const { store, poller, client } = await startPoller(({ path }) => {
      if (path.endsWith(`/${without}/telemetry`)) return { status: 404 };
      if (path.endsWith('/telemetry')) return { json: { pressure: 3_000 } };
      return path.endsWith('/sonics') ? list(...sonics) : list();
    }, noon());
    expect(store.sonicView(having)?.telemetry).toMatchObject({ pressure: 3_000 });
    expect(store.sonicView(without)?.telemetry).toBeNull();
    expect(poller.records.telemetry.failure).toBeNull();
    expect(client.availability('read_telemetry')).toBe('available');
  });

  it('that no sonic has is not asked for again', async () => {
    const { poller, client } = await startPoller(({ path }) => {
      if (path.endsWith('/telemetry')) return { status: 404 };
      return path.endsWith('/sonics') ? list(...sonics) : list();
    }, noon());
    expect(poller.records.telemetry.failure).toBeNull();
    expect(client.availability('read_telemetry')).toBe('unavailable');
  });

  it('that was asked of a sonic just removed, and of no other, is asked of the others later', async () => {
    const { client } = await startPoller(({ path }) => {
      if (path.includes('/sonics/one')) return { status: 404 };
      return path.endsWith('/sonics') ? list({ id: 'one', radio_connection: 'connected' }) : list();
    }, noon());
    expect(client.availability('read_telemetry')).toBe('available');
  });

  it('that was asked of a Wi-Fi sonic just removed, and of no other, is asked of the others later', async () => {
    let isListed = true;
    const { client } = await startPoller(({ path }) => {
      if (path.endsWith('/telemetry')) {
        isListed = false;
        return { status: 404 };
      }
      return path.endsWith('/sonics_wifi') && isListed ? list({ id: 'one' }) : list();
    }, noon());
    expect(client.availability('read_wifi_telemetry')).toBe('available');
  });

  it('was not read well as long as nobody knows the sonics', async () => {
    const { poller } = await startPoller(({ path }) => (path.endsWith('/sonics') ? { status: 422 } : list()));
    expect(poller.records.telemetry.lastSuccessAt).toBeNull();
  });
});

describe('what is asked for sonic by sonic', () => {
  const linked = ['one', 'two'].map((id) => ({ id, radio_connection: 'connected' }));
  const slices = {
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
  } as const;
  const figures = ['usage', 'pressure_tests'] as const;
  const shown = (store: Store, slice: (typeof figures)[number], id: string) => {
    const view = store.sonicView(id);
    return slice === 'usage' ? view?.usage : view?.pressureTests;
  };

  /** A cloud with these sonics that answers as told where the figures are asked for. */
  const cloudOf =
    (sonics: readonly object[], answer: StubHandler): StubHandler =>
    (request) => {
      if (/(daily_usage|pressure_tests)$/.test(request.path)) return answer(request);
      return request.path.endsWith('/sonics') ? list(...sonics) : list();
    };

  it('is asked for by month, and also of a sonic without a radio link', async () => {
    const sonics = [{ id: 'one', radio_connection: 'disconnected' }];
    const { store, stub, poller } = await startPoller(
      cloudOf(sonics, () => slices.usage),
      noon(),
    );
    const asked = stub.requests.filter(({ path }) => path.endsWith('/things/one/daily_usage'));
    expect(asked.map(({ query }) => query)).toEqual([
      { month: '11', year: '2026' },
      { month: '10', year: '2026' },
    ]);
    expect(store.sonicView('one')?.usage).toMatchObject({ todayL: 5, totalL: 5 });
    expect(poller.records.usage.failure).toBeNull();
  });

  it.each(figures.flatMap((slice) => [[slice, 'one', 'two'] as const, [slice, 'two', 'one'] as const]))(
    '(%s) is shown for sonic %s where only sonic %s has none',
    async (slice, having, without) => {
      const { json, operation } = slices[slice];
      const handler = cloudOf(linked, ({ path }) =>
        path.includes(`/${without}/`) ? { status: 404 } : { json },
      );
      const { store, poller, client } = await startPoller(handler, noon());
      expect(shown(store, slice, having)).toBeTruthy();
      expect(shown(store, slice, without)).toBeNull();
      expect(poller.records[slice].failure).toBeNull();
      expect(client.availability(operation)).toBe('available');
    },
  );

  it.each(figures)('(%s) is given up where no sonic has any', async (slice) => {
    const { store, poller, client } = await startPoller(
      cloudOf(linked, () => ({ status: 404 })),
      noon(),
    );
    expect(client.availability(slices[slice].operation)).toBe('unavailable');
    expect(poller.records[slice].failure).toBeNull();
    expect(shown(store, slice, 'one')).toBeNull();
  });

  it.each(figures)('(%s) is amiss where the cloud knows it of no sonic any more', async (slice) => {
    let answer: StubAnswer = { json: slice === 'usage' ? { daily: [] } : { by_day: {} } };
    const { poller } = await startPoller(
      cloudOf(linked, () => answer),
      noon(),
    );
    expect(poller.records[slice].failure).toBeNull();
    answer = { status: 404 };
    poller.refresh();
    await waitFor(() => poller.records[slice].failure !== null, { what: 'the failure' });
    expect(poller.records[slice].failure?.words).toMatch(/404/);
  });

  it.each(figures)('(%s) says of how many sonics it could not be read', async (slice) => {
    const answer: StubHandler = ({ path }) => (path.includes('/two/') ? { status: 422 } : slices[slice]);
    const { store, poller } = await startPoller(cloudOf(linked, answer), noon());
    expect(poller.records[slice].failure).toMatchObject({
      kind: 'incomplete',
      words: expect.stringContaining('1 of 2 sonics: '),
    });
    expect(shown(store, slice, 'one')).toBeTruthy();
    expect(shown(store, slice, 'two')).toBeUndefined();
  });

  it.each(figures)('(%s) fails by itself where no sonic can be read', async (slice) => {
    const answer: StubHandler = ({ path }) =>
      path.endsWith(slices[slice].path) ? { status: 422 } : undefined;
    const { poller } = await startPoller(cloudOf(linked, answer), noon());
    expect(poller.records[slice]).toMatchObject({ lastSuccessAt: null, failure: { kind: 'rejected' } });
    expect(poller.records.sonics.failure).toBeNull();
  });

  it('is asked for of two sonics at a time', async () => {
    const sonics = Array.from({ length: 9 }, (_, index) => ({ id: `sonic-${index}` }));
    let open = 0;
    let mostOpen = 0;
    let tests = 0;
    const answer: StubHandler = async ({ path }) => {
      if (!path.endsWith('daily_usage')) {
        tests++;
        return slices.pressure_tests;
      }
      mostOpen = Math.max(mostOpen, ++open);
      // Time enough for a third to come, if one would.
      await waitFor(() => tests === sonics.length, { what: 'all pressure tests' });
      open--;
      return slices.usage;
    };
    const { stub } = await startPoller(cloudOf(sonics, answer), noon());
    expect(stub.requests.filter(({ path }) => path.endsWith('daily_usage'))).toHaveLength(18);
    expect(mostOpen).toBe(2);
  });

  it('is asked for soon of a sonic that is new, before the others', async () => {
    const sonics = [{ id: 'one' }];
    const answer: StubHandler = ({ path }) =>
      path.endsWith('daily_usage') ? slices.usage : slices.pressure_tests;
    const { stub, store, poller } = await startPoller(cloudOf(sonics, answer), noon());
    sonics.push({ id: 'two' });
    const before = stub.requests.length;
    poller.request('sonics');
    await waitFor(() => store.sonicView('two')?.usage && store.sonicView('two')?.pressureTests, {
      what: 'the figures of the new sonic',
    });
    const asked = stub.requests.slice(before).filter(({ path }) => path.includes('/things/'));
    expect(new Set(asked.slice(0, 2).map(({ path }) => path))).toEqual(
      new Set(['daily_usage', 'pressure_tests'].map((path) => `/iot-core/customer_app/things/two/${path}`)),
    );
  });

  it('is asked for of all at once when everything is polled anew', async () => {
    const sonics = Array.from({ length: 6 }, (_, index) => ({ id: `sonic-${index}` }));
    const answer: StubHandler = ({ path }) =>
      path.endsWith('daily_usage') ? slices.usage : slices.pressure_tests;
    const { stub, poller } = await startPoller(cloudOf(sonics, answer), noon());
    const countOf = (path: string) => stub.requests.filter((request) => request.path.endsWith(path)).length;
    poller.refresh();
    // The clock stands still, so nothing that waits for its turn would come.
    await waitFor(() => countOf('daily_usage') === 18 && countOf('pressure_tests') === 12, {
      what: 'everything once more',
    });
  });

  it('begins a new day at midnight without the cloud, and asks it soon after', async () => {
    // The hourly poll is not due before a while after midnight.
    const clock = new FakeClock(Date.parse('2026-11-20T23:40:00Z'));
    let liters = 5;
    const answer: StubHandler = ({ path, query }) => {
      if (!path.endsWith('daily_usage')) return slices.pressure_tests;
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

  it.each([
    [true, { todayL: null }, { todayCount: null }],
    [false, { todayL: 5 }, { todayCount: 1 }],
  ])(
    'does not pass for the present when it fails alone for two periods (alone: %s)',
    async (isAlone, usage, tests) => {
      const clock = noon();
      let isFailing = false;
      const sound = cloudOf(linked, ({ path }) =>
        path.endsWith('daily_usage') ? slices.usage : slices.pressure_tests,
      );
      const { store, poller } = await startPoller((request) => {
        const isAsked = request.path.includes('/things/') || (request.path.endsWith('/sonics') && !isAlone);
        return isFailing && isAsked ? { status: 422 } : sound(request);
      }, clock);
      isFailing = true;
      poller.request('sonics');
      await waitFor(() => poller.records.sonics.failure !== null || isAlone, { what: 'the sonics' });
      const polls = (times: number) =>
        waitFor(() => figures.every((slice) => poller.records[slice].consecutiveFailures >= times), {
          what: 'polls',
        });
      clock.advance(2 * 3_600_000);
      await polls(1);
      expect(store.sonicView('one')).toMatchObject({
        usage: { todayL: 5 },
        pressureTests: { todayCount: 1 },
      });
      clock.advance(300_000);
      await polls(2);
      const now = clock.monotonic();
      poller.request('sonics');
      await waitFor(() => poller.records.sonics.answeredAt === now || !isAlone, {
        what: 'the cloud to answer',
      });
      clock.advance(300_000);
      await polls(3);
      expect(store.sonicView('one')).toMatchObject({ usage: { ...usage, totalL: 5 }, pressureTests: tests });
    },
  );

  it('is not asked for while the clock of the machine was not set', async () => {
    const { stub, poller, store } = await startPoller(
      cloudOf(linked, () => slices.usage),
      new FakeClock(0),
    );
    expect(stub.requests.filter(({ path }) => path.includes('/things/'))).toEqual([]);
    expect(poller.records.usage).toMatchObject({
      lastSuccessAt: null,
      failure: { words: expect.stringContaining('the clock of this machine says 1970-01-01') },
    });
    expect(store.sonicView('one')?.usage).toBeUndefined();
  });

  it('is given up when the poller stops, also while it waits for its turn', async () => {
    const clock = noon();
    const answer: StubHandler = ({ path }) =>
      path.endsWith('daily_usage') ? slices.usage : slices.pressure_tests;
    const { stub, poller } = await startPoller(cloudOf(linked, answer), clock);
    clock.advance(3_600_000);
    await waitFor(() => stub.requests.filter(({ path }) => path.endsWith('daily_usage')).length === 5, {
      what: 'the first of the next round',
    });
    const before = stub.requests.length;
    await poller.stop();
    clock.advance(3_600_000);
    await new Promise((resolve) => setImmediate(resolve));
    expect(stub.requests.slice(before).filter(({ path }) => path.endsWith('daily_usage'))).toEqual([]);
  });
});

describe('the sonics without a hub', () => {
  const hubSonic = { id: 'kitchen', signal_id: 'hub', valve_state: 'open' };
  const wifiSonic = { id: 'barn', valve_state: 'open' };

  /** A cloud with a sonic of either kind, where the list of those without a hub is answered so. */
  const startWith = (answer: StubAnswer) =>
    startPoller(({ path }) => {
      if (path.endsWith('/sonics_wifi')) return answer;
      return path.endsWith('/sonics') ? list(hubSonic) : list();
    });

  it('are read with the others', async () => {
    const { store, poller } = await startWith(list(wifiSonic));
    expect(store.ids('sonic').map((id) => [id, store.isWifi(id)])).toEqual([
      ['kitchen', false],
      ['barn', true],
    ]);
    expect(poller.records.sonics.failure).toBeNull();
  });

  it.each([403, 404, 405, 501])(
    'are none where the cloud answers %i, and nothing is amiss',
    async (status) => {
      const { store, poller, client } = await startWith({ status });
      expect(store.ids('sonic')).toEqual(['kitchen']);
      expect(store.isWhole).toBe(true);
      expect(poller.records.sonics).toMatchObject({ failure: null, consecutiveFailures: 0 });
      expect(client.availability('list_wifi_sonics')).toBe(status === 403 ? 'available' : 'unavailable');
    },
  );

  it.each([403, 405])(
    'stay, and are not taken for gone, where a list that named them is answered %i',
    async (status) => {
      let wifi: StubAnswer = list(wifiSonic);
      const { store, poller, happened } = await startPoller(({ path }) => {
        if (path.endsWith('/sonics_wifi')) return wifi;
        return path.endsWith('/sonics') ? list(hubSonic) : list();
      });
      wifi = { status };
      for (const polls of [1, 2, 3]) {
        poller.refresh();
        await waitFor(() => poller.counts('sonics').incomplete === polls, { what: 'an incomplete reading' });
      }
      expect(store.ids('sonic')).toEqual(['kitchen', 'barn']);
      expect(happened).toEqual([]);
      expect(poller.records.sonics.failure?.words).toMatch(/^Wi-Fi sonics: /);
    },
  );

  it('that cannot be read otherwise leave the reading incomplete and the others fresh', async () => {
    const { store, poller } = await startWith({ status: 422 });
    const { failure, lastSuccessAt } = poller.records.sonics;
    expect(failure).toMatchObject({ kind: 'incomplete' });
    expect(failure?.words).toMatch(/^Wi-Fi sonics: .*422/);
    expect(lastSuccessAt).not.toBeNull();
    expect(store.ids('sonic')).toEqual(['kitchen']);
    expect(store.isWhole).toBe(false);
  });

  it('do not hold up the others while the cloud leaves their list unanswered', async () => {
    let isHanging = false;
    let valve = 'open';
    const { store, poller } = await startPoller(({ path }) => {
      if (path.endsWith('/sonics_wifi')) return isHanging ? { fault: 'hang' } : list(wifiSonic);
      return path.endsWith('/sonics') ? list({ ...hubSonic, valve_state: valve }) : list();
    });
    isHanging = true;
    valve = 'closed';
    poller.refresh();
    await waitFor(() => store.sonicView('kitchen')?.valve === 'closed', { what: 'the closed valve' });
    expect(store.sonicView('barn')).toMatchObject({ valve: 'open', isUnread: false });
  });

  it('have their telemetry from their own route', async () => {
    const { store, stub } = await startPoller(({ path }) => {
      if (path.endsWith('/telemetry')) return { json: { pressure: path.includes('_wifi') ? 2_000 : 3_000 } };
      if (path.endsWith('/sonics_wifi')) return list(wifiSonic);
      return path.endsWith('/sonics') ? list(hubSonic) : list();
    });
    expect(store.sonicView('barn')?.telemetry).toMatchObject({ pressure: 2_000 });
    expect(store.sonicView('kitchen')?.telemetry).toMatchObject({ pressure: 3_000 });
    const asked = stub.requests.map(({ path }) => path).filter((path) => path.endsWith('/telemetry'));
    expect(asked.toSorted()).toEqual(
      ['/ape/v1/sonics/kitchen/telemetry', '/ape/v1/sonics_wifi/barn/telemetry'].toSorted(),
    );
  });

  it('keep their telemetry when that of the others cannot be read', async () => {
    const { store, poller } = await startPoller(({ path }) => {
      if (path.endsWith('/sonics_wifi/barn/telemetry')) return { json: { pressure: 2_000 } };
      if (path.endsWith('/telemetry')) return { status: 422 };
      if (path.endsWith('/sonics_wifi')) return list(wifiSonic);
      return path.endsWith('/sonics') ? list(hubSonic) : list();
    });
    expect(store.sonicView('barn')?.telemetry).toMatchObject({ pressure: 2_000 });
    expect(poller.records.telemetry.failure).toMatchObject({ kind: 'incomplete' });
  });
});

describe('a sonic whose signal could not be read', () => {
  const cloud = (signals: () => StubAnswer) => (request: { readonly path: string }) => {
    if (request.path.endsWith('/v1/signals')) return signals();
    return request.path.endsWith('/sonics') ? list({ id: 'kitchen', signal_id: 'hub' }) : list();
  };

  it('is not said to be there by its radio link alone, until the list of signals is whole', async () => {
    let signals: StubAnswer = { status: 503 };
    const { store, poller } = await startPoller(cloud(() => signals));
    expect(store.sonicView('kitchen')?.signal).toBeUndefined();
    signals = list();
    store.takeDirty();
    poller.request('signals');
    await waitFor(() => store.sonicView('kitchen')?.signal === null, { what: 'the list of signals' });
    expect([...store.takeDirty().sonic]).toEqual(['kitchen']);
  });

  it('is, where the cloud refuses to list the signals', async () => {
    const { store } = await startPoller(cloud(() => ({ status: 403 })));
    expect(store.sonicView('kitchen')?.signal).toBeNull();
  });
});
