import { describe, expect, it } from 'vitest';
import { type Decoder, decoders, readEnvelope } from '../../../src/cloud/decoders.ts';

/** What an answer is read as; undefined where it is not usable. */
function readAs<T>(read: Decoder<T>, value: unknown): T | undefined {
  const result = read(value);
  return result.ok ? result.value : undefined;
}

function noticesOf(read: Decoder<unknown>, value: unknown): readonly string[] {
  const result = read(value);
  return result.ok ? result.notices : [];
}

function reasonOf(read: Decoder<unknown>, value: unknown): string {
  const result = read(value);
  return result.ok ? 'it was read' : result.message;
}

/** The object with a member that no literal can hold. */
function withProto(members: object): unknown {
  return JSON.parse(`{"__proto__":{"polluted":true},${JSON.stringify(members).slice(1)}`);
}

const deep = JSON.parse(`${'['.repeat(10_000)}${']'.repeat(10_000)}`);

/** Readers of one object each, with what they promise and a value of the wrong type for every field. */
const objects: readonly (readonly [string, Decoder<unknown>, object, object])[] = [
  [
    'a hub',
    decoders.hub,
    { id: 'g-1', serial_no: 'HUB-1', status: 'online' },
    { id: 7, serial_no: [], status: {} },
  ],
  [
    'a user',
    decoders.user,
    { id: 'u-1', email: 'me@example.com', first_name: 'Ada', last_name: 'Byron' },
    { id: 7, email: true, first_name: [], last_name: {} },
  ],
  [
    'leak protection',
    decoders.leakProtection,
    { leak_protection_enabled: true },
    { leak_protection_enabled: 'yes' },
  ],
];

describe.each(objects)('the reader of %s', (_, read, good, wrong) => {
  const nulls = Object.fromEntries(Object.keys(good).map((field) => [field, null]));

  it('keeps what is promised and what is not', () => {
    const more = { extra: 1, nested: { list: [null] } };
    expect(read({ ...good, ...more })).toEqual({ ok: true, value: { ...good, ...more }, notices: [] });
  });

  it('makes null of what is missing, and says nothing of it', () => {
    expect(read({})).toEqual({ ok: true, value: nulls, notices: [] });
    expect(read(nulls)).toEqual({ ok: true, value: nulls, notices: [] });
  });

  it('makes null of what is of the wrong type, and names it', () => {
    expect(readAs(read, { ...wrong, extra: 1 })).toEqual({ ...nulls, extra: 1 });
    const notices = noticesOf(read, wrong);
    expect(notices).toHaveLength(Object.keys(wrong).length);
    for (const [index, field] of Object.keys(wrong).entries()) {
      expect(notices[index]).toMatch(new RegExp(`^${field} has an unexpected value \\(`));
    }
  });

  it.each([[null], [7], ['text'], [[]], [[good]], [undefined]])('gives up on %j', (value) => {
    expect(reasonOf(read, value)).toBe('it is not an object');
  });

  it('gives up on what is nested too deeply to be written again', () => {
    expect(reasonOf(read, { ...good, extra: deep })).toBe('it is nested too deeply');
  });

  it('leaves __proto__ out', () => {
    const value = readAs(read, withProto(good));
    expect(value).toEqual(good);
    expect(Object.keys(value as object)).toEqual(Object.keys(good));
  });
});

