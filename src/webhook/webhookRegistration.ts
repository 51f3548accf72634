import { type Clock, sleep } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { CloudClient } from '../cloud/client.ts';
import { CloudError } from '../cloud/errors.ts';
import { takeReply } from '../commands/updates.ts';
import type { PropertyView } from '../model/devices.ts';
import type { Store } from '../store/store.ts';

export interface RegistrationOptions {
  /** What is put into each property's `webhook_url`. */
  readonly url: string;
  /** How the cloud's word on it is shown: without the secrets in it. */
  readonly shownUrl: string;
  /** Gives up what is under way. */
  readonly signal: AbortSignal;
}

/** How long it waits where commands have used up the budget. */
const budgetWaitMs = 5_000;

/** Where the settings differ again and again within this time, somebody else wants them so: it is left to them. */
const mostTimes = 3;
const withinMs = 30 * 24 * 3_600_000;

/** Puts the webhook's address into the settings of each property that has another, one property after the other. */
export class WebhookRegistration {
  readonly #client: CloudClient;
  readonly #options: RegistrationOptions;
  readonly #clock: Clock;
  readonly #log: Log;
  /** When each property was told of late, in ms of the monotonic clock. */
  readonly #toldAt = new Map<string, readonly number[]>();
  /** Properties whose settings cannot be changed, or are left to others. */
  readonly #left = new Set<string>();
  #looking: Promise<void> | null = null;

  constructor(client: CloudClient, options: RegistrationOptions, clock: Clock, log: Log) {
    this.#client = client;
    this.#options = options;
    this.#clock = clock;
    this.#log = log;
  }

  /** Looks at the settings of all properties, which were just read, resolving when all is put right; never rejects. */
  look(store: Store): Promise<void> {
    this.#looking ??= this.#lookAtAll(store).finally(() => {
      this.#looking = null;
    });
    return this.#looking;
  }

  async #lookAtAll(store: Store): Promise<void> {
    for (const id of store.ids('property')) {
      await this.#untilAffordable();
      if (this.#options.signal.aborted || !this.#isOffered) return;
      const view = store.propertyView(id);
      if (view && this.#isWanting(id, view)) await this.#register(id, store);
    }
  }

  get #isOffered(): boolean {
    return this.#client.availability('update_property_settings') === 'available';
  }

  /** Somebody's command must not be kept waiting by those of a large account. */
  async #untilAffordable(): Promise<void> {
    const { signal } = this.#options;
    while (this.#client.traffic().isUsedUp && !signal.aborted) {
      await sleep(this.#clock, budgetWaitMs, signal).catch(() => {});
    }
  }

  #isWanting(id: string, view: PropertyView): boolean {
    // What cannot be read is a guest's, and cannot be changed either.
    if (!view.settings || this.#left.has(id)) return false;
    return view.settings.webhook_enabled === false || !this.#isOurs(shownUrlOf(view));
  }

  async #register(id: string, store: Store): Promise<void> {
    const label = store.label('property', id);
    const before = shownUrlOf(store.propertyView(id));
    const now = this.#clock.monotonic();
    const toldAt = (this.#toldAt.get(id) ?? []).filter((at) => now - at < withinMs);
    if (toldAt.length >= mostTimes) {
      this.#left.add(id);
      this.#log.warn(
        { device: id },
        `Webhook: that of ${label} is changed again and again by others: it is left as it is`,
      );
      return;
    }
    const { url, shownUrl, signal } = this.#options;
    const body = { webhook_enabled: true, webhook_url: url };
    const call = { operation: 'update_property_settings', params: { property_id: id }, body } as const;
    try {
      const reply = await this.#client.call(call, { signal });
      this.#toldAt.set(id, [...toldAt, now]);
      // As the cloud would show it: the topics are no place for a secret.
      const shownCall = { ...call, body: { ...body, webhook_url: shownUrl } };
      takeReply(store, shownCall, reply, this.#clock.monotonic());
      if (before !== null && before !== '' && !this.#isOurs(before)) {
        this.#log.warn(
          { device: id },
          `Webhook: ${label} had another, at ${originOf(before)}; http.webhook.public_url has taken its place`,
        );
      } else this.#log.info({ device: id }, `Webhook: registered for ${label}`);
    } catch (error) {
      if (signal.aborted) return;
      this.#noteFailure(id, label, error);
    }
  }

  /** What is refused is not asked again; all else is, with the next reading of the properties. */
  #noteFailure(id: string, label: string, error: unknown): void {
    if (!(error instanceof CloudError)) {
      this.#log.error({ err: error, device: id }, `Webhook: registering it for ${label} went wrong`);
      return;
    }
    const isRefused = ['forbidden', 'rejected', 'notFound', 'unsupported'].includes(error.kind);
    if (isRefused) this.#left.add(id);
    const ending = isRefused ? 'it is not registered there' : 'it is tried again';
    const { operation } = error;
    this.#log.warn({ device: id, operation }, `Webhook: ${label}: ${error.message}; ${ending}`);
  }

  #isOurs(shown: string | null): boolean {
    const { url, shownUrl } = this.#options;
    return shown !== null && [url, shownUrl].map(bareOf).includes(bareOf(shown));
  }
}

/** The address that the cloud shows, or that it has accepted and does not show; null where neither is known. */
function shownUrlOf(view: PropertyView | null): string | null {
  return view?.settings?.webhook_url ?? null;
}

/** The cloud may write it in another way: the host in small letters, a slash at its end. */
function bareOf(address: string): string {
  const { href } = URL.canParse(address) ? new URL(address) : { href: address };
  return href.replace(/\/+$/, '');
}

/** Of somebody's address no more than where it leads: the rest may be secret. */
function originOf(address: string): string {
  return URL.canParse(address) ? new URL(address).origin : 'an address that is none';
}
