import { Command, CommanderError } from 'commander';
import { describe, expect, it } from 'vitest';
import { addOperations, readCall } from '../../../src/cli/operationCommands.ts';
import { fieldsOf } from '../../../src/cloud/fields.ts';
import type { Call } from '../../../src/cloud/operations.ts';
import { operationNames, operationRow, paramNames } from '../../../src/cloud/operations.ts';

/** The call that the words behind `call` mean; throws with what is wrong with them. */
async function callOf(...words: string[]): Promise<Call> {
  const command = new Command('call').exitOverride().configureOutput({ writeErr: () => {} });
  const calls: Call[] = [];
  addOperations(command, async (operation, name) => {
    const { body } = operation.opts<{ body?: string }>();
    calls.push(readCall(operation, name, body === undefined ? undefined : JSON.parse(body)));
  });
  await command.parseAsync(words, { from: 'user' });
  return calls[0] ?? expect.fail('it is no call');
}

async function faultsOf(...words: string[]): Promise<string> {
  try {
    await callOf(...words);
  } catch (error) {
    if (error instanceof CommanderError) return error.message;
    throw error;
  }
  return expect.fail('it is accepted');
}

/** What `call` prints for words that ask for the list or for help. */
async function printedBy(...words: string[]): Promise<string> {
  let printed = '';
  const writeOut = (text: string) => {
    printed += text;
  };
  const command = new Command('call').exitOverride().configureOutput({ writeOut });
  addOperations(command, async () => expect.fail('it is a call'));
  await command.parseAsync(words, { from: 'user' }).catch(({ exitCode }) => expect(exitCode).toBe(0));
  return printed;
}

describe('a command line of call', () => {
  it('gives a parameter before or after the operation, with or without an equals sign', async () => {
    const call = { operation: 'read_sonic', params: { sonic_id: 's1' } };
    expect(await callOf('read_sonic', '--sonic-id', 's1')).toEqual(call);
    expect(await callOf('read_sonic', '--sonic-id=s1')).toEqual(call);
    expect(await callOf('--sonic-id', 's1', 'read_sonic').catch(String)).toContain('unknown option');
  });

  it('gives each field of the query as its row wants it: a truth value, a number or a text', async () => {
    const words = ['--type', 'long_flow_alert', '--open', 'false', '--page=12'];
    expect(await callOf('list_incidents', ...words)).toEqual({
      operation: 'list_incidents',
      params: {},
      query: { type: 'long_flow_alert', open: false, page: 12 },
    });
    for (const name of ['12', 'true', 'a=b', '-1', ''])
      expect(await callOf('list_sonics', '--name', name)).toMatchObject({ query: { name } });
  });

  it.each([
    [['list_incident'], "unknown operation 'list_incident'. Did you mean list_incidents?"],
    [['constructor'], "unknown operation 'constructor'"],
    [[], 'the operation is missing'],
    [['read_sonic'], '--sonic-id is missing'],
    [['read_sonic', '--sonic-id', ''], '--sonic-id must be an ID'],
    [['read_sonic', '--sonic-id', '../x'], '--sonic-id must be an ID'],
    [['read_sonic', '--sonic-id'], "error: option '--sonic-id <value>' argument missing"],
    [['read_sonic', '--sonic-id', '--page'], /argument '--page' is invalid\. The value is missing\.$/],
    [['read_sonic', '--sonic-id', 'x', '--sonic-id', 'y'], /'y' is invalid\. It was given twice\.$/],
    [['read_sonic', '--sonic-id', 'x', '--body', '{}'], /^error: unknown option '--body'/],
    [['read_sonic', '--sonic-id', 'x', 'y'], /^error: too many arguments for 'read_sonic'/],
    [['read_sonic', '--sonicid', 'x'], /'--sonicid'\n\(Did you mean --sonic-id\?\)$/],
    [
      ['list_incidents', '--open', 'yes', '--page', '0'],
      '--open must be true or false\n--page must be a whole number from 1',
    ],
    [['list_incidents', '--page', '1e3'], '--page must be a whole number from 1'],
    [
      ['list_incidents', '--type', 'long_flow_alrt'],
      /^--type must be one of .*. Did you mean long_flow_alert\?$/,
    ],
    [
      ['list_incidents', '--page', '2', '--all-pages'],
      /'--all-pages' cannot be used with option '--page <value>'$/,
    ],
  ])('%j is rejected', async (words, expected) => {
    expect(await faultsOf(...words)).toEqual(
      typeof expected === 'string' ? expected : expect.stringMatching(expected),
    );
  });

  it.each([
    [[], '--body is missing'],
    [['--action', 'open'], "error: unknown option '--action'"],
    [['--body', '{"action":"opne"}'], '--body: action must be one of open, close. Did you mean open?'],
    [
      ['--body', '{"actoin":"open"}'],
      '--body: action is missing\n--body: actoin is unknown. Did you mean action?',
    ],
    [['--body', '[]'], '--body must be an object'],
  ])('command_valve with %j is rejected for its body', async (words, expected) => {
    expect(await faultsOf('command_valve', '--sonic-id', 'x', ...words)).toBe(expected);
  });

  it('changes nothing without a body, and says how an empty one is given', async () => {
    expect(await faultsOf('start_pressure_test', '--thing-id', 'x')).toBe(
      "--body is missing. Use --body '{}' for an empty one",
    );
    expect(await faultsOf('sign_in')).toBe('--body is missing');
    for (const name of operationNames) {
      const row = operationRow(name);
      if (!row.body || name === 'refresh_token') continue;
      const params = paramNames(row.path).flatMap((each) => [optionOf(each), 'x']);
      expect(await faultsOf(name, ...params), name).toMatch(/^--body is missing/);
    }
    const test = ['start_pressure_test', '--thing-id', 'x', '--body', '{}'];
    expect(await callOf(...test)).toMatchObject({ body: {} });
    expect(await callOf('refresh_token')).toMatchObject({ operation: 'refresh_token' });
  });

  it('never repeats the values of a body, which may be passwords', async () => {
    const body = '{"email":"mine","password":["correct horse"]}';
    expect(await faultsOf('sign_in', '--body', body)).not.toMatch(/mine|horse/);
    expect(await faultsOf('sign_in', '--password', 'correct horse')).not.toContain('horse');
  });
});

