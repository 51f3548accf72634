import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect } from 'vitest';
import { z } from 'zod';
import { waitFor } from '../support/waitFor.ts';
import { type Household, settled, startHousehold, stopHousehold } from './household.ts';
import { addPhone, type Phone, type PhoneMessage } from './phone.ts';

/** The folder of the blueprints. */
export const blueprintFolder = new URL('../../blueprints/', import.meta.url);

const imported = z.object({
  raw_data: z.string(),
  validation_errors: z.array(z.string()).nullable(),
  suggested_filename: z.string(),
});

const services = z.record(z.string(), z.record(z.string(), z.unknown()));

let server: Server;
/** The household of this file, and the phone of who lives there. */
export let household: Household;
export let phone: Phone;

/** Starts a household and a phone for the tests of a file, and stops them after these. */
export function useHousehold(): void {
  beforeAll(async () => {
    server = createServer((request, response) => {
      response.end(readFileSync(new URL(`.${request.url}`, blueprintFolder)));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    household = await startHousehold();
    phone = await addPhone(household.home, 'My phone');
    // On a busy machine Home Assistant is there long before it has added what the bridge announces.
    expect(await settled(valveIsMissing)).toEqual([]);
  });

  afterAll(async () => {
    phone?.close();
    server?.close();
    await stopHousehold(household);
  });
}

export const sonicId = () => household.cloud.world.sonics.ids[0] ?? '';
export const propertyId = () => household.cloud.world.properties.ids[0] ?? '';
export const valveInTheCloud = () => household.cloud.world.sonics.get(sonicId())?.valve_state;

/** Imports a blueprint from its address, as a person does; rejects with what is wrong with it. */
export async function importBlueprint(file: string): Promise<void> {
  const { port } = server.address() as AddressInfo;
  const answer = await household.home.ask('blueprint/import', { url: `http://127.0.0.1:${port}/${file}` });
  const { raw_data: yaml, validation_errors: errors } = imported.parse(answer);
  expect(errors).toBeNull();
  await household.home.ask('blueprint/save', { domain: 'automation', path: `sonic2mqtt/${file}`, yaml });
}

/** A state may be there from before a restart, without anything that can move the valve. */
async function valveIsMissing(): Promise<string[]> {
  const { valve: actions = {} } = services.parse(await household.home.ask('get_services'));
  const isThere = (await household.home.states()).has('valve.kitchen') && 'open_valve' in actions;
  return isThere ? [] : ['valve.kitchen is missing'];
}

export async function expectState(entityId: string, wanted: string): Promise<void> {
  const wrong = async () => {
    const state = (await household.home.states()).get(entityId)?.state;
    return state === wanted ? [] : [`${entityId} is ${state}, not ${wanted}`];
  };
  expect(await settled(wrong)).toEqual([]);
}

/** Waits for a message to the phone whose title is matched, of those after so many others. */
export const message = (title: RegExp, from: number): Promise<PhoneMessage> =>
  waitFor(() => phone.messages.slice(from).find((each) => title.test(each.title)), {
    what: () => `the message ${title}; there are ${phone.messages.map((each) => each.title).join(', ')}`,
    timeoutMs: 180_000,
  });

/** Creates an automation of a blueprint, and waits until it is on. */
export async function useBlueprint(blueprint: string, input: object, name = blueprint): Promise<void> {
  await household.home.saveAutomation(name, {
    alias: name.replaceAll('_', ' '),
    use_blueprint: { path: `sonic2mqtt/${blueprint}.yaml`, input },
  });
  await expectState(`automation.${name}`, 'on');
}

export async function commandValve(action: 'open' | 'close'): Promise<void> {
  await household.home.callService('valve', `${action}_valve`, 'valve.kitchen');
  await expectState('valve.kitchen', action === 'open' ? 'open' : 'closed');
}

export async function restartHomeAssistant(meanwhile: () => unknown = () => {}): Promise<void> {
  await household.home.stop();
  await meanwhile();
  household.home = await household.startHome();
  expect(await settled(valveIsMissing)).toEqual([]);
}
