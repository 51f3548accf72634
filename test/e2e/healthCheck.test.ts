import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { fault, startBridge } from '../support/bridge.ts';
import { startProcess } from '../support/childProcess.ts';
import { waitFor } from '../support/waitFor.ts';

const checkFile = fileURLToPath(new URL('../../dist/healthcheck.js', import.meta.url));

it.runIf(process.platform === 'linux')(
  'the health check of the container passes once the devices are shown, and while the cloud is unreachable',
  async () => {
    const bridge = await startBridge({ isStarted: false, cloud: { faults: [fault('error=503')] } });
    const env = { HEARTBEAT_SOCKET: `health-check-test-${randomUUID()}` };
    const check = async () => {
      const checking = startProcess(process.execPath, [checkFile], { env });
      const { code } = await checking.ended();
      return { code, says: checking.output.trim() };
    };
    expect(await check()).toEqual({ code: 1, says: expect.stringMatching(/^the bridge does not answer/) });
    bridge.start({}, env);
    await bridge.untilJson('bridge/health', ({ status }) => status === 'cloud_unreachable');
    expect(await check()).toEqual({ code: 1, says: 'starting' });
    bridge.cloud.setFaults([]);
    await waitFor(async () => (await check()).code === 0, { what: 'health' });
    await bridge.mqtt.settle();
    expect(bridge.json(`sonic/${bridge.cloud.world.sonics.ids[0]}`)).toBeDefined();
    bridge.cloud.setFaults([fault('error=503')]);
    await bridge.untilJson('bridge/health', ({ status }) => status === 'cloud_unreachable');
    expect(await check()).toEqual({ code: 0, says: 'cloud_unreachable' });
  },
);
