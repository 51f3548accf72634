import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { brokerChecks } from '../../../src/cli/brokerChecks.ts';
import { runChecks } from '../../../src/cli/checks.ts';
import { readConfiguration } from '../../../src/cli/configuration.ts';
import { startAedes, startRefusing } from '../../support/brokers.ts';
import { mosquittoAvailable, startMosquitto } from '../../support/mosquitto.ts';
import { watchTopics } from '../../support/mqttWatcher.ts';
import { temporaryFolder } from '../../support/program.ts';

/** What `check` says of the broker there. */
async function checked(url: string, visitor = 'check'): Promise<string[]> {
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
  const lines: string[] = [];
  const reporter = {
    progress: () => {},
    found: ({ outcome, words }: { outcome: string; words: string }) => void lines.push(`${outcome} ${words}`),
  };
  await runChecks(brokerChecks(configuration, visitor, context.signal), reporter, context.signal);
  return lines.map((line) => line.replaceAll(url, 'URL'));
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
});
