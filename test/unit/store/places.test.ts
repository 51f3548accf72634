import { expect, it } from 'vitest';
import { cloudKinds } from '../../../src/model/devices.ts';
import type { Signal } from '../../../src/model/records.ts';
import { seededRandom } from '../../../src/simulator/random.ts';
import { Store } from '../../../src/store/store.ts';
import type { Reading } from '../../../src/store/table.ts';
import { changedViews } from '../../support/changedViews.ts';
import { FakeClock } from '../../support/fakeClock.ts';
import { anIncident, aProperty, aSignal, aSonic } from '../../support/views.ts';

const properties = ['home', 'shop', 'barn'];
const signals = ['s1', 's2', 's3', 's4'];
const sonics = ['v1', 'v2', 'v3', 'v4', 'v5'];

/** What is shown of each device, as a text by kind and id. */
function shownIn(store: Store): Map<string, string> {
  const all = cloudKinds.flatMap((kind) => store.ids(kind).map((id) => [kind, id] as const));
  return new Map(
    all.map(([kind, id]) => {
      const view = store.view(kind, id);
      const contents = view?.kind === 'property' ? view.contents : null;
      return [`${kind}/${id}`, JSON.stringify([view, contents])];
    }),
  );
}

/** An account in which things come, go and move at random, and a store that reads a part of it at each step. */
function history(seed: number, selection: readonly string[]) {
  const random = seededRandom(seed);
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
  const clock = new FakeClock();
  const store = new Store({ selection, clock });
  const propertyOf = new Map(signals.map((id) => [id, pick(properties)]));
  const signalOf = new Map<string, string | null>(sonics.map((id) => [id, pick(signals)]));
  const namedOf = new Map<string, string | null>();
  const alive = new Set([...properties, ...signals, ...sonics]);
  const incidents = new Map<
    string,
    { sonic_id: string | null; signal_id: string | null; type: string | null }
  >();
  const toggle = (id: string) => alive.delete(id) || alive.add(id);
  let isComplete = true;
  const read = <T>(ids: readonly string[], recordOf: (id: string) => T): Reading<T> => {
    const listed = ids.filter((id) => alive.has(id) && (isComplete || random() < 0.6));
    return {
      records: listed.map(recordOf),
      isComplete,
      startedAt: clock.monotonic() - pick([0, 0, 0, 1_500]),
    };
  };
  const sonicOf = (id: string) => aSonic({ id, signal_id: signalOf.get(id) ?? null });
  const wifiSonicOf = (id: string) => ({ ...aSonic({ id, signal_id: null }), property_id: namedOf.get(id) });
  const readOwned = () => {
    const lists = new Map<string, Reading<Pick<Signal, 'id'>>>();
    const refused: string[] = [];
    for (const id of store.devices.property.ids) {
      const owned = signals.filter((each) => propertyOf.get(each) === id);
      if (random() < 0.1) refused.push(id);
      else if (random() < 0.9)
        lists.set(
          id,
          read(owned, (each) => ({ id: each })),
        );
    }
    store.setOwnedSignals(lists, refused);
  };
  const deeds: readonly (() => unknown)[] = [
    () => store.replaceProperties(read(properties, (id) => aProperty({ id }))),
    readOwned,
    readOwned,
    () =>
      store.replaceSignals(
        read(signals, (id) =>
          aSignal({ id, cloud_connection: pick(['connected', 'connected', 'disconnected']) }),
        ),
      ),
    ...[1, 2].map(() => () => {
      const wifi = sonics.filter((id) => namedOf.has(id));
      store.replaceSonics(
        read(
          sonics.filter((id) => !namedOf.has(id)),
          sonicOf,
        ),
        read(wifi, wifiSonicOf),
      );
    }),
    () =>
      store.replaceIncidents({
        ...read([], () => anIncident()),
        records: [...incidents].map(([id, named]) => anIncident({ id, ...named })),
      }),
    () => store.setSonic(sonicOf(pick(sonics)), clock.monotonic()),
    () =>
      store.markStale({
        [pick(['properties', 'signals', 'sonics', 'incidents'])]: clock.monotonic() - 5_000,
      }),
    () => signalOf.set(pick(sonics), pick([null, ...signals])),
    () => propertyOf.set(pick(signals), pick(properties)),
    () => toggle(pick([...signals, ...sonics])),
    () => random() < 0.3 && toggle(pick(properties)),
    () => {
      const id = pick(sonics);
      if (!namedOf.delete(id)) namedOf.set(id, pick([null, ...properties]));
    },
    () => {
      const sonic = pick(sonics);
      const type = pick(['water_presence_detected', 'cloud_disconnection', null]);
      const signal_id = pick([null, signalOf.get(sonic) ?? null]);
      incidents.set(`i${incidents.size}`, { sonic_id: pick([null, sonic, sonic]), signal_id, type });
    },
    () => {
      const [id, named] = pick([...incidents]) ?? [];
      if (id && named) incidents.set(id, { ...named, sonic_id: null });
    },
    () => incidents.delete(pick([...incidents.keys()])),
  ];
  return {
    store,
    step: () => {
      clock.advance(1_000);
      isComplete = random() < 0.85;
      pick(deeds)();
    },
  };
}

it.each([
  ['the whole account', []],
  ['selected properties', ['home', 'shop']],
])(
  'of %s, what becomes different is planned again, and a leak is shown at its valve',
  (_words, selection) => {
    for (let seed = 1; seed <= 40; seed++) {
      const { store, step } = history(seed, selection);
      let before = shownIn(store);
      for (let steps = 0; steps < 60; steps++) {
        step();
        const after = shownIn(store);
        const dirty = changedViews(store);
        const devices = [...new Set([...before.keys(), ...after.keys()])];
        const different = devices.filter((key) => before.get(key) !== after.get(key));
        const missed = different.filter((key) => {
          const [kind, id] = key.split('/') as ['sonic', string];
          return !dirty[kind].has(id);
        });
        const hidden = store.ids('incident').filter((id) => {
          const sonic = store.sonicView(store.incidents.get(id)?.sonic_id ?? '');
          return sonic !== null && !sonic.incidents.some((each) => each.id === id);
        });
        expect({ missed, hidden }, `seed ${seed}, step ${steps}`).toEqual({ missed: [], hidden: [] });
        before = after;
      }
    }
  },
);
