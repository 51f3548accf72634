import { afterAll, describe, expect, it } from 'vitest';
import { hourly, startBridge } from '../support/bridge.ts';
import { runBuilt, runProgram } from '../support/callProgram.ts';
import { httpRequest } from '../support/httpRequest.ts';
import { freePort } from '../support/ports.ts';

const bridge = await startBridge({
  cloud: { properties: 2, signals: 2, sonics: 3, wifiSonics: 1 },
  config: { schedules: hourly, http: { listen: '127.0.0.1:0' }, homeassistant: { language: 'de' } },
  isStarted: false,
});
afterAll(() => bridge.close());
const { config } = bridge;

/** What the command prints, and what the status page gives. */
const bothTexts = async () => {
  const { stdout } = await runProgram(['dashboard'], { config });
  return [stdout, (await httpRequest(`${await bridge.httpUrl()}/dashboard.yaml`)).text];
};

describe('sonic2mqtt dashboard', () => {
  it('says in one line that the bridge does not run, or that the broker cannot be reached', async () => {
    const notRunning = await runBuilt(['dashboard'], { config });
    expect(notRunning).toMatchObject({ code: 1, stdout: '' });
    expect(notRunning.stderr.trim().split('\n')).toEqual([
      expect.stringMatching(
        /sonic2mqtt does not run: sonic2mqtt\/bridge\/state is not there\. Start it first$/,
      ),
    ]);
    const url = `mqtt://127.0.0.1:${await freePort()}`;
    const unreachable = await runProgram(['dashboard'], { config: { ...config, mqtt: { url } } });
    expect(unreachable).toMatchObject({ code: 1, stdout: '' });
    expect(unreachable.stderr.trim().split('\n')).toEqual([expect.stringMatching(/^MQTT broker: .*refused/)]);
    const off = await runProgram(['dashboard'], { config: { ...config, homeassistant: { enabled: false } } });
    expect(off).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('homeassistant.enabled'),
    });
  });

  it('prints what the status page gives, of the devices of the running bridge', async () => {
    bridge.start();
    await bridge.untilShown();
    const { code, stdout, stderr } = await runProgram(['dashboard'], { config });
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toContain('text: "Wasser bei „Kitchen“ absperren?"\n');
    const page = await httpRequest(`${await bridge.httpUrl()}/dashboard.yaml`);
    expect([page.status, page.headers['content-type']]).toEqual([200, 'text/yaml; charset=utf-8']);
    expect(page.text).toBe(stdout);
  });

  it('leaves out a valve that has its name in common with one of another account', async () => {
    expect(await bothTexts()).toEqual([
      expect.stringContaining('valve.kitchen'),
      expect.stringContaining('valve.kitchen'),
    ]);
    const availability = [{ topic: 'holiday/bridge/state' }];
    const device = { name: 'Kitchen', identifiers: ['sonic2mqtt_1'] };
    const components = { valve_valve: { platform: 'valve', unique_id: 'sonic2mqtt_1_valve', name: null } };
    const message = JSON.stringify({ availability, device, components });
    await bridge.mqtt.publish('homeassistant/device/sonic2mqtt_1/config', message, { retain: true });
    for (const text of await bothTexts()) expect(text).not.toContain('valve.kitchen');
  });
});
