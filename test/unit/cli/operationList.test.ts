import { describe, expect, it } from 'vitest';
import { callHelp } from '../../../src/cli/callHelp.ts';
import { operationList } from '../../../src/cli/operationList.ts';
import { optionOf } from '../../../src/cli/operationOptions.ts';
import { wrapped } from '../../../src/cli/wrapped.ts';
import { fieldsOf } from '../../../src/cloud/fields.ts';
import { operationNames, operationRow, paramNames } from '../../../src/cloud/operations.ts';

const list = operationList();
const blocks = list.join('\n').split('\n\n');

it('the list of operations fits a terminal of 100 columns', () => {
  for (const line of list) expect(line.length, line).toBeLessThanOrEqual(100);
  // The help of a command is shown two columns further in.
  for (const line of callHelp([])) expect(line.length, line).toBeLessThanOrEqual(98);
});

it('the list of operations marks what is required, and shows where other fields are taken', () => {
  const blockOf = (name: string) => blocks.find((each) => each.startsWith(`${name} `))?.split('\n');
  expect(blockOf('act_on_property_incident')).toEqual([
    'act_on_property_incident        5  assumed',
    '    PUT /iot-core/customer_app/properties/{property_id}/incidents/{incident_id}/action',
    '    --property-id* --incident-id* --body {action*, …}',
  ]);
  expect(blockOf('sign_in')).toEqual([
    'sign_in                         -  document',
    '    POST /user-service/auth/sign_in',
    '    --body {email*, password*}',
  ]);
  expect(blockOf('list_sonics')).toEqual([
    'list_sonics                    18  published',
    '    GET /ape/v1/sonics',
    '    --name --page --all-pages',
  ]);
});

describe.each(operationNames)('%s', (name) => {
  const { method, path, query, body } = operationRow(name);
  const options = [...paramNames(path), ...fieldsOf(query).fields.map((field) => field.name)].map(optionOf);
  const fields = fieldsOf(body).fields.map((field) => field.name);

  it('has a block in the list with its route and all that it takes', () => {
    const [block = '', ...others] = blocks.filter((each) => each.startsWith(`${name} `));
    expect(others).toEqual([]);
    expect(block).toContain(`${method} ${path}\n`.trimEnd());
    const words = block.split(/[\s{},*]+/);
    for (const each of [...options, ...fields, ...(body ? ['--body'] : [])]) expect(words).toContain(each);
  });

  it('has a help with its route, all that it takes and an example', () => {
    const help = callHelp([name]);
    expect(help.join('\n')).toContain(`${method} ${path} (`);
    expect(help.join('\n')).toContain(`sonic2mqtt call ${name}`);
    for (const each of [...options, ...fields]) {
      expect(help.filter((line) => line.trim().startsWith(`${each} `))).toHaveLength(1);
    }
    const example = help.at(-1);
    for (const line of help) if (line !== example) expect(line.length, line).toBeLessThanOrEqual(98);
  });
});

it('words are wrapped between them, never within, and every line is indented', () => {
  expect(wrapped(['aa', 'bb', 'cccccccccc', 'd'], 7, '  ')).toEqual(['  aa bb', '  cccccccccc', '  d']);
  expect(wrapped([], 7, '  ')).toEqual([]);
});
