import { type Field, type Fields, fieldsOf } from '../../src/cloud/fields.ts';
import {
  type Call,
  type OperationName,
  operationNames,
  operationRow,
  paramNames,
} from '../../src/cloud/operations.ts';
import { encodeCall } from '../../src/cloud/request.ts';
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
  Session: `The bridge signs in by itself; these are for \`sonic2mqtt call\` only.`,
  Incidents: `An incident says in \`possible_actions\` which actions it takes.`,
  Properties: '',
  Signals: 'A signal is a hub; operations that want a `hub_id` take the id of a signal.',
  Sonics: `A sonic is a motorised main valve. The answer to a valve command is that it was accepted; the valve takes up to a
minute, and its record says what has become of it.`,
  Things: 'A thing is taken to be a sonic: its id is the id of the sonic.',
  Account: '',
} as const;
type Group = keyof typeof groups;

/** What each operation does and answers, in words. */
const words: Readonly<Record<OperationName, readonly [Group, string, string]>> = {
  sign_in: ['Session', 'signs in', 'the token and the user'],
  refresh_token: ['Session', 'exchanges the token for a new one; the old one ends', 'the token and the user'],
  validate_token: ['Session', 'asks whether the token is still good', 'the token and the user'],
  sign_out: ['Session', 'ends the session', '`success`, or nothing'],

  list_incidents: ['Incidents', 'lists incidents', 'a page of incidents'],
  read_incident: ['Incidents', 'reads an incident', 'the incident'],
  act_on_incident: ['Incidents', 'resolves, snoozes or reopens an incident', 'the incident'],
  list_property_incidents: ['Incidents', 'lists the incidents of a property', 'a page of incidents'],
  act_on_property_incident: ['Incidents', 'does the same, as the app asks for it', '`status`, or nothing'],

  list_properties: ['Properties', 'lists properties', 'a page of properties'],
  read_property: ['Properties', 'reads a property', 'the property'],
  update_property: ['Properties', 'changes a property', 'the property'],
  patch_property: ['Properties', 'changes a property', 'the property'],
  read_notification_settings: ['Properties', 'reads what is notified of', 'the notification settings'],
  update_notification_settings: ['Properties', 'changes what is notified of', 'the notification settings'],
  read_property_settings: ['Properties', 'reads the settings', 'the settings'],
  update_property_settings: ['Properties', 'changes settings', 'the settings'],
  create_property: ['Properties', 'creates a property', '`id` and `name`'],
  update_customer_property: ['Properties', 'changes a property, as the app asks for it', '`id` and `name`'],
  update_property_configuration: [
    'Properties',
    'switches leak protection on or off',
    '`leak_protection_enabled`',
  ],
  update_customer_notifications: [
    'Properties',
    'switches notifications of the app on or off',
    '`push_enabled`',
  ],

  list_property_signals: ['Signals', 'lists the signals of a property', 'a page of signals'],
  list_signals: ['Signals', 'lists signals', 'a page of signals'],
  read_signal: ['Signals', 'reads a signal', 'the signal'],
  update_signal: ['Signals', 'renames a signal', 'the signal'],
  patch_signal: ['Signals', 'renames a signal', 'the signal'],
  read_hub: ['Signals', 'reads a signal as a hub', '`id`, `serial_no` and `status`'],

  list_signal_sonics: ['Sonics', 'lists the sonics of a signal', 'a page of sonics'],
  list_sonics: ['Sonics', 'lists sonics', 'a page of sonics'],
  read_sonic: ['Sonics', 'reads a sonic', 'the sonic'],
  update_sonic: ['Sonics', 'renames a sonic', 'the sonic'],
  patch_sonic: ['Sonics', 'renames a sonic', 'the sonic'],
  command_valve: ['Sonics', 'moves the valve', '`status`, or nothing'],
  read_telemetry: ['Sonics', 'reads flow, pressure and temperature', 'ml/min, mbar and °C, with the time'],
  list_wifi_sonics: ['Sonics', 'lists sonics that need no signal', 'a page of sonics'],
  read_wifi_sonic: ['Sonics', 'reads one of them', 'the sonic'],
  update_wifi_sonic: ['Sonics', 'renames one of them', 'the sonic'],
  patch_wifi_sonic: ['Sonics', 'renames one of them', 'the sonic'],
  command_wifi_valve: ['Sonics', 'moves its valve', '`status`, or nothing'],
  read_wifi_telemetry: ['Sonics', 'reads its flow, pressure and temperature', 'as `read_telemetry`'],

  change_thing_state: ['Things', 'moves the valve, as the app asks for it', '`status`, or nothing'],
  start_pressure_test: ['Things', 'starts a pressure test', '`job_id`'],
  read_pressure_tests: ['Things', 'reads its pressure tests', '`by_day`: their ids under each date'],
  read_daily_usage: [
    'Things',
    'reads the water of each day of a month',
    '`daily`: `date` and `liters` of each day',
  ],

  read_user: ['Account', 'reads a user', 'the user'],
  update_user: ['Account', 'changes a user', 'the user'],
  create_invitation: ['Account', 'invites somebody to a property', '`invitation_id`'],
  read_appliance_categories: [
    'Account',
    'reads the kinds of appliances',
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
    `What the bridge knows of the cloud. The names are those that \`cloud.routes\` in the
[configuration](options.md#cloud) takes, where a cloud differs: another route for a name, or \`null\` to do without.
\`bridge/info\` says of each whether it is \`available\`, \`unavailable\` (the cloud has no such route) or \`off\`.`,
    '## Ask for one',
    howToAsk(),
    '## All of them',
    `- **No.** is the number in the cloud's interface document.
- **Known from** says who has shown the route: the interface document, the vendor's or a library's own publications, or
  nobody (assumed).
- **Repeated** says whether a request is sent again after a failure. What changes something is not, unless the cloud
  plainly did not act on it: the connection was refused, or the answer was 401 or 429.
- **Changes** names the option that must be on before MQTT may ask for it.`,
    overview(),
    ...Object.keys(groups).flatMap((group) => groupSection(group as Group)),
    `## ${typesHeading}`,
    `${incidentTypes.map(code).join(', ')}. The cloud may come to know more; a query takes these.`,
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
    `On the command line, \`sonic2mqtt call\` takes parameters and query fields as options and the body as JSON, and prints the
answer; \`--all-pages\` reads a whole list. No option of \`control\` limits it.`,
    codeBlock(
      'sh',
      [
        `sonic2mqtt call ${read.operation} --open ${read.query.open} --page ${read.query.page}`,
        `sonic2mqtt call ${change.operation} --incident-id ${params.incident_id} --body '${JSON.stringify(body)}'`,
      ].join('\n'),
    ),
    `Over MQTT, what is published to \`sonic2mqtt/bridge/request/${change.operation}\`, for example`,
    codeBlock('json', json(request)),
    `is answered on \`sonic2mqtt/bridge/response/${change.operation}\`, or on the response topic of the request (MQTT 5):`,
    codeBlock('json', json(answer)),
    `\`params\`, \`query\` and \`body\` hold what the tables below name; whatever they do not name is refused with a suggestion,
and nothing is sent. A page is an object with the records in \`data\`, and \`page_number\`, \`page_size\`, \`total_entries\` and
\`total_pages\`. Answers keep the fields that the bridge does not know.`,
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
    return [code(name), does, takenBy(name, members), answers];
  });
  const text = groups[group];
  return [
    `## ${group}`,
    ...(text ? [text] : []),
    table(['Operation', 'What it does', 'Takes', 'Answers'], rows),
  ];
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
function fieldWords({ fields, isOpen }: Fields): string {
  const byTaking = new Map<string, string[]>();
  const inOrder = fields.toSorted((left, right) => Number(right.isRequired) - Number(left.isRequired));
  for (const field of inOrder) {
    const takes = `${field.isRequired ? 'required, ' : ''}${takesWords(field)}`;
    byTaking.set(takes, [...(byTaking.get(takes) ?? []), code(field.name)]);
  }
  const said = [...byTaking].map(([takes, names]) => `${names.join(', ')} (${takes})`);
  return [...said, ...(isOpen ? ['and any other field'] : [])].join('; ');
}

function takesWords({ takes, choices }: Field): string {
  if (choices === null) return takes;
  if (choices.length < incidentTypes.length) return choices.map(code).join(', ');
  return `one of the [types](#${typesHeading.toLowerCase().replaceAll(' ', '-')})`;
}
