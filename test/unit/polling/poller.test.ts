import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import type { Poller } from '../../../src/polling/poller.ts';
import type { StubAnswer } from '../../support/cloudStub.ts';
import { createPoller, list, noon, startPoller } from '../../support/pollerBench.ts';
import { waitFor } from '../../support/waitFor.ts';

async function pollIncidents(poller: Poller): Promise<void> {
  const polls = poller.statuses.records.incidents.counts.success;
  poller.refresh();
  await waitFor(() => poller.statuses.records.incidents.counts.success > polls, {
    what: 'the incidents to be polled',
  });
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
    const names = () => bench.storeEvents.map(({ event }) => event);
    return { ...bench, names };
  }

  it.each([
    ['the cloud itself says that it is', { json: leak }],
    ['nobody knows', { status: 422 }],
    ['the cloud tells of another', { json: { ...leak, id: 'other' } }],
    ['the cloud tells that another is over', { json: { ...leak, id: 'other', open: false } }],
  ])('stays open while %s', async (_, answer) => {
    const { store, poller, stub, names } = await startWith(answer);
    poller.refresh();
    const asked = () => stub.requests.filter(({ path }) => path.endsWith('/incidents/leak'));
    await waitFor(() => asked().length === 2, { what: 'the second question' });
    expect(store.incidents.get('leak')).toMatchObject({ open: true });
    expect(names()).toEqual(['incident_opened']);
  });

  /** A cloud that answers so when asked for the incident; polls it, the list naming the incident or not. */
  async function startDoubting(status: number, routes: Record<string, string | null> = {}) {
    let isListed = true;
    const bench = await startPoller(
      ({ path }) => {
        if (path.endsWith('/incidents/leak')) return { status };
        return path.endsWith('/incidents') && isListed ? list(leak) : list();
      },
      systemClock,
      { routes },
    );
    const poll = async (isNamed: boolean) => {
      isListed = isNamed;
      await pollIncidents(bench.poller);
      return bench.store.incidents.get('leak') !== null;
    };
    return { ...bench, poll };
  }

  it.each<[string, number, Record<string, string | null>?]>([
    ['the cloud answers 400', 400],
    ['the cloud answers 403', 403],
    ['the cloud answers 410', 410],
    ['the cloud answers 500', 500],
    ['asking for one is switched off', 200, { read_incident: null }],
  ])('is closed with the third such list where %s', async (_, status, routes) => {
    const { poll, storeEvents } = await startDoubting(status, routes);
    expect([await poll(false), await poll(false), await poll(false)]).toEqual([true, true, false]);
    expect(storeEvents.map(({ event }) => event)).toEqual(['incident_opened', 'incident_closed']);
  });

  it('is in doubt again after a list that names it', async () => {
    const { poll } = await startDoubting(422);
    for (const isNamed of [false, false, true, false, false]) expect(await poll(isNamed)).toBe(true);
    expect(await poll(false)).toBe(false);
  });

  it('stays open if it vanishes from one list with many others', async () => {
    const many = Array.from({ length: 24 }, (_, index) => ({ ...leak, id: `leak-${index}` }));
    let isListed = true;
    const { store, poller } = await startPoller(({ path }) => {
      const id = /\/incidents\/(.+)$/.exec(path)?.[1];
      if (id !== undefined) return { json: { ...leak, id } };
      return path.endsWith('/incidents') && isListed ? list(...many) : list();
    });
    isListed = false;
    await pollIncidents(poller);
    expect(store.ids('incident')).toHaveLength(24);
  });

  it.each([
    ['by what the cloud says of it', { json: { ...leak, open: false, state: 'resolved' } }, 'resolved'],
    ['when the cloud knows it no more', { status: 404 }, 'contacting'],
  ])('is closed %s, with the last word', async (_, answer, state) => {
    const { store, storeEvents, names } = await startWith(answer);
    await waitFor(() => store.incidents.get('leak') === null, { what: 'the end' });
    expect(names()).toEqual(['incident_opened', 'incident_closed']);
    expect(storeEvents.at(-1)?.record).toMatchObject({ state });
  });
});

