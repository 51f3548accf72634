import { describe, expect, it } from 'vitest';
import { globalOptions, parseArguments } from '../../../src/cli/arguments.ts';
import { exampleOptions } from '../../../src/cli/callHelp.ts';
import { type CallLine, callOf, ownOptions, readCallLine } from '../../../src/cli/callLine.ts';
import { UsageError } from '../../../src/cli/command.ts';
import { exampleBody, optionOf, optionsOf } from '../../../src/cli/operationOptions.ts';
import { operationNames, operationRow } from '../../../src/cloud/operations.ts';

/** The line of words that do not ask for the list. */
function lineOf(words: readonly string[]): CallLine {
  const line = readCallLine(words);
  return line === 'list' ? expect.fail('it is taken for --list') : line;
}

/** The call of words whose body, if any, stands among them as JSON. */
function understood(...words: string[]) {
  const line = lineOf(words);
  return callOf(line, line.body === null ? null : { value: JSON.parse(line.body) });
}

/** The usage error of words, and where it says more is to be read. */
function complaintAbout(...words: string[]): { lines: string[]; see: string } {
  try {
    understood(...words);
  } catch (error) {
    if (error instanceof UsageError) return { lines: error.message.split('\n'), see: error.see };
    throw error;
  }
  return expect.fail('it is understood');
}

describe('a command line of call', () => {
  it.each([['list_sonics'], ['list-sonics']])('names its operation as %s', (word) => {
    expect(understood(word)).toEqual({ operation: 'list_sonics', params: {}, query: {} });
  });

  it.each([[['--sonic-id', 's1']], [['--sonic_id', 's1']], [['--sonic-id=s1']], [['--sonic_id=s1']]])(
    'gives a parameter as %j',
    (options) => {
      const call = { operation: 'read_sonic', params: { sonic_id: 's1' } };
      expect(understood('read_sonic', ...options)).toEqual(call);
      expect(understood(...options, 'read_sonic')).toEqual(call);
    },
  );

  it('gives each field of the query what its row takes: a truth value, a number or a text', () => {
    const words = ['--type', 'long_flow_alert', '--open', 'false', '--page=12'];
    expect(understood('list_incidents', ...words)).toEqual({
      operation: 'list_incidents',
      params: {},
      query: { type: 'long_flow_alert', open: false, page: 12 },
    });
    expect(understood('list_sonics', '--name', '12')).toMatchObject({ query: { name: '12' } });
    expect(understood('list_sonics', '--name', 'true')).toMatchObject({ query: { name: 'true' } });
  });

  it('takes a value with an equals sign, a dash or nothing in it as it is', () => {
    expect(understood('list_sonics', '--name', 'a=b')).toMatchObject({ query: { name: 'a=b' } });
    expect(understood('list_sonics', '--name=a=b')).toMatchObject({ query: { name: 'a=b' } });
    expect(understood('list_sonics', '--name=--page')).toMatchObject({ query: { name: '--page' } });
    expect(understood('list_sonics', '--name', '-1')).toMatchObject({ query: { name: '-1' } });
    expect(understood('list_sonics', '--name=')).toMatchObject({ query: { name: '' } });
  });

  it('has its body as it was typed, for somebody else to read', () => {
    expect(lineOf(['update_sonic', '--body', '-']).body).toBe('-');
    expect(lineOf(['update_sonic', '--body=@name.json']).body).toBe('@name.json');
    expect(lineOf(['update_sonic']).body).toBeNull();
  });

  it('asks for the list, which stands alone', () => {
    expect(readCallLine(['--list'])).toBe('list');
    for (const words of [['--list', 'list_sonics'], ['list_sonics', '--list'], ['--list=all']]) {
      expect(() => readCallLine(words)).toThrow('--list stands alone');
    }
  });
});

