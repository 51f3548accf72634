import { beforeEach } from 'vitest';
import { waitFor } from '../support/waitFor.ts';
import {
  expectState,
  household,
  importBlueprint,
  phone,
  sonicId,
  useBlueprint,
} from './blueprintHousehold.ts';

/** Imports the blueprint and uses it, as the form of an earlier version of it stored its fields. */
export async function closeKitchenValveAtLeak(): Promise<void> {
  await importBlueprint('close_valve_at_leak.yaml');
  await useBlueprint('close_valve_at_leak', {
    leak_sensor: 'binary_sensor.kitchen_leak',
    valve: 'valve.kitchen',
    phones: [phone.deviceId],
    confirm_timeout: 12,
  });
  await expectState('valve.kitchen', 'open');
  await expectIdle();
}

export const openLeak = () =>
  household.cloud.world.openIncident({ type: 'water_presence_detected', sonicId: sonicId() });

/** The titles of the messages to the phone, of those after so many others. */
export const titles = (from: number) => phone.messages.slice(from).map(({ title }) => title);

let mark = 0;
/** What was published to move a valve since the test began, by whomever. */
export const commands = () =>
  household.watcher
    .commands(mark)
    .map(({ topic, text }) => `${topic.split('/')[2] === sonicId() ? 'kitchen' : 'other'} ${text}`);

/** Counts the commands of each test by themselves. */
export function countCommands(): void {
  beforeEach(() => {
    mark = household.watcher.messages.length;
  });
}

/** Ends all leaks, and waits until Home Assistant has seen it. */
export async function endLeaks(): Promise<void> {
  for (const id of household.cloud.world.incidents.ids) household.cloud.world.closeIncident(id);
  await expectState('binary_sensor.kitchen_leak', 'off');
  await expectIdle();
}

/** Waits until no run of the automation is left, and it had the time to begin one. */
export async function expectIdle(): Promise<void> {
  let quietSince = 0;
  await waitFor(
    async () => {
      const state = (await household.home.states()).get('automation.close_valve_at_leak');
      if (state?.attributes['current'] !== 0) quietSince = 0;
      else if (quietSince === 0) quietSince = performance.now();
      return quietSince > 0 && performance.now() - quietSince > 3_000;
    },
    { what: 'the automation to have nothing to do', timeoutMs: 180_000, intervalMs: 200 },
  );
}

export async function reloadAutomations(): Promise<void> {
  await household.home.ask('call_service', { domain: 'automation', service: 'reload' });
}
