import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseCommand } from '../../../src/homeassistant/command.ts';
import type { DeviceView } from '../../../src/model/devices.ts';
import {
  allPermitted,
  propertyView,
  signalView,
  someNotifications,
  someSettings,
  sonicView,
} from '../../support/views.ts';

const property = propertyView();

/** The refusal of a payload for a path, or the action that it became. */
function asked(view: DeviceView, path: string, payload: string): unknown {
  const parsed = parseCommand(view, path, payload, allPermitted);
  return 'refusal' in parsed ? parsed.refusal : parsed.action;
}

/** The body that a payload became, or its refusal. */
function body(path: string, payload: string, view: DeviceView = property): unknown {
  const action = asked(view, path, payload);
  return typeof action === 'object' && action !== null && 'body' in action ? action.body : action;
}

describe('a switch of a property', () => {
  it.each([
    ['settings/auto_shut_off/set', 'update_property_settings', 'auto_shut_off'],
    ['settings/pressure_tests_enabled/set', 'update_property_settings', 'pressure_tests_enabled'],
    ['settings/webhook_enabled/set', 'update_property_settings', 'webhook_enabled'],
    ['notifications/low_battery_level/set', 'update_notification_settings', 'low_battery_level'],
    ['notifications/high_humidity_threshold/set', 'update_notification_settings', 'high_humidity_threshold'],
    ['leak_protection/set', 'update_property_configuration', 'leak_protection_enabled'],
    ['push/set', 'update_customer_notifications', 'push_enabled'],
    ['active/set', 'patch_property', 'active'],
  ])('at %s becomes one call of %s with that field alone', (path, operation, field) => {
    for (const [payload, value] of [
      ['ON', true],
      ['off', false],
      ['True', true],
      [' false\n', false],
    ] as const) {
      expect(asked(property, path, payload)).toEqual({
        operation,
        params: { property_id: 'property-1' },
        body: { [field]: value },
      });
    }
    for (const payload of ['', 'maybe', '1', '0', 'null', 'yes', '{"on":true}', 'ON OFF', 'оn']) {
      expect(asked(property, path, payload)).toBe(`${field} must be true or false`);
    }
  });

  it('has a topic for every field of the settings and of the notification settings', () => {
    const values = { ...someSettings(), ...someNotifications() };
    for (const [area, record] of [
      ['settings', someSettings()],
      ['notifications', someNotifications()],
    ] as const) {
      for (const field of Object.keys(record)) {
        const value = values[field as keyof typeof values];
        expect(body(`${area}/${field}/set`, String(value))).toEqual({ [field]: value });
      }
    }
  });
});

describe('a number', () => {
  it.each([
    ['60', 60],
    [' 60 ', 60],
    ['7', 7],
    ['0', 0],
    ['+15', 15],
    ['60.0', 60],
    ['-1', -1],
  ])('of %j is sent as %j, published or not, since the cloud knows best what it takes', (payload, value) => {
    expect(body('notifications/long_flow_notification_delay_mins/set', payload)).toEqual({
      long_flow_notification_delay_mins: value,
    });
  });

  it.each(['', '12.5', '1e3', 'ten', '0x10', 'NaN', 'Infinity', '9'.repeat(400), 'ON', '[60]'])(
    'of %j is refused',
    (payload) => {
      expect(body('notifications/long_flow_notification_delay_mins/set', payload)).toBe(
        'long_flow_notification_delay_mins must be a whole number',
      );
    },
  );
});

