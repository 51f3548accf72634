import { expect, it } from 'vitest';
import { fault, startBridge } from '../support/bridge.ts';
import { listenAsSystemd, notifyAvailable } from '../support/notifySocket.ts';

it.runIf(notifyAvailable)(
  'systemd learns that the devices are shown, that all goes on while the cloud is unreachable, and of the end',
  async () => {
    const { path, listener } = await listenAsSystemd();
    const bridge = await startBridge({ isStarted: false, cloud: { faults: [fault('error=503')] } });
    bridge.start({}, { NOTIFY_SOCKET: path, WATCHDOG_USEC: '300000' });
    await bridge.untilJson('bridge/health', ({ status }) => status === 'cloud_unreachable');
    expect(listener.output).toBe('listening\n');
    bridge.cloud.setFaults([]);
    await listener.waitForOutput(/^listening\nREADY=1\n(WATCHDOG=1\n)+$/);
    expect(bridge.json(`sonic/${bridge.cloud.world.sonics.ids[0]}`)).toBeDefined();
    bridge.cloud.setFaults([fault('error=503')]);
    await bridge.untilJson('bridge/health', ({ status }) => status === 'cloud_unreachable');
    const before = listener.output.length;
    await listener.waitForOutput(new RegExp(`^[^]{${before}}(WATCHDOG=1\n){3}`));
    expect((await bridge.program.stop()).code).toBe(0);
    await listener.waitForOutput(/\nSTOPPING=1\n/);
  },
);
