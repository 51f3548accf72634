import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { commandFilters, isCommandPath, parseCommand } from '../../../src/homeassistant/command.ts';
import {
  allPermitted,
  bridgeView,
  propertyView,
  signalView,
  sonicView,
  topics,
} from '../../support/views.ts';

const sonic = sonicView();
const bridge = bridgeView();

/** The refusal of a payload for a path, or the action that it became. */
function asked(view: Parameters<typeof parseCommand>[0], path: string, payload: string): unknown {
  const parsed = parseCommand(view, path, payload, allPermitted);
  return 'refusal' in parsed ? parsed.refusal : parsed.action;
}

/** What a payload does to the valve: null when it is refused. */
function valveAction(payload: string): unknown {
  const parsed = parseCommand(sonic, 'valve/set', payload, allPermitted);
  if ('refusal' in parsed) return null;
  expect(parsed.action).toMatchObject({ operation: 'command_valve', params: { sonic_id: 'sonic-1' } });
  return 'operation' in parsed.action && 'body' in parsed.action ? parsed.action.body : parsed.action;
}

describe('a valve command', () => {
  it.each(['OPEN', 'open', 'Open', 'oPeN', ' open\n', '{"action":"open"}', '{ "action": "OPEN" }'])(
    'opens for %j',
    (payload) => {
      expect(valveAction(payload)).toEqual({ action: 'open' });
    },
  );

  it.each(['CLOSE', 'close', 'cLoSe', '\tCLOSE ', '{"action":"close"}', ' {"action":"Close"} '])(
    'closes for %j',
    (payload) => {
      expect(valveAction(payload)).toEqual({ action: 'close' });
    },
  );

  it.each([
    '',
    ' ',
    'opened',
    'OPEN CLOSE',
    'not open',
    'o pen',
    'STOP',
    'ON',
    '1',
    'true',
    '"open"',
    '["open"]',
    '[{"action":"open"}]',
    '{"action":["open"]}',
    '{"action":[["close"]]}',
    '{"action":{"action":"open"}}',
    '{"action":true}',
    '{"action":null}',
    '{"Action":"open"}',
    '{"open":true}',
    '{"action":"open"',
    '{"action":"op\u0000en"}',
    '{"__proto__":{"action":"open"}}',
    '{}',
    '{',
    'null',
    'ＯＰＥＮ',
    'оpen',
    'open\u0000',
  ])('of %j is refused', (payload) => {
    expect(valveAction(payload)).toBeNull();
  });

  it('moves the valve only for what says so, whatever comes', () => {
    const words = fc.constantFrom(
      'open',
      'close',
      'OPEN',
      'Close',
      'opening',
      'action',
      '{',
      '}',
      '"',
      ':',
      ' ',
    );
    const payload = fc.oneof(
      fc.string(),
      fc.array(words, { maxLength: 7 }).map((parts) => parts.join('')),
      fc.jsonValue().map((value) => JSON.stringify(value)),
      fc.jsonValue().map((value) => JSON.stringify({ action: value })),
      fc.uint8Array().map((bytes) => Buffer.from(bytes).toString('utf8')),
    );
    const plain = /^(open|close)$/i;
    fc.assert(
      fc.property(payload, (text) => {
        const action = valveAction(text);
        if (action === null) {
          expect(text.trim()).not.toMatch(plain);
          return;
        }
        const said = plain.test(text.trim()) ? text.trim() : JSON.parse(text).action;
        expect(action).toEqual({ action: said.toLowerCase() });
      }),
      { numRuns: 2_000 },
    );
  });

  it('says in its refusal what it got, cut where it is long', () => {
    expect(asked(sonic, 'valve/set', 'ajar')).toBe('must be OPEN or CLOSE, or {"action":"open"}. Got "ajar"');
    expect(asked(sonic, 'valve/set', '{"action":"open","by":"me"}')).toBe(
      'action must be the only key. Got "by" also',
    );
    expect(asked(sonic, 'valve/set', 'x'.repeat(100_000))).toMatch(/. Got "x{60}…"$/);
    expect(asked(sonic, 'valve/set', 'a\nb')).toMatch(/. Got "a\\nb"$/);
  });

  it('is refused where control.valves is off, whatever it says', () => {
    for (const payload of ['OPEN', 'junk']) {
      expect(parseCommand(sonic, 'valve/set', payload, { ...allPermitted, valves: false })).toEqual({
        refusal: 'not permitted: control.valves is off in the configuration',
      });
    }
  });
});

