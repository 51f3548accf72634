import { describe, expect, it } from 'vitest';
import { Topics } from '../../../src/homeassistant/topics.ts';
import { isOwnMessage } from '../../../src/publishing/retainedMessages.ts';

const topics = new Topics('w', 'ha');
const madeBy = (base: string) =>
  JSON.stringify({ availability: [{ topic: `${base}/bridge/state` }], components: { a: {} } });

describe('a retained message', () => {
  it.each([
    ['w/bridge/state', 'offline'],
    ['w/sonic/kitchen', '{}'],
    ['w/sonic/kitchen/usage', 'x'],
    ['w/property/home/pause', '{}'],
    ['w/incident/leak', '[]'],
    ['w/sonic/kitchen/valve/set', 'OPEN'],
    ['w/bridge/request/read_sonic', '{}'],
    ['ha/device/sonic2mqtt_w_kitchen/config', madeBy('w')],
    ['ha/device/sonic2mqtt_w_bridge/config', madeBy('w')],
  ])('at %s is one of the bridge', (topic, payload) => {
    expect(isOwnMessage(topics, topic, payload)).toBe(true);
  });

  it.each([
    ['w/sonic/garden/moisture', '41'],
    ['w/sonic/kitchen/note', 'behind the stairs'],
    ['w/property/home/valve', '{}'],
    ['w/sonic/über/usage', '{}'],
    ['w/bridge/note', '{}'],
    ['w/other/state', 'online'],
    ['ha/device/sonic2mqtt_w_x/config', '{}'],
    ['ha/device/sonic2mqtt_kitchen/config', madeBy('w')],
    ['ha/device/sonic2mqtt_w_y/config', madeBy('other')],
    ['ha/sensor/y/config', madeBy('w')],
  ])('at %s belongs to others', (topic, payload) => {
    expect(isOwnMessage(topics, topic, payload)).toBe(false);
  });
});
