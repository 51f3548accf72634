import { spawnSync } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { stringify } from 'yaml';
import { startBridge } from '../support/bridge.ts';
import { atTestEnd, startProcess } from '../support/childProcess.ts';
import { temporaryFolder } from '../support/program.ts';

const mainFile = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const dnsServer = '127.53.53.53';

it('a DNS server that never answers keeps no bridge from its local broker, nor from stopping within five seconds', async ({
  skip,
}) => {
  const isPossible = spawnSync('unshare', ['--mount', 'true']).status === 0;
  skip(!isPossible, 'it needs rights for namespaces');
  const silent = createSocket('udp4');
  await new Promise<void>((resolve, reject) =>
    silent.once('error', reject).bind(53, dnsServer, () => resolve()),
  );
  atTestEnd(() => silent.close());
  const { broker, mqtt, config } = await startBridge({ isStarted: false });
  const cwd = temporaryFolder();
  const resolver = join(cwd, 'resolv.conf');
  writeFileSync(resolver, `nameserver ${dnsServer}\noptions timeout:30 attempts:5\n`);
  writeFileSync(
    join(cwd, 'config.yaml'),
    stringify({
      ...config,
      cloud: {
        base_url: 'http://cloud.example',
        email: 'me@example.com',
        password: 'hush-hush',
        request_timeout: '300ms',
      },
      mqtt: { url: broker.url.replace('127.0.0.1', 'localhost') },
      log: { level: 'debug' },
    }),
  );
  const script = `mount --bind ${resolver} /etc/resolv.conf && exec "$0" "$@"`;
  const bridge = startProcess('unshare', ['--mount', 'sh', '-c', script, process.execPath, mainFile, 'run'], {
    cwd,
    env: { ...process.env, NO_COLOR: '1' },
  });
  await bridge.waitForOutput(/Connected to the MQTT broker/);
  // Three attempts to sign in. Node.js looks up two hosts at a time.
  await bridge.waitForOutput(/(appliances: cannot sign in: timeout[\s\S]*){2}/);
  const from = mqtt.messages.length;
  await broker.restart();
  await mqtt.waitForMessage(({ topic, text }) => topic === 'sonic2mqtt/bridge/health' && text !== '', {
    what: 'the bridge on its broker',
    from,
  });
  const { code, durationMs } = await bridge.stop('SIGTERM');
  expect(code).toBe(0);
  expect(durationMs).toBeLessThan(5_000);
});
