import { expect, it } from 'vitest';
import type { CommandContext } from '../../../src/cli/command.ts';
import { simulate, simulateHelp } from '../../../src/cli/simulate.ts';

/** Runs the command until it has said so many lines, and then whatever is to be done while it runs. */
async function runSimulate(options: CommandContext['options'], whileRunning: (url: string) => Promise<void>) {
  const stopping = new AbortController();
  const lines: string[] = [];
  let failure: unknown = null;
  const print = (line: string) => {
    if (lines.push(line) < 3) return;
    const url = /http:\S+/.exec(lines[0] ?? '')?.[0] ?? '';
    whileRunning(url)
      .catch((error: unknown) => {
        failure = error;
      })
      .finally(() => stopping.abort());
  };
  const rest = { words: [], env: {}, cwd: '.', complain: print, signal: stopping.signal };
  const status = await simulate({ options, print, ...rest });
  if (failure) throw failure;
  return { status, lines };
}

it('simulate serves as many Wi-Fi sonics as it was asked for, and says so', async () => {
  let total = 0;
  const { status, lines } = await runSimulate({ 'wifi-sonics': '5' }, async (url) => {
    const body = JSON.stringify({ email: 'demo@example.com', password: 'demo' });
    const headers = { 'content-type': 'application/json' };
    const session = await fetch(`${url}/user-service/auth/sign_in`, { method: 'POST', headers, body });
    const authorization = `Bearer ${JSON.parse(await session.text()).token_details}`;
    const list = await fetch(`${url}/ape/v1/sonics_wifi`, { headers: { authorization } });
    total = JSON.parse(await list.text()).total_entries;
  });
  expect([status, total]).toEqual([0, 5]);
  expect(lines[2]).toBe('Properties: 2, signals: 3, sonics: 4, Wi-Fi sonics: 5. Ctrl+C ends it.');
});

it('simulate does not speak of Wi-Fi sonics where there are none', async () => {
  const { lines } = await runSimulate({}, async () => {});
  expect(lines[2]).toBe('Properties: 2, signals: 3, sonics: 4. Ctrl+C ends it.');
});

it.each([
  [{ 'wifi-sonics': 'many' }, '--wifi-sonics must be a whole number from 0 to 100000; got many'],
  [{ 'wifi-sonics': '1', properties: '0' }, '--wifi-sonics needs at least one property'],
])('simulate refuses %o', async (options, message) => {
  await expect(runSimulate(options, async () => {})).rejects.toThrow(message);
});

it('simulate explains Wi-Fi sonics', () => {
  expect(simulateHelp().join('\n')).toMatch(/--wifi-sonics N\n +sonics that need no signal/);
});
