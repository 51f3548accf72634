import { createHmac } from 'node:crypto';
import type { World } from './world.ts';

const timeoutMs = 5_000;

/** Calls the webhooks of the properties once for each event. The calls are signed if there is a secret. */
export function callWebhooks(world: World, secret: string | undefined, stopping: AbortSignal): void {
  world.onIncident = (event, incident) => {
    const property_id = world.propertyOfIncident(incident) ?? '';
    const settings = world.settings.get(property_id);
    if (!settings?.webhook_enabled || !settings.webhook_url) return;
    const { id: incident_id, type: incident_type, sonic_id, state } = incident;
    const details = `${incident_type}: ${state}`;
    const data = { incident_id, incident_type, details, property_id, sonic_id };
    const body = JSON.stringify({ type: event, data });
    const headers = { 'content-type': 'application/json', ...signature(world.now, body, secret) };
    const signal = AbortSignal.any([stopping, AbortSignal.timeout(timeoutMs)]);
    fetch(settings.webhook_url, { method: 'POST', headers, body, signal, redirect: 'manual' })
      .then((response) => response.body?.cancel())
      .catch(() => {});
  };
}

function signature(now: number, body: string, secret: string | undefined): Record<string, string> {
  if (secret === undefined) return {};
  const at = Math.floor(now / 1_000);
  const hex = createHmac('sha256', secret).update(`${at}.${body}`).digest('hex');
  return { 'hl-signature': `t=${at},v1=${hex}` };
}
