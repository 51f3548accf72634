import { describe, expect, it, onTestFinished } from 'vitest';
import { httpRequest } from '../support/httpRequest.ts';
import { waitFor } from '../support/waitFor.ts';
import { Home, hourMs, minuteMs, startedHome } from './home.ts';

const secret = 'path-secret-8f3a';

/** How many requests of each operation reach the cloud in the next hour. */
async function requestsInAnHour(home: Home): Promise<Record<string, number>> {
  const since = home.time.now;
  await home.pass(hourMs);
  const counts: Record<string, number> = {};
  for (const { at, operation } of home.requests) {
    if (at >= since && operation !== null) counts[operation] = (counts[operation] ?? 0) + 1;
  }
  return counts;
}

/** A home whose bridge takes calls at a webhook, and how the cloud calls it. */
async function startWithWebhook() {
  const home = await startedHome({
    config: { http: { listen: '127.0.0.1:0', webhook: { secret } }, schedules: {} },
  });
  // The listener is a real one, and takes real time.
  const url = await waitFor(
    () => /http:\/\/127\.0\.0\.1:\d+/.exec(home.lines.map(({ text }) => text).join('\n'))?.[0],
    { what: 'the listener' },
  );
  onTestFinished(async () => {
    home.bridge.stop(() => {});
    const step = () => home.pass(10).then(() => !home.bridge.isRunning);
    await waitFor(step, { what: 'the end' });
  });
  await home.pass(minuteMs);
  const deliver = () => httpRequest(`${url}/webhook/${secret}`, { method: 'POST', body: '{}' });
  return { home, deliver };
}

describe('polls are as many as the schedules say', () => {
  const asScheduled = { list_sonics: 60, read_telemetry: 60, list_incidents: 120 };

  it('where no water has flowed and nothing has changed for an hour', async () => {
    const home = new Home({ config: { schedules: {} } });
    home.world.setValve(home.sonicId, 'closed');
    await home.start();
    await home.pass(hourMs);
    expect(await requestsInAnHour(home)).toMatchObject(asScheduled);
  });

  it('if the webhook reports incidents', async () => {
    const { home, deliver } = await startWithWebhook();
    home.world.openIncident({ type: 'low_temperature', sonicId: home.sonicId });
    expect(await deliver()).toMatchObject({ status: 202 });
    await home.pass(2 * minuteMs);
    expect(home.events('incident_opened').at(-1)).toMatchObject({ type: 'low_temperature' });
    expect(await requestsInAnHour(home)).toMatchObject(asScheduled);
  });

  it('and one more of the valves for an incident that opens, and for one that closes', async () => {
    const home = await startedHome({ config: { schedules: { sonics: '4h' } } });
    const { id } = home.world.openIncident({ type: 'low_temperature', sonicId: home.sonicId });
    expect(await requestsInAnHour(home)).toMatchObject({ list_sonics: 1, list_incidents: 120 });
    home.world.closeIncident(id);
    expect(await requestsInAnHour(home)).toMatchObject({ list_sonics: 1, list_incidents: 120 });
  });
});