describe('a command line of call that is wrong', () => {
  it.each([
    [['list_incident'], 'there is no operation list_incident; did you mean list_incidents?'],
    [['open-the-valve'], 'there is no operation open-the-valve'],
    [['constructor'], 'there is no operation constructor'],
    [[], 'call: which operation?'],
    [['--page', '2'], 'call: which operation?'],
  ])('%j points to the list of operations', (words, line) => {
    expect(complaintAbout(...words)).toEqual({ lines: [line], see: 'call --list' });
  });

  it.each([
    [['--sonic-id', ''], '--sonic-id must be an id'],
    [['--sonic-id', '../x'], '--sonic-id must be an id'],
    [['--sonic-id'], '--sonic-id needs a value: an id'],
    [['--sonic-id', '--sonic-id', 'x'], '--sonic-id needs a value: an id'],
    [[], '--sonic-id is missing'],
    [['--sonic-id', 'x', '--sonic_id', 'x'], '--sonic-id is given twice'],
    [['--sonic-id', 'x', '--body', '{}'], '--body is not taken by this operation'],
    [['--sonic-id', 'x', '--all-pages'], '--all-pages is for lists only'],
    [['--sonic-id', 'x', 'y'], 'y belongs to no option'],
    [['--sonic-id', 'x', '-v'], 'there is no option -v'],
    [['--sonic-id', 'x', '--pgae', '1'], 'there is no option --pgae'],
    [['--sonic-id', 'x', '--sonicid', 'x'], 'there is no option --sonicid; did you mean --sonic-id?'],
  ])('says what is wrong with read_sonic %j', (words, fault) => {
    const { lines, see } = complaintAbout('read_sonic', ...words);
    expect(lines[0]).toBe(`read_sonic: ${fault}`);
    expect(see).toBe('call read_sonic --help');
  });

  it.each([
    [['--open', 'yes'], '--open must be true or false'],
    [['--page', '0'], '--page must be a whole number from 1'],
    [['--page', '1e3'], '--page must be a whole number from 1'],
    [['--page', '99999999999999999999'], '--page must be a whole number from 1'],
    [['--type', 'long_flow_alrt'], 'did you mean long_flow_alert?'],
    [['--tpye', 'long_flow_alert'], 'there is no option --tpye; did you mean --type?'],
    [['--al-pages'], 'there is no option --al-pages; did you mean --all-pages?'],
    [['--all-pages=yes'], '--all-pages takes no value'],
    [['--all-pages', 'yes'], 'yes belongs to no option'],
    [['--page', '2', '--all-pages'], '--page and --all-pages exclude each other'],
  ])('says what is wrong with list_incidents %j', (words, fault) => {
    const { lines } = complaintAbout('list_incidents', ...words);
    expect(lines).toEqual([expect.stringContaining(fault)]);
    expect(lines[0]).toMatch(/^list_incidents: /);
  });

  it.each([
    [[], `--body is missing, as in --body '{"action":"close"}'`],
    [['--body'], '--body needs a value: JSON, - for standard input, or @FILE'],
    [['--action', 'close', '--body={}'], `action belongs into the body: --body '{"action":"close"}'`],
    [['--action', 'open'], `action belongs into the body: --body '{"action":"open"}'`],
    [['--action', 'shut'], `action belongs into the body: --body '{"action":"close"}'`],
    [['--action'], `action belongs into the body: --body '{"action":"close"}'`],
    [['--body', '{"action":"opne"}'], '--body: action must be one of open, close; did you mean open?'],
    [['--body', '{"actoin":"open"}'], '--body: action is missing'],
    [['--body', '[]'], '--body must be an object'],
    [['--body', 'null'], '--body must be an object'],
    [['--body', '{}', '--body', '{}'], '--body is given twice'],
  ])('says what is wrong with the body of command_valve %j', (words, fault) => {
    const { lines } = complaintAbout('command_valve', '--sonic-id', 'x', ...words);
    expect(lines[0]).toBe(`command_valve: ${fault}`);
  });

  it.each([
    [
      'update_property_configuration',
      ['--leak-protection-enabled', 'false'],
      { leak_protection_enabled: false },
    ],
    [
      'update_property_configuration',
      ['--leak-protection-enabled', 'true'],
      { leak_protection_enabled: true },
    ],
    ['update_property', ['--lat=-51.5'], { lat: -51.5 }],
    ['update_property', ['--lat', 'north'], { lat: 1 }],
    ['update_property', ['--city', 'Sampleton'], { city: 'CITY' }],
  ])('is told the body that %s %j means', (name, words, body) => {
    const [field] = Object.keys(body);
    const hint = `${name}: ${field} belongs into the body: --body '${JSON.stringify(body)}'`;
    expect(complaintAbout(name, '--property-id', 'x', ...words).lines).toEqual([hint]);
  });

  it('is told everything at once, and each thing once', () => {
    const words = ['--tpye', 'x', '--open', '--open', 'yes', '--page=-1', '--membership-role', 'x', 'stray'];
    expect(complaintAbout('list_property_incidents', ...words).lines).toEqual([
      'list_property_incidents: stray belongs to no option',
      'list_property_incidents: there is no option --tpye; did you mean --type?',
      'list_property_incidents: --open needs a value: true or false',
      'list_property_incidents: --open is given twice',
      'list_property_incidents: there is no option --membership-role',
      'list_property_incidents: --property-id is missing',
      'list_property_incidents: --page must be a whole number from 1',
    ]);
    const bodyWords = ['--body', '{"email":"nobody","actoin":1}'];
    expect(complaintAbout('create_invitation', ...bodyWords).lines).toEqual([
      'create_invitation: --property-id is missing',
      'create_invitation: --body: email must be an e-mail address',
      'create_invitation: --body: role is missing',
    ]);
  });

  it('is told about a body that could not be read, and not what a body would have needed', () => {
    const line = lineOf(['command_valve', '--sonic-id', 'x', '--body', '{action}']);
    expect(() => callOf(line, { fault: 'is not JSON' })).toThrow(/^command_valve: --body is not JSON$/);
  });

  it('never repeats the values of a body, which may be passwords', () => {
    const body = '{"email":"mine","password":["correct horse"]}';
    expect(complaintAbout('sign_in', '--body', body).lines.join()).not.toMatch(/mine|horse/);
    expect(complaintAbout('sign_in', '--password', 'correct horse').lines.join()).not.toContain('horse');
  });
});

describe.each(operationNames)('%s', (name) => {
  const row = operationRow(name);
  const options = optionsOf(row).options.map((option) => optionOf(option.name).slice(2));

  it('is called as the example in its help says', () => {
    const words = exampleOptions(name);
    // A password is read from standard input.
    expect(words.includes('-')).toBe(row.session === true && row.body !== undefined);
    const body = JSON.stringify(exampleBody(optionsOf(row).body ?? { fields: [], isOpen: false }));
    const typed = words.map((word) => (word === '-' ? body : word));
    expect(understood(name, ...typed)).toMatchObject({ operation: name });
  });

  it('has no two options of one name, and none of a name that every call knows', () => {
    const all = [...options, ...ownOptions, ...Object.keys(globalOptions)];
    expect(new Set(all).size).toBe(all.length);
  });

  it('loses no option to what reads the global ones', () => {
    const words = [name, ...options.flatMap((option) => [`--${option}`, 'config'])];
    const read = parseArguments(['--log-level', 'debug', 'call', ...words, '--config', 'file.yaml']);
    expect(read.words).toEqual(words);
    expect(read.options).toEqual({ config: 'file.yaml', 'log-level': 'debug' });
  });
});
