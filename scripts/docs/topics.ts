import { version } from '../../src/base/version.ts';
import { operationNames } from '../../src/cloud/operations.ts';
import { configSchema } from '../../src/config/schema.ts';
import { redactedConfig } from '../../src/config/secrets.ts';
import { settableLogLevels } from '../../src/entities/bridge.ts';
import { healthPayload } from '../../src/health/health.ts';
import { commandFilters } from '../../src/homeassistant/command.ts';
import { planDevice, planIncident } from '../../src/homeassistant/plan.ts';
import { statesPath, Topics } from '../../src/homeassistant/topics.ts';
import type { BridgeView } from '../../src/model/devices.ts';
import { byPoll } from '../../src/model/polls.ts';
import { neverPolled, type PollStatus } from '../../src/polling/pollStatus.ts';
import { exampleHome, exampleTime } from './exampleHome.ts';
import { code, codeBlock, generatedNote, json, table } from './markdown.ts';
import { requestsSection } from './requests.ts';

const base = 'sonic2mqtt';

/** What is retained, by topic below the base topic: `{id}` stands for an id. */
const retainedWords: Readonly<Record<string, string>> = {
  'bridge/state': '`online` or `offline`. `offline` is the last will',
  'bridge/cloud':
    '`online` while the data of the cloud is fresh (`stale_after`), otherwise `offline`. After a start, `online` only when all devices are published',
  'bridge/health':
    '`status` is `ok`, `degraded`, `cloud_unreachable` or `auth_failed`, and `reason` explains it. Published when the status or the result of a schedule changes',
  'bridge/info':
    'Version, counts (updated every five minutes), the operations of the cloud, and the configuration without secrets',
  'bridge/memory':
    '`revision` grows with each change that sonic2mqtt keeps in `data_dir`. After a start, it shows whether the file or the broker is newer',
  'bridge/incidents':
    'Open incidents that no property shows, for example because they name no known device. Newest first, at most 50',
  'sonic/{id}':
    'Record of the cloud, with `property_id` and `valve` (`open`, `opening`, `closing`, `closed` or null). `valve_travel_time_s` is the time from the last command to its confirmation in seconds, and null before the first command after a start',
  'sonic/{id}/availability':
    '`online` if the valve is connected, and its hub is connected to the cloud. `offline` while the broker rejects one of its values. `offline` after two reads in a row with a broken connection, or one read without a connection state. Also `offline` after a start until the valve and its hub were read, and if the lists lack one of them for longer than `stale_after`',
  'sonic/{id}/telemetry':
    'Flow, pressure and temperature, if the cloud offers them, and the time of the measurement (`probed_at`). Old values are null, and values that were not read since the start. The limit is the longest of three times: `stale_after`, two periods of `schedules.telemetry`, and three minutes',
  'sonic/{id}/usage':
    'Water use in litres, if the cloud offers it. `today`, `yesterday` and `month` follow the calendar of the property, whose day began at `last_reset`. `total` is the sum since the first day read, and follows corrections of past days. It is null until this month and last month were read once, and while `data_dir` cannot be used. `days` are this month and last month. `updated_at` is the time of the last change',
  'sonic/{id}/pressure_tests':
    'Pressure tests, if the cloud offers them: `last_day` with a test, `today_count`, and the IDs of the last 60 days by date. `job_id` is the last test that sonic2mqtt started',
  'sonic/{id}/last_command':
    'The newest valve command: `action`, `asked_at`, `status` and `reason` in words. `status` is `sent`, `confirmed`, `not_confirmed`, `error`, `refused` or `superseded`. `failed` is the failed command that the entity *Command failed* shows, with its words in `text`. It is null once this command or a newer one is confirmed, once the valve is read where it was to go, once it is dismissed, and after 24 hours. All of it is kept over restarts',
  'sonic/{id}/movement':
    'How the valve came to its position `valve`: the time `at`, and `by`. `at` is null if sonic2mqtt did not read the valve for more than an hour before, and no incident tells the time. `command`: a command through sonic2mqtt, which came at `topic`. `by_hand`: the incident `incident_id` reports that the handle was moved. `automatic_shut_off`: the valve closed with a new leak, long flow or high flow, and the automatic shut-off of the property was on. `elsewhere`: the app of the vendor, or nobody knows. An incident that is read up to five minutes later corrects it. Null after the first read of a valve. A pressure test is no movement. Kept over restarts',
  'sonic/{id}/incidents':
    'Open incidents: the newest of each type, or null. Unknown types are added to the known twenty. `open_count` is null if not all open incidents could be read, or if one names no known device',
  'signal/{id}':
    'Record of the cloud, with `property_id` and `hub_status`, which is null if the cloud does not report it',
  'signal/{id}/availability':
    '`online` or `offline`, for its connection to the cloud. `offline` after a start until it was read, and after a new incident `cloud_disconnection` until it was read again',
  'signal/{id}/incidents': 'As for a valve: the incidents of this hub that name no known valve',
  'property/{id}': 'Record of the cloud',
  'property/{id}/settings': 'Settings. The cloud does not show `webhook_url`, so it is null',
  'property/{id}/notifications': 'Notification settings. Null until they were read',
  'property/{id}/pause':
    '[Pause of the automatic shut-off](../pause.md). `state` is `none`, `paused`, `resuming` (being turned on again) or `failed` (the cloud has not turned it on yet, and `reason` shows why). `until` is the end of the pause, or null. `minutes` is its length, or 0',
  'property/{id}/incidents':
    'Open incidents of all its devices, newest first, at most 50. `open_count` is also null if the cloud does not report the hubs of the property',
  'incident/{id}':
    'Record of an open incident. Deleted when the incident closes, or when its device is no longer shown',
};

