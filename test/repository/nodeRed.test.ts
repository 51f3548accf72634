import { readdirSync, readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { isOperationName, operationRow } from '../../src/cloud/operations.ts';
import { checkCall } from '../../src/cloud/request.ts';
import { readRequest } from '../../src/commands/requests.ts';
import { parseCommand } from '../../src/homeassistant/command.ts';
import { topicsUnder } from '../../src/homeassistant/topics.ts';
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
const topics = topicsUnder('sonic2mqtt', 'homeassistant');

/** The value of a variable that a node's topic names, as its flow and all flows set it. */
function variableOf(node: FlowNode, variable: string): string {
  const environments = [nodes.find(({ id }) => id === node['z']), ...ofType('global-config')];
  const found = environments.flatMap((each) => each?.['env'] ?? []).find(({ name }) => name === variable);
  return String(found?.value ?? '').replace(/\$\{(\w+)\}/g, (_, name) => variableOf(node, name));
}

/** What a function node gives for a message, where it knows these things already. */
function outputOf(name: string, msg: object, known: Record<string, unknown> = {}) {
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
  const surroundings = { msg, env, flow: memory, context: memory, Buffer, setTimeout: () => undefined };
  const others = { node: { status: () => undefined }, RED: { util: { generateId: () => 'an id' } } };
  return runInNewContext(`(() => {${node['func']}\n})()`, { ...surroundings, ...others });
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
      if (variable === 'ANSWERS') expect(topics.isOpenToAnswers(topic)).toBe(true);
      else expect(documented).toContain(`\`${topic.replace(/^sonic2mqtt\//, '').replace('+', '{id}')}\``);
      // What is not retained by the bridge is not taken from the broker's memory either.
      if (!/^(RECORDS|AVAILABILITY|BRIDGE_STATE|CLOUD_STATE|USAGE)$/.test(variable))
        expect(node['rh']).toBe(2);
    }
    const functions = ofType('function')
      .map(({ func }) => func)
      .join('\n');
    expect(functions).not.toContain("'sonic2mqtt");
  });

  it('retain nothing, and let nothing wait', () => {
    for (const node of ofType('mqtt out')) {
      // At 1, Node-RED would send again what got lost with its connection, however long ago.
      expect(node).toMatchObject({ qos: '0', retain: 'false', topic: '' });
      expect(Number(node['expiry'])).toBeGreaterThan(0);
      expect(Number(node['expiry'])).toBeLessThanOrEqual(30);
    }
  });

  it('do nothing by themselves when Node-RED starts', () => {
    for (const node of ofType('inject')) expect(node).toMatchObject({ once: false, repeat: '', crontab: '' });
    // What comes into a widget does not go out of it as if somebody had pressed it.
    for (const type of ['ui-template', 'ui-switch']) {
      for (const node of ofType(type)) expect(node['passthru']).toBe(false);
    }
    for (const node of ofType('ui-template')) expect(node['storeOutMessages']).toBe(false);
    const starting = ofType('function').filter(({ initialize }) => initialize !== '');
    const reached = starting
      .flatMap(({ wires }) => wires.flat())
      .map((id) => nodes.find((node) => node.id === id)?.type);
    expect(reached).toEqual(['ui-switch']);
    const atStart = ofType('tab')
      .flatMap(({ env }) => env)
      .filter(({ name }) => name === 'ARMED_AT_START');
    expect(atStart.map(({ value }) => value)).toEqual(['false', 'false']);
  });
});

describe('what the flows send', () => {
  const knownSonics = { sonics: { 'sonic-1': { id: 'sonic-1' } } };

  it.each(['OPEN', 'CLOSE'])('by the buttons of the table is a command: %s', (payload) => {
    const sent = outputOf('Command', { topic: 'sonic-1', payload, retain: true }, { known: knownSonics });
    expect(Object.keys(sent)).toEqual(['topic', 'payload']);
    const target = topics.parse(sent.topic);
    expect(target).toEqual({ kind: 'sonic', id: 'sonic-1', path: 'valve/set' });
    const command = parseCommand(sonicView(), target?.path ?? '', sent.payload, { valves: true } as never);
    expect(command).toMatchObject({
      order: { operation: 'command_valve', body: { action: payload.toLowerCase() } },
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
    expect(outputOf('Command', msg, { known: knownSonics })).toBeNull();
  });

  it('at a leak is one command, whatever else is in the message', () => {
    const topic = topics.below('sonic', 'sonic-1', 'incident');
    const incident = { id: 'one', event_type: 'water_presence_detected' };
    const [sent] = outputOf(
      'Close at a leak',
      { topic, payload: incident, retain: false },
      { isArmed: true },
    );
    expect({ ...sent }).toEqual({ topic: topics.below('sonic', 'sonic-1', 'valve/set'), payload: 'CLOSE' });
    expect(
      outputOf('Close at a leak', { topic, payload: incident, retain: true }, { isArmed: true }),
    ).toBeNull();
    // Somebody may have opened it since it was last read.
    const [again] = outputOf(
      'Close at a leak',
      { topic, payload: incident },
      { isArmed: true, sonics: { 'sonic-1': { valve: 'closed' } } },
    );
    expect({ ...again }).toEqual({ ...sent });
    for (const isArmed of [false, undefined, 'true']) {
      const [none] = outputOf('Close at a leak', { topic, payload: incident }, { isArmed });
      expect(none).toBeNull();
    }
  });

  it('at anything but a leak is nothing: a long shower closes no valve', () => {
    const topic = topics.below('sonic', 'sonic-1', 'incident');
    const closing = incidentTypes.filter((type) => {
      const payload = { id: type, event_type: type };
      return outputOf('Close at a leak', { topic, payload }, { isArmed: true })?.[0];
    });
    expect(closing).toEqual(['water_presence_detected']);
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
