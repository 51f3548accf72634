import { version } from '../base/version.ts';
import type { MetricsSnapshot } from '../health/snapshots.ts';
import type { SonicView } from '../model/devices.ts';
import { openCount } from '../model/incidents.ts';
import { isBatteryLow } from '../model/power.ts';
import { isAvailable } from '../model/reach.ts';
import { type Measurement, measurementOf } from '../model/telemetry.ts';
import type { DeliveryOutcome } from '../webhook/webhookReceiver.ts';

interface MetricsSource {
  readonly figures: MetricsSnapshot;
  /** The outcomes of the webhook calls; null without a webhook. */
  readonly deliveries: Readonly<Record<DeliveryOutcome, number>> | null;
}

/** A value with the labels that distinguish it from other values of the same name. */
type Sample = readonly [labels: Readonly<Record<string, string>>, value: number];

/** A value. True is 1, and null means that the value is missing. */
type Figure = number | boolean | null;

/**
 * One metric: a counter if its name ends with `_total`, else a gauge. Values are read from the source and never counted
 * here. A label has few different values, and only metrics of single valves have labels that identify a home. A metric
 * without samples is left out.
 */
type MetricRow = readonly [name: string, help: string, read: Read];
type Read = (source: MetricsSource) => readonly Sample[];

const one = (value: Figure): Sample[] => (value === null ? [] : [[{}, Number(value)]]);
const by = (label: string, values: Readonly<Record<string, number | null>>, labels = {}): Sample[] =>
  Object.entries(values).flatMap(([word, value]) =>
    value === null ? [] : [[{ ...labels, [label]: word }, value]],
  );

/** A count; null if it is zero only because nothing was read yet. */
const known = (
  count: number,
  kind: MetricsSnapshot['schedules'][number]['poll'],
  { schedules }: MetricsSnapshot,
) =>
  count > 0 || schedules.some(({ poll, lastSuccessAt }) => poll === kind && lastSuccessAt !== null)
    ? count
    : null;

/** A figure for each valve. If the figure is null, the valve is left out. */
const ofValves =
  (figureOf: (valve: MetricsSnapshot['valves'][number]) => Figure): Read =>
  ({ figures: { valves } }) =>
    valves.flatMap((valve) => {
      const { id, name } = valve.view.sonic;
      const labels = { id, name: name ?? '', property: valve.property ?? '' };
      return one(figureOf(valve)).map(([, figure]): Sample => [labels, figure]);
    });

/** A current figure for each valve; none if the data of the cloud is old. A bridge that is not ready may have current data. */
const ofValvesNow =
  (figureOf: (view: SonicView) => Figure): Read =>
  (source) =>
    hasCurrentData(source) ? ofValves(({ view }) => figureOf(view))(source) : [];

const hasCurrentData = ({ figures: { readiness } }: MetricsSource) =>
  readiness.cloud.isReady || readiness.cloud.status === 'up';

/** A current figure for each reachable valve. The figures of other valves are old. */
const ofReachableValves = (figureOf: (view: SonicView) => Figure) =>
  ofValvesNow((view) => (isAvailable(view.reach) ? figureOf(view) : null));

const measured = (name: Exclude<keyof Measurement, 'probedAt'>) =>
  ofReachableValves(({ telemetry }) => (telemetry ? measurementOf(telemetry)[name] : null));

