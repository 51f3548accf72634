import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Call, type OperationName, operationNames, operationRow } from '../../src/cloud/operations.ts';
import { encodeCall } from '../../src/cloud/request.ts';
import { benchFor, heard } from '../support/operationBench.ts';
import { sampleCall } from '../support/operationSamples.ts';
import { errorOf } from '../support/testClient.ts';

/** What a field takes: a kind, or the only values. */
type Kind = 'text' | 'flag' | 'number' | 'count' | 'page' | 'month' | 'year' | 'email' | 'time';
type Taken = Kind | readonly string[];

/** The fields of a query or body as the interface document names them (4.2, 2.3 to 2.5). */
interface Known {
  readonly fields: Readonly<Record<string, Taken>>;
  readonly required?: readonly string[];
  /** Any other field is taken besides. */
  readonly isOpen?: true;
  /** It must not be empty. */
  readonly needsOne?: true;
}

const incidentTypes =
  `high_volume_alert, long_flow_alert, device_handle_moved, battery_too_low_to_move_handle,
  radio_disconnection, cloud_disconnection, pressure_test_failed, pressure_test_skipped, pressure_test_aborted,
  health_check_failed, low_battery_level, legionella_risk, legionella_high_risk, low_water_temperature,
  water_presence_detected, low_temperature, high_temperature, high_humidity, advanced_valve_misalignment,
  backup_battery_usage`.split(/,\s+/);

const nothing = {};
const paging = { query: { fields: { page: 'page' } } } as const;
const byName = { query: { fields: { name: 'text', page: 'page' } } } as const;
const incidents = { query: { fields: { type: incidentTypes, open: 'flag', page: 'page' } } } as const;
const property = {
  body: {
    fields: {
      active: 'flag',
      address: 'text',
      city: 'text',
      country: 'text',
      created_at: 'text',
      lat: 'number',
      lng: 'number',
      name: 'text',
      postcode: 'text',
      uprn: 'text',
    },
    needsOne: true,
  },
} as const;
const notifications = {
  body: {
    fields: {
      battery_too_low_to_move_handle: 'flag',
      cloud_disconnection: 'flag',
      device_handle_moved: 'flag',
      health_check_failed: 'flag',
      high_humidity: 'flag',
      high_humidity_threshold: 'flag',
      high_temperature: 'flag',
      high_temperature_threshold: 'flag',
      high_volume_threshold_litres: 'count',
      legionella_risk: 'flag',
      long_flow_notification_delay_mins: 'count',
      low_battery_level: 'flag',
      low_temperature: 'flag',
      low_temperature_threshold: 'flag',
      low_water_temperature: 'flag',
      pressure_test_failed: 'flag',
      pressure_test_skipped: 'flag',
      radio_disconnection: 'flag',
      water_presence_detected: 'flag',
    },
    needsOne: true,
  },
} as const;
const settings = {
  body: {
    fields: {
      auto_shut_off: 'flag',
      pressure_tests_enabled: 'flag',
      pressure_tests_schedule: 'time',
      timezone: 'text',
      webhook_enabled: 'flag',
      webhook_url: 'text',
    },
    needsOne: true,
  },
} as const;
const name = { body: { fields: { name: 'text' }, required: ['name'] } } as const;
const valve = { body: { fields: { action: ['open', 'close'] }, required: ['action'] } } as const;
const action = { body: { fields: { action: 'text' }, required: ['action'] } } as const;
const openAction = { body: { ...action.body, isOpen: true } } as const;

const known: Readonly<Record<OperationName, { readonly query?: Known; readonly body?: Known }>> = {
  sign_in: { body: { fields: { email: 'email', password: 'text' }, required: ['email', 'password'] } },
  refresh_token: { body: { fields: { refresh_token: 'text' } } },
  validate_token: nothing,
  sign_out: nothing,
  list_incidents: incidents,
  read_incident: nothing,
  act_on_incident: action,
  list_property_incidents: incidents,
  act_on_property_incident: openAction,
  list_properties: {
    query: {
      fields: { name: 'text', membership_role: ['owner', 'user', 'guest'], search: 'text', page: 'page' },
    },
  },
  read_property: nothing,
  update_property: property,
  patch_property: property,
  read_notification_settings: nothing,
  update_notification_settings: notifications,
  read_property_settings: nothing,
  update_property_settings: settings,
  list_property_signals: paging,
  list_signals: byName,
  read_signal: nothing,
  update_signal: name,
  patch_signal: name,
  list_signal_sonics: paging,
  list_sonics: byName,
  read_sonic: nothing,
  update_sonic: name,
  patch_sonic: name,
  command_valve: valve,
  change_thing_state: openAction,
  create_property: { body: { ...name.body, isOpen: true } },
  update_customer_property: { body: { fields: { name: 'text' }, isOpen: true, needsOne: true } },
  update_property_configuration: {
    body: {
      fields: { leak_protection_enabled: 'flag' },
      required: ['leak_protection_enabled'],
      isOpen: true,
    },
  },
  update_user: {
    body: { fields: { first_name: 'text', last_name: 'text' }, isOpen: true, needsOne: true },
  },
  create_invitation: {
    body: { fields: { email: 'email', role: 'text' }, required: ['email', 'role'], isOpen: true },
  },
  update_customer_notifications: {
    body: { fields: { push_enabled: 'flag' }, required: ['push_enabled'], isOpen: true },
  },
  start_pressure_test: { body: { fields: { source: 'text' }, required: ['source'], isOpen: true } },
  read_pressure_tests: nothing,
  read_daily_usage: { query: { fields: { month: 'month', year: 'year' } } },
  read_appliance_categories: nothing,
  read_hub: nothing,
  read_user: nothing,
  read_telemetry: nothing,
  list_wifi_sonics: byName,
  read_wifi_sonic: nothing,
  update_wifi_sonic: name,
  patch_wifi_sonic: name,
  command_wifi_valve: valve,
  read_wifi_telemetry: nothing,
};

