import { expect, it } from 'vitest';
import { startFaultyBridge } from '../support/faultyBridge.ts';
import { waitFor } from '../support/waitFor.ts';

const timeoutMs = 2_000;

/** The share of the deadline that each handshake takes: each tenth, and the last tenth more closely. */
const shares = [0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.9, 0.92, 0.94, 0.96, 0.98];

it('a TLS handshake that ends at any tenth of the deadline leaves each command an outcome', async () => {
  const { bridge, cloud, sonicIds } = await startFaultyBridge({
    ...{ isSecure: true, sonics: shares.length, requestTimeoutMs: timeoutMs },
  });
  let next = 0;
  await cloud.begin({ handshakeMs: () => (shares[next++ % shares.length] ?? 0) * timeoutMs });
  const paths = ['valve/set', 'name/set'].flatMap((end) => sonicIds.map((id) => `sonic/${id}/${end}`));
  const outcomeOf = (path: string) => bridge.outcomes(path).find(({ status }) => status !== 'sent');
  // Polls, too.
  await bridge.mqtt.publish('sonic2mqtt/bridge/refresh', 'now');
  await Promise.all(paths.map((path) => bridge.mqtt.publish(`sonic2mqtt/${path}`, 'CLOSE')));
  await waitFor(() => !bridge.program.isRunning || paths.every(outcomeOf), {
    what: 'an outcome of each command',
  });
  expect(bridge.program.isRunning, bridge.program.output).toBe(true);
  const unsent = paths.filter((path) =>
    /while connecting|before the request was sent/.test(outcomeOf(path)?.reason ?? ''),
  );
  const written = cloud.asked.filter((line) => /^(PUT|PATCH) /.test(line));
  expect(unsent.length).toBeGreaterThan(0);
  expect(written).toHaveLength(paths.length - unsent.length);
  await cloud.repair();
  const polled = bridge.polls(1);
  await bridge.mqtt.publish('sonic2mqtt/bridge/refresh', 'now');
  await polled;
});
