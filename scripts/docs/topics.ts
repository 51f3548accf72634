import { version } from '../../src/base/version.ts';
import { operationNames } from '../../src/cloud/operations.ts';
import { configSchema } from '../../src/config/schema.ts';
import { redactedConfig } from '../../src/config/secrets.ts';
import { settableLogLevels } from '../../src/entities/bridge.ts';
import { healthPayload } from '../../src/health/health.ts';
import { commandFilters } from '../../src/homeassistant/command.ts';
import { planDevice, planIncident } from '../../src/homeassistant/plan.ts';
import { statesPath, topicsUnder } from '../../src/homeassistant/topics.ts';
import type { BridgeView } from '../../src/model/devices.ts';
import { eventTypeOf } from '../../src/model/incidents.ts';
import { neverPolled, type PollStatus } from '../../src/polling/pollStatus.ts';
import { exampleHome, exampleTime } from './exampleHome.ts';
import { code, codeBlock, generatedNote, json, table } from './markdown.ts';
import { requestsSection } from './requests.ts';

const base = 'sonic2mqtt';

/** What is retained, by topic below the base topic: `{id}` stands for an id. */
const retainedWords: Readonly<Record<string, string>> = {
  'bridge/state': '`online` or `offline`; `offline` is the last will',
  'bridge/cloud':
    '`online` or `offline`: whether the data of the cloud is fresh (`stale_after`); after a start `online` only once all devices were published',
  'bridge/health':
    'how the bridge fares: `status` is `ok`, `degraded`, `cloud_unreachable` or `auth_failed`, and `reason` says why; published when the status or the outcome of a schedule changes',
  'bridge/info':
    'version, figures (renewed every minute), the operations of the cloud, and the configuration without secrets',
  'bridge/incidents':
    'the open incidents that name no known device, where the account has several properties, newest first, at most 50; with one property they are at that property',
  'sonic/{id}':
    'the record of the cloud, with `property_id`, `valve` (`open`, `opening`, `closing`, `closed` or null) and `valve_travel_time_s`: the seconds from the last command to its confirmation, null before the first since the start',
  'sonic/{id}/availability':
    '`online` or `offline`: its radio link and the connection of its signal; `offline` from the second reading in a row that says that a link is down, or the first that says nothing of it, until one that says `connected`; also `offline` while the cloud’s lists have missed it for longer than `stale_after`',
  'sonic/{id}/telemetry':
    'flow, pressure and temperature, if the cloud offers them, and when the valve measured them (`probed_at`); the values are null if they were measured longer ago than `stale_after` (or two periods of `schedules.telemetry`, or three minutes, whichever is longest)',
  'sonic/{id}/usage':
    'the water that ran through it, in litres, where the cloud tells: `today`, `yesterday` and `month` by the calendar of the property, whose day began at `last_reset`; `total` is the sum since the first day read, which follows corrections of past days up and down, and is null until this month and last were read once and while `data_dir` cannot be used; `days` are this month and last; `updated_at` is when the figures last changed',
  'sonic/{id}/pressure_tests':
    'its pressure tests, where the cloud tells: `last_day` with a test, `today_count`, the ids of the tests of the last 60 days by date, and `job_id` of the last test that the bridge has started',
  'sonic/{id}/incidents':
    'its open incidents: the newest of each type, or null; types beyond the known twenty are added; `open_count` is null while not all open incidents could be read, or one names no known device',
  'signal/{id}':
    'the record of the cloud, with `property_id` and `hub_status`, which is null where the cloud does not tell',
  'signal/{id}/availability': '`online` or `offline`: its connection to the cloud',
  'signal/{id}/incidents': 'as for a sonic: the incidents of this signal that name no known sonic',
  'property/{id}': 'the record of the cloud',
  'property/{id}/settings':
    'its settings; `webhook_url` is the address that the cloud accepted last, where it shows none',
  'property/{id}/notifications': 'its notification settings',
  'property/{id}/leak_protection':
    '`ON` or `OFF`: what the cloud accepted last, which it does not show itself; not there before the first',
  'property/{id}/push': 'likewise',
  'property/{id}/incidents':
    'the open incidents of everything in it, newest first, at most 50; `open_count` is null also while the cloud does not say which signals are in the property',
  'incident/{id}':
    'the record while the incident is open; deleted once it is not, or once its device is shown no more',
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
  areIncidentsKnown: true,
};

function health(): object {
  const polled: PollStatus = { ...neverPolled, lastSuccessAt: Date.parse(exampleTime) };
  return healthPayload({
    slices: {
      properties: polled,
      signals: polled,
      sonics: polled,
      incidents: polled,
      telemetry: polled,
      usage: polled,
      pressure_tests: polled,
    },
    rejectedUntil: null,
    limitedUntil: null,
    dataProblems: [],
    stateProblem: null,
    brokerProblem: null,
    emptiness: null,
    notes: [],
  });
}

function info(): object {
  const { mqtt, ...configuration } = configSchema.parse({
    cloud: { base_url: 'https://api.example.com', email: 'me@example.com', password: 'secret' },
    mqtt: { url: 'mqtt://localhost:1883' },
  });
  const { cloud } = redactedConfig({ mqtt, ...configuration });
  return {
    version,
    instance_id: '3f0c8a529d1e',
    started_at: exampleTime,
    last_update: bridge.lastUpdate,
    requests_last_hour: bridge.requestsLastHour,
    counts: { properties: 2, signals: 3, sonics: 4, open_incidents: 1 },
    operations: Object.fromEntries(operationNames.slice(0, 3).map((name) => [name, 'available'])),
    appliance_categories: [{ id: 'shower', name: 'Shower' }],
    configuration: { cloud },
  };
}

