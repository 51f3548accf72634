import { stateViolations } from '../support/stateViolations.ts';
import type { Home } from './home.ts';
import { tell } from './words.ts';

const devicesOf = ({ broker: { retained } }: Home) =>
  [...retained].filter(([topic]) => topic.startsWith('homeassistant/device/'));

const componentsOf = (home: Home) =>
  devicesOf(home).flatMap(([, payload]) =>
    Object.entries<Record<string, unknown>>(JSON.parse(payload).components),
  );

tell(
  import.meta.url,
  {
    /** This stands in every field of every device, but for those by which it is known. */
    fill: ({ world, sonicId, signalId, propertyId }, odd = '') => {
      const fields = (record: object | undefined) =>
        Object.fromEntries(
          Object.keys(record ?? {})
            .filter((key) => !/^(id|signal_id|auto_shut_off_.*)$/.test(key))
            .map((key) => [key, JSON.parse(odd)]),
        ) as never;
      world.changeSonic(sonicId, fields(world.sonics.get(sonicId)));
      world.signals.change(signalId, fields(world.signals.get(signalId)));
      world.properties.change(propertyId, fields(world.properties.get(propertyId)));
      world.settings.change(propertyId, fields(world.settings.get(propertyId)));
    },
    kinds: (home, ...ids) =>
      ids.map((id) => {
        const { components } = home.discovery(home.sonicId);
        const { platform, device_class, unit_of_measurement, state_class, last_reset_value_template } =
          components[id];
        const isReset = last_reset_value_template !== undefined && 'reset';
        return [id, platform, device_class, unit_of_measurement, state_class, isReset]
          .filter(Boolean)
          .join(' ');
      }),
    devices: (home) => `${devicesOf(home).length} devices`,
  },
  {
    entities: (home) => `${componentsOf(home).length} entities`,
    /** What Home Assistant would refuse of the states that are shown. */
    refusals: (home) =>
      `refused: ${componentsOf(home).flatMap(([id, component]) => stateViolations(id, component, home.broker.retained))}`,
    errors: (home) => home.linesFrom(0).filter((text) => /^(error|fatal)/.test(text)),
  },
);
