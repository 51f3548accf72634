import { expect, it } from 'vitest';
import { VirtualBroker } from './virtualBroker.ts';
import { ProcessClock, VirtualTime } from './virtualTime.ts';

it('messages for a sleeping machine are no timers of its process, and arrive when it wakes', async () => {
  const time = new VirtualTime();
  const clock = new ProcessClock(time, () => time.now);
  const broker = new VirtualBroker(time, () => 0.5, {
    ...{ handedOver: () => {}, taken: () => {}, delivered: () => {}, linked: () => {} },
  });
  const client = broker.dialFrom(clock)({ clientId: 'sonic2mqtt' });
  let count = 0;
  client.on('message', () => {
    count += 1;
  });
  client.on('connect', () => client.subscribe({ 'a/set': { qos: 0 } }, () => {}));
  await time.runUntil(1_000);
  const before = clock.waiting;
  clock.machine.sleep(10_000);
  for (let sent = 0; sent < 500; sent++) broker.publish('a/set', 'ON', false);
  await time.runUntil(10_000);
  expect(clock.waiting).toBe(before);
  expect(count).toBe(0);
  await time.runUntil(12_000);
  expect(count).toBe(500);
});
