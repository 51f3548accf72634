import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { runBuilt } from '../support/callProgram.ts';
import { chromiumAvailable } from '../support/chromium.ts';
import { takePicture } from '../support/pictures.ts';
import { waitFor } from '../support/waitFor.ts';
import { type Household, pictures, settled, startHousehold, stopHousehold, version } from './household.ts';

const dayMs = 86_400_000;
const hourMs = 3_600_000;

/** Letters that an entity ID does not have, and two valves of one name, of which nobody knows which has which ID. */
const names = ['Küche', 'Bad', 'Bad', 'Łazienka'];

/** The oldest version makes the IDs of the names in that language, so there it is English. */
const isOldest = version.startsWith('2024');
/** It also needs a minute for the hours of a year. A year has both changes of clocks. */
const days = isOldest ? 60 : 400;
/** Noon so many days ago. It is on the same day in London as in UTC. */
const noonMs = (daysAgo: number) => (Math.floor(Date.now() / dayMs) - daysAgo) * dayMs + 12 * hourMs;
const close = isOldest ? 'Close the water' : 'Wasser absperren';
const question = isOldest ? 'Close the water at Küche?' : 'Wasser bei „Küche“ absperren?';

let household: Household;
const sonicIds = () => household.cloud.world.sonics.ids;

beforeAll(async () => {
  mkdirSync(pictures, { recursive: true });
  household = await startHousehold(
    ({ world }) => {
      for (const [index, id] of world.sonics.ids.entries()) {
        world.changeSonic(id, {
          name: names[index] ?? null,
          created_at: new Date(noonMs(days)).toISOString(),
        });
      }
    },
    { language: isOldest ? 'en' : 'de' },
  );
});

afterAll(() => stopHousehold(household));

const run = (...args: string[]) => runBuilt(args, { cwd: household.program.cwd });

const cardSchema = z.looseObject({
  type: z.string(),
  entity: z.string().optional(),
  heading: z.string().optional(),
});
const dashboardSchema = z.looseObject({
  views: z.array(
    z.looseObject({ title: z.string(), sections: z.array(z.looseObject({ cards: z.array(cardSchema) })) }),
  ),
});

describe(`sonic2mqtt dashboard, with Home Assistant ${version}`, () => {
  let text = '';
  const sections = () => dashboardSchema.parse(parse(text)).views.flatMap((view) => view.sections);

  test('names entities that are there, also of letters beyond ASCII, and none of doubled names', async () => {
    const missing = async () => {
      const { stdout, stderr } = await run('dashboard');
      text = stdout;
      if (text === '') return [stderr];
      const states = await household.home.states();
      const entities = sections().flatMap(({ cards }) => cards.flatMap(({ entity }) => entity ?? []));
      return entities.length > 25 ? entities.filter((id) => !states.has(id)) : [`only ${entities.length}`];
    };
    expect(await settled(missing)).toEqual([]);
    for (const id of ['valve.kuche', 'valve.lazienka']) expect(text).toContain(`entity: ${id}\n`);
    expect(text).not.toMatch(/entity: \w+\.bad/);
    expect(text).toContain('# Entities of “Bad” are missing');
    const notes = sections().filter(({ cards }) => cards.some(({ type }) => type === 'markdown'));
    expect(notes.map(({ cards }) => cards[0]?.heading)).toContain('Bad');
    const registered = new Map(
      (await household.home.entities()).map((each) => [each.entity_id, each.unique_id]),
    );
    // Each section has the entities of one device.
    const devices = sections()
      .filter(({ cards }) => cards.some(({ entity }) => entity?.startsWith('valve.')))
      .map(
        ({ cards }) =>
          new Set(cards.flatMap(({ entity }) => registered.get(entity ?? '')?.split('_')[1] ?? [])),
      );
    expect(devices.map((ids) => [...ids])).toEqual([[sonicIds()[0]], [sonicIds()[3]]]);
  });

  test('is taken, and has no card that Home Assistant does not know', async () => {
    const { home } = household;
    const dashboard = parse(text);
    await home.ask('lovelace/dashboards/create', { url_path: 'water-own', title: 'Water', mode: 'storage' });
    await home.ask('lovelace/config/save', { url_path: 'water-own', config: dashboard });
    expect(await home.ask('lovelace/config', { url_path: 'water-own' })).toEqual(dashboard);
    if (!chromiumAvailable()) return;
    const shown = await takePicture({
      url: `${home.url}/water-own/water`,
      texts: ['Willow Cottage', 'Küche', close],
      file: `${pictures}dashboard-own-${version}.png`,
      width: 412,
      height: 1800,
    });
    expect(shown).not.toMatch(/unknown type|configuration error|not available/i);
  });

  test('asks before it closes the valve', async () => {
    if (!chromiumAvailable()) return;
    const { home, cloud } = household;
    const button = `(() => {
      const find = (root) => [...root.querySelectorAll('*')].flatMap((each) =>
        [each, ...(each.shadowRoot ? find(each.shadowRoot) : [])]);
      return find(document).find((each) => each.localName === 'hui-button-card' &&
        each._config.tap_action.perform_action === 'valve.close_valve')?.shadowRoot.querySelector('ha-card');
    })()`;
    const shown = await takePicture({
      url: `${home.url}/water-own/water`,
      presses: [button],
      texts: [question],
      file: `${pictures}dashboard-question-${version}.png`,
      width: 412,
      height: 900,
    });
    expect(shown).toContain(question);
    expect(cloud.world.sonics.get(sonicIds()[0] ?? '')?.valve_state).toBe('open');
  });
});

