import { describe, expect, it } from 'vitest';
import { commandFilters } from '../../../src/homeassistant/command.ts';
import { startCommands } from '../../support/commandBench.ts';
import { settle } from '../../support/passTime.ts';
import { someSettings, topics } from '../../support/views.ts';

/** A payload that each kind of command would take. */
const payloads: Readonly<Record<string, string>> = {
  'valve/set': 'CLOSE',
  'log_level/set': 'debug',
  'settings/set': '{"auto_shut_off":false}',
  'notifications/set': '{"low_temperature":false}',
  set: '{"name":"Attic"}',
  'active/set': 'ON',
  'settings/+/set': 'ON',
  'notifications/+/set': 'OFF',
  'leak_protection/set': 'ON',
  'push/set': 'OFF',
  'pause/set': '60',
  action: 'resolve',
  'incidents/action': 'resolve',
};

/** One topic and a good payload for each filter that is subscribed to, and how often it changes something. */
const commands = commandFilters(topics).map((filter) => {
  const [, kind = '', ...rest] = filter.split('/');
  const path = (kind === 'bridge' ? rest : rest.slice(1)).join('/');
  const field = path.startsWith('settings') ? 'auto_shut_off' : 'low_temperature';
  const below = path.replace('+', field);
  const topic = kind === 'bridge' ? topics.bridge(path) : `${topics.base}/${kind}/${kind}-1/${below}`;
  // The other incident is the signal's.
  const times = kind === 'property' && path === 'incidents/action' ? 2 : 1;
  return { topic, payload: payloads[path] ?? 'Attic', times };
});

describe.each(commands)('a command on $topic', ({ topic, payload, times }) => {
  it('is carried out once where it is live, and refused where it is retained', async () => {
    // What is paused must be on.
    const isRead = (method: string, path: string) => method === 'GET' && path.endsWith('/settings');
    const bench = await startCommands(({ method, path }) =>
      isRead(method, path) ? { json: someSettings({ auto_shut_off: true }) } : {},
    );
    bench.take(topic, payload, { isRetained: true });
    const reason = expect.stringMatching(/^the command was sent with the retain flag/);
    expect(bench.outcomes).toEqual([{ topic, status: 'refused', reason, http_status: null }]);
    expect([...bench.orders, ...bench.asked]).toEqual([]);
    // What is dismissed must have failed.
    const asked = { action: 'close', topic, askedAt: new Date(bench.clock.now()).toISOString() } as const;
    bench.store.valves.recordCommand('sonic-1', asked, 'refused', 'why');
    bench.take(topic, payload);
    await bench.untilOutcomes(2);
    const outcome = JSON.stringify(bench.outcomes.at(-1));
    expect(bench.orders.length + bench.changes.length, outcome).toBe(times);
  });

  it.each([
    ['unproven', /^the command may be an old one that the MQTT broker has stored/],
    ['unmarked', /^the command may be an old one, because the MQTT broker sends stored messages without/],
  ] as const)('is refused where it may be a stored one (%s)', async (mayBeStored, reason) => {
    const { take, outcomes, orders, asked, store } = await startCommands();
    take(topic, payload, { mayBeStored });
    expect(outcomes).toMatchObject([{ topic, status: 'refused', reason: expect.stringMatching(reason) }]);
    await settle();
    expect([...orders, ...asked]).toEqual([]);
    // It comes again with each connection, and would hide how a newer one ended.
    expect(store.valves.of('sonic-1').command).toBeNull();
  });

  it('that is deleted from the broker is none, and one that comes during the stop is not sent', async () => {
    const { take, stop, outcomes, orders, asked } = await startCommands();
    take(topic, '', { isRetained: true });
    expect(outcomes).toEqual([]);
    stop();
    take(topic, payload);
    const reason = 'sonic2mqtt is stopping. The command was not sent';
    expect(outcomes).toEqual([{ topic, status: 'refused', reason, http_status: null }]);
    await settle();
    expect([...orders, ...asked]).toEqual([]);
  });
});

