import { type Field, fieldsOf } from '../../src/cloud/fields.ts';
import {
  type Call,
  type OperationName,
  operationNames,
  operationRow,
  paramNames,
} from '../../src/cloud/operations.ts';
import { encodeCall } from '../../src/cloud/request.ts';
import { incidentName } from '../../src/entities/incidents.ts';
import { incidentTypes } from '../../src/model/records.ts';
import { code, codeBlock, generatedNote, json, table } from './markdown.ts';

const sources = {
  document: 'interface document',
  public: 'published',
  assumed: 'assumed',
} as const;

const typesHeading = 'Types of incidents';

/** The groups of the page, in its order, with what a reader must know of each. */
const groups = {
  Session: 'Only for `sonic2mqtt call`. The bridge signs in by itself.',
  Incidents: '`possible_actions` of an incident lists its actions.',
  Properties: '',
  Signals: 'A signal is a hub. `hub_id` is the ID of a signal.',
  Sonics:
    'A sonic is a motorised valve. The cloud answers a valve command when it accepts it. The valve needs up to a minute, then its record shows the new state.',
  Things: 'A thing is a sonic. `thing_id` is the ID of the sonic.',
  Account: '',
} as const;
type Group = keyof typeof groups;

/** What each operation does and answers, in words. */
const words: Readonly<Record<OperationName, readonly [Group, string, string]>> = {
  sign_in: ['Session', 'signs in', 'token and user'],
  refresh_token: ['Session', 'Replaces the token. The old one ends', 'token and user'],
  validate_token: ['Session', 'Checks the token', 'token and user'],
  sign_out: ['Session', 'ends the session', '`success`, or nothing'],

  list_incidents: ['Incidents', 'lists incidents', 'page of incidents'],
  read_incident: ['Incidents', 'reads an incident', 'incident'],
  act_on_incident: ['Incidents', 'resolves, snoozes or reopens an incident', 'incident'],
  list_property_incidents: ['Incidents', 'lists the incidents of a property', 'page of incidents'],
  act_on_property_incident: ['Incidents', 'Does the same, with the route of the app', '`status`, or nothing'],

  list_properties: ['Properties', 'lists properties', 'page of properties'],
  read_property: ['Properties', 'reads a property', 'property'],
  update_property: ['Properties', 'changes a property', 'property'],
  patch_property: ['Properties', 'changes a property', 'property'],
  read_notification_settings: ['Properties', 'Reads the notification settings', 'notification settings'],
  update_notification_settings: ['Properties', 'Changes the notification settings', 'notification settings'],
  read_property_settings: ['Properties', 'reads the settings', 'settings'],
  update_property_settings: ['Properties', 'changes settings', 'settings'],
  create_property: ['Properties', 'creates a property', '`id` and `name`'],
  update_customer_property: [
    'Properties',
    'Changes a property, with the route of the app',
    '`id` and `name`',
  ],
  update_property_configuration: [
    'Properties',
    'Turns leak protection on or off',
    '`leak_protection_enabled`',
  ],
  update_customer_notifications: ['Properties', 'Turns notifications of the app on or off', '`push_enabled`'],

  list_property_signals: ['Signals', 'Lists the hubs of a property', 'page of hubs'],
  list_signals: ['Signals', 'Lists hubs', 'page of hubs'],
  read_signal: ['Signals', 'Reads a hub', 'hub'],
  update_signal: ['Signals', 'Renames a hub', 'hub'],
  patch_signal: ['Signals', 'Renames a hub', 'hub'],
  read_hub: ['Signals', 'Reads the state of a hub', '`id`, `serial_no` and `status`'],

  list_signal_sonics: ['Sonics', 'Lists the valves of a hub', 'page of valves'],
  list_sonics: ['Sonics', 'Lists valves', 'page of valves'],
  read_sonic: ['Sonics', 'Reads a valve', 'valve'],
  update_sonic: ['Sonics', 'Renames a valve', 'valve'],
  patch_sonic: ['Sonics', 'Renames a valve', 'valve'],
  command_valve: ['Sonics', 'Moves the valve', '`status`, or nothing'],
  read_telemetry: ['Sonics', 'reads flow, pressure and temperature', 'ml/min, mbar and °C, with the time'],
  list_wifi_sonics: ['Sonics', 'Lists the Wi-Fi valves', 'page of valves'],
  read_wifi_sonic: ['Sonics', 'Reads a Wi-Fi valve', 'valve'],
  update_wifi_sonic: ['Sonics', 'Renames a Wi-Fi valve', 'valve'],
  patch_wifi_sonic: ['Sonics', 'Renames a Wi-Fi valve', 'valve'],
  command_wifi_valve: ['Sonics', 'Moves a Wi-Fi valve', '`status`, or nothing'],
  read_wifi_telemetry: [
    'Sonics',
    'Reads flow, pressure and temperature of a Wi-Fi valve',
    'as `read_telemetry`',
  ],

  change_thing_state: ['Things', 'Moves the valve, with the route of the app', '`status`, or nothing'],
  start_pressure_test: ['Things', 'starts a pressure test', '`job_id`'],
  read_pressure_tests: ['Things', 'reads the pressure tests', '`by_day`: the IDs for each date'],
  read_daily_usage: [
    'Things',
    'reads the water use of each day of a month',
    '`daily`: `date` and `liters` of each day',
  ],

  read_own_user: ['Account', 'Reads the user of your account. Its `id` is the `user_id`', 'user'],
  read_user: ['Account', 'reads a user', 'user'],
  update_user: ['Account', 'changes a user', 'user'],
  create_invitation: ['Account', 'Invites a person to a property', '`invitation_id`'],
  read_appliance_categories: [
    'Account',
    'Reads the kinds of appliances',
    '`categories`: `id` and `name` of each',
  ],
};

