import { type Home, newDisk } from './home.ts';
import { tell } from './words.ts';

const file = '/data/sonic2mqtt.json';
const off = { auto_shut_off: false };
const damages: Readonly<Record<string, (text: string) => string>> = {
  cut: (text) => text.slice(0, text.length / 2),
  wrong: (text) => text.replace('"leftMs":', '"leftMs":-'),
  broken: () => '{',
  older: () => kept.file,
};
const topicOf = ({ propertyId }: { readonly propertyId: string }) =>
  `sonic2mqtt/property/${propertyId}/pause`;
/** What the disk and the broker had when a story said so. */
let kept = { file: '', topic: '' };
let gone: ReturnType<Home['world']['properties']['get']>;

tell(import.meta.url, {
  request: (home, isOn) => {
    const request = { params: { property_id: home.propertyId }, body: { auto_shut_off: isOn === 'true' } };
    home.broker.publish('sonic2mqtt/bridge/request/update_property_settings', JSON.stringify(request), false);
  },
  number: (home) => {
    const { number_pause: number = {}, ...others } = home.discovery(home.propertyId).components;
    const { min, max, unit_of_measurement: unit, command_topic: topic } = number;
    return `${[min, max, unit, topic].join(' ')}, ${Object.keys(others).filter((id) => /pause|resume/.test(id))}`;
  },
  /** So many answers show what was before the pause. */
  stale: (home, count) => {
    let left = Number(count);
    home.strike = ({ operation }) =>
      operation === 'read_property_settings' && left-- > 0
        ? (answer) => ({
            ...answer,
            text: answer.text.replace('"auto_shut_off":false', '"auto_shut_off":true'),
          })
        : null;
  },
  log: (home) => home.lines.map(({ text }) => text).filter((text) => text.includes('shut-off')),
  hold: ({ disk }, words = '') => disk.hold((text) => text.includes(words)),
  release: ({ disk }) => disk.hold(() => false),
  keep: (home) => {
    kept = { file: home.disk.files.get(file) ?? '', topic: home.broker.retained.get(topicOf(home)) ?? '' };
  },
  lose: ({ disk: { files } }, how = '') => {
    if (how === 'missing') files.clear();
    else files.set(file, damages[how]?.(files.get(file) ?? '') ?? '');
  },
  /** The broker has what it had before, of a run that came to less. */
  older: (home) => {
    home.broker.publish(topicOf(home), kept.topic, true);
    home.broker.publish('sonic2mqtt/bridge/memory', '{"revision":1}', true);
  },
  forge: (home) => {
    const pause = { until: '9999-01-01T00:00:00.000Z', minutes: 1e9, state: 'paused', reason: null };
    home.broker.publish(topicOf(home), JSON.stringify(pause), true);
    home.broker.publish('sonic2mqtt/bridge/memory', '{"revision":1000000000}', true);
  },
  elsewhere: (home) => {
    home.bridge.kill();
    home.anotherBridge({}, { disk: newDisk() }).start();
  },
  added: ({ world }) => void world.settings.change(world.addProperty().id, off),
  leave: ({ world, propertyId }) => {
    gone = world.properties.get(propertyId);
    world.leaveProperty(propertyId);
  },
  back: ({ world, propertyId }) => {
    if (gone) world.addProperty(gone);
    world.settings.change(propertyId, off);
  },
});