/** A topic that the bridge publishes below the base topic, and what it may say: a word, or an object for JSON. */
interface PublishedTopic {
  readonly topic: string;
  readonly words: string;
  readonly example: unknown;
}

const home = exampleHome();

const bridge: BridgeView = {
  kind: 'bridge',
  version,
  status: 'ok',
  isCloudFresh: true,
  logLevel: 'info',
  lastUpdate: exampleTime,
  requestsLastHour: 296,
  applianceCategories: null,
  incidents: [],
  possibleIncidents: [],
  areIncidentsFresh: true,
  isReporting: true,
};

function health(): object {
  const polled: PollStatus = { ...neverPolled, lastSuccessAt: Date.parse(exampleTime) };
  const facts = { polls: byPoll(() => polled), limitedUntil: null };
  return healthPayload(facts, { status: 'ok', problems: [] });
}

function info(): object {
  const { mqtt, ...configuration } = configSchema.parse({
    cloud: { base_url: 'https://api.example.com', email: 'me@example.com', password: 'secret' },
    mqtt: { url: 'mqtt://localhost:1883' },
  });
  const { cloud } = redactedConfig({ mqtt, ...configuration });
  return {
    version,
    started_at: exampleTime,
    last_update: bridge.lastUpdate,
    requests_last_hour: bridge.requestsLastHour,
    counts: { properties: 2, signals: 3, sonics: 4, open_incidents: 1 },
    operations: Object.fromEntries(operationNames.slice(0, 3).map((name) => [name, 'available'])),
    appliance_categories: [{ id: 'shower', name: 'Shower' }],
    configuration: { cloud },
  };
}

const side = { status: 'up', workedAt: null } as const;
const up = { cloud: side, broker: side };

/** Every retained topic, with what the simulated cloud makes of it. */
export function retainedTopics(): readonly PublishedTopic[] {
  const context = {
    topics: new Topics(base, 'homeassistant'),
    offers: () => true,
    version,
    language: 'en' as const,
    statusPage: null,
    homepage: null,
    isDiscoveryOn: true,
    moment: () => ({
      bridge: { ...up, health: 'ok' as const, isLoading: false, isComplete: true, isWatchOnly: false },
      now: Date.parse(exampleTime),
      timezone: 'UTC',
    }),
  };
  const messages = [
    ...[home.sonic, home.signal, home.property, bridge].flatMap((view) => planDevice(view, context).messages),
    ...home.sonic.incidents.map((incident) => planIncident(incident, context.topics)),
  ];
  const examples: Record<string, unknown> = Object.fromEntries(
    messages.map(({ topic, payload }) => [
      topic.slice(base.length + 1).replace(/(?<=^(sonic|signal|property|incident)\/)[^/]+/, '{id}'),
      payload.startsWith('{') ? JSON.parse(payload) : payload,
    ]),
  );
  Object.assign(examples, {
    'bridge/state': 'online',
    'bridge/cloud': 'online',
    'bridge/health': health(),
    'bridge/info': info(),
    'bridge/memory': { revision: 42 },
  });
  for (const topic of Object.keys(examples)) {
    if (!(topic in retainedWords) && !topic.endsWith(`/${statesPath}`)) {
      throw new Error(`scripts/docs/topics.ts has no words for ${topic}`);
    }
  }
  return Object.entries(retainedWords).map(([topic, words]) => ({ topic, words, example: examples[topic] }));
}

