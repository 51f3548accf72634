import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { startProcess } from '../support/childProcess.ts';
import { fault, startHouse } from '../support/house.ts';
import { startProgram } from '../support/program.ts';
import { waitFor } from '../support/waitFor.ts';

const checkFile = fileURLToPath(new URL('../../dist/healthcheck.js', import.meta.url));

/** A house whose bridge can be asked as the container's health check asks it. */
async function startContainer() {
  const house = await startHouse({ isStarted: false, cloud: { properties: 1, signals: 1, sonics: 1 } });
  const env = { HEARTBEAT_SOCKET: `health-check-test-${randomUUID()}` };
  const check = async () => {
    const asking = startProcess(process.execPath, [checkFile], { env });
    const { code } = await asking.ended();
    return { code, says: asking.output.trim() };
  };
  const start = () => startProgram(['run'], { config: house.config, env });
  return { house, start, check };
}

describe.runIf(process.platform === 'linux')('the health check of the container', () => {
  it('fails without a bridge, and until the devices are shown', async () => {
    const { house, start, check } = await startContainer();
    expect(await check()).toEqual({ code: 1, says: expect.stringMatching(/^the bridge does not answer/) });
    house.simulator.setFaults([fault('error=503')]);
    start();
    const isJudged = () => house.json('bridge/health')?.status === 'cloud_unreachable';
    await waitFor(isJudged, { what: 'the bridge to say that the cloud is away', timeoutMs: 10_000 });
    expect(await check()).toEqual({ code: 1, says: 'starting' });
    house.simulator.setFaults([]);
    await waitFor(async () => (await check()).code === 0, { what: 'health', timeoutMs: 10_000 });
    const [sonic] = house.simulator.world.sonics.ids;
    await house.watcher.settle();
    expect(house.json(`sonic/${sonic}`)).toBeDefined();
    expect(await check()).toEqual({ code: 0, says: 'ok' });
  });

  it('succeeds while the cloud is away: to start anew would not bring it back', async () => {
    const { house, start, check } = await startContainer();
    house.simulator.setFaults([fault('error=503')]);
    start();
    await waitFor(async () => (await check()).code === 0, { what: 'health', timeoutMs: 20_000 });
    expect(await check()).toEqual({ code: 0, says: 'cloud_unreachable' });
  });
});
