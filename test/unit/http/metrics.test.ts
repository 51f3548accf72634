import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { MetricsSnapshot } from '../../../src/health/snapshots.ts';
import { metricRows, metricsText } from '../../../src/http/metrics.ts';
import type { SonicView } from '../../../src/model/devices.ts';
import { anIncident, aSonic, sonicView } from '../../support/views.ts';

const figures: MetricsSnapshot = {
  readiness: {
    cloud: { isReady: false, status: 'down', reason: 'gone', workedAt: null },
    broker: { isReady: true, status: 'up', reason: null, workedAt: null },
  },
  schedules: [
    { poll: 'sonics', lastSuccessAt: 1_700_000_000_500, polls: { success: 3, incomplete: 2, failure: 1 } },
    { poll: 'usage', lastSuccessAt: null, polls: { success: 0, incomplete: 0, failure: 0 } },
  ],
  requests: { byStatus: { '2xx': 7, '3xx': 1 }, ms: 2_500 },
  pollWaitMs: 1_500,
  devices: { properties: 1, signals: 2, sonics: 3 },
  openIncidents: 4,
  valveCommands: { ok: 5, error: 0, refused: 0, superseded: 0, not_confirmed: 1 },
  published: 80,
  retainedTopics: 60,
  valves: [],
};
const linesOf = (
  changes: Partial<MetricsSnapshot> = {},
  deliveries: Parameters<typeof metricsText>[0]['deliveries'] = null,
) => metricsText({ figures: { ...figures, ...changes }, deliveries }).split('\n');

describe('the metrics', () => {
  it('are named by the conventions of Prometheus, each once, and documented', () => {
    const names = metricRows.map(([name]) => name);
    expect(new Set(names).size).toBe(names.length);
    const page = readFileSync(new URL('../../../docs/reference/http.md', import.meta.url), 'utf8');
    for (const [name, help] of metricRows) {
      expect(name).toMatch(/^sonic2mqtt_[a-z0-9_]+$/);
      expect(name).not.toMatch(/_(ms|milliseconds|kb|mb|percent)(_|$)/);
      expect(help).not.toBe('');
      expect(page).toContain(`\`${name}\``);
    }
  });

  it('say what is so in base units', () => {
    const lines = linesOf();
    expect(lines).toEqual(
      expect.arrayContaining([
        '# TYPE sonic2mqtt_polls_total counter',
        '# TYPE sonic2mqtt_cloud_up gauge',
        'sonic2mqtt_cloud_up 0',
        'sonic2mqtt_broker_up 1',
        'sonic2mqtt_polls_total{schedule="sonics",outcome="incomplete"} 2',
        'sonic2mqtt_polls_total{schedule="usage",outcome="failure"} 0',
        'sonic2mqtt_last_success_timestamp_seconds{schedule="sonics"} 1700000000.5',
        'sonic2mqtt_cloud_requests_total{status="2xx"} 7',
        'sonic2mqtt_cloud_requests_total{status="3xx"} 1',
        'sonic2mqtt_cloud_requests_total{status="none"} 0',
        'sonic2mqtt_cloud_request_seconds_total 2.5',
        'sonic2mqtt_cloud_poll_wait_seconds 1.5',
        'sonic2mqtt_devices{kind="signal"} 2',
        'sonic2mqtt_open_incidents 4',
        'sonic2mqtt_valve_commands_total{outcome="not_confirmed"} 1',
        'sonic2mqtt_mqtt_messages_published_total 80',
        'sonic2mqtt_mqtt_retained_topics 60',
      ]),
    );
    expect(lines.filter((line) => line.includes('gone'))).toEqual([]);
  });

  it('escape the names of valves', () => {
    const view = sonicView({ sonic: aSonic({ name: 'Tap "hot"\\\nattic' }) });
    const lines = linesOf({ valves: [{ view, property: null, readAt: 1_000 }] });
    expect(lines).toContain(
      'sonic2mqtt_valve_last_read_timestamp_seconds{id="sonic-1",name="Tap \\"hot\\"\\\\\\nattic",property=""} 1',
    );
  });

  it('leave out what there is not', () => {
    const lines = linesOf();
    expect(lines.filter((line) => /webhook|timestamp.*usage/.test(line))).toEqual([]);
  });

  it('do not say none of what was not read yet, as after a start while the cloud is away', () => {
    const none = { devices: { properties: 0, signals: 0, sonics: 0 }, openIncidents: 0 };
    const counts = (schedules: MetricsSnapshot['schedules']) =>
      linesOf({ ...none, schedules }).filter((line) => /^sonic2mqtt_(devices|open_incidents)/.test(line));
    expect(counts([])).toEqual([]);
    const polls = { success: 1, incomplete: 0, failure: 0 };
    expect(counts([{ poll: 'incidents', lastSuccessAt: 1, polls }])).toEqual(['sonic2mqtt_open_incidents 0']);
    expect(counts([{ poll: 'sonics', lastSuccessAt: 1, polls }])).toEqual([
      'sonic2mqtt_devices{kind="sonic"} 0',
    ]);
  });
});

