import { describe, expect, it } from 'vitest';
import { hasEntity, takesCommands } from '../../../src/entities/row.ts';
import { entityTable, type ViewOf } from '../../../src/entities/tables.ts';
import type { DeviceKind } from '../../../src/model/devices.ts';
import { incidentTypes } from '../../../src/model/records.ts';
import {
  anIncident,
  aProperty,
  aSignal,
  aSonic,
  bridgeView,
  propertyView,
  signalView,
  someTelemetry,
  sonicView,
} from '../../support/views.ts';

function rowOf<Kind extends DeviceKind>(kind: Kind, key: string) {
  const row = entityTable(kind).find((each) => each.key === key);
  if (!row) throw new Error(`a ${kind} has no ${key}`);
  return row;
}

/** What an entity shows of a device. */
function shown<Kind extends DeviceKind>(kind: Kind, key: string, view: ViewOf[Kind]): unknown {
  const row = rowOf(kind, key);
  return 'value' in row ? row.value(view) : undefined;
}

/** What an entity comes to when it is commanded. */
function ordered<Kind extends DeviceKind>(
  kind: Kind,
  key: string,
  view: ViewOf[Kind],
  input: string,
): unknown {
  const row = rowOf(kind, key);
  switch (row.component) {
    case 'valve':
      return row.command.action(view, input === 'open' ? 'open' : 'close');
    case 'select':
      return 'action' in row.command ? row.command.action(view, input) : row.command;
    case 'button':
      return row.command.action(view, input);
    default:
      return undefined;
  }
}

describe('the valve of a sonic', () => {
  it('shows what was derived, not the word of the cloud', () => {
    const view = sonicView({ sonic: aSonic({ valve_state: 'open' }), valve: 'closing' });
    expect(shown('sonic', 'valve', view)).toBe('closing');
    expect(shown('sonic', 'valve', sonicView({ valve: null }))).toBeNull();
  });
});

describe('what is measured', () => {
  const keys = [
    ['flow', 7.64],
    ['pressure', 3.252],
    ['water_temperature', 17.1],
    ['telemetry_time', '2021-06-11T12:28:02.000Z'],
  ] as const;

  it.each(keys)('as %s is %s, and nothing without telemetry', (key, value) => {
    expect(shown('sonic', key, sonicView())).toBe(value);
    const without = sonicView({ telemetry: null });
    expect(shown('sonic', key, without)).toBeNull();
    expect(hasEntity(rowOf('sonic', key), without, () => true)).toBe(false);
  });

  it.each(keys)('as %s is unknown, not gone, while a telemetry without it is known', (key) => {
    const telemetry = someTelemetry({ pressure: null, water_flow: null, water_temp: null, probed_at: null });
    const view = sonicView({ telemetry });
    expect(hasEntity(rowOf('sonic', key), view, () => true)).toBe(true);
    expect(shown('sonic', key, view)).toBeNull();
  });
});

describe('the shut-off limits', () => {
  const { auto_shut_off_enabled, auto_shut_off_time_limit, auto_shut_off_volume_limit, ...plain } = aSonic();
  const keys = ['auto_shut_off_enabled', 'auto_shut_off_time_limit', 'auto_shut_off_volume_limit'] as const;

  it.each(keys)('as %s are there where the record has them', (key) => {
    const has = (sonic: typeof plain) => hasEntity(rowOf('sonic', key), sonicView({ sonic }), () => true);
    expect(has(aSonic())).toBe(true);
    expect(has({ ...plain, [key]: null })).toBe(true);
    expect(has(plain)).toBe(false);
    expect(shown('sonic', key, sonicView({ sonic: { ...plain, [key]: null } }))).toBeNull();
    expect(shown('sonic', key, sonicView({ sonic: plain }))).toBeNull();
  });

  it('are litres and seconds, and zero is a value', () => {
    const value = (key: string, limits: object) =>
      shown('sonic', key, sonicView({ sonic: { ...plain, ...limits } }));
    expect(value('auto_shut_off_volume_limit', { auto_shut_off_volume_limit: 75_500 })).toBe(75.5);
    expect(value('auto_shut_off_volume_limit', { auto_shut_off_volume_limit: 0 })).toBe(0);
    expect(value('auto_shut_off_time_limit', { auto_shut_off_time_limit: 0 })).toBe(0);
    expect(value('auto_shut_off_enabled', { auto_shut_off_enabled: false })).toBe(false);
  });
});

describe('links', () => {
  it.each([
    ['faulty', 'faulty', true, false],
    ['pressure_test', 'pressure_test', false, true],
    ['Faulty', 'faulty', true, false],
    ['a_new_word', 'other', null, null],
    ['Unknown', null, null, null],
    [null, null, null, null],
  ])('of a valve that the cloud calls %s: it is shown as %s', (valve_state, word, isProblem, isTested) => {
    const view = sonicView({ sonic: aSonic({ valve_state }) });
    expect(shown('sonic', 'valve_state', view)).toBe(word);
    expect(shown('sonic', 'valve_problem', view)).toBe(isProblem);
    expect(shown('sonic', 'pressure_test_running', view)).toBe(isTested);
  });

  it.each(['boot_time', 'modem_boot_time'])(
    'of a signal with the %s 0 have begun at an unknown time',
    (key) => {
      expect(shown('signal', key, signalView({ signal: aSignal({ [key]: 0 }) }))).toBeNull();
    },
  );
});