/** THE METRICS, named by the conventions of Prometheus. Figures of valves have the units of their topics. */
export const metricRows: readonly MetricRow[] = [
  ['sonic2mqtt_build_info', 'Always 1. The label is the version of sonic2mqtt', () => [[{ version }, 1]]],
  [
    'sonic2mqtt_cloud_up',
    '1 while the data of the cloud is fresh',
    ({ figures }) => one(figures.readiness.cloud.isReady),
  ],
  [
    'sonic2mqtt_broker_up',
    '1 while the MQTT broker is connected and all devices are published',
    ({ figures }) => one(figures.readiness.broker.isReady),
  ],
  [
    'sonic2mqtt_polls_total',
    'Polls by schedule and outcome: everything was read (success), a part (incomplete), or nothing (failure)',
    ({ figures }) =>
      figures.schedules.flatMap(({ poll, polls }) => by('outcome', { ...polls }, { schedule: poll })),
  ],
  [
    'sonic2mqtt_last_success_timestamp_seconds',
    'Time of the last successful poll of the schedule. Missing before the first',
    ({ figures }) =>
      figures.schedules.flatMap(({ poll, lastSuccessAt }) =>
        lastSuccessAt === null ? [] : [[{ schedule: poll }, lastSuccessAt / 1_000]],
      ),
  ],
  [
    'sonic2mqtt_cloud_requests_total',
    'Requests to the cloud by class of HTTP status, or none without an answer',
    ({ figures }) => by('status', { '2xx': 0, '4xx': 0, '5xx': 0, none: 0, ...figures.requests.byStatus }),
  ],
  [
    'sonic2mqtt_cloud_request_seconds_total',
    'Total time from sending requests to the cloud until their answers',
    ({ figures }) => one(figures.requests.ms / 1_000),
  ],
  [
    'sonic2mqtt_cloud_poll_wait_seconds',
    'Wait before the next poll, because of cloud.max_requests_per_minute or a limit of the cloud',
    ({ figures }) => one(figures.pollWaitMs / 1_000),
  ],
  [
    'sonic2mqtt_devices',
    'Devices by kind. Missing before they were read',
    ({ figures }) =>
      by('kind', {
        property: known(figures.devices.properties, 'properties', figures),
        signal: known(figures.devices.signals, 'signals', figures),
        sonic: known(figures.devices.sonics, 'sonics', figures),
      }),
  ],
  [
    'sonic2mqtt_open_incidents',
    'Open incidents. Missing before they were read',
    ({ figures }) => one(known(figures.openIncidents, 'incidents', figures)),
  ],
  [
    'sonic2mqtt_valve_commands_total',
    'Valve commands by outcome. If the valve did not move, a command counts as ok and as not_confirmed',
    ({ figures }) => by('outcome', figures.valveCommands),
  ],
  [
    'sonic2mqtt_mqtt_messages_published_total',
    'Messages published to the MQTT broker',
    ({ figures }) => one(figures.published),
  ],
  [
    'sonic2mqtt_mqtt_retained_topics',
    'Retained messages of this bridge on the MQTT broker',
    ({ figures }) => one(figures.retainedTopics),
  ],
  [
    'sonic2mqtt_webhook_deliveries_total',
    'Webhook calls by outcome. Missing without a webhook',
    ({ deliveries }) => by('outcome', deliveries ?? {}),
  ],
  [
    'sonic2mqtt_valve_reachable',
    '1 if the valve is online, 0 if it is offline. Missing if the cloud does not say',
    ofValvesNow(({ reach }) => (reach === 'unknown' ? null : reach === 'up')),
  ],
  [
    'sonic2mqtt_valve_open',
    '1 if the valve is open, 0 if it is closed. Missing while it moves',
    ofReachableValves(({ valve }) => (valve === 'open' || valve === 'closed' ? valve === 'open' : null)),
  ],
  ['sonic2mqtt_valve_flow_litres_per_minute', 'Water flow', measured('flowLMin')],
  ['sonic2mqtt_valve_pressure_bar', 'Water pressure', measured('pressureBar')],
  ['sonic2mqtt_valve_water_temperature_celsius', 'Water temperature', measured('waterTemperatureC')],
  [
    'sonic2mqtt_valve_water_litres',
    'Water used since the first day that was read. Corrections of the cloud can lower it',
    ofReachableValves(({ usage }) => usage?.totalL ?? null),
  ],
  [
    'sonic2mqtt_valve_water_today_litres',
    'Water used today, in the time zone of the property',
    ofReachableValves(({ usage }) => usage?.todayL ?? null),
  ],
  [
    'sonic2mqtt_valve_battery_low',
    '1 if the battery is low',
    ofReachableValves(({ sonic }) => isBatteryLow(sonic.battery)),
  ],
  [
    'sonic2mqtt_valve_radio_rssi',
    'Radio signal strength, in the unit of the cloud',
    ofReachableValves(({ sonic }) => sonic.radio_rssi),
  ],
  ['sonic2mqtt_valve_open_incidents', 'Open incidents of the valve', ofValvesNow(openCount)],
  [
    'sonic2mqtt_valve_last_read_timestamp_seconds',
    'When the valve was last read from the cloud',
    ofValves(({ readAt }) => readAt && readAt / 1_000),
  ],
];

/** The media type of the text format of Prometheus. */
export const metricsType = 'text/plain; version=0.0.4; charset=utf-8';

/** The metrics in the text format of Prometheus. */
export function metricsText(source: MetricsSource): string {
  return metricRows
    .flatMap(([name, help, read]) => {
      const samples = read(source);
      if (samples.length === 0) return [];
      const type = name.endsWith('_total') ? 'counter' : 'gauge';
      const lines = samples.map(([labels, value]) => `${name}${labelText(labels)} ${value}`);
      return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines, ''];
    })
    .join('\n');
}

function labelText(labels: Sample[0]): string {
  const texts = Object.entries(labels).map(([label, text]) => `${label}=${escaped(text)}`);
  return texts.length === 0 ? '' : `{${texts.join()}}`;
}

/** A text in quotes. The format knows only these three escapes. */
function escaped(text: string): string {
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`;
}