function passingTopics(): readonly PublishedTopic[] {
  const [incident] = home.sonic.incidents;
  if (!incident) throw new Error('the simulated cloud has no open incident to show');
  return [
    {
      topic: 'bridge/event',
      words:
        'One message for each event: `event` is `device_added`, `device_removed`, `incident_opened`, `incident_changed`, `incident_closed`, `command`, `cloud_online`, `cloud_offline` or `auth_failed`, followed by the fields of the record',
      example: { event: 'incident_opened', at: exampleTime, ...incident },
    },
  ];
}

/** A topic that takes commands, below the base topic. */
interface CommandTopic {
  readonly topic: string;
  readonly payload: string;
  readonly words: string;
}

const action = '`resolve`, `snooze` or another possible action';
const anyName = 'Name';
const fields = 'JSON object of several fields';
const field = '`ON` or `OFF`, `true` or `false`, a number, or text';
const onOff = '`ON` or `OFF`';

/** What each command topic takes, and what it does. */
const commandWords: Readonly<Record<string, readonly [payload: string, words: string]>> = {
  'sonic/{id}/valve/set': [
    '`OPEN` or `CLOSE`, in any case, or `{"action":"open"}` and no other key',
    'Moves the valve',
  ],
  'sonic/{id}/pressure_test/start': ['Anything', 'Starts a pressure test'],
  'sonic/{id}/last_command/dismiss': [
    'Anything',
    'Dismisses the failed command: `failed` of `last_command` becomes null. It moves no valve, and needs neither the cloud nor a permission of `control`. Rejected if no command has failed',
  ],
  'sonic/{id}/incidents/action': [
    action,
    'Applies the action to each open incident that offers it. `resolve` also means `dismiss`, if only that is offered',
  ],
  'sonic/{id}/name/set': [anyName, 'Renames the valve'],
  'signal/{id}/incidents/action': [action, 'The same, for the incidents of the hub'],
  'signal/{id}/name/set': [anyName, 'Renames the hub'],
  'property/{id}/incidents/action': [action, 'The same, for all devices of the property'],
  'property/{id}/name/set': [anyName, 'Renames the property'],
  'property/{id}/active/set': [onOff, 'Activates or deactivates the property'],
  'property/{id}/set': [fields, 'Changes the record of the property'],
  'property/{id}/settings/{field}/set': [field, 'Changes one setting'],
  'property/{id}/settings/set': [fields, 'Changes several settings, all or none'],
  'property/{id}/notifications/{field}/set': [field, 'Changes one notification setting'],
  'property/{id}/notifications/set': [fields, 'Changes several notification settings, all or none'],
  'property/{id}/leak_protection/set': [
    onOff,
    'Turns leak protection on or off. The cloud does not show this setting, so it has no state',
  ],
  'property/{id}/push/set': [onOff, 'The same, for push messages'],
  'property/{id}/pause/set': [
    '1 to 1440, or 0',
    'Turns the automatic shut-off off now, and on again after so many minutes. During a pause it sets a new end. `0` ends the pause. Rejected if the automatic shut-off is off already',
  ],
  'incident/{id}/action': [
    'An action that the incident offers',
    'Applies the action to this incident. A closed incident is read first, and offers `reopen`',
  ],
  'bridge/refresh': ['Anything', 'Reads everything now'],
  'bridge/log_level/set': [settableLogLevels.map(code).join(', '), 'Sets the log level until the next start'],
};