const optionOf = (name: string) => `--${name.replaceAll('_', '-')}`;

const list = await printedBy('--list');

it('call --list marks what is required and fits 100 columns', () => {
  expect(list).toContain(
    [
      '\n\nact_on_property_incident        5  assumed',
      '    PUT /iot-core/customer_app/properties/{property_id}/incidents/{incident_id}/action',
      '    --property-id* --incident-id* --body* {action, …}\n\n',
    ].join('\n'),
  );
  expect(list).toContain('18  published\n    GET /ape/v1/sonics\n    --name --page --all-pages\n\n');
  for (const line of list.split('\n')) expect(line.length, line).toBeLessThanOrEqual(100);
});

const valveMovers: readonly string[] = [
  ...['command_valve', 'change_thing_state', 'start_pressure_test', 'command_wifi_valve'],
];

describe.each(operationNames)('%s', (name) => {
  const row = operationRow(name);
  const options = [...paramNames(row.path), ...fieldsOf(row.query).fields.map((field) => field.name)].map(
    optionOf,
  );
  const fields = fieldsOf(row.body).fields.map((field) => field.name);

  it('has its route and all that it takes, in its help and in the list', async () => {
    const route = `${row.method} ${row.path}`;
    const help = await printedBy(name, '--help');
    expect(help.replace(/\s+/g, ' ')).toContain(`${route} (`);
    for (const each of [...options, ...fields]) expect(help).toMatch(new RegExp(`^  ${each} `, 'm'));
    const block = list.split('\n\n').find((each) => each.startsWith(`${name} `)) ?? '';
    const words = block.split(/[\s{},*]+/);
    expect(words).toEqual(expect.arrayContaining([...options, ...fields]));
    expect(help.includes('Moves the valve.')).toBe(valveMovers.includes(name));
  });

  it('has no option of a name that every command knows', () => {
    for (const global of [
      '--config',
      '--log-level',
      '--version',
      '--help',
      '--list',
      '--body',
      '--all-pages',
    ])
      expect(options).not.toContain(global);
  });
});