/** Every retained topic, with what the simulated cloud makes of it. */
export function retainedTopics(): readonly PublishedTopic[] {
  const context = {
    topics: topicsUnder(base, 'homeassistant'),
    offers: () => true,
    version,
    statusPage: null,
    homepage: null,
    isDiscoveryOn: true,
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
        'one message for each happening: `event` is `device_added`, `device_removed`, `incident_opened`, `incident_changed`, `incident_closed`, `command`, `cloud_online`, `cloud_offline` or `auth_failed`, followed by the fields of what it is about',
      example: { event: 'incident_opened', at: exampleTime, ...incident },
    },
    {
      topic: 'sonic/{id}/incident',
      words:
        'once for each incident that opens, and never again after a restart; `signal/{id}/incident` likewise',
      example: { event_type: eventTypeOf(incident), ...incident },
    },
  ];
}

/** A topic that takes commands, below the base topic. */
interface CommandTopic {
  readonly topic: string;
  readonly payload: string;
  readonly words: string;
}

const action = '`resolve`, `snooze` or another action that is offered';
const anyName = 'the name';
const fields = 'a JSON object of several fields';
const field = '`ON` or `OFF`, `true` or `false`, a number, or text';
const onOff = '`ON` or `OFF`';

/** What each command topic takes, and what it does. */
const commandWords: Readonly<Record<string, readonly [payload: string, words: string]>> = {
  'sonic/{id}/valve/set': [
    '`OPEN` or `CLOSE`, in any case, or `{"action":"open"}` and no other key',
    'moves the valve',
  ],
  'sonic/{id}/pressure_test/start': ['anything', 'starts a pressure test'],
  'sonic/{id}/incidents/action': [
    action,
    'does it to each open incident that offers it; `resolve` is whichever of `resolve` and `dismiss` is offered',
  ],
  'sonic/{id}/name/set': [anyName, 'renames the sonic'],
  'signal/{id}/incidents/action': [action, 'likewise, for the incidents of the signal'],
  'signal/{id}/name/set': [anyName, 'renames the signal'],
  'property/{id}/incidents/action': [action, 'likewise, for everything in the property'],
  'property/{id}/name/set': [anyName, 'renames the property'],
  'property/{id}/active/set': [onOff, 'makes the property active or not'],
  'property/{id}/set': [fields, 'changes the record of the property'],
  'property/{id}/settings/{field}/set': [field, 'changes one setting'],
  'property/{id}/settings/set': [fields, 'changes several settings, all or none'],
  'property/{id}/notifications/{field}/set': [field, 'changes one notification setting'],
  'property/{id}/notifications/set': [fields, 'changes several notification settings, all or none'],
  'property/{id}/leak_protection/set': [onOff, 'switches leak protection on or off'],
  'property/{id}/push/set': [onOff, 'switches push messages on or off'],
  'incident/{id}/action': [
    'an action that the incident offers',
    'does it to this incident; a closed one is read first, and offers `reopen`',
  ],
  'bridge/refresh': ['anything', 'polls everything now'],
  'bridge/log_level/set': [
    settableLogLevels.map(code).join(', '),
    'sets the level of the log until the next start',
  ],
};

/** Every topic that takes commands. */
export function commandTopics(): readonly CommandTopic[] {
  const filters = commandFilters(topicsUnder(base, 'homeassistant'));
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
  'bridge/info':
    'Shortened: there are more operations, and the rest of the configuration. `instance_id` is another with each start.',
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
    `All topics are below \`mqtt.base_topic\`, \`${base}\` unless set otherwise, and the tables leave that out. Payloads are
JSON in UTF-8 unless they are a plain word. In JSON every key is always there, null when unknown. Records keep the fields
and the names that the cloud gives them, also those that the bridge does not know. \`{id}\` is an id of the cloud.`,
    '## Retained state',
    `Published at QoS 1 when it changes, when the bridge connects to the broker, and when Home Assistant starts; a quiet
poll publishes nothing. What is gone from the cloud loses its topics after two complete readings without it.`,
    topicTable(retained),
    '## Happenings',
    'Not retained.',
    topicTable(passing),
    '## Commands',
    `Sent without the retain flag: a retained command is refused, as it would be carried out again at each restart.`,
    table(
      ['Topic', 'Payload', 'What it does'],
      commandTopics().map(({ topic, payload, words }) => [code(topic), payload, words]),
    ),
    `The outcome of each command is one \`command\` event on \`bridge/event\`:`,
    codeBlock('json', json(outcome)),
    `\`status\` is \`ok\` (the cloud accepted it), \`error\`, \`refused\` (it was not sent) or \`superseded\` (a newer command for
the same valve came before it was sent); \`reason\` says in words why, where it is not \`ok\`, and \`http_status\` is what the
cloud answered, if it did. A valve that has not done as it was told within \`valve.confirm_timeout\` gives a second event,
\`error\` with the reason \`not_confirmed\`.`,
    ...requestsSection,
    '## Home Assistant',
    `One retained message for each device, \`homeassistant/device/sonic2mqtt_{id}/config\` (\`sonic2mqtt_bridge\` for the bridge),
announces its [entities](entities.md); \`homeassistant.discovery_prefix\` sets its beginning. The states of the entities
are together in \`{device}/${statesPath}\`, in the words that Home Assistant takes. Both are between the bridge and Home
Assistant and may change with any version: flows and scripts read the topics above.`,
    '## Examples',
    'As the simulated cloud of `sonic2mqtt demo` makes them.',
    ...[...retained, ...passing].flatMap(exampleSection),
  ].join('\n\n');
}
