import { describe, expect, it } from 'vitest';
import { viewId } from '../../../src/homeassistant/discovery.ts';
import { entityStates, planDevice } from '../../../src/homeassistant/plan.ts';
import type { DeviceView } from '../../../src/model/devices.ts';
import {
  anIncident,
  aProperty,
  aSignal,
  aSonic,
  context,
  propertyView,
  signalView,
  situations,
  someNotifications,
  someSettings,
  sonicView,
  topics,
  wholeHouse,
} from '../../support/views.ts';

/** The states of a device's entities. */
const statesOf = (view: DeviceView, offers = context.offers): Record<string, unknown> =>
  entityStates(view, { ...context, offers });

/** The retained messages of a device by the path below its topic, parsed where they are JSON. */
function planned(view: DeviceView, changes: Partial<typeof context> = {}): Record<string, unknown> {
  const { messages } = planDevice(view, { ...context, ...changes });
  const own = view.kind === 'bridge' ? 'sonic2mqtt/bridge' : `sonic2mqtt/${view.kind}/${view.kind}-1`;
  return Object.fromEntries(
    messages.map(({ topic, payload }) => {
      expect(topic.startsWith(own)).toBe(true);
      return [topic.slice(own.length), payload.startsWith('{') ? JSON.parse(payload) : payload];
    }),
  );
}

describe('the messages of a sonic', () => {
  it('hold no usage where the cloud has none, and leave what is there as long as nobody knows: its sum', () => {
    const topic = 'sonic2mqtt/sonic/sonic-1/usage';
    expect(planned(sonicView({ usage: null }))).not.toHaveProperty('/usage');
    expect(planDevice(sonicView({ usage: null }), context).staying).toEqual([]);
    expect(planned(sonicView({ usage: undefined }))).not.toHaveProperty('/usage');
    expect(planDevice(sonicView({ usage: undefined }), context).staying).toEqual([topic]);
  });

  it('hold no telemetry and no pressure tests where the cloud has none, and no values before they are read', () => {
    const none = planned(sonicView({ telemetry: null, pressureTests: null, pressureTestJobId: null }));
    for (const path of ['/telemetry', '/pressure_tests']) expect(none).not.toHaveProperty(path);
    const unread = planned(sonicView({ telemetry: undefined, pressureTests: undefined }));
    expect(unread['/telemetry']).toEqual({
      flow_l_min: null,
      pressure_bar: null,
      water_temperature_c: null,
      probed_at: null,
    });
    expect(unread['/pressure_tests']).toEqual({
      last_day: null,
      today_count: null,
      days: null,
      job_id: 'job-1',
    });
  });

  it('show a pressure test that was started here, also if the cloud shows none', () => {
    expect(planned(sonicView({ pressureTests: null }))['/pressure_tests']).toEqual({
      last_day: null,
      today_count: null,
      days: {},
      job_id: 'job-1',
    });
  });

  it('say that it is offline before anything else', () => {
    const sonic = aSonic({ radio_connection: 'disconnected' });
    const [first] = planDevice(sonicView({ sonic }), context).messages;
    expect(first).toEqual({ topic: 'sonic2mqtt/sonic/sonic-1/availability', payload: 'offline' });
  });
});

it.each<[string, DeviceView, object]>([
  ['a valve whose hub could not be read', sonicView({ signal: 'unknown' }), {}],
  ['a valve that could not be read for too long', sonicView({ reach: 'stale' }), { radio_connection: null }],
  ['a hub that could not be read for too long', signalView({ reach: 'stale' }), { cloud_connection: null }],
  [
    'a hub without its cloud link',
    signalView({ signal: aSignal({ cloud_connection: 'disconnected' }) }),
    { cloud_connection: 'OFF' },
  ],
])('%s is offline', (_, view, states) => {
  expect(planned(view)['/availability']).toBe('offline');
  expect(statesOf(view)).toMatchObject(states);
});

