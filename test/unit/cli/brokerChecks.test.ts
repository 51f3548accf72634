import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { brokerChecks } from '../../../src/cli/brokerChecks.ts';
import { collectFindings, type Finding, runChecks } from '../../../src/cli/checks.ts';
import { readConfiguration } from '../../../src/cli/configuration.ts';
import { startAedes, startRefusing } from '../../support/brokers.ts';
import { mosquittoAvailable, startMosquitto } from '../../support/mosquitto.ts';
import { watchTopics } from '../../support/mqttWatcher.ts';
import { freePort } from '../../support/ports.ts';
import { temporaryFolder } from '../../support/program.ts';

/** What `check` finds of the broker there. */
async function findingsOf(url: string, visitor = 'check'): Promise<readonly Finding[]> {
  const folder = temporaryFolder();
  const account = { email: 'me@example.com', password: 'secret' };
  writeFileSync(join(folder, 'config.yaml'), JSON.stringify({ cloud: account, mqtt: { url } }));
  const context = {
    env: {},
    cwd: folder,
    print: () => {},
    complain: () => {},
    signal: new AbortController().signal,
    configFile: undefined,
    logLevel: undefined,
  };
  const configuration = await readConfiguration(context, { level: 'error' });
  const { findings, report } = collectFindings();
  await runChecks(brokerChecks(configuration, visitor, context.signal), report, context.signal);
  return findings;
}

async function checked(url: string, visitor?: string): Promise<string[]> {
  const findings = await findingsOf(url, visitor);
  return findings.map(({ outcome, words }) => `${outcome} ${words}`.replaceAll(url, 'URL'));
}

const connected = 'OK connected to URL';

describe('check finds that', () => {
  it('a broker works, and leaves nothing there', async () => {
    const url = await startAedes({});
    const watcher = await watchTopics(url, '#');
    expect(await checked(url)).toEqual([connected, 'OK published a message and received it']);
    expect(watcher.messages.map(({ topic }) => topic)).toEqual([
      'sonic2mqtt/sonic/check/valve/set',
      'sonic2mqtt/sonic/check/availability',
      'homeassistant/device/sonic2mqtt_check/config',
    ]);
    expect((await watchTopics(url, '#')).messages).toEqual([]);
  });

  it('a bridge is online at the base topic', async () => {
    const url = await startAedes({});
    const bridge = await watchTopics(url, 'none');
    await bridge.publish('sonic2mqtt/bridge/state', 'online', { retain: true });
    expect((await checked(url)).at(-1)).toBe('OK sonic2mqtt is online at the base topic sonic2mqtt');
    expect((await checked(url, 'setup')).at(-1)).toBe(
      'WARN A sonic2mqtt is already online at the base topic sonic2mqtt. Stop it, or give this one another base topic',
    );
  });

  it('a broker rejects the user, or is not there, which a setup tells apart', async () => {
    const rejecting = await startAedes({
      authenticate: (_client, _user, _password, done) => done(null, false),
    });
    const textsOf = async (url: string) => (await findingsOf(url)).map(({ text }) => text);
    expect(await textsOf(rejecting)).toEqual(['result_broker_rejects']);
    expect(await textsOf(`mqtt://127.0.0.1:${await freePort()}`)).toEqual(['result_broker_fails']);
    expect((await textsOf(await startAedes({})))[0]).toBe('result_broker_works');
    const forbidding = await startRefusing(({ topic }) => topic === 'homeassistant/status');
    expect((await textsOf(forbidding)).at(-1)).toBe('result_broker_rejects');
  });

  it('a broker takes no last will', async () => {
    const url = await startAedes({
      preConnect: (client, { will }, done) => {
        if (will) client.conn.destroy();
        done(null, !will);
      },
    });
    expect(await checked(url)).toEqual([
      expect.stringMatching(/^FAIL URL: the connection was closed before/),
    ]);
  });

  it('a broker forbids one subscription', async () => {
    const url = await startRefusing(({ topic }) => topic === 'homeassistant/status');
    expect(await checked(url)).toEqual([
      connected,
      expect.stringMatching(/^FAIL the broker rejects a subscription: homeassistant\/status: \w/),
    ]);
  });

  it('a broker takes messages and sends none back', async () => {
    const url = await startAedes({ authorizeForward: () => null });
    expect(await checked(url)).toEqual([
      connected,
      'FAIL the broker does not send sonic2mqtt/sonic/check/valve/set back. Check its access list',
    ]);
  }, 25_000);

  it.skipIf(!mosquittoAvailable()).each([
    ['states', 'sonic2mqtt/sonic/check/availability', ['homeassistant/#', 'sonic2mqtt/bridge/#']],
    ['devices', 'homeassistant/device/sonic2mqtt_check/config', ['homeassistant/status', 'sonic2mqtt/#']],
  ])('a broker forbids %s', async (_, topic, permitted) => {
    const { url } = await startMosquitto({ permitted });
    expect(await checked(url)).toEqual([
      connected,
      expect.stringMatching(`^FAIL the broker rejects messages, for example ${topic}: .*[Nn]ot authorized`),
    ]);
  });

  it.skipIf(!mosquittoAvailable())('a broker does not let it publish at the topic of a command', async () => {
    const permitted = ['homeassistant/#', 'sonic2mqtt/bridge/#', 'sonic2mqtt/sonic/+/availability'];
    const { url } = await startMosquitto({ permitted });
    expect(await checked(url)).toEqual([connected, 'WARN the test message could not be published']);
  });
});
