import { operationRow } from '../cloud/operations.ts';
import type { ValveAction } from '../model/valve.ts';
import type { World } from './world.ts';

/** An answer with another status than 200; thrown. */
export class Refusal extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** The record of that id; another account's is forbidden. */
export function found<T>(world: World, records: { get(id: string): T | undefined }, id: string): T {
  const record = records.get(id);
  if (record) return record;
  throw world.isForeign(id) ? new Refusal(403, 'forbidden') : new Refusal(404, 'not found');
}

/** Guests may look, not change. */
export function mustNotBeGuest(world: World, propertyId: string | undefined): void {
  if (propertyId !== undefined && world.roles.get(propertyId) === 'guest') {
    throw new Refusal(403, 'a guest may not change anything');
  }
}

/** Sends a valve, of whichever kind of sonic, on its way. */
export function moveValve(world: World, sonicId: string, action: ValveAction): void {
  mustNotBeGuest(world, world.propertyOf(sonicId));
  if (world.valve(sonicId)?.testing) throw new Refusal(409, 'a pressure test is running');
  world.commandValve(sonicId, action);
}

/** Does what a user asks of an incident that exists. */
export function actOnIncident(world: World, incidentId: string, action: string): void {
  const incident = found(world, world.incidents, incidentId);
  mustNotBeGuest(world, world.propertyOfIncident(incident));
  if (world.actOnIncident(incidentId, action)) return;
  throw new Refusal(422, `action ${action} is not possible, only ${incident.possible_actions.join(', ')}`);
}

/** Judges the fields of a property that come with others; those that nobody knows may be anything. */
export function mustSuitProperty(id: string | null, fields: Readonly<Record<string, unknown>>): void {
  const { id: given = id, ...rest } = fields;
  if (given !== id) throw new Refusal(422, 'id cannot be set');
  const issues = operationRow('update_property').body?.safeParse(rest).error?.issues ?? [];
  for (const { code, path, message } of issues) {
    if (code !== 'unrecognized_keys') throw new Refusal(422, [...path, message].join(': '));
  }
}