const shownIncident = '9b2f6f0e-5a0c-4a53-8a5e-0d6f4f1c7a21';
const shownCalls = {
  read: { operation: 'list_incidents', query: { open: true, page: 2 } },
  change: {
    operation: 'act_on_incident',
    params: { incident_id: shownIncident },
    body: { action: 'resolve' },
  },
} as const satisfies Record<string, Call>;

/** docs/reference/operations.md */
export function operationsPage(): string {
  return [
    generatedNote,
    '# Operations of the cloud',
    `You can call each of these operations over MQTT or on the command line.
[\`cloud.routes\`](options.md#cloud) changes the route of an operation, or turns it off with \`null\`.
\`bridge/info\` shows if an operation is \`available\`, \`unavailable\` (the cloud has no such route) or \`off\`.`,
    '## Call an operation',
    howToAsk(),
    '## All operations',
    `- **No.** is the number in the interface document of the cloud.
- **Known from** is the source of the route. An assumed route was never published.
- **Repeated** shows if a request is sent again after a failure. A change is repeated only if the cloud cannot have acted on it: the connection was rejected, or the answer was 401 or 429.
- **Changes** names the option that must be on for MQTT.`,
    overview(),
    '### Two operations with one number',
    `The interface document shows the operations 4, 8 to 13, 16, 17 and 20 twice, with the same parameters, body and answer.

- 8, 16 and 20 are two methods of one route: \`update_…\` sends PUT, and \`patch_…\` sends PATCH. Both change only the fields of the body.
- 4, 9 to 13 and 17 are one route each, which the document lists under two headings. So they have one name here.`,
    ...Object.keys(groups).flatMap((group) => groupSection(group as Group)),
    `## ${typesHeading}`,
    'A query accepts these. The cloud can add more.',
    table(
      ['Type', 'Name'],
      incidentTypes.map((type) => [code(type), incidentName({ type }) ?? '']),
    ),
  ].join('\n\n');
}