describe('incidents', () => {
  it.each(incidentTypes)('of the type %s switch their own sensor on, and no other', (type) => {
    const view = sonicView({ incidents: [anIncident({ type })] });
    const on = incidentTypes.filter((each) => shown('sonic', `incident_${each}`, view) === true);
    expect(on).toEqual([type]);
  });

  it('of a type that is new switch no sensor on, but are counted', () => {
    const view = sonicView({
      incidents: [anIncident({ type: 'alien_invasion' }), anIncident({ type: null })],
    });
    // The one without a type may be of any.
    expect(incidentTypes.every((type) => shown('sonic', `incident_${type}`, view) === null)).toBe(true);
    expect(shown('sonic', 'open_incidents', view)).toBe(2);
  });

  it('that are not all known leave it open whether there is one', () => {
    const unknown = { areIncidentsFresh: false, incidents: [] };
    for (const type of incidentTypes) {
      expect(shown('sonic', `incident_${type}`, sonicView(unknown))).toBeNull();
    }
    expect(shown('sonic', 'open_incidents', sonicView(unknown))).toBeNull();
    for (const key of ['problem', 'open_incidents', 'highest_severity']) {
      expect(shown('property', key, propertyView(unknown))).toBeNull();
    }
    const one = {
      areIncidentsFresh: false,
      incidents: [anIncident({ type: 'high_humidity', severity: 'low' })],
    };
    expect(shown('sonic', 'incident_high_humidity', sonicView(one))).toBe(true);
    expect(shown('property', 'problem', propertyView(one))).toBe(true);
    expect(shown('property', 'highest_severity', propertyView(one))).toBeNull();
  });

  it('make a problem of the property that has any', () => {
    expect(shown('property', 'problem', propertyView())).toBe(true);
    expect(shown('property', 'problem', propertyView({ incidents: [] }))).toBe(false);
    const incidents = [anIncident({ severity: 'low' }), anIncident({ severity: 'high' })];
    expect(shown('property', 'highest_severity', propertyView({ incidents }))).toBe('high');
    expect(shown('property', 'highest_severity', propertyView({ incidents: [] }))).toBe('none');
  });
});

describe('what can be changed of a property', () => {
  const keysOf = (view: ViewOf['property']) =>
    entityTable('property')
      .filter((row) => row.category === 'config' && hasEntity(row, view, () => true))
      .map(({ key }) => key);
  const ofNeither = ['name', 'active'];

  it.each([
    ['settings', { settings: null }, 'auto_shut_off', 'low_temperature'],
    ['notification settings', { notifications: null }, 'low_temperature', 'auto_shut_off'],
  ])('without its %s is all that they do not show', (_, changes, gone, left) => {
    const keys = keysOf(propertyView(changes));
    expect(keys).toEqual(expect.arrayContaining([...ofNeither, left]));
    expect(keys).not.toContain(gone);
  });

  it('is nothing for a guest, who is shown neither', () => {
    expect(keysOf(propertyView({ settings: null, notifications: null }))).toEqual([]);
  });

  it('is everything as long as neither could be asked', () => {
    const unknown = propertyView({ settings: undefined, notifications: undefined });
    expect(keysOf(unknown)).toEqual(keysOf(propertyView()));
  });
});

describe('the address of a property', () => {
  it.each([
    [{}, '1 Well Lane, BA1 1AA, Bath'],
    [{ postcode: null }, '1 Well Lane, Bath'],
    [{ address: '', postcode: null }, 'Bath'],
    [{ address: null, postcode: null, city: null }, null],
    [{ address: '', postcode: '', city: '' }, null],
  ])('with %j is %s', (changes, address) => {
    expect(shown('property', 'address', propertyView({ property: aProperty(changes) }))).toBe(address);
  });
});

describe('the bridge', () => {
  it.each([
    ['debug', 'debug'],
    ['info', 'info'],
    ['error', 'error'],
    ['trace', 'debug'],
  ])('that logs at %s shows the level %s', (logLevel, level) => {
    expect(shown('bridge', 'log_level', bridgeView({ logLevel }))).toBe(level);
  });
});

describe('an entity', () => {
  it('that commands is there while its operation is offered, and a valve without commands otherwise', () => {
    const valve = rowOf('sonic', 'valve');
    const asked: string[] = [];
    const offers = (isOffered: boolean) => (operation: string) => {
      asked.push(operation);
      return isOffered;
    };
    expect(takesCommands(valve, sonicView(), offers(true))).toBe(true);
    expect(takesCommands(valve, sonicView(), offers(false))).toBe(false);
    expect(hasEntity(valve, sonicView(), () => false)).toBe(true);
    expect(hasEntity(rowOf('sonic', 'name'), sonicView(), () => false)).toBe(false);
    expect(asked).toEqual(['command_valve', 'command_valve']);
  });

  it('of a Wi-Fi sonic needs what the cloud offers for those', () => {
    const asked: string[] = [];
    const offers = (operation: string) => {
      asked.push(operation);
      return operation !== 'command_valve' && operation !== 'patch_sonic';
    };
    const wifi = sonicView({ isWifi: true });
    expect(takesCommands(rowOf('sonic', 'valve'), wifi, offers)).toBe(true);
    expect(hasEntity(rowOf('sonic', 'name'), wifi, offers)).toBe(true);
    expect(asked).toEqual(['command_wifi_valve', 'patch_wifi_sonic']);
    expect(ordered('sonic', 'valve', wifi, 'close')).toEqual({
      operation: 'command_wifi_valve',
      params: { sonic_id: 'sonic-1' },
      body: { action: 'close' },
    });
  });

  it('that only shows, or asks the bridge itself, needs no operation', () => {
    expect(hasEntity(rowOf('sonic', 'battery'), sonicView(), () => false)).toBe(true);
    expect(hasEntity(rowOf('bridge', 'refresh'), bridgeView(), () => false)).toBe(true);
  });
});
