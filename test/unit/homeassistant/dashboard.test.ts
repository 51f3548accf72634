import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { dashboardText, readDiscovered } from '../../../src/homeassistant/dashboard.ts';
import type { DeviceView } from '../../../src/model/devices.ts';
import { type Language, languages } from '../../../src/model/language.ts';
import { discoveryOf } from '../../support/discoveries.ts';
import { escapedBy, hostileName } from '../../support/markdown.ts';
import {
  aProperty,
  aSignal,
  aSonic,
  bridgeView,
  propertyView,
  signalView,
  sonicView,
  topics,
} from '../../support/views.ts';

type Card = Readonly<Record<string, unknown>> & {
  readonly type: string;
  readonly entity?: string;
  readonly name?: string;
  readonly grid_options?: { readonly columns: number | 'full' };
};
interface View {
  readonly title: string;
  readonly path: string;
  readonly sections: readonly { readonly cards: readonly Card[] }[];
}

/** The text of these discovery messages. */
function textOf(messages: readonly unknown[], language: Language = 'en'): string {
  const devices = messages.map((message) => readDiscovered(JSON.stringify(message), topics));
  return dashboardText(
    devices.filter((device) => device !== null),
    language,
  ) as string;
}

/** The text of these devices. */
function made(views: readonly DeviceView[], language: Language = 'en'): string {
  return textOf(
    views.map((view) => discoveryOf(view, { language })),
    language,
  );
}

const viewsIn = (text: string): readonly View[] => parse(text).views;
const cardsIn = (text: string) =>
  viewsIn(text).flatMap(({ sections }) => sections.flatMap(({ cards }) => cards));
const entitiesIn = (text: string) => cardsIn(text).flatMap(({ entity }) => entity ?? []);

/** The condition of a card that is shown only in some states. */
const stateIn = (visibility: unknown) => (visibility as readonly { entity?: string }[] | undefined)?.[0];

const home: readonly DeviceView[] = [bridgeView(), propertyView(), signalView(), sonicView()];
const called = (name: string) => sonicView({ sonic: aSonic({ id: `id-${name.length}`, name }) });