function howToAsk(): string {
  const { read, change } = shownCalls;
  // What is shown must be accepted.
  for (const call of [read, change]) encodeCall(call, {});
  const { params, body } = change;
  const request = { params, body, transaction: '42' };
  const answer = {
    status: 'ok',
    data: { id: shownIncident, state: 'resolved', '…': '…' },
    transaction: '42',
  };
  return [
    `On the command line, \`sonic2mqtt call\` accepts the same JSON, and prints the answer.
\`control\` does not limit it.`,
    codeBlock(
      'sh',
      [
        `sonic2mqtt call ${read.operation} '${JSON.stringify({ query: read.query })}'`,
        `sonic2mqtt call ${change.operation} '${JSON.stringify({ params, body })}'`,
      ].join('\n'),
    ),
    `Over MQTT, publish a request to \`sonic2mqtt/bridge/request/${change.operation}\`:`,
    codeBlock('json', json(request)),
    `The answer arrives on \`sonic2mqtt/bridge/response/${change.operation}\`, or on the response topic of the request (MQTT 5):`,
    codeBlock('json', json(answer)),
    `\`params\`, \`query\` and \`body\` contain the fields of the tables below.
Other fields are rejected with a suggestion, and nothing is sent.
A page is an object with the records in \`data\`, and with \`page_number\`, \`page_size\`, \`total_entries\` and \`total_pages\`.`,
  ].join('\n\n');
}

function overview(): string {
  const rows = operationNames.map((name) => {
    const { number, method, path, source, retry, control, session } = operationRow(name);
    return [
      code(name),
      number === null ? '' : String(number),
      code(`${method} ${path}`),
      sources[source],
      retry === 'safe' ? 'yes' : 'no',
      session
        ? 'the session'
        : control === undefined
          ? 'nothing'
          : control.map((each) => code(`control.${each}`)).join(', '),
    ];
  });
  return table(['Operation', 'No.', 'Route', 'Known from', 'Repeated', 'Changes'], rows);
}

function groupSection(group: Group): string[] {
  const members = operationNames.filter((name) => words[name][0] === group);
  const rows = members.map((name) => {
    const [, does, answers] = words[name];
    return [code(name), sentenceCase(does), takenBy(name, members), sentenceCase(answers)];
  });
  const text = groups[group];
  return [`## ${group}`, ...(text ? [text] : []), table(['Operation', 'Effect', 'Accepts', 'Returns'], rows)];
}

/** With a capital letter at the beginning. */
function sentenceCase(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Parameters, query and body of an operation, a line each. */
function takenBy(name: OperationName, members: readonly OperationName[]): string {
  const { path, query, body } = operationRow(name);
  const params = paramNames(path).map(code);
  // Several operations take the very same long list.
  const twin = members.find((each) => body && operationRow(each).body === body);
  const bodyWords = twin !== undefined && twin !== name ? `as ${code(twin)}` : fieldWords(fieldsOf(body));
  return [
    params.length > 0 ? `**params** ${params.join(', ')}` : '',
    query ? `**query** ${fieldWords(fieldsOf(query))}` : '',
    body ? `**body** ${bodyWords}` : '',
  ]
    .filter(Boolean)
    .join('<br>');
}

/** The fields, those that take the same together, required ones first. */
function fieldWords({ fields, isOpen }: ReturnType<typeof fieldsOf>): string {
  const byTaking = new Map<string, string[]>();
  const inOrder = fields.toSorted((left, right) => Number(right.isRequired) - Number(left.isRequired));
  for (const field of inOrder) {
    const takes = `${field.isRequired ? 'required, ' : ''}${takesWords(field)}`;
    byTaking.set(takes, [...(byTaking.get(takes) ?? []), code(field.name)]);
  }
  const said = [...byTaking].map(([takes, names]) => `${names.join(', ')} (${takes})`);
  return [...said, ...(isOpen ? ['any other field'] : [])].join('<br>');
}

function takesWords({ takes, choices }: Field): string {
  if (choices === null) return takes;
  if (choices.length < incidentTypes.length) return choices.map(code).join(', ');
  return `one of the [types](#${typesHeading.toLowerCase().replaceAll(' ', '-')})`;
}
