import { expect, it, onTestFinished, vi } from 'vitest';
import { reportToSystemd } from '../../../src/health/systemd.ts';
import { FakeClock } from '../../support/fakeClock.ts';
import { logLines } from '../../support/logLines.ts';
import { listenAsSystemd, notifyAvailable } from '../../support/notifySocket.ts';
import { waitFor } from '../../support/waitFor.ts';

/** A service that reports to this socket each minute. */
function startService(socket: string) {
  vi.stubEnv('NOTIFY_SOCKET', socket);
  vi.stubEnv('WATCHDOG_USEC', '180000000');
  const stopping = new AbortController();
  onTestFinished(() => {
    vi.unstubAllEnvs();
    stopping.abort();
  });
  const [clock, lines, service] = [new FakeClock(), logLines(), { isAlive: true }];
  const isAlive = () => service.isAlive;
  const started = Promise.resolve();
  const reporting = reportToSystemd({ started, isAlive, stopping: stopping.signal }, clock, lines.log);
  const passMinute = async () => {
    await waitFor(() => clock.waiting === 1, { what: 'the next report' });
    clock.advance(60_000);
  };
  return { lines, service, stopping, reporting, passMinute };
}

it.runIf(notifyAvailable)(
  'a service that is no longer alive is reported no more, and one that is again is',
  async () => {
    const { path, listener } = await listenAsSystemd();
    const { lines, service, passMinute } = startService(path);
    await passMinute();
    await listener.waitForOutput(/^listening\nREADY=1\nWATCHDOG=1\n$/);
    service.isAlive = false;
    // The first time may be because the computer slept.
    await passMinute();
    await listener.waitForOutput(/READY=1\n(WATCHDOG=1\n){2}$/);
    for (let minute = 0; minute < 3; minute++) await passMinute();
    expect(lines.messages).toEqual(['error: Reading the cloud has stopped. systemd restarts sonic2mqtt']);
    service.isAlive = true;
    await passMinute();
    await listener.waitForOutput(/READY=1\n(WATCHDOG=1\n){3}$/);
  },
);

it('what cannot be reported is logged once, and stops nothing', async () => {
  const { lines, stopping, reporting, passMinute } = startService('/nonexistent/notify');
  for (let minute = 0; minute < 2; minute++) await passMinute();
  await waitFor(() => lines.messages.length > 0, { what: 'the warning' });
  expect(lines.messages).toEqual([
    expect.stringMatching(/^warn: Cannot report to systemd: (Failed to notify|spawn systemd-notify ENOENT)/),
  ]);
  stopping.abort();
  await reporting;
});

it('without a request of systemd nothing is done', async () => {
  const { lines, reporting } = startService('');
  await reporting;
  expect(lines.messages).toEqual([]);
});
