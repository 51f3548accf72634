import { describe, expect, it } from 'vitest';
import { type Home, minuteMs, secondMs, startedHome } from './home.ts';

/** A home that is well, and whose machine sleeps. */
async function wokenHome(schedules: object, sleepMs: number): Promise<Home> {
  const home = await startedHome({ config: { schedules } });
  await home.pass(5 * minuteMs);
  home.oracle.excuse(sleepMs + minuteMs);
  home.bridge.machine.sleep(sleepMs);
  // A broker gives a client up after one and a half times its keepalive.
  home.time.after(90 * secondMs, () => home.broker.cut('Keepalive timeout'));
  return home;
}

describe('a machine that has slept for an hour', () => {
  it('asks for all that became due meanwhile as soon as it is awake', async () => {
    const home = await wokenHome({ incidents: '20m', sonics: '20m', usage: '40m' }, 60 * minuteMs);
    await home.pass(60 * minuteMs);
    const from = home.time.now;
    await home.pass(30 * secondMs);
    for (const operation of ['list_incidents', 'list_sonics', 'list_signals', 'read_daily_usage'])
      expect(home.asked(operation).filter(({ at }) => at >= from)).not.toEqual([]);
    await home.stop();
  });

  it('shows nothing of before as available, though only the valves can be read', async () => {
    const home = await wokenHome({}, 60 * minuteMs);
    const { sonicId } = home;
    const { id } = home.world.openIncident({ type: 'high_volume_alert', sonicId });
    home.strike = ({ operation }) =>
      operation === 'list_sonics' || operation === 'list_wifi_sonics' ? null : 'hang-before';
    const seen: unknown[] = [];
    home.onTaken = ({ topic, payload }) => {
      if (topic !== 'sonic2mqtt/bridge/cloud' || payload !== 'online') return;
      for (const component of ['binary_sensor_incident_high_volume_alert', 'sensor_water_today'])
        seen.push(home.entity(sonicId, component).state);
    };
    await home.pass(60 * minuteMs + 30 * secondMs);
    expect(seen).toEqual([null, null]);
    home.strike = () => null;
    await home.pass(10 * minuteMs);
    expect(home.entity(sonicId, 'binary_sensor_incident_high_volume_alert').state).toBe('ON');
    home.world.closeIncident(id);
    await home.pass(minuteMs);
    await home.stop();
  });
});
