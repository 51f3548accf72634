import type { Clock } from '../../src/base/clock.ts';
import type { PropertyView, SignalView, SonicView } from '../../src/model/devices.ts';
import { isOpen } from '../../src/model/incidents.ts';
import { settledValve, valveShown } from '../../src/model/valve.ts';
import { Simulator } from '../../src/simulator/simulator.ts';

/** When all examples happen. */
export const exampleTime = '2026-11-20T07:30:00.000Z';

const stoppedClock: Clock = {
  now: () => Date.parse(exampleTime),
  monotonic: () => 0,
  after: () => () => {},
};

function present<T>(value: T | undefined | null): T {
  if (value === undefined || value === null) throw new Error('the simulated cloud is not as it was');
  return value;
}

/** A sonic of the simulated cloud with all around it, always the same. */
export function exampleHome(): { property: PropertyView; signal: SignalView; sonic: SonicView } {
  const { world } = new Simulator({ quiet: true, clock: stoppedClock });
  const sonic = present([...world.sonics.values()][0]);
  const signal = present(world.signals.get(sonic.signal_id ?? ''));
  const propertyId = present(world.propertyOf(signal.id));
  const incidents = [...world.incidents.values()].filter(isOpen);
  return {
    property: {
      kind: 'property',
      property: present(world.properties.get(propertyId)),
      settings: present(world.settings.get(propertyId)),
      notifications: present(world.notifications.get(propertyId)),
      incidents,
      areIncidentsKnown: true,
    },
    signal: { kind: 'signal', signal, propertyId, isUnread: false, incidents: [], areIncidentsKnown: true },
    sonic: {
      kind: 'sonic',
      sonic,
      signal,
      propertyId,
      valve: valveShown(sonic.valve_state, settledValve(sonic.valve_state)),
      isUnread: false,
      travelTimeS: 6.1,
      telemetry: present(world.telemetry(sonic.id)),
      incidents,
      areIncidentsKnown: true,
    },
  };
}