/** For each kind, the words of what it takes, values that it does not take, and some that it does. */
const kinds: Readonly<Record<Kind, readonly [string, readonly unknown[], readonly unknown[]]>> = {
  text: ['text', [7, true, null, [], {}, ['x']], ['x', 'ü & 1', ' ']],
  flag: ['true or false', ['true', 'ON', 1, 0, null, []], [true, false]],
  number: ['a number', ['51.5', true, null, {}, Number.NaN, Number.POSITIVE_INFINITY], [51.5, -0.1, 0]],
  count: ['a whole number from 0', [-1, 1.5, '25', null, 2 ** 60], [0, 25, 1000]],
  page: ['a whole number from 1', [0, -1, 1.5, '2', null, 2 ** 60], [1, 2, 100_000]],
  month: ['a whole number from 1 to 12', [0, 13, -1, 1.5, '11', null], [1, 12]],
  year: ['a whole number from 1970 to 9999', [0, 1969, 10_000, '2026', 2026.5], [1970, 2026, 9999]],
  email: ['an e-mail address', ['nobody', '', 'a@', 7, null], ['me@example.com']],
  time: ['a time HH:MM:SS', ['3:00', '03:00', '24:00:00', '03:60:00', '', 7], ['03:00:00', '23:59:59']],
};

function wordsOf(taken: Taken): string {
  return typeof taken === 'string' ? kinds[taken][0] : `one of ${taken.join(', ')}`;
}

function wrongValuesOf(taken: Taken): readonly unknown[] {
  return typeof taken === 'string' ? kinds[taken][1] : ['', 'explode', 7, null, [taken[0]], { toString: 1 }];
}

function goodValuesOf(taken: Taken): readonly unknown[] {
  return typeof taken === 'string' ? kinds[taken][2] : taken;
}

/** A call as a stranger may write it. */
interface LooseCall {
  readonly operation: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly query?: unknown;
  readonly body?: unknown;
}

const hasBody = operationNames.filter((each) => operationRow(each).body);
const openBodies = operationNames.filter((each) => known[each].body?.isOpen);