describe('a text', () => {
  it.each([
    ['03:00', '03:00:00'],
    ['23:59:59', '23:59:59'],
    [' 00:00 ', '00:00:00'],
  ])('of %j is the time of day %j', (payload, time) => {
    expect(body('settings/pressure_tests_schedule/set', payload)).toEqual({ pressure_tests_schedule: time });
  });

  it.each(['', '3:00', '24:00', '12:60', '12:00:60', '03', '3 am', '03:00:00Z', '0300', '03:00:00\n04:00'])(
    'of %j is no time of day',
    (payload) => {
      expect(body('settings/pressure_tests_schedule/set', payload)).toBe(
        'pressure_tests_schedule must be a time of day such as 03:00 or 03:00:00',
      );
    },
  );

  it.each(['Europe/London', 'UTC', 'America/Argentina/Buenos_Aires'])('of %j is a time zone', (timezone) => {
    expect(body('settings/timezone/set', timezone)).toEqual({ timezone });
  });

  it.each(['', 'Europe/Lodnon', '+01:00', 'London', '0', 'true'])('of %j is no time zone', (payload) => {
    expect(body('settings/timezone/set', payload)).toBe(
      'timezone must be the name of a time zone such as Europe/London',
    );
  });

  it.each(['', 'https://example.com/hook?key=a b'.replace(' ', '%20'), 'HTTP://10.0.0.1:8080'])(
    'of %j is the address of a webhook',
    (webhook_url) => {
      expect(body('settings/webhook_url/set', webhook_url)).toEqual({ webhook_url });
    },
  );

  it.each(['example.com', 'ftp://example.com', 'javascript:alert(1)', 'https://', 'https:///x', 'secret'])(
    'of %j is none, and is not repeated, since it may hold a secret',
    (payload) => {
      expect(body('settings/webhook_url/set', payload)).toBe(
        'webhook_url must be an address that begins with https:// or http://',
      );
    },
  );

  it.each(['', ' ', '\t\n'])('of %j is no name', (payload) => {
    for (const view of [property, signalView(), sonicView()])
      expect(asked(view, 'name/set', payload)).toBe('name must not be blank');
    expect(body('set', '{"name":""}')).toBe('name must not be blank');
  });

  it.each(['Garden shed', 'ON', '12', '{"name":"x"}', 'Küche "Süd" / 厨房', 'null', ' Attic\n'])(
    'of %j is a name',
    (payload) => {
      const name = payload.trim();
      expect(asked(property, 'name/set', payload)).toEqual({
        operation: 'patch_property',
        params: { property_id: 'property-1' },
        body: { name },
      });
      expect(asked(signalView(), 'name/set', payload)).toEqual({
        operation: 'patch_signal',
        params: { signal_id: 'signal-1' },
        body: { name },
      });
      expect(asked(sonicView(), 'name/set', payload)).toEqual({
        operation: 'patch_sonic',
        params: { sonic_id: 'sonic-1' },
        body: { name },
      });
    },
  );
});

describe('a field that there is not', () => {
  it.each([
    ['settings/auto_shutoff/set', 'auto_shutoff is unknown. Did you mean auto_shut_off?'],
    ['settings/low_battery_level/set', 'low_battery_level is unknown'],
    ['settings/constructor/set', 'constructor is unknown'],
    ['settings/__proto__/set', '__proto__ is unknown'],
    ['settings//set', ' is unknown'],
    ['notifications/timezone/set', 'timezone is unknown'],
    ['notifications/low_batery_level/set', 'low_batery_level is unknown. Did you mean low_battery_level?'],
    [`settings/${'x'.repeat(5_000)}/set`, `${'x'.repeat(80)} is unknown`],
  ])('is refused at %s', (path, words) => {
    for (const payload of ['ON', '', '1']) expect(body(path, payload)).toBe(words);
  });
});

