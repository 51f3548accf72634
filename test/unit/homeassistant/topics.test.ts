import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { announcingBridge, Topics } from '../../../src/homeassistant/topics.ts';
import { discoveryOf } from '../../support/discoveries.ts';
import { wholeHouse } from '../../support/views.ts';

const topics = new Topics('home/water', 'ha');

describe('topics', () => {
  it('are all below the base topic, the bridge without an id', () => {
    expect(topics.base).toBe('home/water');
    expect(topics.bridge('state')).toBe('home/water/bridge/state');
    expect(topics.device('bridge', '')).toBe('home/water/bridge');
    expect(topics.device('sonic', 'a1')).toBe('home/water/sonic/a1');
    expect(topics.below('bridge', '', 'refresh')).toBe('home/water/bridge/refresh');
    expect(topics.below('signal', 'b2', 'availability')).toBe('home/water/signal/b2/availability');
    expect(topics.incident('c3')).toBe('home/water/incident/c3');
  });

  it('of discovery are below its own prefix', () => {
    expect(topics.discovery('sonic', 'a1')).toBe('ha/device/sonic2mqtt_home_water_a1/config');
    expect(topics.discovery('bridge', '')).toBe('ha/device/sonic2mqtt_home_water_bridge/config');
    expect(topics.discoveryFilter).toBe('ha/device/+/config');
  });

  it.each([
    ['home/water/sonic/a1', { kind: 'sonic', id: 'a1', path: '' }],
    ['home/water/sonic/a1/valve/set', { kind: 'sonic', id: 'a1', path: 'valve/set' }],
    ['home/water/property/p/incidents', { kind: 'property', id: 'p', path: 'incidents' }],
    ['home/water/signal/s/availability', { kind: 'signal', id: 's', path: 'availability' }],
    ['home/water/bridge', { kind: 'bridge', id: '', path: '' }],
    ['home/water/bridge/log_level/set', { kind: 'bridge', id: '', path: 'log_level/set' }],
    ['home/water/sonic', null],
    ['home/water/incident/i', { kind: 'incident', id: 'i', path: '' }],
    ['home/water/incident/i/action', { kind: 'incident', id: 'i', path: 'action' }],
    ['home/water/incidents/i', null],
    ['home/water/toString/a', null],
    ['home/water', null],
    ['home/waterfall/sonic/a1', null],
    ['water/sonic/a1', null],
    ['', null],
  ])('%s is about %j', (topic, target) => {
    expect(topics.parse(topic)).toEqual(target);
  });

  it('that are made are understood', () => {
    const kind = fc.constantFrom('property', 'signal', 'sonic');
    const id = fc.stringMatching(/^[A-Za-z0-9_-]{1,20}$/);
    const path = fc.stringMatching(/^[a-z_]{1,9}(\/[a-z_]{1,9}){0,2}$/);
    fc.assert(
      fc.property(kind, id, path, (...[kind, id, path]) => {
        expect(topics.parse(topics.below(kind, id, path))).toEqual({ kind, id, path });
      }),
    );
  });

  it('of others are about nothing, or about what stands in them', () => {
    const part = fc.oneof(fc.constantFrom('sonic', 'bridge', 'incident', ''), fc.string());
    fc.assert(
      fc.property(fc.array(part, { maxLength: 4 }), (parts) => {
        const topic = `home/water/${parts.join('/')}`;
        const target = topics.parse(topic);
        if (!target) return;
        const { kind, id, path } = target;
        expect([topics.device(kind, id), topics.below(kind, id, path)]).toContain(topic);
      }),
    );
  });
});

describe('what is looked for at the start', () => {
  /** Whether an MQTT filter without `#` takes the topic. */
  const takes = (filter: string, topic: string) =>
    new RegExp(`^${filter.replaceAll('+', '[^/]+')}$`).test(topic);
  const filters = [...topics.stateFilters, ...topics.documents('bridge', '')];
  const isFound = (topic: string) => filters.some((filter) => takes(filter, topic));

  it.each([
    ...['sonic/a1', 'sonic/a1/telemetry', 'signal/s/incidents', 'property/p/settings', 'incident/i'],
    ...['bridge/homeassistant', 'bridge/state'],
  ])('finds %s', (path) => {
    expect(isFound(`home/water/${path}`)).toBe(true);
  });

  it.each(['sonic/a1/valve/set', 'sonic/garden/moisture', 'bridge/log_level/set', 'bridge/refresh'])(
    'leaves %s alone',
    (path) => {
      expect(isFound(`home/water/${path}`)).toBe(false);
    },
  );
});

describe('a discovery message', () => {
  it.each(['home/water', 'other'])('tells the bridge of %s that made it', (base) => {
    for (const view of wholeHouse) {
      const discovery = discoveryOf(view, { topics: new Topics(base, 'ha') });
      expect(announcingBridge(JSON.stringify(discovery))).toBe(`${base}/bridge/state`);
    }
  });

  it('is nobody’s when it is anything else', () => {
    const someJson = fc.jsonValue().map((value) => JSON.stringify(value));
    fc.assert(
      fc.property(fc.oneof(fc.string(), someJson), (payload) => {
        expect(announcingBridge(payload)).toBeNull();
      }),
    );
  });
});

describe('identifiers', () => {
  it.each([
    ['sonic2mqtt', 'sonic2mqtt', ''],
    ['holiday', 'sonic2mqtt_holiday', 'holiday'],
    ['ferien/häuser', 'sonic2mqtt_ferien_h_user', 'ferien/häuser'],
  ])(
    'below %s begin with %s, so that two bridges for one account show their own devices',
    (base, node, label) => {
      const own = new Topics(base, 'ha');
      expect(own.identifier('bridge', '')).toBe(`${node}_bridge`);
      expect(own.identifier('sonic', 'a1')).toBe(`${node}_a1`);
      expect(own.discovery('sonic', 'a1')).toBe(`ha/device/${node}_a1/config`);
      expect(own.bridgeLabel).toBe(label);
      expect(own.isDiscovery(own.discovery('bridge', ''))).toBe(true);
      expect(own.isDiscovery('ha/device/lamp/config')).toBe(false);
      expect(own.isDiscovery(`other/device/${node}_a1/config`)).toBe(false);
    },
  );
});