/** Every topic that takes commands. */
export function commandTopics(): readonly CommandTopic[] {
  const filters = commandFilters(new Topics(base, 'homeassistant'));
  const topics = filters.map((filter) =>
    filter
      .slice(base.length + 1)
      .replace('+', '{id}')
      .replace('+', '{field}'),
  );
  const strangers = topics.filter((topic) => !(topic in commandWords));
  if (strangers.length > 0)
    throw new Error(`scripts/docs/topics.ts has no words for ${strangers.join(', ')}`);
  return Object.entries(commandWords).map(([topic, [payload, words]]) => ({ topic, payload, words }));
}

const remarks: Readonly<Record<string, string>> = {
  'bridge/info': 'Shortened: the real message has all operations and the complete configuration.',
};

/** Plain words need no example. */
function exampleSection({ topic, example }: PublishedTopic): string[] {
  if (typeof example === 'string') return [];
  const remark = remarks[topic];
  return [`### ${base}/${topic}`, ...(remark ? [remark] : []), codeBlock('json', json(example))];
}

function topicTable(topics: readonly PublishedTopic[]): string {
  return table(
    ['Topic', 'Payload'],
    topics.map(({ topic, words }) => [code(topic), words]),
  );
}

/** docs/reference/topics.md */
export function topicsPage(): string {
  const [retained, passing] = [retainedTopics(), passingTopics()];
  const outcome = {
    event: 'command',
    at: exampleTime,
    topic: `${base}/sonic/${home.sonic.sonic.id}/valve/set`,
    status: 'ok',
    reason: null,
    http_status: 200,
  };
  return [
    generatedNote,
    '# Topics',
    `The tables leave out the beginning of each topic, \`mqtt.base_topic\`, which is \`${base}\` by default.
A *sonic* is a valve, and a *signal* is a hub.
\`{id}\` is an ID of the cloud.

- Payloads are plain words, or JSON in UTF-8.
- In JSON, every key is always present. An unknown value is null.
- Records have all fields of the cloud, with the names that the cloud uses.`,
    '## Retained state',
    `Published at QoS 1 after a change, after each connection to the broker, and when Home Assistant starts.
A device that the cloud no longer lists loses its topics after two complete reads.`,
    topicTable(retained),
    '## Events',
    'Not retained.',
    topicTable(passing),
    '## Commands',
    `Send commands without the retain flag. Retained commands are refused, because they would be repeated at each restart.\nUse QoS 0. With QoS 1, many clients send a command again after an outage of the broker, even hours later.`,
    table(
      ['Topic', 'Payload', 'Effect'],
      commandTopics().map(({ topic, payload, words }) => [code(topic), payload, words]),
    ),
    `The result of each command is one \`command\` event on \`bridge/event\`:`,
    codeBlock('json', json(outcome)),
    `| \`status\` | Meaning |
| --- | --- |
| \`ok\` | The cloud accepted the command |
| \`error\` | The command failed |
| \`refused\` | sonic2mqtt rejected the command, and did not send it |
| \`superseded\` | A newer command for the same valve arrived before this one was sent |

\`reason\` explains each status except \`ok\`.
\`http_status\` is the answer of the cloud, if there was one.
If a valve does not move within \`valve.confirm_timeout\`, a second event follows: \`error\`, with the reason \`not_confirmed\`.`,
    ...requestsSection,
    '## Home Assistant',
    `Each device has one retained message with its [entities](entities.md): \`homeassistant/device/sonic2mqtt_{id}/config\`.
The ID of sonic2mqtt itself is \`bridge\`.
If \`mqtt.base_topic\` is not \`sonic2mqtt\`, it follows: \`sonic2mqtt_{base_topic}_{id}\`, with \`_\` for each \`/\`.
An entity that a device lacks is in the message with its platform alone.
A changed message is published again after five seconds, because Home Assistant may have been busy.
\`homeassistant.discovery_prefix\` changes the beginning.
The states of all entities of a device are in \`{device}/${statesPath}\`.

Both can change with any version.
In flows and scripts, use the topics above.`,
    '## Examples',
    'These examples come from the simulated cloud of `sonic2mqtt demo`.',
    ...[...retained, ...passing].flatMap(exampleSection),
  ].join('\n\n');
}
