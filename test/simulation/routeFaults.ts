import type { Random } from '../../src/base/backoff.ts';
import type { OperationName } from '../../src/cloud/operations.ts';
import type { SimulatedAnswer } from '../../src/simulator/answers.ts';
import { between, pick, uuid } from '../../src/simulator/random.ts';
import type { ChangeAnswer, ChangedAnswer, RequestFault, SeenRequest, Strike } from './virtualCloud.ts';

/** Faults of one route, or of one page of its list. */
const routeFaults = [
  ...['500', '503', '503-hour', '429', '429-hour', '403', '403-html', '404', '401'],
  ...['hang', 'reset', 'slow-connect', 'half-page', 'empty-page', 'odd-types', 'spelling', 'few-ids'],
] as const;
type DrawnFault = (typeof routeFaults)[number];
type RouteFault = DrawnFault | 'outdated';

/** The routes that the bridge needs most. Some are named twice, to be drawn more often. */
const routes: readonly OperationName[] = [
  ...(['list_incidents', 'list_incidents', 'list_sonics', 'list_sonics', 'list_wifi_sonics'] as const),
  ...(['list_properties', 'list_signals', 'list_property_signals', 'read_property_settings'] as const),
  ...(['read_notification_settings', 'read_hub', 'read_telemetry', 'read_wifi_telemetry'] as const),
  ...(['read_daily_usage', 'read_pressure_tests', 'read_incident', 'read_sonic', 'sign_in'] as const),
  ...(['refresh_token', 'command_valve', 'act_on_incident'] as const),
];

/** A fault of one route, or of one page of it. */
export interface RouteTrouble {
  readonly at: 'route';
  readonly fault: RouteFault;
  readonly operation: OperationName;
  /** Only this page of a list. Null means all pages. */
  readonly page: number | null;
  /** The stored answers of a cache, by the target of the request. */
  readonly cached: Map<string, string>;
}

/** A random fault of a random route. */
export function aRouteTrouble(random: Random): RouteTrouble {
  const operation = pick(random, routes) ?? 'list_incidents';
  const isList = operation.startsWith('list_');
  const listFaults = isList ? 0 : 5;
  const fault = routeFaults[between(random, 0, routeFaults.length - 1 - listFaults)] ?? '500';
  const page = isList && random() < 0.5 ? between(random, 1, 3) : null;
  return { at: 'route', fault, operation, page, cached: new Map() };
}

/** A cache in front of one route that reads data. */
export function aCacheTrouble(random: Random): RouteTrouble {
  const read = routes.filter((name) => /^(list|read)_/.test(name));
  const operation = pick(random, read) ?? 'list_incidents';
  return { at: 'route', fault: 'outdated', operation, page: null, cached: new Map() };
}

/** What happens to a request. Null if the fault does not concern it. */
export function strikeRoute(
  { fault, operation, page, cached }: RouteTrouble,
  request: SeenRequest,
  random: Random,
): ReturnType<Strike> {
  if (request.operation !== operation) return null;
  if (page !== null && Number(/[?&]page=(\d+)/.exec(request.target)?.[1] ?? 1) !== page) return null;
  return fault === 'outdated' ? outdated(cached, request.target, random) : outcomes[fault](random);
}

/** Most answers repeat the first one. Some come from the cloud itself. */
function outdated(cached: Map<string, string>, target: string, random: Random): ChangeAnswer {
  return (answer) => {
    if (answer.status !== 200) return answer;
    const text = cached.get(target) ?? answer.text;
    cached.set(target, text);
    return random() < 0.3 ? answer : { ...answer, text, isWhole: true };
  };
}

const jsonAnswer = (
  status: number,
  headers: Record<string, string> = {},
  text = `{"message":"${status}"}`,
): SimulatedAnswer => ({
  status,
  headers: { 'content-type': 'application/json', ...headers },
  text,
});

const outcomes: Readonly<
  Record<DrawnFault, (random: Random) => RequestFault | SimulatedAnswer | ChangeAnswer>
> = {
  '500': () => jsonAnswer(500),
  '503': (random) => jsonAnswer(503, { 'retry-after': String(between(random, 1, 300)) }),
  '503-hour': () => jsonAnswer(503, { 'retry-after': '3600' }),
  '429': () => jsonAnswer(429),
  '429-hour': () => jsonAnswer(429, { 'retry-after': '3600' }),
  '403': () => jsonAnswer(403),
  '403-html': () => jsonAnswer(403, { 'content-type': 'text/html' }, '<html>Forbidden</html>'),
  '404': () => jsonAnswer(404),
  '401': () => jsonAnswer(401),
  hang: () => 'hang-after',
  reset: () => 'reset-before',
  'slow-connect': () => 'slow-connect',
  'half-page': () => changeAnswer((answer) => ({ text: answer.text.slice(0, answer.text.length >> 1) })),
  'empty-page': () => changePage(() => [], false),
  'odd-types': (random) => changePage((records) => records.map((record) => oddTypes(record, random)), true),
  spelling: () => changePage((records) => records.map(inCapitals), true),
  'few-ids': (random) => changePage((records) => records.map((record) => fewIds(record, random)), true),
};

function changeAnswer(changed: (answer: SimulatedAnswer) => Partial<ChangedAnswer>): ChangeAnswer {
  return (answer) => (answer.status === 200 ? { ...answer, ...changed(answer), isHonest: true } : answer);
}

type Fields = Readonly<Record<string, unknown>>;

function changePage(
  change: (records: readonly Fields[]) => readonly Fields[],
  isWhole: boolean,
): ChangeAnswer {
  return changeAnswer(({ text }) => {
    const page = JSON.parse(text) as { data: readonly Fields[] };
    return { text: JSON.stringify({ ...page, data: change(page.data) }), isWhole };
  });
}

/** Replaces an important field by a value of a wrong type. */
function oddTypes(record: Fields, random: Random): Fields {
  const names = [
    ...['valve_state', 'battery', 'radio_connection', 'cloud_connection', 'type', 'severity', 'name'],
  ];
  const present = names.filter((name) => name in record);
  const name = pick(random, present);
  return name === undefined ? record : { ...record, [name]: pick(random, [7, null, ['odd'], { odd: true }]) };
}

/** Spells the IDs of other devices in capitals. */
function inCapitals(record: Fields): Fields {
  const names = ['sonic_id', 'signal_id'].filter((name) => typeof record[name] === 'string');
  return {
    ...record,
    ...Object.fromEntries(names.map((name) => [name, String(record[name]).toUpperCase()])),
  };
}

/** An incident with a missing or unknown place, type or severity. */
function fewIds(record: Fields, random: Random): Fields {
  if (!('severity' in record)) return record;
  const changes = pick<Fields>(random, [
    { sonic_id: null },
    { sonic_id: uuid(random) },
    { sonic_id: null, signal_id: null },
    { sonic_id: uuid(random), signal_id: uuid(random) },
    { signal_id: null },
    { type: null },
    { type: 3 },
    { severity: null },
  ]);
  return { ...record, ...changes };
}
