import type { SeenRequest } from '../../simulation/virtualCloud.ts';
import { homeSecrets } from '../../support/badJson.ts';
import { discoveryViolations } from '../../support/discoveryViolations.ts';
import type { TakenMessage } from '../home.ts';
import type { HostileHome } from './hostileHome.ts';

const id = '[A-Za-z0-9_-]{1,128}';
const ownTopics = new RegExp(
  `^(homeassistant/device/sonic2mqtt_(bridge|${id})/config|sonic2mqtt/(${[
    'bridge/(state|cloud|info|health|incidents|memory|homeassistant)',
    `property/${id}(/(settings|notifications|pause|incidents|homeassistant))?`,
    `signal/${id}(/(availability|incidents|homeassistant))?`,
    `sonic/${id}(/(availability|telemetry|usage|pressure_tests|incidents|last_command|movement|homeassistant))?`,
    `incident/${id}`,
  ].join('|')}))$`,
  'u',
);
const plainTopics = /\/(availability|bridge\/state|bridge\/cloud)$/;

/** Whatever anybody does, nothing of this may be found; looks at what was said since the last time. */
export function violationsOf(home: HostileHome): string[] {
  const published = home.handedOver.splice(0);
  const log = home.log.splice(0);
  return [
    ...retainedViolations(published),
    ...secretViolations(home, published, log),
    ...trafficViolations(home),
    ...log
      .filter((line) => ['error', 'fatal'].includes(JSON.parse(line).level))
      .map((line) => `an error of ours: ${line.slice(0, 1_500)}`),
    ...('polluted' in {} ? ['Object.prototype is polluted'] : []),
  ];
}

function retainedViolations(published: readonly TakenMessage[]): string[] {
  return published
    .filter(({ retain }) => retain)
    .flatMap(({ topic, payload }) => {
      // What others have left there may be deleted.
      if (payload === '' && topic.startsWith('sonic2mqtt/')) return [];
      if (!ownTopics.test(topic)) return [`${topic} is not ours to retain`];
      if (payload === '') return [];
      if (plainTopics.test(topic))
        return /^((on|off)line|ON|OFF)$/.test(payload) ? [] : [`${topic} says ${payload}`];
      if (!isJson(payload)) return [`${topic} is no JSON: ${payload.slice(0, 200)}`];
      return topic.startsWith('homeassistant/') ? discoveryViolations(topic, payload) : [];
    });
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** As they are, and as they are in JSON and in a URL: the spellings that are hidden. */
function spellings(secret: string): string[] {
  return [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)];
}

function secretViolations(
  { tokens }: HostileHome,
  published: readonly TakenMessage[],
  log: readonly string[],
): string[] {
  const forms = [...Object.values(homeSecrets), ...tokens]
    .filter(({ length }) => length >= 8)
    .flatMap(spellings);
  const shows = (text: string) => forms.find((form) => text.includes(form));
  return [
    ...published.flatMap(({ topic, payload }) => {
      const form = shows(topic) ?? shows(payload);
      return form === undefined ? [] : [`${topic} shows the secret ${form}`];
    }),
    ...log.flatMap((line) =>
      shows(line) === undefined ? [] : [`the log shows a secret: ${line.slice(0, 300)}`],
    ),
  ];
}

const minuteMs = 60_000;

/** Nobody asked for a change, and polls keep to the budget in every minute. Late lists, session and commands come in addition. */
function trafficViolations({ requests, budget, bridge }: HostileHome): string[] {
  const { timers, mostRequests } = bridge.load;
  const found: string[] = [];
  for (let first = 0, last = 0; last < requests.length; last++) {
    while ((requests[last]?.at ?? 0) - (requests[first]?.at ?? 0) >= minuteMs) first += 1;
    if (last - first + 1 > 1.25 * budget) {
      found.push(`${last - first + 1} requests within a minute`);
      break;
    }
  }
  if (mostRequests > 4) found.push(`${mostRequests} requests in flight`);
  if (timers > 300) found.push(`${timers} timers`);
  return found;
}

/** The requests of changes that reached the cloud. */
export function changeRequests({ requests }: HostileHome): SeenRequest[] {
  const ofSession = /^(sign_in|sign_out|refresh_token|validate_token)$/;
  return requests.filter(({ method, operation }) => method !== 'GET' && !ofSession.test(operation ?? ''));
}

/** What another time makes another, and what the bridge says of itself. */
const passing = new Set([
  ...['water_today', 'water_month', 'water_total', 'last_reset', 'telemetry_time', 'water_at_rest', 'flow'],
  ...['pressure', 'water_temperature', 'moved_at', 'moved_by'],
]);
const passingTopics =
  /^sonic2mqtt\/bridge\/(info|health|incidents|memory|homeassistant)$|\/(usage|telemetry|last_command|movement)$/;

/** What is retained, without what passes: the same of the same cloud, whatever happened before. */
export function picture({ broker: { retained } }: HostileHome): Map<string, string> {
  const lasting = [...retained].filter(([topic]) => ownTopics.test(topic));
  return new Map(
    lasting.map(([topic, payload]) => [topic, passingTopics.test(topic) ? '…' : comparable(payload)]),
  );
}

function comparable(payload: string): string {
  if (!isJson(payload)) return payload;
  return JSON.stringify(JSON.parse(payload), (key, value) => (passing.has(key) ? undefined : value));
}

/** How one picture differs from another, in words; empty where it does not. */
export function difference(
  shown: ReadonlyMap<string, string>,
  wanted: ReadonlyMap<string, string>,
): string[] {
  const topics = new Set([...shown.keys(), ...wanted.keys()]);
  return [...topics].flatMap((topic) => {
    const [is, should] = [shown.get(topic), wanted.get(topic)];
    return is === should ? [] : [`${topic} is ${is?.slice(0, 400)} instead of ${should?.slice(0, 400)}`];
  });
}