describe.each(commands)('a message on $topic', ({ topic }) => {
  it('is refused where it is no text, or far too long', async () => {
    const { take, outcomes, orders, asked } = await startCommands();
    take(topic, 'Atti\ufffd', { isText: false });
    take(topic, 'CLOSE'.repeat(20_000));
    expect(outcomes).toEqual([
      { topic, status: 'refused', reason: 'the payload is not UTF-8', http_status: null },
      {
        topic,
        status: 'refused',
        reason: 'the payload is larger than 64 KiB',
        http_status: null,
      },
    ]);
    await settle();
    expect([...orders, ...asked]).toEqual([]);
  });

  it('is refused where it may have been under way for as long as a command may take', async () => {
    const { take, outcomes, orders, asked } = await startCommands();
    take(topic, 'CLOSE', { ageMs: 1_000 });
    const reason = expect.stringContaining('may be older than cloud.request_timeout');
    expect(outcomes).toEqual([{ topic, status: 'refused', reason, http_status: null }]);
    await settle();
    expect([...orders, ...asked]).toEqual([]);
  });
});

describe('the dismissal of a failed command', () => {
  it('is refused if none has failed', async () => {
    const { take, outcomes, orders } = await startCommands();
    const topic = 'sonic2mqtt/sonic/sonic-1/last_command/dismiss';
    take(topic, 'PRESS');
    const reason = 'there is no failed command';
    expect(outcomes).toEqual([{ topic, status: 'refused', reason, http_status: null }]);
    expect(orders).toEqual([]);
  });

  it('needs no permission, since commands that are not permitted fail too', async () => {
    const forbidden = { valves: false, incidents: false, pressure_tests: false, settings: false };
    const { take, outcomes, orders } = await startCommands(() => ({}), forbidden);
    take('sonic2mqtt/sonic/sonic-1/valve/set', 'CLOSE');
    take('sonic2mqtt/sonic/sonic-1/last_command/dismiss', 'PRESS');
    expect(outcomes).toMatchObject([{ status: 'refused' }, { status: 'ok', reason: null }]);
    expect(orders).toEqual(['dismissal']);
  });
});

describe('a command to what nobody knows', () => {
  it.each([
    ['sonic/sonic-2/valve/set', 'CLOSE', 'there is no valve sonic-2'],
    ['sonic//valve/set', 'CLOSE', 'there is no valve '],
    ['sonic/sonic-2/last_command/dismiss', 'PRESS', 'there is no valve sonic-2'],
    ['sonic/__proto__/valve/set', 'CLOSE', 'there is no valve __proto__'],
    ['signal/sonic-1/name/set', 'Attic', 'there is no hub sonic-1'],
    ['property/signal-1/settings/auto_shut_off/set', 'ON', 'there is no property signal-1'],
    ['incident/incident 3/action', 'resolve', 'there is no incident incident 3'],
  ])('on %s is refused', async (path, payload, reason) => {
    const { take, outcomes, orders, asked } = await startCommands();
    take(`sonic2mqtt/${path}`, payload);
    expect(outcomes).toMatchObject([{ status: 'refused', reason }]);
    await settle();
    expect([...orders, ...asked]).toEqual([]);
  });

  it.each([
    'sonic/sonic-1/valve',
    'sonic/sonic-1/valve/set/',
    'sonic/sonic-1/Valve/set',
    'sonic/sonic-1',
    'x',
  ])('on %s is none', async (path) => {
    const { take, outcomes, orders, asked } = await startCommands();
    take(`sonic2mqtt/${path}`, 'CLOSE');
    await settle();
    expect([...outcomes, ...orders, ...asked]).toEqual([]);
  });
});

describe('an empty message', () => {
  const requests = [topics.bridge('request/read_sonic'), topics.bridge('request/start_pressure_test')];

  it.each([...commands.map(({ topic }) => topic), ...requests])(
    'at %s is no command, and has no outcome',
    async (topic) => {
      const bench = await startCommands();
      bench.take(topic, '');
      bench.take(topic, '', { isRetained: true });
      await settle();
      expect([...bench.outcomes, ...bench.responses, ...bench.orders, ...bench.asked]).toEqual([]);
    },
  );
});
