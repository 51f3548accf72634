import type { Property, Signal, Sonic } from '../model/records.ts';
import type { Devices } from './devices.ts';
import { plannedKinds } from './dirty.ts';
import type { OpenIncidents } from './openIncidents.ts';

/** What the cloud lists, by kind. */
export interface Lists {
  readonly property: Devices<Property>;
  readonly signal: Devices<Signal>;
  readonly sonic: Devices<Sonic>;
  readonly incident: OpenIncidents;
}

/** Whether each list was once read completely, so that what is not in it is not in the cloud. */
export function areWhole(lists: Lists): boolean {
  return plannedKinds.every((kind) => lists[kind].isWhole);
}

/** Whether it was also known where everything is that the lists have, so that what is not in them is not wanted. */
export function areCertain(lists: Lists): boolean {
  return areWhole(lists) && plannedKinds.every((kind) => lists[kind].isPlaced);
}
