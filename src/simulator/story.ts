import type { World } from './world.ts';

const leakType = 'water_presence_detected';
const tapRunsMs = 60_000;

/** How often a leak checks whether its valve was closed, in ms. */
const lookMs = 500;

/** THE STORY of the demo: the events with their times, in ms after the start, at the first valves of the world. */
const story: readonly (readonly [
  atMs: number,
  happens: (world: World, sonicIds: readonly string[]) => void,
])[] = [
  [20_000, (world, [, bathroom = '']) => runTap(world, bathroom)],
  [40_000, (world, [kitchen = '']) => leak(world, kitchen)],
];

/** Starts the story. Nothing else happens: at the start, no water runs and no alert is open. */
export function startStory(world: World): void {
  for (const id of world.incidents.ids) world.incidents.delete(id);
  for (const id of world.thingIds) world.runWater(id, false);
  for (const [atMs, happens] of story) world.timeline.after(atMs, () => happens(world, world.thingIds));
}

function runTap(world: World, sonicId: string): void {
  world.runWater(sonicId, true);
  world.timeline.after(tapRunsMs, () => world.runWater(sonicId, false));
}

/**
 * Starts a leak: water runs until somebody closes the valve, which ends the alert. Returns false if the valve is
 * closed, or if there is a leak already.
 */
export function leak(world: World, sonicId: string): boolean {
  const isOpen = () => world.valve(sonicId)?.settled === 'open';
  if (!isOpen() || world.openIncidentOf(leakType, sonicId)) return false;
  world.runWater(sonicId, true);
  const { id } = world.openIncident({ type: leakType, sonicId });
  const look = () => {
    if (isOpen()) return void world.timeline.after(lookMs, look);
    world.runWater(sonicId, false);
    world.closeIncident(id);
  };
  look();
  return true;
}