describe('an incident that a list misses which never is complete', () => {
  const leak = { id: 'leak', open: true, type: 'long_flow_alert' };
  const unusable = { type: 'low_temperature', open: true, id: 'low/1' };

  it.each([
    ['the cloud says that it is over', { json: { ...leak, open: false, state: 'resolved' } }, false],
    ['the cloud knows it no more', { status: 404 }, false],
    ['the cloud says that it is open', { json: leak }, true],
    ['the cloud does not say', { status: 422 }, true],
    ['the cloud does not let it be asked for', { status: 403 }, true],
  ])('while %s', async (_, answer, isLeftOpen) => {
    let listed: object[] = [leak, unusable];
    const { store, poller, stub, storeEvents } = await startPoller(({ path }) => {
      if (path.endsWith('/incidents/leak')) return answer;
      return path.endsWith('/incidents') ? list(...listed) : list();
    });
    expect([store.ids('incident'), store.incidents.areFresh]).toEqual([['leak'], false]);
    listed = [unusable];
    const lists = () => stub.requests.filter(({ path }) => path.endsWith('/incidents')).length;
    for (const _again of ['once', 'twice', 'three times', 'four times']) {
      const before = lists();
      poller.refresh();
      await waitFor(() => lists() > before, { what: 'the list' });
    }
    await poller.stop();
    expect(store.ids('incident')).toEqual(isLeftOpen ? ['leak'] : []);
    const names = storeEvents.map(({ event }) => event);
    expect(names).toEqual(isLeftOpen ? ['incident_opened'] : ['incident_opened', 'incident_closed']);
    expect(store.incidents.areFresh).toBe(false);
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
    await waitFor(() => bench.poller.statuses.records.properties.lastSuccessAt !== null, {
      what: 'the properties',
    });
    return { ...bench, asked };
  }

  it.each([
    ['which signals it has', /properties\/.*\/signals$/],
    ['its settings', /properties\/.*\/settings$/],
    ['its notification settings', /notifications$/],
    ['what properties there are', /\/properties$/],
  ])('does not hold up the valves and the leaks (%s)', async (_, pattern) => {
    const { poller, store } = await startWithSlow(pattern);
    expect(poller.statuses.records.properties.counts).toEqual({ success: 1, incomplete: 0, failure: 0 });
    expect(store.sonicView('kitchen')).toMatchObject({ propertyId: 'home' });
    expect(store.incidents.get('leak')).not.toBeNull();
  });

  it.each([
    ['settings', '/shop/settings', [], ['/shop/settings', '/shop/notifications']],
    ['the only list of its hubs, under a filter', '/home/signals', ['home', 'shop'], ['/home/signals']],
  ])(
    'is read again before its time only of the property that failed: %s',
    async (_, failing, selection, read) => {
      const clock = noon();
      let isFailing = true;
      const { poller, stub, store } = await startPoller(
        ({ path }) => (isFailing && path.endsWith(failing) ? { status: 422 } : answerTo(path)),
        clock,
        { selection },
      );
      await waitFor(() => poller.statuses.records.properties.failure, { what: 'the failure' });
      expect(poller.statuses.records.properties.failure?.message).toMatch(/, for property "(shop|home)"$/);
      const before = stub.requests.length;
      isFailing = false;
      clock.advance(10_000);
      await waitFor(() => poller.statuses.records.properties.failure === null, { what: 'the retry' });
      const again = stub.requests.slice(before).filter(({ path }) => path.includes('/properties/'));
      expect(again.map(({ path }) => path)).toEqual(read.map((path) => `/ape/v1/properties${path}`));
      expect(store.sonicView('kitchen')).toMatchObject({ propertyId: 'home' });
    },
  );

  it('does not hold up the valves of an only property, whose hubs need no list to be placed', async () => {
    let answer = () => {};
    const wasFirstRead = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const { poller, store } = await createPoller(async ({ path }) => {
      if (path.endsWith('/home/signals')) await wasFirstRead;
      return path.endsWith('/properties') ? list({ id: 'home' }) : answerTo(path);
    });
    poller.once('firstRead', () => {
      expect(store.sonicView('kitchen')).toMatchObject({ propertyId: 'home', incidents: [{ id: 'leak' }] });
      expect(store.isPlacePending('sonic', 'kitchen')).toBe(false);
      answer();
    });
    await poller.start();
    // Its list was not given up before.
    expect(store.signalLists.isFresh('home')).toBe(true);
  });

  it('is asked for once more if the list of properties fails after all others were read', async () => {
    let isFirst = true;
    const { store } = await startPoller(async ({ path }) => {
      if (!path.endsWith('/properties') || !isFirst) return answerTo(path);
      isFirst = false;
      for (let turn = 0; turn < 200; turn++) await new Promise((resolve) => setImmediate(resolve));
      return { status: 422 };
    }, noon());
    expect(store.propertyOf('sonic', 'kitchen')).toBe('home');
  });

  it('counts a list that misses a hub once, also before all lists were read', async () => {
    let isHubListed = true;
    let answerSonics = () => {};
    const areSonicsAnswered = new Promise<void>((resolve) => {
      answerSonics = resolve;
    });
    const hasRead = (bench: Awaited<ReturnType<typeof createPoller>>, runs: number) =>
      waitFor(() => bench.poller.statuses.records.properties.counts.success === runs, {
        what: 'the properties',
      });
    const bench = await createPoller(async ({ path }) => {
      if (path.endsWith('/sonics')) await areSonicsAnswered;
      return path.endsWith('/home/signals') && !isHubListed ? list() : answerTo(path);
    });
    const started = bench.poller.start();
    await hasRead(bench, 1);
    isHubListed = false;
    void bench.poller.runNow('properties');
    await hasRead(bench, 2);
    expect(bench.store.propertyOf('signal', 'hub')).toBe('home');
    void bench.poller.runNow('properties');
    await hasRead(bench, 3);
    expect(bench.store.propertyOf('signal', 'hub')).toBeNull();
    answerSonics();
    await started;
  });

  it('shows when the days of usage begin, and usage is not read before', async () => {
    const { asked } = await startWithSlow(/properties\/.*\/settings$/);
    const isUsage = (path: string) => path.endsWith('/daily_usage');
    await waitFor(() => asked.some(isUsage), { what: 'the usage' });
    expect(asked.findIndex(isUsage)).toBeGreaterThan(
      asked.findLastIndex((path) => /properties\/.*\/settings$/.test(path)),
    );
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

  it.each([403, 404, 405, 501])(
    'are none where the cloud answers %i, and nothing is amiss',
    async (status) => {
      const { store, poller, client } = await startWith({ status });
      expect(store.ids('sonic')).toEqual(['kitchen']);
      expect(store.areListsComplete).toBe(true);
      expect(poller.statuses.records.sonics).toMatchObject({ failure: null, consecutiveFailures: 0 });
      expect(client.operationState('list_wifi_sonics')).toBe(status === 403 ? 'available' : 'unavailable');
    },
  );

  it.each([403, 405])(
    'stay, and are not taken for gone, where a list that named them is answered %i',
    async (status) => {
      let wifi: StubAnswer = list(wifiSonic);
      const { store, poller, storeEvents } = await startPoller(({ path }) => {
        if (path.endsWith('/sonics_wifi')) return wifi;
        return path.endsWith('/sonics') ? list(hubSonic) : list();
      });
      wifi = { status };
      for (const polls of [1, 2, 3]) {
        poller.refresh();
        await waitFor(() => poller.statuses.records.sonics.counts.incomplete === polls, {
          what: 'an incomplete reading',
        });
      }
      expect(store.ids('sonic')).toEqual(['kitchen', 'barn']);
      expect(storeEvents).toEqual([]);
      expect(poller.statuses.records.sonics.failure?.message).toMatch(/^Wi-Fi valves: /);
    },
  );

  it('that cannot be read otherwise leave the reading incomplete and the others fresh', async () => {
    const { store, poller } = await startWith({ status: 422 });
    const { failure, lastSuccessAt } = poller.statuses.records.sonics;
    expect(failure).toMatchObject({ kind: 'incomplete' });
    expect(failure?.message).toMatch(/^Wi-Fi valves: .*422/);
    expect(lastSuccessAt).not.toBeNull();
    expect(store.ids('sonic')).toEqual(['kitchen']);
    expect(store.areListsComplete).toBe(false);
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
    expect(store.sonicView('barn')).toMatchObject({ valve: 'open', reach: 'up' });
  });

  it('keep their telemetry when that of the others cannot be read', async () => {
    const { store, poller } = await startPoller(({ path }) => {
      if (path.endsWith('/sonics_wifi/barn/telemetry')) return { json: { pressure: 2_000 } };
      if (path.endsWith('/telemetry')) return { status: 422 };
      if (path.endsWith('/sonics_wifi')) return list(wifiSonic);
      return path.endsWith('/sonics') ? list(hubSonic) : list();
    });
    expect(store.sonicView('barn')?.telemetry).toMatchObject({ pressure: 2_000 });
    expect(poller.statuses.records.telemetry.failure).toMatchObject({ kind: 'incomplete' });
  });
});

describe('a property of which the cloud shows this user nothing more', () => {
  it.each([403, 405])('is no failure, whichever word it has for that: %i', async (status) => {
    const { store, poller } = await startPoller(({ path }) => {
      if (path.includes('/properties/of-somebody/')) return { status };
      if (path.endsWith('/properties')) return list({ id: 'of-somebody' }, { id: 'home' });
      return /settings|notifications/.test(path)
        ? { json: { timezone: 'UTC', high_humidity: true } }
        : list();
    });
    expect(poller.statuses.records.properties).toMatchObject({ failure: null, consecutiveFailures: 0 });
    const views = ['home', 'of-somebody'].map((id) => store.propertyView(id));
    expect(views.map((view) => view?.settings?.timezone ?? null)).toEqual(['UTC', null]);
    expect(views.map((view) => view?.notifications === null)).toEqual([false, true]);
  });
});
