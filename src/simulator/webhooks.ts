import { createHmac } from 'node:crypto';
import type { Incident } from '../model/records.ts';
import type { WebhookEventName } from './incidents.ts';
import type { World } from './world.ts';

export interface Delivery {
  readonly url: string;
  readonly event: WebhookEventName;
  /** Null if there was no answer. */
  readonly status: number | null;
}

const maxDeliveries = 200;
const timeoutMs = 5_000;

/** Calls the webhooks of the properties once for each event. The calls are signed if there is a secret. */
export class Webhooks {
  readonly #world: World;
  readonly #signingSecret: string | undefined;
  readonly #stopping: AbortSignal;
  #deliveries: readonly Delivery[] = [];

  constructor(world: World, signingSecret: string | undefined, stopping: AbortSignal) {
    this.#world = world;
    this.#signingSecret = signingSecret;
    this.#stopping = stopping;
    world.onIncident = (event, incident) => void this.#deliver(event, incident);
  }

  /** The newest calls, the oldest of them first. */
  get deliveries(): readonly Delivery[] {
    return this.#deliveries;
  }

  async #deliver(event: WebhookEventName, incident: Incident): Promise<void> {
    const property_id = this.#world.propertyOfIncident(incident) ?? '';
    const url = this.#urlOf(property_id);
    if (url === null) return;
    const { id: incident_id, type: incident_type, sonic_id, state } = incident;
    const details = `${incident_type}: ${state}`;
    const data = { incident_id, incident_type, details, property_id, sonic_id };
    const status = await this.#post(url, JSON.stringify({ type: event, data }));
    this.#deliveries = [...this.#deliveries, { url, event, status }].slice(-maxDeliveries);
  }

  async #post(url: string, body: string): Promise<number | null> {
    const headers = { 'content-type': 'application/json', ...this.#signature(body) };
    const signal = AbortSignal.any([this.#stopping, AbortSignal.timeout(timeoutMs)]);
    try {
      const response = await fetch(url, { method: 'POST', headers, body, signal, redirect: 'manual' });
      await response.body?.cancel();
      return response.status;
    } catch {
      return null;
    }
  }

  #signature(body: string): Record<string, string> {
    if (this.#signingSecret === undefined) return {};
    const at = Math.floor(this.#world.now / 1_000);
    const signature = createHmac('sha256', this.#signingSecret).update(`${at}.${body}`).digest('hex');
    return { 'hl-signature': `t=${at},v1=${signature}` };
  }

  #urlOf(propertyId: string): string | null {
    const settings = this.#world.settings.get(propertyId);
    return settings?.webhook_enabled ? settings.webhook_url || null : null;
  }
}
