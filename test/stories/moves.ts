import type { World } from '../../src/simulator/world.ts';

/** The property in which a signal or sonic is now. The world itself remembers where it was installed. */
export function propertyOf(world: World, id: string | null): string | undefined {
  const signalId = world.sonics.get(id ?? '')?.signal_id ?? id ?? '';
  return world.properties.ids.find((propertyId) => world.signalIdsOf(propertyId).includes(signalId));
}

/** Moves a sonic to another signal. */
export function moveSonic(world: World, sonicId: string, signalId: string): void {
  move(sonicId, world.sonicIdsOf(world.sonics.get(sonicId)?.signal_id ?? ''), world.sonicIdsOf(signalId));
  world.sonics.change(sonicId, { signal_id: signalId });
}

/** Moves a signal to another property, with all its sonics. */
export function moveSignal(world: World, signalId: string, propertyId: string): void {
  move(signalId, world.signalIdsOf(propertyOf(world, signalId) ?? ''), world.signalIdsOf(propertyId));
}

/** Takes a signal out of its property. It stays in the account. */
export function orphanSignal(world: World, signalId: string): void {
  move(signalId, world.signalIdsOf(propertyOf(world, signalId) ?? ''), []);
}

/** Between lists of the world that are read-only to everybody else. */
function move(id: string, from: readonly string[], to: readonly string[]): void {
  (from as string[]).splice(from.indexOf(id), 1);
  (to as string[]).push(id);
}
