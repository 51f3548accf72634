import type { SeenRequest } from '../../simulation/virtualCloud.ts';
import type { HostileMessage } from './hostileLink.ts';

const asking: Readonly<Record<string, RegExp>> = {
  patch_sonic: /^sonic2mqtt\/sonic\/[^/]+\/name\/set$/,
  patch_wifi_sonic: /^sonic2mqtt\/sonic\/[^/]+\/name\/set$/,
  patch_signal: /^sonic2mqtt\/signal\/[^/]+\/name\/set$/,
  patch_property: /^sonic2mqtt\/property\/[^/]+\/(name\/|active\/)?set$/,
  update_property_settings: /^sonic2mqtt\/property\/[^/]+\/(settings\/([^/]*\/)?set|pause\/(set|start))$/,
  update_notification_settings: /^sonic2mqtt\/property\/[^/]+\/notifications\/([^/]*\/)?set$/,
  update_property_configuration: /^sonic2mqtt\/property\/[^/]+\/leak_protection\/set$/,
  update_customer_notifications: /^sonic2mqtt\/property\/[^/]+\/push\/set$/,
  start_pressure_test: /^sonic2mqtt\/sonic\/[^/]+\/pressure_test\/start$/,
  act_on_incident: /^sonic2mqtt\/(incident\/[^/]+|(sonic|signal|property)\/[^/]+\/incidents)\/action$/,
  command_valve: /^sonic2mqtt\/sonic\/[^/]+\/valve\/set$/,
  command_wifi_valve: /^sonic2mqtt\/sonic\/[^/]+\/valve\/set$/,
};

/** Changes at the cloud that no live message asked for; each message may be used once, or once for each incident. */
export function unasked(
  changes: readonly SeenRequest[],
  messages: readonly HostileMessage[],
  incidents: number,
): string[] {
  const uses = messages
    .filter(({ retain }) => !retain)
    .flatMap((message) =>
      Array<HostileMessage>(message.topic.endsWith('/incidents/action') ? incidents : 1).fill(message),
    );
  const usedFor = new Map<number, SeenRequest>();
  // Whoever has a message that another needs takes another one, if there is one.
  const assign = (change: SeenRequest, tried: Set<number>): boolean =>
    uses.some((message, use) => {
      if (tried.has(use) || !asksFor(message, change)) return false;
      tried.add(use);
      const rival = usedFor.get(use);
      if (rival && !assign(rival, tried)) return false;
      usedFor.set(use, change);
      return true;
    });
  return changes
    .filter((change) => !assign(change, new Set()))
    .map(({ method, target, body }) => `nobody asked for ${method} ${target} ${body}`);
}

function asksFor({ topic, payload }: HostileMessage, { operation, target, body }: SeenRequest): boolean {
  if (operation === null) return false;
  const text = payload.toString();
  if (topic === `sonic2mqtt/bridge/request/${operation}`) {
    const asked = objectIn(text);
    const ids = Object.values(asked['params'] ?? {});
    return ids.every((id) => target.includes(encodeURIComponent(String(id)))) && isSame(asked['body'], body);
  }
  if (!asking[operation]?.test(topic)) return false;
  const [, kind = '', id = ''] = topic.split('/');
  if (kind !== 'incident' && operation !== 'act_on_incident' && !target.includes(`/${id}`)) return false;
  if (topic.endsWith('/name/set')) return String(objectIn(body)['name']).trim() === text.trim();
  return !operation.endsWith('valve') || wordOf(text) === String(objectIn(body)['action']);
}

function wordOf(text: string): string {
  const word = text.trim();
  const action = word.startsWith('{') ? objectIn(word)['action'] : word;
  return typeof action === 'string' ? action.toLowerCase() : '';
}

function isSame(asked: unknown, body: string): boolean {
  const [left, right] = [Object.entries(asked ?? {}), objectIn(body)];
  return left.every(([key, value]) => JSON.stringify(value) === JSON.stringify(right[key]));
}

// biome-ignore lint/suspicious/noExplicitAny: anything can be in a message
function objectIn(text: string): Record<string, any> {
  try {
    const value = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}
