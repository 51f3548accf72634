import { describe, expect, it } from 'vitest';
import { commandHelp, parseArguments, programHelp } from '../../../src/cli/arguments.ts';
import { commands } from '../../../src/cli/commands.ts';

describe('the arguments', () => {
  it.each([
    [['call', 'list_sonics', '--config', 'my.yaml', '--help']],
    [['--help', '--config=my.yaml', 'call', 'list_sonics']],
    [['--config', 'my.yaml', 'call', '-h', 'list_sonics']],
    [['call', '--config', 'my.yaml', 'list_sonics', '--help']],
  ])('%j hold the global options wherever they stand', (argv) => {
    expect(parseArguments(argv)).toMatchObject({
      name: 'call',
      isNamed: true,
      options: { config: 'my.yaml', help: true },
      words: ['list_sonics'],
    });
  });

  it('leave the words of a command to it where it reads them itself', () => {
    const words = ['list_sonics', '--name', 'config', '--page=2', '--unknown', '-x', '-'];
    expect(parseArguments(['call', ...words])).toMatchObject({ options: {}, words });
  });

  it.each([
    [['run', 'on'], /run: /],
    [['check', '--prot', '1'], /check: there is no option --prot/],
    [['demo', '--prot', '1'], /demo: there is no option --prot; did you mean --port\?/],
    [['cal'], /there is no command cal; did you mean call\?/],
    [['call', 'list_sonics', '--config'], /call: .*--config/],
    [['call', '--config', '--help'], /call: .*--config/],
    [['call', '--version=1'], /call: .*--version/],
  ])('%j are refused', (argv, words) => {
    expect(() => parseArguments(argv)).toThrow(words);
  });

  it.each([
    [['demo', '--prot', '1'], 'demo --help'],
    [['--prot', '1', 'demo'], 'demo --help'],
    [['--prot=1'], '--help'],
    [['call', '--config'], 'call --help'],
    [['cal'], '--help'],
  ])('%j are refused with where to read on: %s', (argv, see) => {
    expect(() => parseArguments(argv)).toThrow(expect.objectContaining({ see }));
  });

  it('are none for the other commands than their options', () => {
    expect(parseArguments(['demo', '--port', '1'])).toMatchObject({ options: { port: '1' }, words: [] });
    expect(parseArguments([])).toMatchObject({ name: 'run', isNamed: false, words: [] });
  });
});

describe('the help', () => {
  it('of the program names every command', () => {
    for (const name of Object.keys(commands)) expect(programHelp()).toContain(`\n  ${name} `);
  });

  it('of a command leaves no blanks at the end of a line', async () => {
    for (const name of Object.keys(commands) as (keyof typeof commands)[]) {
      expect(await commandHelp(name)).not.toMatch(/ $/m);
    }
  });

  it('of call explains its grammar, and with an operation that one', async () => {
    const grammar = await commandHelp('call');
    for (const words of ['--NAME VALUE', '--body JSON', '@FILE', '--all-pages', '--list']) {
      expect(grammar).toContain(words);
    }
    const operation = await commandHelp('call', ['--page', '2', 'list-sonics']);
    expect(operation).toContain('GET /ape/v1/sonics (published)');
    await expect(commandHelp('call', ['list_sonic'])).rejects.toThrow('did you mean list_sonics?');
  });
});
