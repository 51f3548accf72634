import { setImmediate as nextTurn } from 'node:timers/promises';
import { Counter, Gauge, Registry } from 'prom-client';
import { version } from '../base/version.ts';
import type { MetricsSnapshot, ScheduleFigures } from '../health/metricsSnapshot.ts';
import type { DeliveryOutcome } from '../webhook/webhookReceiver.ts';

/** What is read when the metrics are asked for. */
export interface MetricsSource {
  readonly figures: MetricsSnapshot;
  /** Of the webhook; null without one. */
  readonly deliveries: Readonly<Record<DeliveryOutcome, number>> | null;
}

/** A value, and the labels that tell it from the others of its name. */
type Sample = readonly [labels: Readonly<Record<string, string>>, value: number | null];

/** One name: read from the source, never counted here. A label takes few values, and none that names a home. */
interface MetricRow {
  readonly kind: 'gauge' | 'counter';
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly string[];
  /** What is null is left out. */
  readonly read: (source: MetricsSource, processNow: ProcessFigures) => readonly Sample[];
}

/** What the process takes. */
interface ProcessFigures {
  readonly cpuSeconds: number;
  readonly residentBytes: number;
  readonly heapBytes: number;
  readonly startedAtSeconds: number;
  readonly lagSeconds: number;
}

const one = (value: number | boolean | null): Sample[] => [[{}, value === null ? null : Number(value)]];
const by = (label: string, values: Readonly<Record<string, number | null>>): Sample[] =>
  Object.entries(values).map(([word, value]) => [{ [label]: word }, value]);

/** That there are none is known only once they were read. */
const known = (count: number, kind: ScheduleFigures['slice'], { schedules }: MetricsSnapshot) =>
  count > 0 || schedules.some(({ slice, lastSuccessAt }) => slice === kind && lastSuccessAt !== null)
    ? count
    : null;

