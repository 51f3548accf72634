import { incidentTypes } from '../../src/model/records.ts';
import type { Home } from './home.ts';
import { tell } from './words.ts';

const topics = new WeakMap<Home, readonly string[]>();

tell(import.meta.url, {
  /** The valves on the first hub. */
  near: ({ world, signalId }) => world.sonicIdsOf(signalId),
  types: (home) => {
    const shown = incidentTypes.map(
      (type) => home.entity(home.sonicId, `binary_sensor_incident_${type}`).state,
    );
    return `all types ${JSON.stringify([...new Set(shown)])}`;
  },
  /** All lists spell their IDs in capitals. */
  capitals: (home) => {
    const inCapitals = (text: string) =>
      text.replace(/(?<="(id|sonic_id|signal_id|property_id)": ?)"[^"]*"/g, (id) => id.toUpperCase());
    home.strike = ({ operation }) =>
      operation?.startsWith('list_') ? (good) => ({ ...good, text: inCapitals(good.text) }) : null;
  },
  /** Which topics have come and gone, but for those of incidents. */
  topics: (home) => {
    const isOther = (topic: string) => !topic.startsWith('sonic2mqtt/incident/');
    const now = [...home.broker.retained.keys()].filter(isOther);
    const before = topics.get(home);
    topics.set(home, now);
    if (!before) return undefined;
    const without = (some: readonly string[], others: readonly string[]) =>
      some.filter((each) => !others.includes(each));
    return `gone: ${without(before, now)}, come: ${without(now, before)}`;
  },
  lose: ({ disk: { files } }, what) => void (what === 'files' && files.clear()),
});