describe('the reader of a list or a table', () => {
  const { dailyUsage, pressureTests, applianceCategories } = decoders;
  const good = { date: '2026-11-03', liters: 3 };
  const tests = [{ id: 't-1' }];
  /** A table of tests with one day that is good. */
  const withDay = (name: string) =>
    JSON.parse(`{${JSON.stringify(name)}:[{"id":"t-2"}],"2026-11-20":[{"id":"t-1"}]}`);

  it.each<[string, Decoder<unknown>, object]>([
    ['what else they hold', dailyUsage, { daily: [{ ...good, source: 'meter' }], unit: 'l' }],
    ['their order', dailyUsage, { daily: [good, { date: '2026-11-02', liters: 0 }, good] }],
    ['negative litres', dailyUsage, { daily: [{ ...good, liters: -1 }] }],
    ['no day', dailyUsage, { daily: [] }],
    [
      'fields of a test',
      pressureTests,
      { by_day: { '2026-11-20': [{ id: 't-1', state: 'finished' }], '2026-11-19': [] }, page: 1 },
    ],
    ['no test', pressureTests, { by_day: {} }],
  ])('keeps %s', (_, read, answer) => {
    expect(read(answer)).toEqual({ ok: true, value: answer, notices: [] });
  });

  it('takes litres as a text', () => {
    expect(readAs(dailyUsage, { daily: [{ ...good, liters: '12.5' }] })).toEqual({
      daily: [{ ...good, liters: 12.5 }],
    });
  });

  it.each([
    [{}],
    [{ ...good, date: '2026-02-30' }],
    [{ ...good, date: '1.11.2026' }],
    [{ ...good, date: '2026-11-01T00:00:00Z' }],
    [{ date: good.date }],
    [{ ...good, liters: 'twelve' }],
    [{ ...good, liters: null }],
    [{ ...good, liters: Number.POSITIVE_INFINITY }],
    [7],
    [null],
    [[]],
  ])('drops the day %j, says so once, and keeps the others', (bad) => {
    const daily = [bad, good, bad];
    expect(readAs(dailyUsage, { daily })).toEqual({ daily: [good] });
    expect(noticesOf(dailyUsage, { daily })).toEqual([
      expect.stringMatching(/^daily has an unexpected value/),
    ]);
    // No known day is not the same as no water.
    expect(reasonOf(dailyUsage, { daily: [bad, bad] })).toBe('its daily cannot be read');
  });

  it.each<[string, Decoder<unknown>, object, object]>([
    [
      'a test',
      pressureTests,
      { by_day: { '2026-11-20': [{ id: 7 }, ...tests, null, 'x', {}] } },
      { by_day: { '2026-11-20': tests } },
    ],
    [
      'a day',
      pressureTests,
      { by_day: { '2026-11-19': 7, '2026-11-20': tests } },
      { by_day: { '2026-11-20': tests } },
    ],
    ...['yesterday', '2026-02-30', '2026-11-20T03:00:00Z', 'constructor', ''].map(
      (name) =>
        [
          `the day ${name}`,
          pressureTests,
          { by_day: withDay(name) },
          { by_day: { '2026-11-20': tests } },
        ] as [string, Decoder<unknown>, object, object],
    ),
    [
      'a category',
      applianceCategories,
      { categories: [{ name: 'Tap' }, { id: 'c-1', name: 7 }, { id: 'c-2', name: 'Tap' }] },
      { categories: [{ id: 'c-2', name: 'Tap' }] },
    ],
  ])('drops %s that is none, and says so', (_, read, given, kept) => {
    expect(readAs(read, given)).toEqual(kept);
    expect(noticesOf(read, given)).toHaveLength(1);
  });

  it('leaves a day that is called __proto__ out', () => {
    expect(readAs(pressureTests, { by_day: withDay('__proto__') })).toEqual({
      by_day: { '2026-11-20': tests },
    });
  });

  it.each([
    [dailyUsage, {}, 'daily has an unexpected value (expected array, received undefined)'],
    [dailyUsage, { daily: null }, 'daily has an unexpected value (expected array, received null)'],
    [dailyUsage, { daily: {} }, 'daily has an unexpected value (expected array, received object)'],
    [dailyUsage, 'daily', 'it is not an object'],
    [pressureTests, { by_day: [] }, 'by_day has an unexpected value (expected record, received array)'],
    [pressureTests, { by_day: { '20.11.2026': tests, '2026-11-19': null } }, 'its by_day cannot be read'],
    [pressureTests, [], 'it is not an object'],
  ] as const)(
    'gives up if there is none, which is not the same as an empty one: %# %j',
    (read, value, reason) => {
      expect(reasonOf(read, value)).toBe(reason);
    },
  );
});