describe('the messages of a property', () => {
  it('are its record, settings, notification settings and incidents', () => {
    const older = anIncident({ id: 'older', detected_at: '2024-01-01T00:00:00Z', severity: 'high' });
    expect(planned(propertyView({ incidents: [older, anIncident()] }), { isDiscoveryOn: false })).toEqual({
      '': aProperty(),
      '/settings': someSettings(),
      '/notifications': someNotifications(),
      '/pause': { until: null, minutes: 0, state: 'none', reason: null },
      '/incidents': { open_count: 2, highest_severity: 'high', open: [anIncident(), older] },
    });
  });

  it('hold no values of settings before these are read, and nothing but the id of a property that was not', () => {
    const unread = planned(propertyView({ settings: undefined, notifications: undefined, isStale: true }));
    for (const path of ['', '/settings', '/notifications']) {
      const { id, ...values } = unread[path] as Record<string, unknown>;
      expect(id).toBe(path === '' ? 'property-1' : undefined);
      expect(new Set(Object.values(values))).toEqual(new Set([null]));
    }
    expect(statesOf(propertyView({ isStale: true }))).toMatchObject({
      name: '',
      active: null,
      address: null,
    });
  });

  it('hold no settings of a guest', () => {
    const paths = Object.keys(planned(propertyView({ settings: null, notifications: null })));
    // A pause is the bridge's own, and may be owed from before.
    expect(paths).toEqual(['', '/pause', '/incidents', '/homeassistant']);
  });

  it('count all open incidents and show the fifty newest', () => {
    const incidents = Array.from({ length: 60 }, (_, day) =>
      anIncident({ id: `i${day}`, detected_at: new Date(Date.UTC(2025, 0, day)).toISOString() }),
    );
    const { open_count, open } = planned(propertyView({ incidents }))['/incidents'] as {
      open_count: number;
      open: { id: string }[];
    };
    expect([open_count, open.length, open[0]?.id, open.at(-1)?.id]).toEqual([60, 50, 'i59', 'i10']);
  });
});

describe('the states of entities', () => {
  it('have a last reset that Home Assistant skips while the water of the day is unknown', () => {
    expect(statesOf(sonicView({ usage: undefined }))).toMatchObject({ water_today: null, last_reset: '' });
  });

  it('are null where nothing is known, and never a guess', () => {
    const nothing = situations.find(({ name }) => name === 'nothing is known');
    const known = (nothing?.views ?? []).flatMap((view) =>
      // A text has no word for unknown.
      Object.entries(statesOf(view)).filter(([, value]) => value !== null && value !== ''),
    );
    expect(known).toEqual([
      ['cloud', 'OFF'],
      ['log_level', 'info'],
      ['requests_last_hour', 0],
      ['version', '1.2.3'],
      ['summary', 'Not all alerts could be read.'],
      ['alert_words', []],
      // What the bridge itself has done it knows.
      ['command_failed', 'OFF'],
    ]);
  });

  it('are cut to what Home Assistant takes, between two characters', () => {
    const status = (text: string) => statesOf(sonicView({ sonic: aSonic({ status: text }) }))['status'];
    expect(status('x'.repeat(300))).toBe('x'.repeat(255));
    expect(status('💧'.repeat(300))).toBe('💧'.repeat(127));
    expect(status('')).toBeNull();
  });

  it('are no text that its pattern refuses, on which Home Assistant would fail', () => {
    const at = (time: string | null) =>
      statesOf(propertyView({ settings: someSettings({ pressure_tests_schedule: time }) }))[
        'pressure_tests_schedule'
      ];
    expect(at('23:59:00')).toBe('23:59:00');
    expect(at('3 am')).toBe('');
    expect(at('24:00:00')).toBe('');
    expect(at(null)).toBe('');
  });

  it('keep the key of what is not offered, lest Home Assistant miss it before it has withdrawn the entity', () => {
    expect(statesOf(sonicView(), () => false)).toMatchObject({ valve: 'open', name: '' });
    const withoutUsage = statesOf(sonicView({ usage: null }), () => true);
    expect(withoutUsage).toMatchObject({ water_today: null, last_reset: '' });
  });
});

describe('a plan', () => {
  it('says nothing to Home Assistant where that is switched off', () => {
    for (const view of wholeHouse) {
      const { discovery, messages } = planDevice(view, { ...context, isDiscoveryOn: false });
      expect(discovery).toBeNull();
      expect(messages.filter(({ topic }) => topic.endsWith('/homeassistant'))).toEqual([]);
    }
  });

  it('is the same for the same knowledge, byte for byte', () => {
    for (const view of wholeHouse) {
      const copy = JSON.parse(JSON.stringify(view)) as DeviceView;
      const again = view.kind === 'property' ? { ...copy, contents: view.contents } : copy;
      const [once, twice] = [planDevice(view, context), planDevice(again, { ...context })];
      expect(JSON.stringify(twice)).toBe(JSON.stringify(once));
      expect(twice.discovery?.()).toMatchObject({ fingerprint: once.discovery?.().fingerprint });
    }
  });

  it('has no topic twice and none but those that are cleared with the device', () => {
    for (const view of wholeHouse) {
      const published = planDevice(view, context).messages.map(({ topic }) => topic);
      // The other documents of the bridge are those of `BridgeState`.
      const ofBridge = ['state', 'cloud', 'health', 'info', 'memory'].map((path) => topics.bridge(path));
      const cleared = topics.documents(view.kind, viewId(view)).filter((topic) => !ofBridge.includes(topic));
      expect(published.toSorted()).toEqual(cleared.toSorted());
    }
  });
});
