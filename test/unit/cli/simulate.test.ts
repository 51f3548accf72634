import { expect, it } from 'vitest';
import { runProgram } from '../../../src/cli/program.ts';

/** Runs the command until it has printed all its lines, and then what is to be done while it runs. */
async function runSimulate(argv: readonly string[], whileRunning: (url: string) => Promise<void>) {
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
  const context = { env: {}, cwd: '.', print, complain: print, signal: stopping.signal };
  const status = await runProgram(['simulate', ...argv], context);
  if (failure) throw failure;
  return { status, lines };
}

it('simulate serves as many Wi-Fi sonics and the role that it was asked for, and says so', async () => {
  const totals: number[] = [];
  const { status, lines } = await runSimulate(['--wifi-sonics', '5', '--role', 'guest'], async (url) => {
    const body = JSON.stringify({ email: 'demo@example.com', password: 'demo' });
    const headers = { 'content-type': 'application/json' };
    const session = await fetch(`${url}/user-service/auth/sign_in`, { method: 'POST', headers, body });
    const authorization = `Bearer ${JSON.parse(await session.text()).token_details}`;
    for (const path of ['sonics_wifi', 'properties?membership_role=guest']) {
      const list = await fetch(`${url}/ape/v1/${path}`, { headers: { authorization } });
      totals.push(JSON.parse(await list.text()).total_entries);
    }
  });
  expect([status, totals]).toEqual([0, [5, 2]]);
  expect(lines[2]).toBe('Properties: 2, hubs: 3, valves: 4, Wi-Fi valves: 5. Press Ctrl+C to stop.');
});

it('simulate does not mention Wi-Fi sonics where there are none', async () => {
  const { lines } = await runSimulate([], async () => {});
  expect(lines[2]).toBe('Properties: 2, hubs: 3, valves: 4. Press Ctrl+C to stop.');
});