/** THE METRICS: every name, by the conventions of Prometheus (base units, `_total` for what only grows). */
export const metricRows: readonly MetricRow[] = [
  {
    kind: 'gauge',
    name: 'sonic2mqtt_build_info',
    help: 'Always 1; the label is the version of the bridge',
    labels: ['version'],
    read: () => [[{ version }, 1]],
  },
  {
    kind: 'gauge',
    name: 'sonic2mqtt_cloud_up',
    help: '1 while the data of the cloud is fresh',
    read: ({ figures }) => one(figures.readiness.cloud.isWorking),
  },
  {
    kind: 'gauge',
    name: 'sonic2mqtt_broker_up',
    help: '1 while the MQTT broker is connected and the devices were shown there',
    read: ({ figures }) => one(figures.readiness.broker.isWorking),
  },
  {
    kind: 'counter',
    name: 'sonic2mqtt_polls_total',
    help: 'Polls by schedule and outcome: all was read (success), not all of it (incomplete), nothing (failure)',
    labels: ['schedule', 'outcome'],
    read: ({ figures }) =>
      figures.schedules.flatMap(({ slice, polls }) =>
        Object.entries(polls).map(([outcome, value]): Sample => [{ schedule: slice, outcome }, value]),
      ),
  },
  {
    kind: 'gauge',
    name: 'sonic2mqtt_last_success_timestamp_seconds',
    help: 'When a poll of the schedule last brought anything; missing before the first',
    labels: ['schedule'],
    read: ({ figures }) =>
      figures.schedules.map(({ slice, lastSuccessAt }) => [
        { schedule: slice },
        lastSuccessAt === null ? null : lastSuccessAt / 1_000,
      ]),
  },
  {
    kind: 'counter',
    name: 'sonic2mqtt_cloud_requests_total',
    help: 'Requests to the cloud by the class of the status that answered them; none where nothing did',
    labels: ['status'],
    read: ({ figures }) => by('status', { ...noRequests, ...figures.requests.byStatus }),
  },
  {
    kind: 'counter',
    name: 'sonic2mqtt_cloud_request_seconds_total',
    help: 'Time from sending requests to the cloud to their answers, in all',
    read: ({ figures }) => one(figures.requests.ms / 1_000),
  },
  {
    kind: 'gauge',
    name: 'sonic2mqtt_cloud_poll_wait_seconds',
    help: 'How long the next poll waits for cloud.max_requests_per_minute, or because the cloud asked for that',
    read: ({ figures }) => one(figures.pollWaitMs / 1_000),
  },
  {
    kind: 'gauge',
    name: 'sonic2mqtt_devices',
    help: 'Devices by kind; missing before they were read',
    labels: ['kind'],
    read: ({ figures }) =>
      by('kind', {
        property: known(figures.devices.properties, 'properties', figures),
        signal: known(figures.devices.signals, 'signals', figures),
        sonic: known(figures.devices.sonics, 'sonics', figures),
      }),
  },
  {
    kind: 'gauge',
    name: 'sonic2mqtt_open_incidents',
    help: 'Incidents that are open; missing before they were read',
    read: ({ figures }) => one(known(figures.openIncidents, 'incidents', figures)),
  },
  {
    kind: 'counter',
    name: 'sonic2mqtt_valve_commands_total',
    help: 'Commands to valves by outcome; one that the cloud took and the valve did not follow is ok and not_confirmed',
    labels: ['outcome'],
    read: ({ figures }) => by('outcome', figures.valveCommands),
  },
  {
    kind: 'counter',
    name: 'sonic2mqtt_mqtt_messages_published_total',
    help: 'Messages given to the MQTT broker',
    read: ({ figures }) => one(figures.published),
  },
  {
    kind: 'gauge',
    name: 'sonic2mqtt_mqtt_retained_topics',
    help: 'Topics at which the MQTT broker keeps a message of this bridge',
    read: ({ figures }) => one(figures.retainedTopics),
  },
  {
    kind: 'counter',
    name: 'sonic2mqtt_webhook_deliveries_total',
    help: 'Deliveries to the webhook by outcome; missing without a webhook',
    labels: ['outcome'],
    read: ({ deliveries }) => by('outcome', deliveries ?? {}),
  },
  {
    kind: 'counter',
    name: 'process_cpu_seconds_total',
    help: 'Processor time of the process, user and system',
    read: (_, { cpuSeconds }) => one(cpuSeconds),
  },
  {
    kind: 'gauge',
    name: 'process_resident_memory_bytes',
    help: 'Resident memory of the process',
    read: (_, { residentBytes }) => one(residentBytes),
  },
  {
    kind: 'gauge',
    name: 'process_start_time_seconds',
    help: 'When the process was started',
    read: (_, { startedAtSeconds }) => one(startedAtSeconds),
  },
  {
    kind: 'gauge',
    name: 'nodejs_heap_size_used_bytes',
    help: 'Memory that the heap uses',
    read: (_, { heapBytes }) => one(heapBytes),
  },
  {
    kind: 'gauge',
    name: 'nodejs_eventloop_lag_seconds',
    help: 'How long the event loop took to get round to something, just now',
    read: (_, { lagSeconds }) => one(lagSeconds),
  },
];

/** Shown from the start, so that the first of them is an increase. */
const noRequests = { '2xx': 0, '4xx': 0, '5xx': 0, none: 0 };

/** The metrics in the text format of Prometheus, and its media type. */
export async function metricsText(
  source: MetricsSource,
): Promise<{ readonly text: string; readonly type: string }> {
  const registry = new Registry();
  const processNow = await measureProcess();
  for (const row of metricRows) {
    const samples = row.read(source, processNow).filter(([, value]) => value !== null);
    if (samples.length === 0) continue;
    const options = {
      name: row.name,
      help: row.help,
      labelNames: [...(row.labels ?? [])],
      registers: [registry],
    };
    const metric = row.kind === 'gauge' ? new Gauge(options) : new Counter(options);
    for (const [labels, value] of samples) metric.inc(labels, value ?? 0);
  }
  return { text: await registry.metrics(), type: registry.contentType };
}

/**
 * Measured when it is asked for: prom-client's own default metrics would watch the event loop and the collector all
 * the time.
 */
async function measureProcess(): Promise<ProcessFigures> {
  const { user, system } = process.cpuUsage();
  const { rss, heapUsed } = process.memoryUsage();
  const askedAt = performance.now();
  await nextTurn();
  return {
    cpuSeconds: (user + system) / 1_000_000,
    residentBytes: rss,
    heapBytes: heapUsed,
    startedAtSeconds: performance.timeOrigin / 1_000,
    lagSeconds: (performance.now() - askedAt) / 1_000,
  };
}