describe('a command to the bridge', () => {
  it.each(['', 'PRESS', '{"any":"thing"}', '\u0000'])('to refresh is anything, such as %j', (payload) => {
    expect(asked(bridge, 'refresh', payload)).toEqual({ kind: 'refresh' });
  });

  it.each(['debug', 'info', 'warn', 'error', ' warn\n'])('sets the log level to %j', (payload) => {
    expect(asked(bridge, 'log_level/set', payload)).toEqual({
      kind: 'set_log_level',
      level: payload.trim(),
    });
  });

  it.each(['', 'trace', 'INFO', 'silent', 'constructor', '{"level":"info"}'])(
    'does not set the log level to %j',
    (payload) => {
      expect(asked(bridge, 'log_level/set', payload)).toMatch(
        /^must be one of debug, info, warn, error. Got /,
      );
    },
  );

  it('is not limited by control', () => {
    const nothing = Object.fromEntries(Object.keys(allPermitted).map((key) => [key, false]));
    const control = { ...allPermitted, ...nothing };
    expect(parseCommand(bridge, 'refresh', 'PRESS', control)).toEqual({ action: { kind: 'refresh' } });
  });
});

describe('commands', () => {
  it.each([
    [sonic, 'refresh'],
    [sonic, ''],
    [sonic, 'valve'],
    [sonic, 'valve/set/more'],
    [sonic, 'constructor'],
    [sonic, 'settings/timezone/set'],
    [sonic, 'set'],
    [signalView(), 'pressure_test/start'],
    [propertyView(), 'settings'],
    [propertyView(), 'settings/timezone'],
    [propertyView(), 'settings/timezone/set/'],
    [propertyView(), 'incidents/timezone/set'],
    [bridge, 'set'],
    [propertyView(), 'valve/set'],
    [signalView(), 'valve/set'],
    [bridge, 'valve/set'],
  ])('that do not exist are refused: $kind %s', (view, path) => {
    expect(asked(view, path, 'OPEN')).toBe(`there is no command ${path}`);
    expect(isCommandPath(view.kind, path)).toBe(false);
  });

  it('are known by their paths', () => {
    expect(isCommandPath('sonic', 'valve/set')).toBe(true);
    expect(isCommandPath('bridge', 'refresh')).toBe(true);
    expect(isCommandPath('bridge', 'log_level/set')).toBe(true);
    expect(isCommandPath('property', 'settings/timezone/set')).toBe(true);
    expect(isCommandPath('property', 'settings/unheard_of/set')).toBe(true);
    expect(isCommandPath('property', 'settings/time/zone/set')).toBe(false);
    expect(isCommandPath('incident', 'action')).toBe(true);
    expect(isCommandPath('incident', '')).toBe(false);
    expect(isCommandPath('incident', 'valve/set')).toBe(false);
  });

  it('are subscribed to one by one, so that what the bridge publishes never comes back', () => {
    expect(commandFilters(topics).toSorted()).toEqual([
      'sonic2mqtt/bridge/log_level/set',
      'sonic2mqtt/bridge/refresh',
      'sonic2mqtt/incident/+/action',
      'sonic2mqtt/property/+/active/set',
      'sonic2mqtt/property/+/incidents/action',
      'sonic2mqtt/property/+/leak_protection/set',
      'sonic2mqtt/property/+/name/set',
      'sonic2mqtt/property/+/notifications/+/set',
      'sonic2mqtt/property/+/notifications/set',
      'sonic2mqtt/property/+/pause/set',
      'sonic2mqtt/property/+/push/set',
      'sonic2mqtt/property/+/set',
      'sonic2mqtt/property/+/settings/+/set',
      'sonic2mqtt/property/+/settings/set',
      'sonic2mqtt/signal/+/incidents/action',
      'sonic2mqtt/signal/+/name/set',
      'sonic2mqtt/sonic/+/incidents/action',
      'sonic2mqtt/sonic/+/last_command/dismiss',
      'sonic2mqtt/sonic/+/name/set',
      'sonic2mqtt/sonic/+/pressure_test/start',
      'sonic2mqtt/sonic/+/valve/set',
    ]);
  });
});