describe('the reader of an incident', () => {
  const read = decoders.incident;
  const incident = { id: 'i-1', type: 'long_flow_alert', severity: 'high', open: true };

  it('takes actions as words and as objects with a name, and keeps those that can be read', () => {
    const possible_actions = [
      'resolve',
      { name: 'snooze', title: 'Snooze' },
      7,
      null,
      { title: 'x' },
      'reopen',
    ];
    const value = readAs(read, { ...incident, possible_actions });
    expect(value?.possible_actions).toEqual(['resolve', 'snooze', 'reopen']);
    expect(noticesOf(read, { ...incident, possible_actions })).toEqual([
      'possible_actions has an unexpected value (Invalid input)',
    ]);
  });

  it('keeps words that nobody knows, and says so', () => {
    const odd = { ...incident, type: 'flood', severity: 'grave' };
    expect(readAs(read, odd)).toMatchObject({ type: 'flood', severity: 'grave' });
    expect(noticesOf(read, odd)).toEqual([
      'unknown value of severity: "grave"',
      'unknown value of type: "flood"',
    ]);
  });

  it('says briefly why it gives up, however much is wrong besides', () => {
    const possible_actions = Array.from({ length: 10_000 }, () => 7);
    const reason = reasonOf(read, { ...incident, id: 7, type: 7, severity: [], open: 'x', possible_actions });
    expect(reason).toBe('id has an unexpected value (expected string, received number)');
  });

  it.each([['../x'], ['a b'], [''], ['bridge'], ['bridge_2'], ['x'.repeat(129)], ['a\u0085b']])(
    'misses one whose id is %j, as it may be a leak, and leaves out a device with that id',
    (id) => {
      expect(read({ ...incident, id })).toMatchObject({ ok: false, isLeftOut: false });
      for (const device of [decoders.property, decoders.signal, decoders.sonic])
        expect(device({ id })).toMatchObject({ ok: false, isLeftOut: true });
      expect(reasonOf(read, { ...incident, id })).toMatch(/^its id is not safe in a topic: [^\p{Cc}]+$/u);
    },
  );
});

describe('the reader of a sonic', () => {
  it('makes null of what would be a lie as a number or a word', () => {
    const odd = {
      id: 's-1',
      valve_state: 7,
      radio_rssi: 'strong',
      name: null,
      auto_shut_off_time_limit: '30 min',
    };
    expect(readAs(decoders.sonic, odd)).toMatchObject({
      id: 's-1',
      valve_state: null,
      radio_rssi: null,
      name: null,
      auto_shut_off_time_limit: null,
    });
    expect(noticesOf(decoders.sonic, odd)).toHaveLength(3);
  });
});

describe('the reader of a session', () => {
  const read = decoders.session;

  it.each([[undefined], [null], [7], [''], ['two words'], ['line\nbreak'], ['ü'], [['x']], [{ token: 'x' }]])(
    'gives up on the token %j, which no header can hold, and does not repeat it',
    (token_details) => {
      const reason = reasonOf(read, { token_details, user_details: { email: 'me@example.com' } });
      expect(reason).toMatch(/^token_details has an unexpected value \(/);
      expect(reason).not.toContain('two');
    },
  );
});

describe('the envelope of a list', () => {
  it('is read where only its records are there', () => {
    expect(readAs(readEnvelope, { data: [1, null] })).toEqual({
      data: [1, null],
      page_number: null,
      page_size: null,
      total_entries: null,
      total_pages: null,
    });
  });

  it.each([[{}], [{ data: null }], [{ data: {} }], [{ data: 'x' }]])(
    'is not read without records: %j',
    (value) => {
      expect(reasonOf(readEnvelope, value)).toMatch(/^data has an unexpected value \(/);
    },
  );
});
