import { mkdirSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { showLife } from '../../../src/health/liveness.ts';
import { FakeClock } from '../../support/fakeClock.ts';
import { logLines } from '../../support/logLines.ts';
import { listenAsSystemd, notifyAvailable } from '../../support/notifySocket.ts';
import { temporaryFolder } from '../../support/program.ts';
import { waitFor } from '../../support/waitFor.ts';

/** A service with these variables. `pass` lets the time to its next sign of life pass. */
function startService(variables: Readonly<Record<string, string>>) {
  for (const name of ['HEARTBEAT_FILE', 'NOTIFY_SOCKET', 'WATCHDOG_USEC']) {
    vi.stubEnv(name, variables[name]);
  }
  const stopping = new AbortController();
  onTestFinished(() => {
    vi.unstubAllEnvs();
    stopping.abort();
  });
  const [clock, lines] = [new FakeClock(), logLines()];
  showLife(clock, lines.log, stopping.signal);
  const pass = async (ms: number) => {
    await waitFor(() => clock.waiting === 1, { what: 'the next sign of life' });
    clock.advance(ms);
  };
  return { clock, lines, stopping, pass };
}

it('the time stamp is renewed every ten seconds until the stop, also after a failure, which is logged once', async () => {
  const folder = join(temporaryFolder(), 'later');
  const file = join(folder, 'beat');
  const { clock, lines, stopping, pass } = startService({ HEARTBEAT_FILE: file });
  for (let failures = 0; failures < 3; failures++) await pass(10_000);
  expect(lines.messages).toEqual([expect.stringMatching(/^warn: The health check fails: ENOENT/)]);
  mkdirSync(folder);
  await pass(10_000);
  for (let renewals = 0; renewals < 2; renewals++) {
    await waitFor(() => clock.waiting === 1, { what: 'the time stamp' });
    utimesSync(file, 1, 1);
    clock.advance(9_999);
    expect(statSync(file).mtimeMs).toBe(1_000);
    clock.advance(1);
    await waitFor(() => statSync(file).mtimeMs > 1_000, { what: 'the next time stamp' });
  }
  await waitFor(() => clock.waiting === 1, { what: 'the wait' });
  stopping.abort();
  await waitFor(() => clock.waiting === 0, { what: 'the end' });
});

it.runIf(notifyAvailable)(
  'systemd hears that the service has started, and then within its limit',
  async () => {
    const { path, listener } = await listenAsSystemd();
    const { pass } = startService({ NOTIFY_SOCKET: path, WATCHDOG_USEC: '180000000' });
    for (let minute = 1; minute < 4; minute++) {
      await listener.waitForOutput(new RegExp(`^listening\n(READY=1\nWATCHDOG=1\n){${minute}}$`));
      await pass(60_000);
    }
  },
);

it('a service that cannot report to systemd says so once, and goes on', async () => {
  const { lines, pass } = startService({ NOTIFY_SOCKET: '/nonexistent/notify' });
  for (let minute = 0; minute < 3; minute++) await pass(60_000);
  expect(lines.messages).toEqual([
    expect.stringMatching(/^warn: Cannot report to systemd: (Failed to notify|spawn systemd-notify ENOENT)/),
  ]);
});

it('nothing is done for nobody', () => {
  expect(startService({}).clock.waiting).toBe(0);
});
