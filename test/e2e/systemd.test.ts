import { expect, it } from 'vitest';
import { fault, startBridge } from '../support/bridge.ts';
import { listenAsSystemd, notifyAvailable } from '../support/notifySocket.ts';

it.runIf(notifyAvailable)(
  'systemd learns that the bridge has started, and that it goes on while the cloud is unreachable',
  async () => {
    const { path, listener } = await listenAsSystemd();
    const bridge = await startBridge({ isStarted: false });
    bridge.start({}, { NOTIFY_SOCKET: path, WATCHDOG_USEC: '300000' });
    await listener.waitForOutput(/^listening\n(READY=1\nWATCHDOG=1\n)+$/);
    bridge.cloud.setFaults([fault('error=503')]);
    await bridge.untilJson('bridge/health', ({ status }) => status === 'cloud_unreachable');
    const before = listener.output.length;
    await listener.waitForOutput(new RegExp(`^[^]{${before}}(READY=1\nWATCHDOG=1\n){3}`));
    expect((await bridge.program.stop()).code).toBe(0);
  },
);
