import { createHmac } from 'node:crypto';
import type { Incident } from '../model/records.ts';
import type { IncidentEvent } from './incidents.ts';
import type { World } from './world.ts';

/** A call to a webhook. */
export interface Delivery {
  readonly url: string;
  readonly event: IncidentEvent;
  /** Null where there was no answer. */
  readonly status: number | null;
}

const mostKept = 200;
const timeoutMs = 5_000;

/** Calls the webhooks of the properties, once for each event, signed where there is a secret (cloud facts 5). */
export class Webhooks {
  readonly #world: World;
  readonly #signingSecret: string | undefined;
  readonly #signal: AbortSignal;
  #deliveries: readonly Delivery[] = [];

  constructor(world: World, signingSecret: string | undefined, signal: AbortSignal) {
    this.#world = world;
    this.#signingSecret = signingSecret;
    this.#signal = signal;
    world.onIncident = (event, incident) => void this.#tell(event, incident);
  }

  /** The newest, oldest first. */
  get deliveries(): readonly Delivery[] {
    return this.#deliveries;
  }

  /** Whether any property has one. */
  get areWanted(): boolean {
    return this.#world.settings.ids.some((id) => this.#urlOf(id) !== null);
  }

  async #tell(event: IncidentEvent, incident: Incident): Promise<void> {
    const propertyId = this.#world.propertyOfIncident(incident);
    const url = propertyId === undefined ? null : this.#urlOf(propertyId);
    if (propertyId === undefined || url === null) return;
    const data = {
      incident_id: incident.id,
      incident_type: incident.type,
      details: `${incident.type}: ${incident.state}`,
      property_id: propertyId,
      sonic_id: incident.sonic_id,
    };
    const status = await this.#post(url, JSON.stringify({ type: event, data }));
    this.#deliveries = [...this.#deliveries, { url, event, status }].slice(-mostKept);
  }

  async #post(url: string, body: string): Promise<number | null> {
    const headers = { 'content-type': 'application/json', ...this.#signature(body) };
    const signal = AbortSignal.any([this.#signal, AbortSignal.timeout(timeoutMs)]);
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
