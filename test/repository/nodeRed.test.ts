import { readdirSync, readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { isOperationName, operationRow } from '../../src/cloud/operations.ts';
import { checkCall } from '../../src/cloud/request.ts';
import { readRequest } from '../../src/commands/requests.ts';
import { parseCommand } from '../../src/homeassistant/command.ts';
import { Topics } from '../../src/homeassistant/topics.ts';
import { incidentTypes } from '../../src/model/records.ts';
import { sonicView } from '../support/views.ts';

// biome-ignore lint/suspicious/noExplicitAny: nodes have as many shapes as types
type FlowNode = { readonly id: string; readonly type: string; readonly name?: string } & Record<string, any>;

const file = (path: string) => new URL(`../../${path}`, import.meta.url);
const read = (path: string) => readFileSync(file(path), 'utf8');
const names = readdirSync(file('node-red')).filter((name) => name.endsWith('.json'));
const flows = new Map(names.map((name) => [name, JSON.parse(read(`node-red/${name}`)) as FlowNode[]]));
const nodes = [...flows.values()].flat();
const ofType = (type: string) => nodes.filter((node) => node.type === type);

const core = [
  ...['tab', 'global-config', 'mqtt-broker', 'mqtt in', 'mqtt out', 'function', 'switch', 'inject', 'debug'],
  ...['status', 'catch', 'link in', 'link out', 'link call', 'comment'],
];
const topics = new Topics('sonic2mqtt', 'homeassistant');

/** The value of a variable that a node's topic names, as its flow and all flows set it. */
function variableOf(node: FlowNode, variable: string): string {
  const environments = [nodes.find(({ id }) => id === node['z']), ...ofType('global-config')];
  const found = environments.flatMap((each) => each?.['env'] ?? []).find(({ name }) => name === variable);
  return String(found?.value ?? '').replace(/\$\{(\w+)\}/g, (_, name) => variableOf(node, name));
}

/** What a function node sends for messages that come one after the other, output by output, and after its timers. */
function sentBy(name: string, messages: readonly object[], known: Record<string, unknown> = {}) {
  const node = ofType('function').find((each) => each.name === name);
  if (node === undefined) throw new Error(`there is no function ${name}`);
  const store = new Map(Object.entries(known));
  const memory = {
    get: (key: string) => store.get(key),
    set: (key: string, value: unknown) => store.set(key, value),
  };
  const env = {
    get: (variable: string) => {
      const value = variableOf(node, variable);
      return variable === 'LEAK_TYPES' ? JSON.parse(value) : value;
    },
  };
  // biome-ignore lint/suspicious/noExplicitAny: a message has whatever the function puts there
  const sent: any[][] = [];
  // biome-ignore lint/suspicious/noExplicitAny: a function sends one message or one for each output
  const send = (output: any) => {
    if (output) sent.push([...('length' in output ? output : [output])]);
  };
  const timers: { dueMs: number; run: () => void }[] = [];
  const setTimeout = (run: () => void, dueMs: number) => void timers.push({ run, dueMs });
  const surroundings = { env, flow: memory, context: memory, Buffer, setTimeout };
  const others = { node: { status: () => undefined, send }, RED: { util: { generateId: () => 'an id' } } };
  for (const msg of messages) {
    // A pause lets the short timers run out.
    if ('pause' in msg) for (const { run } of timers.splice(0).filter(({ dueMs }) => dueMs < 5_000)) run();
    else send(runInNewContext(`(() => {${node['func']}\n})()`, { msg, ...surroundings, ...others }));
  }
  return sent;
}

/** What a function node gives for a message on its first output, where it knows these things already. */
function outputOf(name: string, msg: object, known: Record<string, unknown> = {}) {
  return sentBy(name, [msg], known)[0]?.[0] ?? null;
}

describe('the flows for Node-RED', () => {
  it('need nothing but Node-RED and its dashboard', () => {
    expect(names).toEqual([
      'leak-without-dashboard.json',
      'leak.json',
      'request.json',
      'usage.json',
      'valves.json',
    ]);
    expect(
      nodes.map(({ type }) => type).filter((type) => !core.includes(type) && !/^ui-[a-z]+$/.test(type)),
    ).toEqual([]);
    expect(ofType('function').filter(({ libs }) => libs.length > 0)).toEqual([]);
    for (const name of ['leak-without-dashboard.json', 'request.json']) {
      const types = flows.get(name)?.map(({ type }) => type) ?? [];
      expect(types.filter((type) => type.startsWith('ui-'))).toEqual([]);
    }
  });

  it('explain what they do and what to change, where one sees it first', () => {
    for (const [name, flow] of flows) {
      const comments = flow.filter(({ type }) => type === 'comment');
      expect(comments[0]?.name, name).toBe('What this flow does');
      expect(comments[1]?.name, name).toMatch(/^What to change: your broker/);
      for (const { info } of comments) expect(info.length, name).toBeGreaterThan(80);
      const tops = flow.flatMap(({ type, y }) => (type === 'comment' || y === undefined ? [] : [y]));
      expect(Math.min(...tops), name).toBeGreaterThan(40);
    }
  });

  it('come with what the library of Node-RED wants to have: a title, a description and tags', () => {
    for (const name of names) {
      const page = read(`node-red/${name.replace('.json', '.md')}`);
      const [, title = '', description = '', tags = ''] =
        /^# (.+)\n\n([\s\S]+)\n\nTags: (.+)\n$/.exec(page) ?? [];
      expect(title.length, name).toBeGreaterThanOrEqual(10);
      expect(description.length, name).toBeGreaterThanOrEqual(30);
      expect(tags.split(', '), name).toContain('sonic2mqtt');
      const needsDashboard = flows.get(name)?.some(({ type }) => type.startsWith('ui-'));
      expect(description.includes('@flowfuse/node-red-dashboard'), name).toBe(needsDashboard);
    }
  });

  it('close a valve at a leak in the same way, with a dashboard or without', () => {
    const [one, other, ...more] = ofType('function').filter(({ name }) => name === 'Close at a leak');
    expect(more).toEqual([]);
    expect(one?.['func']).toBe(other?.['func']);
  });

  it('share what they share, so that any of them can be imported with any other', () => {
    for (const node of nodes) {
      const same = nodes.filter(({ id }) => id === node.id);
      expect(
        same.every((each) => isDeepStrictEqual(each, node)),
        node.name,
      ).toBe(true);
      if (node['z'] !== undefined) expect(same, node.name).toHaveLength(1);
    }
    for (const [name, flow] of flows) {
      const ids = flow.map(({ id }) => id);
      const meant = flow.flatMap(({ broker, ui, theme, page, group, wires = [], links = [], z, type }) => [
        ...(type === 'mqtt-broker' ? [] : [broker]),
        ...[ui, theme, page, group, z, ...wires.flat(), ...links],
      ]);
      expect(
        meant.filter((id) => id && !ids.includes(id)),
        name,
      ).toEqual([]);
    }
  });

  it('have one broker, that of compose.yaml, with MQTT 5 and without credentials or words of their own', () => {
    const brokers = ofType('mqtt-broker');
    expect(new Set(brokers.map(({ id }) => id)).size).toBe(1);
    const [broker] = brokers;
    expect(broker).toMatchObject({ protocolVersion: 5, cleansession: true, sessionExpiry: '', clientid: '' });
    expect(Object.keys(parse(read('compose.yaml')).services)).toContain(broker?.['broker']);
    expect([broker?.['birthTopic'], broker?.['closeTopic'], broker?.['willTopic']]).toEqual(['', '', '']);
    expect(
      nodes.flatMap((node) => Object.keys(node)).filter((key) => /cred|user$|passw|token/i.test(key)),
    ).toEqual([]);
  });

  it('listen to what the bridge publishes, below one base topic', () => {
    const documented = read('docs/reference/topics.md');
    expect(ofType('global-config')[0]?.['env']).toEqual([
      { name: 'SONIC2MQTT_TOPIC', value: 'sonic2mqtt', type: 'str' },
    ]);
    for (const node of ofType('mqtt in')) {
      const [, variable = ''] = /^\$\{(\w+)\}$/.exec(node['topic']) ?? [];
      const topic = variableOf(node, variable);
      expect(node['qos']).toBe('1');
      if (/^(ANSWERS|HANDLED)$/.test(variable)) expect(topics.isOpenToAnswers(topic)).toBe(true);
      else expect(documented).toContain(`\`${topic.replace(/^sonic2mqtt\//, '').replace('+', '{id}')}\``);
      // What is not retained is not taken from the broker's memory either.
      expect(node['rh'], variable).toBe(/^(EVENTS|ANSWERS)$/.test(variable) ? 2 : 0);
    }
    const functions = ofType('function')
      .map(({ func }) => func)
      .join('\n');
    expect(functions).not.toContain("'sonic2mqtt");
  });

  it('retain nothing but what was handled, and let no command wait', () => {
    const [memories, others] = [true, false].map((isMemory) =>
      ofType('mqtt out').filter(({ name }) => (name === 'Remember what was done') === isMemory),
    );
    for (const node of memories ?? []) expect(node).toMatchObject({ retain: '', qos: '1', topic: '' });
    expect(others?.length).toBeGreaterThan(0);
    for (const node of others ?? []) {
      // At 1, Node-RED would send again what got lost with its connection, however long ago.
      expect(node).toMatchObject({ qos: '0', retain: 'false', topic: '' });
      expect(Number(node['expiry'])).toBeGreaterThan(0);
      expect(Number(node['expiry'])).toBeLessThanOrEqual(30);
    }
  });

  it('do nothing by themselves when Node-RED starts', () => {
    for (const node of ofType('inject')) {
      const isBeat = node.name === 'Every two seconds';
      expect(node).toMatchObject({ once: false, repeat: isBeat ? '2' : '', crontab: '' });
      if (isBeat) expect(node['topic']).toBe('beat');
    }
    expect(sentBy('What is known', [{ topic: 'beat' }])).toMatchObject([[{ payload: { rows: [] } }]]);
    expect(sentBy('Switch', [{ topic: 'beat' }])).toMatchObject([[{ payload: {} }, null]]);
    // What comes into a widget does not go out of it as if somebody had pressed it.
    for (const node of ofType('ui-template')) {
      expect(node).toMatchObject({ passthru: false, storeOutMessages: false });
    }
    expect(ofType('ui-switch')).toEqual([]);
    const starting = ofType('function').map(({ initialize }) => initialize);
    expect(starting.filter((initialize) => initialize.includes('send('))).toEqual([]);
    const atStart = ofType('tab')
      .flatMap(({ env }) => env)
      .filter(({ name }) => name === 'ARMED_AT_START');
    expect(atStart.map(({ value }) => value)).toEqual(['false', 'false']);
  });
});

describe('what the flows show', () => {
  it.each([
    ['mid', 'medium'],
    ['MID', 'medium'],
    ['high', 'high'],
    ['external_power_supply', 'external power supply'],
    [null, 'unknown'],
  ])('of a battery in words: %s', (battery, shown) => {
    const record = { topic: 'sonic2mqtt/sonic/sonic-1', payload: { id: 'sonic-1', battery } };
    expect(sentBy('What is known', [record])).toMatchObject([[{ payload: { rows: [{ battery: shown }] } }]]);
  });
});

describe('what the flows show of a valve', () => {
  it.each([
    ['open', 'open', 'open'],
    ['open', 'pressure_test', 'pressure test'],
    [null, 'faulty', 'unknown'],
  ])('that is %s and reports %s: %s', (valve, valve_state, shown) => {
    const record = { topic: 'sonic2mqtt/sonic/sonic-1', payload: { id: 'sonic-1', valve, valve_state } };
    expect(sentBy('What is known', [record])).toMatchObject([[{ payload: { rows: [{ valve: shown }] } }]]);
  });
});

describe('what the flows send', () => {
  const beat = Date.now();
  const remembered = { known: { sonics: { 'sonic-1': { id: 'sonic-1' } } }, beats: [beat - 2_000, beat] };

  it.each(['OPEN', 'CLOSE'])('by the buttons of the table is a command: %s', (payload) => {
    const sent = outputOf('Command', { topic: 'sonic-1', payload, beat, retain: true }, remembered);
    expect(Object.keys(sent)).toEqual(['topic', 'payload']);
    const target = topics.parse(sent.topic);
    expect(target).toEqual({ kind: 'sonic', id: 'sonic-1', path: 'valve/set' });
    const command = parseCommand(sonicView(), target?.path ?? '', sent.payload, { valves: true } as never);
    expect(command).toMatchObject({
      action: { operation: 'command_valve', body: { action: payload.toLowerCase() } },
    });
  });

  it.each([
    { topic: 'sonic-1', payload: { away: '', rows: [] } },
    { topic: 'sonic-1', payload: 'close' },
    { topic: 'sonic-2', payload: 'CLOSE' },
    { topic: 'constructor', payload: 'CLOSE' },
    { topic: '+', payload: 'CLOSE' },
    { payload: 'CLOSE' },
  ])('is nothing for anything else: %j', (msg) => {
    expect(outputOf('Command', { beat, ...msg }, remembered)).toBeNull();
  });

  it.each([
    ['that has waited for its connection', beat - 60_000],
    ['from a page that has received no beat', undefined],
    ['from before the clock of Node-RED was set back', beat + 3_600_000],
  ])('is nothing for a click %s, and the table says so', (_, old) => {
    const [sent] = sentBy('Command', [{ topic: 'sonic-1', payload: 'OPEN', beat: old }], remembered);
    expect(sent).toEqual([null, { topic: 'refused', payload: 'sonic-1' }]);
    const switched = { isArmed: false, beats: remembered.beats };
    expect(sentBy('Switch', [{ payload: true, beat: old }], switched)).toMatchObject([
      [{ payload: { isArmed: false, problem: expect.stringContaining('too late') } }, null],
    ]);
  });

  it('is nothing for a click whose beat is known but older than ten seconds', () => {
    const old = beat - 11_000;
    expect(
      outputOf('Command', { topic: 'sonic-1', payload: 'OPEN', beat: old }, { ...remembered, beats: [old] }),
    ).toBeNull();
  });

  const closing = { topic: topics.below('sonic', 'sonic-1', 'valve/set'), payload: 'CLOSE' };
  const handledTopic = 'node-red/sonic2mqtt/leaks_handled';
  const say = (topic: string, payload: unknown) => ({ topic: `sonic2mqtt/${topic}`, payload });
  const online = [
    { status: { fill: 'green' } },
    say('bridge/state', 'online'),
    say('bridge/cloud', 'online'),
    say('property/property-1', { name: 'Flat 12' }),
    say('sonic/sonic-1', {
      name: 'Kitchen',
      valve: 'open',
      signal_id: 'signal-1',
      property_id: 'property-1',
    }),
    say('sonic/sonic-1/availability', 'online'),
  ];
  const leak = (id: string | null, type = 'water_presence_detected', count: number | null = id ? 1 : 0) => ({
    open_count: count,
    open: { water_presence_detected: null, [type]: id && { id } },
  });
  // The probe that is sent after a while has come back.
  const pause = [{ pause: true }, { topic: handledTopic, payload: 'probe' }];
  const closed = [
    say('bridge/event', { event: 'command', topic: closing.topic, status: 'ok' }),
    say('sonic/sonic-1', {
      name: 'Kitchen',
      valve: 'closed',
      signal_id: 'signal-1',
      property_id: 'property-1',
    }),
  ];
  const opened = online[4] ?? {};
  /** The commands that the flow sends for these messages. */
  const commandsAt = (messages: readonly object[], known: Record<string, unknown> = { isArmed: true }) =>
    sentBy('Close at a leak', messages, known).flatMap(([command]) => (command ? [command] : []));
  const at = (place: string, document: unknown) => say(`${place}/incidents`, document);
  const open = at('sonic/sonic-1', leak('one'));

  it('at an open leak is one command, once all that is retained has come', () => {
    expect(commandsAt([...online, open])).toEqual([]);
    expect(commandsAt([...online, open, ...pause])).toEqual([closing]);
    expect(commandsAt([open, ...online, ...pause])).toEqual([]);
    expect(commandsAt([...online, ...pause, open, open, ...closed, opened, open])).toEqual([closing]);
  });

  it('at a leak that names only a hub is a command to the valves of the hub', () => {
    expect(commandsAt([...online, at('signal/signal-1', leak('one')), ...pause])).toEqual([closing]);
    expect(commandsAt([...online, at('signal/signal-2', leak('one')), ...pause])).toEqual([]);
  });

  it('at a leak that is open again under its ID is another command', () => {
    const ended = at('sonic/sonic-1', leak(null));
    expect(commandsAt([...online, ...pause, open, ...closed, opened, ended, open])).toEqual([
      closing,
      closing,
    ]);
    // What is not known has not ended.
    const unknown = at('sonic/sonic-1', leak(null, 'water_presence_detected', null));
    expect(commandsAt([...online, ...pause, open, ...closed, opened, unknown, open])).toEqual([closing]);
  });

  it('at a leak that was handled before a restart is nothing, and another leak is a command', () => {
    const sent = sentBy('Close at a leak', [...online, ...pause, open, ...closed], { isArmed: true });
    const handled = sent.flatMap(([, , memory]) => (memory?.retain ? [memory] : [])).at(-1);
    expect(handled?.topic).toBe(handledTopic);
    const restarted = [
      ...online,
      { topic: handledTopic, payload: JSON.parse(handled?.payload) },
      open,
      ...pause,
    ];
    expect(commandsAt(restarted)).toEqual([]);
    expect(commandsAt([...restarted, at('sonic/sonic-1', leak('two'))])).toEqual([closing]);
  });

  it.each(['bridge/state', 'bridge/cloud', 'sonic/sonic-1/availability'])(
    'at a leak waits while %s is offline',
    (topic) => {
      const away = [...online, say(topic, 'offline'), open, ...pause];
      expect(commandsAt(away)).toEqual([]);
      expect(commandsAt([...away, say(topic, 'online'), ...pause])).toEqual([closing]);
    },
  );

  it.each([false, undefined, 'true'])('at a leak is nothing while the switch is %j', (isArmed) => {
    expect(commandsAt([...online, open, ...pause], { isArmed })).toEqual([]);
  });

  it('at anything but a leak is nothing: a long shower closes no valve', () => {
    const closingTypes = incidentTypes.filter(
      (type) => commandsAt([...online, at('sonic/sonic-1', leak(type, type)), ...pause]).length > 0,
    );
    expect(closingTypes).toEqual(['water_presence_detected']);
  });

  it('as requests is what the bridge takes, and changes nothing by itself', () => {
    for (const { props } of flows.get('request.json')?.filter(({ type }) => type === 'inject') ?? []) {
      const [operation, payload] = props.map(({ v }: { v: string }) => v);
      if (!isOperationName(operation)) throw new Error(`there is no operation ${operation}`);
      expect(operationRow(operation).method).toBe('GET');
      const sent = outputOf('Request', { operation, payload: JSON.parse(payload), _linkSource: [] });
      expect(topics.operationOf(sent.topic)).toBe(operation);
      const taken = readRequest({ payload: JSON.stringify(sent.payload), isText: true });
      expect(taken).toMatchObject({ problem: null, transaction: '"an id"' });
      expect(checkCall(operationRow(operation), taken.parts as never)).not.toHaveProperty('problem');
      expect(topics.isOpenToAnswers(sent.responseTopic)).toBe(true);
      expect(String(sent.correlationData)).toBe('an id');
    }
  });
});

describe('the Node-RED of the tests', () => {
  const manifest = JSON.parse(read('test/node-red/package.json'));

  it('is the one of compose.yaml but for mendings, and the dashboard is the one that the documentation names', () => {
    const { 'node-red': nodeRed, '@flowfuse/node-red-dashboard': dashboard } = manifest.devDependencies ?? {};
    const [, image] = parse(read('compose.yaml')).services['node-red'].image.split(':');
    const minor = (version = '') => version.split('.').slice(0, 2).join('.');
    expect(minor(image)).toBe(minor(nodeRed));
    const page = read('docs/node-red.md');
    expect(page).toContain(`Node-RED ${minor(nodeRed)},`);
    expect(page).toContain(`@flowfuse/node-red-dashboard@${dashboard}\n`);
    for (const name of names) expect(page).toContain(`(../node-red/${name})`);
  });
});