describe('the metrics of a valve', () => {
  const labels = '{id="sonic-1",name="Kitchen",property="Home"}';
  const fresh = { cloud: { ...figures.readiness.broker }, broker: figures.readiness.broker };
  /** What is said of a valve, by name without what all have in common. */
  function shown(changes: Partial<SonicView> = {}, readiness: MetricsSnapshot['readiness'] = fresh) {
    const view = sonicView({ ...changes, sonic: aSonic({ name: 'Kitchen', ...changes.sonic }) });
    const valves = [{ view, property: 'Home', readAt: 1_700_000_000_500 }];
    const lines = linesOf({ readiness, valves }).filter((line) => line.startsWith('sonic2mqtt_valve_'));
    return Object.fromEntries(
      lines.flatMap((line) => {
        const [name = '', value] = line.slice('sonic2mqtt_valve_'.length).split(labels);
        return value === undefined ? [] : [[name, Number(value)]];
      }),
    );
  }
  const always = { last_read_timestamp_seconds: 1_700_000_000.5 };

  it('are there while the bridge is not ready, but the cloud is read', () => {
    const unready = { ...fresh.cloud, isReady: false, reason: 'No new measurements' };
    expect(shown({}, { ...fresh, cloud: unready })).toEqual(shown());
  });

  it('say what is read of it now', () => {
    expect(shown()).toEqual({
      ...always,
      reachable: 1,
      open: 1,
      flow_litres_per_minute: 7.64,
      pressure_bar: 3.252,
      water_temperature_celsius: 17.1,
      water_litres: 61_033.276,
      water_today_litres: 41.5,
      battery_low: 0,
      radio_rssi: 166,
      open_incidents: 1,
    });
  });

  it('leave out the position of one that moves or is unknown', () => {
    for (const valve of ['opening', 'closing', null] as const)
      expect(shown({ valve })).not.toHaveProperty('open');
    expect(shown({ valve: 'closed' })).toMatchObject({ open: 0 });
  });

  it('leave out what the cloud does not have, has not sent yet, or may not be all', () => {
    for (const missing of [null, undefined]) {
      const said = Object.keys(shown({ telemetry: missing, usage: missing }));
      expect(said.filter((name) => /flow|pressure|temperature|litres/.test(name))).toEqual([]);
    }
    expect(shown({ areIncidentsFresh: false })).not.toHaveProperty('open_incidents');
    expect(shown({ possibleIncidents: [anIncident()] })).not.toHaveProperty('open_incidents');
    expect(shown({ signal: 'unknown' })).toEqual({ ...always, reachable: 0, open_incidents: 1 });
  });

  it('repeat nothing of one that is offline or was read too long ago', () => {
    const offline = { ...always, reachable: 0, open_incidents: 1 };
    expect(shown({ sonic: aSonic({ radio_connection: 'disconnected' }) })).toEqual(offline);
    expect(shown({ reach: 'stale' })).toEqual(offline);
  });

  it('repeat nothing while the cloud says nothing new', () => {
    expect(shown({}, figures.readiness)).toEqual(always);
  });
});