const statistic = z.object({
  start: z.number(),
  sum: z.number().nullable().optional(),
  state: z.number().nullable().optional(),
  change: z.number().nullable().optional(),
});

describe(`sonic2mqtt history, with Home Assistant ${version}`, () => {
  const [total, today] = ['sensor.kuche_water_total', 'sensor.kuche_water_today'];
  /** The first hour that Home Assistant has recorded, three days ago at half the day. */
  const firstMs = noonMs(3);

  async function statistics(period: string, fromMs: number, toMs: number) {
    const answer = await household.home.ask('recorder/statistics_during_period', {
      ...{ start_time: new Date(fromMs).toISOString(), end_time: new Date(toMs).toISOString() },
      ...{ statistic_ids: [total], period, types: ['sum', 'state', 'change'] },
    });
    return z.record(z.string(), z.array(statistic)).parse(answer)[total] ?? [];
  }

  /** Puts hours there as Home Assistant records them. */
  async function record(entity: string, hours: readonly (readonly [sum: number, state: number])[]) {
    const stats = hours.map(([sum, state], index) => ({
      ...{ start: new Date(firstMs + index * hourMs).toISOString(), sum, state },
    }));
    const metadata = {
      ...{ statistic_id: entity, source: 'recorder', name: null, unit_of_measurement: 'L' },
      ...{ has_mean: false, has_sum: true },
    };
    const newer = isOldest ? {} : { mean_type: 0, unit_class: 'volume' };
    await household.home.ask('recorder/import_statistics', { metadata: { ...metadata, ...newer }, stats });
  }

  const token = () => {
    const file = join(household.program.cwd, 'token');
    writeFileSync(file, household.home.token);
    return file;
  };
  const importHistory = () => run('history', '--home-assistant', household.home.url, '--token-file', token());
  const recorded = () => statistics('hour', firstMs, firstMs + 5 * hourMs);

  test(`adds ${days} days over changes of clocks, up to the first hour, and changes nothing else`, async () => {
    await waitFor(async () => (await household.home.states()).has(total), { what: 'Water total' });
    // Home Assistant writes one after the other. So the water of the day is there once the hours below are.
    await record(today, [[5, 65]]);
    await record(total, [
      [5, 1_005],
      [7.5, 1_007.5],
      [7.5, 1_007.5],
      [20, 1_020],
    ]);
    const before = await waitFor(
      async () => {
        const found = await recorded();
        return found.length === 4 && found;
      },
      { what: 'the recorded hours' },
    );
    const { code, stdout, stderr } = await importHistory();
    expect([code, stderr]).toEqual([0, '']);
    const [first, last] = [firstMs - (days - 3) * dayMs, firstMs].map((ms) =>
      new Date(ms).toISOString().slice(0, 10),
    );
    expect(stdout).toContain(`Küche (Willow Cottage): imported ${days - 2} days, ${first} to ${last}\n`);
    expect(await recorded()).toEqual(before);

    const listed = await run('history', '--csv');
    const csv = listed.stdout.split('\n').map((line) => line.split(','));
    const ofCloud = csv
      .filter(([, , id]) => id === sonicIds()[0])
      .map(([date = '', litres]) => [date, Number(litres)]);
    expect(ofCloud).toHaveLength(days + 1);
    const lastDay = new Date(firstMs).toISOString().slice(0, 10);
    const shown = new Map(
      (await statistics('day', firstMs - (days + 2) * dayMs, firstMs)).map(({ start, change }) => [
        // The day begins at midnight in London, which is an hour earlier in summer.
        new Date(start + 2 * hourMs).toISOString().slice(0, 10),
        Math.round((change ?? 0) * 1_000) / 1_000,
      ]),
    );
    const wanted = new Map(ofCloud.filter(([date = '']) => date < lastDay) as [string, number][]);
    // What ran on that day before its first hour is known from the water of the day.
    expect([...shown]).toEqual([...wanted, [lastDay, 60 + 20]]);
    const hours = await statistics('hour', firstMs - (days + 2) * dayMs, firstMs + hourMs);
    expect(hours.every(({ change }) => (change ?? 0) >= 0)).toBe(true);
    expect(hours.at(-1)).toMatchObject({ change: 5, sum: 5 });
    expect(hours.at(-2)?.sum).toBe(0);
  });

  test('a second import changes nothing', async () => {
    const all = () => statistics('hour', 0, firstMs + 5 * hourMs);
    const before = await all();
    const { code, stdout, stderr } = await importHistory();
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toContain('Küche (Willow Cottage): nothing to import');
    expect(await all()).toEqual(before);
  });

  test('Home Assistant shows it, and complains about nothing', async () => {
    const { home } = household;
    if (chromiumAvailable()) {
      const card = {
        ...{ type: 'statistics-graph', title: 'Litres a month', chart_type: 'bar', period: 'month' },
        ...{ days_to_show: days, stat_types: ['change'], entities: [{ entity: total, name: 'Kitchen' }] },
      };
      await home.ask('lovelace/dashboards/create', {
        url_path: 'water-past',
        title: 'Past',
        mode: 'storage',
      });
      const config = { views: [{ title: 'Past', path: 'past', cards: [card] }] };
      await home.ask('lovelace/config/save', { url_path: 'water-past', config });
      await takePicture({
        url: `${home.url}/water-past/past`,
        texts: ['Litres a month', 'Kitchen'],
        file: `${pictures}history-${version}.png`,
        width: 700,
        height: 450,
      });
    }
    expect(await home.complaints()).toEqual([]);
  });

  test('a wrong token is said so, and nothing is imported', async () => {
    const file = join(household.program.cwd, 'wrong');
    writeFileSync(file, 'wrong');
    const { code, stderr } = await run(
      'history',
      '--home-assistant',
      household.home.url,
      '--token-file',
      file,
    );
    expect(code).toBe(1);
    expect(stderr).toMatch(/^sonic2mqtt: Home Assistant 127\.0\.0\.1:\d+: it rejects the token\. .*\n$/);
  });
});
