import type { Random } from '../../src/base/backoff.ts';
import { between, pick } from '../../src/simulator/random.ts';
import type { World } from '../../src/simulator/world.ts';

const dayMs = 24 * 60 * 60 * 1_000;

/** Something that happens at a sonic; returned is what takes it back, if anything needs to. */
type Change = (world: World, sonicId: string, random: Random) => () => void;

const nothing = () => {};

const changes: Readonly<Record<string, Change>> = {
  valveByHand: (world, sonicId) => {
    world.setValve(sonicId, 'closed');
    return () => world.setValve(sonicId, 'open');
  },
  incident: (world, sonicId) => {
    const { id } = world.openIncident({ type: 'water_presence_detected', sonicId });
    return () => world.closeIncident(id);
  },
  strangeIncident: (world, sonicId) => {
    const { id } = world.openIncident({ type: 'meteor_strike', sonicId });
    return () => world.closeIncident(id);
  },
  radio: (world, sonicId) => {
    world.dropRadio(sonicId);
    return () => world.connectRadio(sonicId);
  },
  hub: (world, sonicId) => {
    const signalId = world.sonics.get(sonicId)?.signal_id;
    if (!signalId) return nothing;
    world.dropCloud(signalId);
    return () => world.connectCloud(signalId);
  },
  battery: (world, sonicId, random) => {
    const battery = world.things.get(sonicId)?.battery ?? null;
    world.changeSonic(sonicId, { battery: pick(random, ['low', 'mid', 'high']) ?? null });
    return () => world.changeSonic(sonicId, { battery });
  },
  name: (world, sonicId, random) => {
    const name = world.things.get(sonicId)?.name ?? null;
    world.changeSonic(sonicId, { name: `Tap ${between(random, 1, 1_000_000)}` });
    return () => world.changeSonic(sonicId, { name });
  },
  lateUsage: (world, sonicId, random) => {
    const date = new Date(world.now - 2 * dayMs).toISOString().slice(0, 10);
    world.correctUsage(sonicId, date, between(random, 1, 500));
    return nothing;
  },
};

/** Lets every kind of change happen at so many sonics each; the returned function takes them back. */
export function changeWorld(world: World, random: Random, perKind: number): () => void {
  const undo = Object.values(changes).flatMap((change) =>
    Array.from({ length: perKind }, () => change(world, pick(random, world.sonics.ids) ?? '', random)),
  );
  return () => {
    for (const each of undo.reverse()) each();
  };
}

/** Takes so many sonics off the lists, as a hub's move does; the returned function puts the same ones back. */
export function hideSonics(world: World, random: Random, count: number): () => void {
  const hidden = Array.from({ length: count }, () => {
    const sonic = world.sonics.get(pick(random, world.sonics.ids) ?? '');
    if (sonic) world.sonics.delete(sonic.id);
    return sonic;
  });
  return () => {
    for (const sonic of hidden) if (sonic) world.sonics.set(sonic.id, sonic);
  };
}

/** Takes a sonic away for good and puts a new one in its place. */
export function replaceSonic(world: World, random: Random): void {
  const sonic = world.sonics.get(pick(random, world.sonics.ids) ?? '');
  if (!sonic?.signal_id) return;
  world.removeSonic(sonic.id);
  world.addSonic(sonic.signal_id);
}
