import { describe, expect, it } from 'vitest';
import { Home, leisurely, minuteMs, secondMs } from './home.ts';

/** Nothing is asked sonic by sonic, which would take an hour. */
const onlyLists = { read_telemetry: null, read_daily_usage: null, read_pressure_tests: null };

/** An account of many pages, of which one in two seconds can be read: each reading of the list takes a minute or two. */
function largeHome(schedules: object = leisurely): Home {
  return new Home({
    cloud: { properties: 1, signals: 1, sonics: 80, pageSize: 2 },
    config: { cloud: { max_requests_per_minute: 30, routes: onlyLists }, schedules },
  });
}

/** Lets time pass in which a sonic is added again and again, so that no reading of the list goes without. */
async function passWhileGrowing(home: Home, ms: number, everyMs: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += everyMs) {
    home.world.addSonic(home.signalId);
    await home.pass(everyMs);
  }
}

const found = (home: Home) => home.linesFrom(0).filter((text) => text.startsWith('info: Found properties'));

describe('a large account takes minutes to be read', () => {
  it('the log says every ten seconds how far it is, and what was found', async () => {
    const home = largeHome();
    home.bridge.start();
    await home.pass(15 * minuteMs);
    const said = home.lines.filter(({ text }) => /^info: Reading the account: .*valves \d+ of 80/.test(text));
    expect(said.length).toBeGreaterThan(1);
    for (const [index, { at }] of said.entries()) {
      if (index > 0) expect(at - (said[index - 1]?.at ?? 0)).toBeLessThanOrEqual(11 * secondMs);
    }
    const counts = said.map(({ text }) => Number(/valves (\d+)/.exec(text)?.[1]));
    expect(counts).toEqual(counts.toSorted((one, other) => one - other));
    expect(found(home)).toEqual(['info: Found properties: 1, hubs: 1, valves: 80, open alerts: 1']);
    // From then on there is nothing to wait for.
    const from = home.time.now;
    await home.pass(10 * minuteMs);
    expect(home.linesFrom(from).filter((text) => /Reading the account/.test(text))).toEqual([]);
  });

  it('a list that changes while it is read is incomplete until it could be read', async () => {
    const home = largeHome({});
    home.bridge.start();
    await passWhileGrowing(home, 6 * minuteMs, 10 * secondMs);
    expect(found(home)).toEqual([]);
    // What could be read is shown.
    const shown = home.world.thingIds.filter((id) => home.text(`sonic/${id}`) !== undefined);
    expect(shown.length).toBeGreaterThan(80);
    await home.pass(15 * minuteMs);
    expect(found(home)).toHaveLength(1);
    // A valve may be missing until then.
    const said = home.published('bridge/health').map(({ payload }) => {
      const { status, reason } = JSON.parse(payload);
      return `${status}: ${reason}`;
    });
    const reading = 'degraded: Connected, reading the account for the first time';
    const changed = 'degraded: Could not read all valves: the list changed while it was read. Retrying';
    const firstOk = said.indexOf('ok: null');
    expect(new Set(said.slice(0, firstOk))).toEqual(new Set([reading, changed]));
    expect(new Set(said.slice(firstOk))).toEqual(new Set(['ok: null']));
    expect(home.linesFrom(0).filter((text) => /^(warn|error)/.test(text))).toEqual([
      `warn: ${changed.slice('degraded: '.length)}`,
    ]);
  });

  it('one that changes whenever it is read, for long, is a fault', async () => {
    const home = largeHome();
    await home.start();
    await passWhileGrowing(home, 30 * minuteMs, 30 * secondMs);
    expect(home.json('bridge/health')).toMatchObject({
      status: 'degraded',
      reason: expect.stringContaining('valves: '),
    });
    await home.pass(20 * minuteMs);
    expect(home.json('bridge/health').status).toBe('ok');
  });
});

describe('the hubs of one property take long to be read', () => {
  const properties = 5;

  /** The request for the hubs of the third property is not answered in the first second after the bridge has started. */
  function slowHome(isFiltered: boolean): Home {
    const cloud = { properties, signals: properties, sonics: properties };
    const [, ...selected] = new Home({ cloud }).world.properties.ids;
    const home = new Home({ cloud, config: { filters: { properties: isFiltered ? selected : [] } } });
    const slow = home.world.properties.ids[2];
    home.strike = ({ operation, params }) => {
      const isSlow = operation === 'list_property_signals' && params['property_id'] === slow;
      return isSlow && home.time.now - (home.links.at(-1) ?? 0) < secondMs ? 'hang-before' : null;
    };
    return home;
  }

  /** How long after the start each valve was first available, in ms. */
  function shownAfter(home: Home, startedAt: number): number[] {
    return home.world.sonics.ids
      .flatMap((id) => {
        const isShown = ({ at, payload }: { at: number; payload: string }) =>
          at >= startedAt && payload === 'online';
        const shown = home.published(`sonic/${id}/availability`).find(isShown);
        return shown ? shown.at - startedAt : [];
      })
      .toSorted((one, other) => one - other);
  }

  it.each([
    { what: 'all properties', isFiltered: false, valves: properties },
    { what: 'some properties', isFiltered: true, valves: properties - 1 },
  ])(
    'valves of $what are shown as soon as it is known where they are, also after a restart',
    async ({ isFiltered, valves }) => {
      const home = slowHome(isFiltered);
      home.world.openIncident({
        type: 'water_presence_detected',
        sonicId: home.world.sonics.ids.at(-1) ?? '',
      });
      await home.start();
      const opened = home.events('incident_opened').length;
      await home.restart();
      await home.pass(minuteMs);
      for (const from of home.links) {
        const shown = shownAfter(home, from);
        expect(shown).toHaveLength(valves);
        expect(shown.at(0)).toBeLessThan(secondMs);
        expect(shown.at(-2)).toBeLessThan(2 * secondMs);
        expect(shown.at(-1)).toBeGreaterThan(3 * secondMs);
      }
      // Nothing is taken to be gone, new or closed meanwhile.
      expect(home.messages.filter(({ payload, retain }) => payload === '' && retain)).toEqual([]);
      expect(home.events('device_added')).toEqual([]);
      expect(home.events('incident_opened')).toHaveLength(opened);
      expect(home.events('incident_closed')).toEqual([]);
    },
  );
});