describe.each(operationNames)('%s', (operation) => {
  const call: LooseCall = sampleCall(operation);
  const places = (['query', 'body'] as const).flatMap((place) => {
    const each: Known | undefined = known[operation][place];
    return each ? [{ place, given: (call[place] ?? {}) as Record<string, unknown>, ...each }] : [];
  });
  const fields = places.flatMap(({ place, given, fields }) =>
    Object.entries(fields).map(([field, taken]) => ({ place, given, field, taken })),
  );

  /** Says of each wrong call why it is refused; nothing of it may be sent. */
  async function refusals(calls: readonly LooseCall[]): Promise<string[]> {
    const bench = await benchFor(operation, {});
    const said: string[] = [];
    for (const each of calls) {
      const error = await errorOf(bench.client.call(each as Call));
      expect(error).toMatchObject({ kind: 'invalid', operation, mayHaveActed: false });
      said.push(error.message);
    }
    expect(heard(bench, operation)).toEqual([]);
    return said;
  }

  it('takes every field that the document names, by itself', () => {
    for (const { place, given, field, taken } of fields) {
      for (const value of goodValuesOf(taken)) {
        const request = encodeCall({ ...call, [place]: { ...given, [field]: value } }, {});
        const sent =
          place === 'body'
            ? JSON.parse(request.body ?? '')[field]
            : new URLSearchParams(request.path.split('?')[1]).get(field);
        expect(sent, field).toEqual(place === 'body' ? value : String(value));
      }
    }
  });

  it('refuses each field of a wrong type in words that name place and field, and sends nothing', async () => {
    const wrong = fields.flatMap(({ place, given, field, taken }) =>
      wrongValuesOf(taken).map((value) => ({
        call: { ...call, [place]: { ...given, [field]: value } },
        words: `${place}.${field} must be ${wordsOf(taken)}`,
      })),
    );
    expect(await refusals(wrong.map((each) => each.call))).toEqual(wrong.map(({ words }) => words));
  });

  it('names what is missing', async () => {
    const lacking = places.flatMap(({ place, given, required = [] }) =>
      required.map((field) => ({
        call: {
          ...call,
          [place]: Object.fromEntries(Object.entries(given).filter(([key]) => key !== field)),
        },
        words: `${place}.${field} is missing`,
      })),
    );
    for (const { place, needsOne } of places) {
      const words = 'body needs at least one field';
      if (needsOne)
        lacking.push({ call: { ...call, [place]: {} }, words }, { call: { ...call, body: null }, words });
    }
    for (const param of Object.keys(call.params ?? {})) {
      const others = Object.entries(call.params ?? {}).filter(([key]) => key !== param);
      const words = `params.${param} is missing`;
      lacking.push({ call: { ...call, params: Object.fromEntries(others) }, words });
    }
    expect(await refusals(lacking.map((each) => each.call))).toEqual(lacking.map(({ words }) => words));
  });

  it('refuses what it does not know, and asks whether another was meant', async () => {
    const strange: { call: LooseCall; words: string }[] = [
      { call: { ...call, params: { ...call.params, stranger: 'x' } }, words: 'params.stranger is not known' },
    ];
    for (const param of Object.keys(call.params ?? {})) {
      const words = `params.${param}s is not known; did you mean ${param}?`;
      strange.push({ call: { ...call, params: { ...call.params, [`${param}s`]: 'x' } }, words });
    }
    for (const place of ['query', 'body'] as const) {
      const taken: Known | undefined = known[operation][place];
      const given = (call[place] ?? {}) as Record<string, unknown>;
      if (!taken) {
        const words = `${place} is not taken by this operation`;
        for (const value of [{}, { stranger: 'x' }, null])
          strange.push({ call: { ...call, [place]: value }, words });
        continue;
      }
      for (const value of [7, 'text', true, [], [given]]) {
        strange.push({ call: { ...call, [place]: value }, words: `${place} must be an object` });
      }
      strange.push({
        call: { ...call, [place]: Object.fromEntries([...Object.entries(given), ['__proto__', { x: 1 }]]) },
        words: `${place}.__proto__ is not known`,
      });
      if (taken.isOpen) continue;
      for (const field of Object.keys(taken.fields)) {
        const words = `${place}.${field}s is not known; did you mean ${field}?`;
        strange.push({ call: { ...call, [place]: { ...given, [`${field}s`]: 'x' } }, words });
      }
    }
    expect(await refusals(strange.map((each) => each.call))).toEqual(strange.map(({ words }) => words));
  });
});

describe('a value that is nearly one of the only values', () => {
  it.each([
    ['list_incidents', { query: { type: 'long_flow_alarm' } }, 'long_flow_alert'],
    ['list_property_incidents', { query: { type: 'high_humidty' } }, 'high_humidity'],
    ['list_properties', { query: { membership_role: 'Owners' } }, 'owner'],
    ['command_valve', { body: { action: 'Close' } }, 'close'],
    ['command_wifi_valve', { body: { action: 'closed' } }, 'close'],
  ] as const)('is refused by %s with the one that was meant: %j', async (operation, parts, meant) => {
    const bench = await benchFor(operation, {});
    const error = await errorOf(bench.client.call({ ...sampleCall(operation), ...parts } as unknown as Call));
    expect(error.message).toContain(`; did you mean ${meant}?`);
    expect(heard(bench, operation)).toEqual([]);
  });
});

describe.each(openBodies)('%s, which takes any other field,', (operation) => {
  const call = sampleCall(operation) as LooseCall & { readonly body: object };
  const names = Object.keys(known[operation].body?.fields ?? {});

  it('passes them on unchanged', async () => {
    const more = {
      nested: { a: [1, { b: null }], '': 'ü' },
      none: null,
      list: [],
      flag: false,
      constructor: 'x',
    };
    const bench = await benchFor(operation, { json: {} });
    await bench.client.call({ ...call, body: { ...call.body, ...more } } as Call);
    expect(heard(bench, operation)[0]?.body).toEqual({ ...call.body, ...more });
  });

  it('passes on whatever JSON there is', () => {
    const others = fc.dictionary(
      fc.string().filter((field) => !names.includes(field) && field !== '__proto__'),
      fc.jsonValue(),
    );
    fc.assert(
      fc.property(others, (more) => {
        const { body } = encodeCall({ ...call, body: { ...more, ...call.body } }, {});
        expect(JSON.parse(body ?? '')).toEqual(JSON.parse(JSON.stringify({ ...more, ...call.body })));
      }),
    );
  });
});

describe.each(hasBody)('the body of %s', (operation) => {
  it('is refused where it is nested so deeply that it cannot be written', () => {
    const deep = JSON.parse(`{"name":${'['.repeat(10_000)}${']'.repeat(10_000)}}`);
    const call = sampleCall(operation) as LooseCall & { readonly body: object };
    for (const body of [deep, { ...call.body, more: deep }]) {
      expect(() => encodeCall({ ...call, body }, {})).toThrow(/^body is nested too deeply$/);
    }
  });
});