describe('several fields', () => {
  it.each([
    [
      'settings/set',
      'update_property_settings',
      '{"auto_shut_off":true,"pressure_tests_schedule":"04:30","timezone":"Europe/Warsaw"}',
      { auto_shut_off: true, pressure_tests_schedule: '04:30:00', timezone: 'Europe/Warsaw' },
    ],
    [
      'settings/set',
      'update_property_settings',
      '{"auto_shut_off":"ON","webhook_url":""}',
      { auto_shut_off: true, webhook_url: '' },
    ],
    [
      'notifications/set',
      'update_notification_settings',
      '{"high_volume_threshold_litres":"200","low_temperature":false}',
      { high_volume_threshold_litres: 200, low_temperature: false },
    ],
    [
      'set',
      'patch_property',
      ' {"name":"Cabin","lat":51.5,"lng":"-0.1","postcode":"12345","active":"off"} ',
      { name: 'Cabin', lat: 51.5, lng: -0.1, postcode: '12345', active: false },
    ],
  ])('at %s become one call of %s', (path, operation, payload, fields) => {
    expect(asked(property, path, payload)).toEqual({
      operation,
      params: { property_id: 'property-1' },
      body: fields,
    });
  });

  it.each([
    '',
    'ON',
    '[]',
    '["auto_shut_off"]',
    'null',
    '7',
    '"{}"',
    '{"auto_shut_off":true',
    '{auto_shut_off:true}',
  ])('that are %j are refused', (payload) => {
    for (const path of ['set', 'settings/set', 'notifications/set']) {
      expect(body(path, payload)).toMatch(/^must be a JSON object of fields. Got /);
    }
  });

  it('are refused all together for what is wrong with any of them', () => {
    expect(body('settings/set', '{"auto_shut_off":true,"timezone":"Mars","webhook_ur":1}')).toBe(
      'timezone must be the name of a time zone such as Europe/London. webhook_ur is unknown. Did you mean webhook_url?',
    );
    expect(body('settings/set', '{"auto_shut_off":null,"timezone":5}')).toBe(
      'auto_shut_off must be true or false. timezone must be text',
    );
    expect(body('settings/set', '{"__proto__":{"auto_shut_off":true}}')).toBe('__proto__ is unknown');
    expect(body('set', '{"name":5}')).toBe('name must be text');
    expect(body('set', '{"id":"other"}')).toBe('id is unknown');
    expect(body('notifications/set', '{"low_temperature":[true]}')).toBe(
      'low_temperature must be true or false',
    );
  });

  it('are refused for the first five that are wrong, however many there are', () => {
    const strangers = (count: number) => Array.from({ length: count }, (_, index) => `stranger_${index}`);
    const refusal = strangers(5).map((name) => `${name} is unknown`);
    for (const path of ['set', 'settings/set', 'notifications/set']) {
      const given = (count: number) =>
        JSON.stringify(Object.fromEntries(strangers(count).map((name) => [name, 1])));
      expect(body(path, given(5))).toBe(refusal.join('. '));
      expect(body(path, given(6))).toBe([...refusal, 'Further errors are not shown'].join('. '));
      expect(body(path, given(5_000))).toBe([...refusal, 'Further errors are not shown'].join('. '));
    }
  });

  it('never set what was not named, nor anything of another property, whatever comes', () => {
    const known = new Set(Object.keys(someSettings()));
    const field = fc.oneof(fc.constantFrom(...known), fc.string());
    const value = fc.oneof(fc.jsonValue(), fc.constantFrom('ON', 'off', '03:00', 'UTC', 'https://a.example'));
    fc.assert(
      fc.property(fc.dictionary(field, value), (given) => {
        const payload = JSON.stringify(given);
        const action = asked(property, 'settings/set', payload);
        if (typeof action === 'string') return;
        expect(action).toMatchObject({ params: { property_id: 'property-1' } });
        const sent = (action as { body: object }).body;
        expect(Object.keys(sent).toSorted()).toEqual(Object.keys(JSON.parse(payload)).toSorted());
        for (const each of Object.keys(sent)) expect(known).toContain(each);
      }),
      { numRuns: 500 },
    );
  });
});

it('no setting and no name is changed where control.settings is off, whatever it says', () => {
  const control = { ...allPermitted, settings: false };
  const words = { refusal: 'not permitted: control.settings is off in the configuration' };
  for (const path of [
    ...['set', 'settings/set', 'notifications/set', 'settings/timezone/set', 'settings/junk/set'],
    ...['notifications/low_temperature/set', 'name/set', 'active/set', 'leak_protection/set', 'push/set'],
  ]) {
    for (const payload of ['ON', '{"name":"x"}', ''])
      expect([path, parseCommand(property, path, payload, control)]).toEqual([path, words]);
  }
  for (const view of [signalView(), sonicView()]) {
    expect(parseCommand(view, 'name/set', 'x', control)).toEqual(words);
  }
});