describe('the dashboard for Home Assistant', () => {
  it.each(languages)('moves no water and changes nothing without a question, in %s', (language) => {
    const cards = cardsIn(made(home, language));
    const tiles = cards.filter(({ type }) => type === 'tile');
    expect(tiles.length).toBeGreaterThan(10);
    for (const card of tiles) {
      expect(card).toMatchObject({
        tap_action: { action: 'more-info' },
        icon_tap_action: { action: 'more-info' },
      });
      expect(card).not.toHaveProperty('features');
    }
    const buttons = cards.filter(({ type }) => type === 'button');
    expect(buttons.map(({ entity }) => entity)).toContain('valve.kitchen');
    for (const { tap_action, hold_action, ...others } of buttons) {
      expect(tap_action).toMatchObject({
        confirmation: { text: expect.stringMatching(/Kitchen.*\?$|Holiday home.*\?$/) },
      });
      expect(hold_action).toEqual({ action: others.entity === undefined ? 'none' : 'more-info' });
      expect(others).not.toHaveProperty('double_tap_action');
    }
    const types = new Set(cards.map(({ type }) => type));
    expect(types).toEqual(new Set(['heading', 'markdown', 'tile', 'button', 'statistics-graph']));
  });

  it('closes the valve unless it is closed, opens it while it is closed, and else says to use the hand', () => {
    const cards = cardsIn(made(home)).filter(
      ({ visibility }) => stateIn(visibility)?.entity === 'valve.kitchen',
    );
    const action = (perform_action: string, text: string) => ({
      ...{ action: 'perform-action', perform_action, target: { entity_id: 'valve.kitchen' } },
      confirmation: { text },
    });
    expect(cards).toMatchObject([
      {
        ...{ type: 'markdown', content: 'No connection: the valve can only be moved by hand.' },
        visibility: [{ state: 'unavailable' }],
      },
      {
        ...{ type: 'button', name: 'Close the water', entity: 'valve.kitchen' },
        tap_action: action('valve.close_valve', 'Close the water at Kitchen?'),
        visibility: [{ state_not: ['closed', 'closing', 'unavailable'] }],
      },
      {
        ...{ type: 'button', name: 'Open the water', entity: 'valve.kitchen' },
        tap_action: action('valve.open_valve', 'Open the water at Kitchen?'),
        visibility: [{ state: 'closed' }],
      },
    ]);
  });

  it('has the summary on top, and a fault, a failed command and a pressure test only while there is one', () => {
    const text = made([propertyView(), sonicView()]);
    const summary = cardsIn(text)[1];
    const content = expect.stringMatching(/^## {{ states\('sensor.holiday_home_summary'\) \| .* }}$/);
    expect(summary).toMatchObject({ type: 'markdown', content });
    expect(escapedBy(String(summary?.['content']), hostileName.text)).toBe(hostileName.escaped);
    for (const passing of ['command_failed', 'valve_problem', 'pressure_test_running']) {
      const entity = `binary_sensor.kitchen_${passing}`;
      expect(cardsIn(text).filter((card) => card.entity === entity)).toMatchObject([
        { type: 'tile', visibility: [{ condition: 'state', entity, state: 'on' }] },
      ]);
    }
    const dismissal = 'button.kitchen_dismiss_failed_command';
    expect(cardsIn(text).filter(({ entity }) => entity === dismissal)).toMatchObject([
      {
        tap_action: {
          ...{ action: 'perform-action', perform_action: 'button.press', target: { entity_id: dismissal } },
          confirmation: { text: 'Dismiss the failed command at Kitchen?' },
        },
        visibility: [
          { condition: 'state', entity: 'binary_sensor.kitchen_command_failed', state: 'on' },
          { condition: 'state', entity: dismissal, state_not: 'unavailable' },
        ],
      },
    ]);
  });

  it.each([
    ['en', 'No connection to the cloud. ', 'No connection to sonic2mqtt. '],
    ['de', 'Keine Verbindung zur Cloud. ', 'Keine Verbindung zu sonic2mqtt. '],
  ] as const)('says in place of the summary why there is none, in %s', (language, noCloud, noBridge) => {
    const [, summary] = cardsIn(made(home, language));
    expect(summary?.['content']).toMatch(
      new RegExp(
        [
          "^## {% if has_value\\('sensor.holiday_home_summary'\\) .*}{{ states\\('sensor.holiday_home_summary'\\) \\| .* }}",
          `{% elif is_state\\('binary_sensor.sonic2mqtt_connection_to_cloud', 'off'\\) %}${noCloud}.*`,
          `{% else %}${noBridge}.*{% endif %}$`,
        ].join(''),
      ),
    );
  });

  it.each(languages)('cuts no name on a phone, and has no hole between the tiles, in %s', (language) => {
    const sections = viewsIn(made(home, language)).flatMap((view) => view.sections);
    for (const { cards } of sections) {
      let column = 0;
      for (const { grid_options, name = '', type, entity } of cards) {
        const columns = grid_options?.columns ?? (type === 'heading' ? 'full' : 6);
        if (columns === 'full') expect([entity, column]).toEqual([entity, 0]);
        else if (columns === 6) expect(name.length).toBeLessThan(15);
        column = (column + (columns === 'full' ? 0 : columns)) % 12;
      }
      expect(column).toBe(0);
    }
  });

  it.each(languages)('has its cards in the same order, in %s', (language) => {
    expect(entitiesIn(made(home, language))).toEqual(entitiesIn(made(home)));
  });

  it('tells the flow, the water of today, yesterday and the month, a leak and the shut-off apart by icons', () => {
    const icons = cardsIn(made(home)).flatMap(({ type, icon }) => (type === 'tile' ? (icon ?? []) : []));
    expect(new Set(icons).size).toBe(6);
  });

  it('has no button before the one that closes the first valve, and names no connection twice', () => {
    const cards = cardsIn(made(home));
    const [first] = cards.filter(({ type }) => type === 'button');
    expect(first).toMatchObject({ name: 'Close the water' });
    const before = cards.slice(0, first && cards.indexOf(first)).filter(({ visibility }) => !visibility);
    expect(before.map(({ type, entity }) => entity ?? type)).toEqual([
      ...['heading', 'markdown', 'binary_sensor.holiday_home_water_problem'],
      ...['sensor.holiday_home_open_alerts', 'heading', 'valve.kitchen'],
    ]);
    expect(entitiesIn(made(home))).not.toContain('binary_sensor.sonic2mqtt_connection_to_cloud');
  });

  it('offers what a property can do, and only while it can', () => {
    const shown = cardsIn(made(home))
      .filter(({ visibility }) => JSON.stringify(visibility)?.includes('.holiday_home'))
      .map(({ heading, name, tap_action, visibility }) => [name ?? heading, tap_action, visibility]);
    const state = (entity: string, is: object) => ({ condition: 'state', entity, ...is });
    const until = 'sensor.holiday_home_automatic_shut_off_paused_until';
    const isPaused = state(until, { state_not: ['unknown', 'unavailable'] });
    const isThere = (button: string) => state(`button.holiday_home_${button}`, { state_not: 'unavailable' });
    const pause = [
      {
        condition: 'or',
        conditions: [state('switch.holiday_home_automatic_shut_off', { state: 'on' }), isPaused],
      },
      state('number.holiday_home_pause_automatic_shut_off', { state_not: 'unavailable' }),
    ];
    const press = expect.objectContaining({ perform_action: 'button.press' });
    const pausing = (value: number, time: string) => ({
      ...{ action: 'perform-action', perform_action: 'number.set_value' },
      ...{ target: { entity_id: 'number.holiday_home_pause_automatic_shut_off' }, data: { value } },
      confirmation: { text: `Pause automatic shut-off at Holiday home for ${time}?` },
    });
    expect(shown).toEqual([
      [
        'Resolve alerts',
        press,
        [state('binary_sensor.holiday_home_water_problem', { state: 'on' }), isThere('resolve_alerts')],
      ],
      ['Pause ends', { action: 'more-info' }, [isPaused]],
      ['Pause automatic shut-off', undefined, pause],
      ['30 min', pausing(30, '30 min'), pause],
      ['1 h', pausing(60, '1 h'), pause],
      ['4 h', pausing(240, '4 h'), pause],
      ['Resume automatic shut-off', press, [isPaused, isThere('resume_automatic_shut_off')]],
    ]);
  });

  it.each<[name: string, language: Language, id: string]>([
    ['Küche', 'en', 'kuche'],
    ['Küche', 'de', 'kuche'],
    ['Łazienka №2', 'pl', 'lazienka_no2'],
    ["Bob's – 1,000 L", 'fr', 'bob_s_1000_l'],
  ])('has the entity IDs that Home Assistant makes of %s, in %s', (name, language, id) => {
    const entities = entitiesIn(made([called(name)], language));
    expect(entities).toContain(`valve.${id}`);
    // In each language, the IDs are made of the English names.
    expect(entities).toContain(`binary_sensor.${id}_leak`);
  });

  it('names no entity whose ID may be that of another one, and says so', () => {
    const one = sonicView({ sonic: aSonic({ id: 'a', name: 'Kitchen' }) });
    const other = sonicView({ sonic: aSonic({ id: 'b', name: 'kitchen' }) });
    const third = sonicView({ sonic: aSonic({ id: 'c', name: 'Garden' }) });
    const text = made([one, other, third]);
    expect(entitiesIn(text).length).toBeGreaterThan(5);
    expect(entitiesIn(text).filter((entity) => !entity.includes('.garden'))).toEqual([]);
    for (const name of ['Kitchen', 'kitchen']) {
      expect(text).toContain(`# Entities of “${name}” are missing`);
      const [section] =
        viewsIn(text)[0]?.sections.filter(({ cards }) => cards[0]?.['heading'] === name) ?? [];
      expect(section?.cards.slice(1)).toMatchObject([{ type: 'markdown' }]);
    }
    expect(made([one, third])).not.toContain('missing');
    // Nor if it is a valve of another account on the same broker.
    const holiday = JSON.parse(JSON.stringify(discoveryOf(other)).replaceAll('sonic2mqtt/', 'holiday/'));
    const beside = textOf([discoveryOf(one), discoveryOf(third), holiday]);
    expect(entitiesIn(beside)).toContain('valve.garden');
    expect(entitiesIn(beside).filter((entity) => entity.includes('kitchen'))).toEqual([]);
    expect(viewsIn(beside)[0]?.sections).toHaveLength(3);
    // What only one of them has is no reason to leave out the note.
    const lesser = { ...other, telemetry: null };
    expect(cardsIn(made([one, lesser])).filter(({ type }) => type === 'markdown')).toHaveLength(2);
    // A property with the name of a valve shares only some IDs with it.
    const property = propertyView({ property: aProperty({ name: 'Kitchen' }) });
    const some = entitiesIn(made([property, one]));
    expect(some).toContain('valve.kitchen');
    expect(some).not.toContain('sensor.kitchen_open_incidents');
  });

  it('has a valve whose name only Home Assistant can spell by the end of its id, in every language', () => {
    const text = made([called('北京')], 'de');
    expect(text).not.toContain('missing');
    expect(entitiesIn(text)).toEqual(
      expect.arrayContaining(['valve.sonic_id_2', 'binary_sensor.sonic_id_2_leak']),
    );
  });

  it('has no entity that is disabled or missing, and cannot move a valve that may not be moved', () => {
    const { components, ...root } = discoveryOf(sonicView(), { offers: (name) => name !== 'command_valve' });
    const battery = { ...components['binary_sensor_battery_low'], enabled_by_default: false };
    const changed = {
      ...components,
      binary_sensor_battery_low: battery,
      sensor_flow: { platform: 'sensor' },
    };
    const text = textOf([{ ...root, components: changed }]);
    const entities = entitiesIn(text);
    expect(entities).toContain('sensor.kitchen_water_pressure');
    expect(entities.filter((id) => /^valve\.|battery|flow$/.test(id))).toEqual(['valve.kitchen']);
    expect(text).not.toMatch(/valve\.(open|close)_valve/);
  });

  it('has a view for each property, one before for all of them, and one for valves without a property', () => {
    const second = propertyView({ property: aProperty({ id: 'property-2', name: 'Flat: 12' }) });
    const lost = sonicView({ sonic: aSonic({ id: 'lost', name: 'Lost' }), signal: 'none', propertyId: null });
    const wifi = sonicView({
      ...{ sonic: aSonic({ id: 'wifi', name: 'Mains' }), signal: 'none' },
      ...{ isWifi: true, propertyId: 'property-2' },
    });
    const hub = signalView({ signal: aSignal({ id: 'signal-1' }) });
    const views = viewsIn(made([bridgeView(), propertyView(), second, hub, sonicView(), lost, wifi]));
    const valves = ({ sections }: View) =>
      sections.flatMap(
        ({ cards }) => cards.filter(({ entity }) => entity?.startsWith('valve.'))[0]?.name ?? [],
      );
    expect(views.map((view) => [view.title, view.path, valves(view)])).toEqual([
      ['Overview', 'overview', []],
      ['Holiday home', 'water', ['Kitchen']],
      ['Flat: 12', 'water-2', ['Mains']],
      ['Water', 'water-3', ['Lost']],
    ]);
    // The first view has each property with its summary, what is wrong, and the way to its own view.
    expect(views[0]?.sections.map(({ cards }) => cards.slice(0, 3))).toMatchObject(
      [
        ['Holiday home', 'water', 'holiday_home'],
        ['Flat: 12', 'water-2', 'flat_12'],
      ].map(([name, path, id]) => [
        { type: 'heading', heading: name, tap_action: { action: 'navigate', navigation_path: path } },
        { type: 'markdown', content: expect.stringContaining(`sensor.${id}_summary`) },
        { type: 'tile', entity: `binary_sensor.${id}_water_problem` },
      ]),
    );
  });

  it('is none without a property and a valve, and of other messages', () => {
    expect(dashboardText([], 'en')).toBeNull();
    const ofOther = JSON.stringify(discoveryOf(sonicView())).replaceAll('sonic2mqtt/', 'other/');
    for (const payload of ['', '{', '[]', 'null', '{"availability":[]}']) {
      expect(readDiscovered(payload, topics)).toBeNull();
    }
    expect(textOf([JSON.parse(ofOther)])).toBeNull();
  });

  it('keeps names that YAML would take for something else', () => {
    const names = ['yes', '12:30', '2026-01-01', '# 1', "'", '{{ states }}', 'a\nb'];
    const text = made(
      names.map((name, index) => propertyView({ property: aProperty({ id: `${index}`, name }) })),
    );
    expect(viewsIn(text).map(({ title }) => title)).toEqual(['Overview', ...names]);
  });
});
