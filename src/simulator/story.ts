import type { World } from './world.ts';

const leakType = 'water_presence_detected';
const tapRunsMs = 60_000;

/** How often a leak looks whether its valve was closed. */
const lookMs = 500;

/** THE STORY of the demo: what happens by itself, in ms after the start, with the first valves of the world. */
const story: readonly (readonly [
  atMs: number,
  happens: (world: World, sonicIds: readonly string[]) => void,
])[] = [
  [20_000, (world, [, bathroom = '']) => runTap(world, bathroom)],
  [40_000, (world, [kitchen = '']) => leak(world, kitchen)],
];

/** Lets nothing happen but the story: no water runs and no alert is open at its start. */
export function startStory(world: World): void {
  for (const id of world.incidents.ids) world.incidents.delete(id);
  for (const id of world.thingIds) world.runWater(id, false);
  for (const [atMs, happens] of story) world.timeline.after(atMs, () => happens(world, world.thingIds));
}

function runTap(world: World, sonicId: string): void {
  world.runWater(sonicId, true);
  world.timeline.after(tapRunsMs, () => world.runWater(sonicId, false));
}

/** Water runs until somebody closes the valve, which ends the alert. False if it leaks already, or behind a closed valve. */
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
