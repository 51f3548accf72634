import { describe, expect, it } from 'vitest';
import { runProgram } from '../../support/callProgram.ts';

describe('the command line', () => {
  it.each([
    [['cal'], "unknown command 'cal'. Did you mean call?", '--help'],
    [['--config', 'my.yaml', 'nothing'], "unknown command 'nothing'", '--help'],
    [['demo', '--prot', '1'], "unknown option '--prot'. Did you mean --port?", 'demo --help'],
    [['--confg=x'], "unknown option '--confg=x'. Did you mean --config?", '--help'],
    [['run', 'on'], "too many arguments for 'run'. Expected 0 arguments but got 1.", 'run --help'],
    [['demo', '--port'], "option '--port <n>' argument missing", 'demo --help'],
    [['check', '--config', '--help'], /'--config <file>' .* The value is missing\.$/, '--help'],
    [['check', '--config', 'a', '--config', 'b'], /'--config <file>' .* It was given twice\.$/, '--help'],
    [['check', '--log-level', 'loud'], /'loud' is invalid\. Allowed choices are trace, debug, /, '--help'],
    [['demo', '--port', '65536'], /'65536' .* It must be a whole number from 0 to 65535\.$/, 'demo --help'],
    [['demo', '--http-port', '1.5'], /'1.5' .* It must be a whole number/, 'demo --help'],
    [['call', 'list_sonic'], "unknown operation 'list_sonic'. Did you mean list_sonics?", 'call --list'],
    [['simulate', '--wifi-sonics', 'many'], /'many' .* It must be a whole number/, 'simulate --help'],
    [['simulate', '--email', 'me'], /'me' is invalid\. It must be an e-mail address\.$/, 'simulate --help'],
    [['simulate', '--password='], /It must be at least one character\.$/, 'simulate --help'],
    [
      ['simulate', '--fault', 'hnag'],
      /'hnag' .* unknown fault hnag. Did you mean hang\?$/,
      'simulate --help',
    ],
    [
      ['simulate', '--wifi-sonics', '1', '--properties', '0'],
      /--wifi-sonics needs at least one property$/,
      'simulate --help',
    ],
    [
      ['simulate', '--sonics', '1', '--signals', '0'],
      /--sonics needs at least one hub \(--signals\)$/,
      'simulate --help',
    ],
  ])('%j is rejected with words and where to read on', async (argv, words, see) => {
    const { code, stdout, stderr } = await runProgram(argv);
    expect([code, stdout]).toEqual([2, '']);
    const [first = '', last] = stderr.split('\n');
    if (typeof words === 'string') expect(first).toBe(`sonic2mqtt: ${words}`);
    else expect(first).toMatch(words);
    expect(last).toBe(`See sonic2mqtt ${see}`);
  });

  it.each([[['check', '--help', '--config=my.yaml']], [['--config', 'my.yaml', 'check', '-h']]])(
    '%j asks for the help of a command',
    async (argv) => {
      const { code, stdout } = await runProgram(argv);
      expect(code).toBe(0);
      expect(stdout).toMatch(/^Usage: sonic2mqtt check [\s\S]*--log-level/);
    },
  );

  it('has the faults that simulate knows in its help', async () => {
    expect((await runProgram(['simulate', '--help'])).stdout).toMatch(/^ {2}missing-page\[=PAGE\] +\S/m);
  });
});
