import { describe, expect, it } from 'vitest';
import { commandFilters } from '../../../src/homeassistant/command.ts';
import { planDevice } from '../../../src/homeassistant/plan.ts';
import { readDiscovery, Topics } from '../../../src/homeassistant/topics.ts';
import { discoveryOf } from '../../support/discoveries.ts';
import { bridgeView, context, propertyView, sonicView, wholeHouse } from '../../support/views.ts';

const alone = new Topics('w', 'ha');
const topics = new Topics('w', 'ha', { index: 2, count: 3 });

describe('topics of one of several bridges', () => {
  it('have its name in the place of the bridge, and are the same for everything else', () => {
    expect(topics.bridge('state')).toBe('w/bridge_2/state');
    expect(topics.discovery('bridge', '')).toBe('ha/device/sonic2mqtt_w_bridge_2/config');
    expect([topics.requestFilter, topics.response('x')]).toEqual([
      'w/bridge_2/request/+',
      'w/bridge_2/response/x',
    ]);
    const renamed = commandFilters(alone).map((filter) => filter.replace(/^w\/bridge\//, 'w/bridge_2/'));
    expect(commandFilters(topics)).toEqual(renamed);
  });

  it('are not those of another bridge', () => {
    expect(topics.parse('w/bridge_2/refresh')).toEqual({ kind: 'bridge', id: '', path: 'refresh' });
    for (const name of ['bridge', 'bridge_0', 'bridge_22']) {
      expect(topics.parse(`w/${name}/refresh`)).toBeNull();
      expect(topics.bridgeNamed(`w/${name}/refresh`)).toBe(name);
    }
    expect(alone.parse('w/bridge_2/refresh')).toBeNull();
    for (const topic of ['w/bridge_x/state', 'w/sonic/bridge', 'x/bridge/state', 'w', 'w/bridges/a']) {
      expect(topics.bridgeNamed(topic)).toBeNull();
    }
    expect(topics.operationOf('w/bridge/request/read_sonic')).toBeNull();
    expect(topics.isOpenToAnswers('w/bridge_2/response/x')).toBe(true);
    expect(topics.isOpenToAnswers('w/bridge_1/response/x')).toBe(false);
  });

  it('find what other bridges keep, and no command', () => {
    const takes = (topic: string) =>
      topics.bridgeFilters.some((filter) => new RegExp(`^${filter.replaceAll('+', '[^/]+')}$`).test(topic));
    for (const path of ['state', 'cloud', 'health', 'info', 'homeassistant']) {
      expect(takes(`w/bridge_1/${path}`)).toBe(true);
    }
    for (const filter of commandFilters(topics)) expect(takes(filter.replaceAll('+', 'x'))).toBe(false);
    for (const path of ['refresh', 'event', 'log_level/set', 'request/x', 'response/x']) {
      expect(takes(`w/bridge_1/${path}`)).toBe(false);
    }
  });

  it('name what a discovery message is of, and who has made it', () => {
    expect(topics.discovered('ha/device/sonic2mqtt_a-1/config')).toEqual({ isBridge: false, id: 'a-1' });
    expect(topics.discovered('ha/device/other_a-1/config')).toBeNull();
    for (const view of wholeHouse) {
      const payload = JSON.stringify(discoveryOf(view, { topics }));
      const { stateTopic = '' } = readDiscovery(payload) ?? {};
      expect(alone.bridgeNamed(stateTopic)).toBe('bridge_2');
      expect(new Topics('other', 'ha').bridgeNamed(stateTopic)).toBeNull();
    }
    const odd = { availability: [{ topic: 'w/bridge_1/cloud' }], components: {} };
    expect(readDiscovery(JSON.stringify(odd))).toBeNull();
  });
});

describe('discovery of one of several bridges', () => {
  const ids = (view: Parameters<typeof discoveryOf>[0], of = topics) =>
    Object.values(discoveryOf(view, { topics: of }).components).map((each) => Object(each).unique_id);

  it('has entities of the bridge by its name, and those of the cloud’s devices as ever', () => {
    expect(ids(bridgeView()).every((each) => each.startsWith('sonic2mqtt_w_bridge_2_'))).toBe(true);
    expect(ids(sonicView())).toEqual(ids(sonicView(), alone));
    expect(discoveryOf(bridgeView(), { topics }).device).toMatchObject({
      identifiers: ['sonic2mqtt_w_bridge_2'],
      name: 'sonic2mqtt w 2',
    });
    expect(discoveryOf(propertyView(), { topics }).device).toMatchObject({
      via_device: 'sonic2mqtt_w_bridge_2',
    });
  });

  it('depends on this bridge alone', () => {
    for (const view of wholeHouse) {
      const { discovery } = planDevice(view, { ...context, topics });
      expect(discovery?.write().text).not.toMatch(/"w\/bridge(_[013-9])?\//);
      expect(discovery?.write().text).toContain('"w/bridge_2/state"');
    }
  });
});
