import { type Clock, sleep } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { singleFlight } from '../base/singleFlight.ts';
import type { CloudClient } from '../cloud/client.ts';
import { CloudError } from '../cloud/errors.ts';
import { takeReply } from '../commands/updates.ts';
import type { PropertyView } from '../model/devices.ts';
import type { Poller } from '../polling/poller.ts';
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

/** What is changed again and again after this many times, somebody else wants so: it is left to them until the next start. */
const maxTimes = 3;

/** Puts the webhook's address into the settings of each property that has another, whenever these were read. */
export class WebhookRegistration {
  readonly #client: CloudClient;
  readonly #store: Store;
  readonly #poller: Poller;
  readonly #options: RegistrationOptions;
  readonly #clock: Clock;
  readonly #log: Log;
  /** How often each property was given the address. */
  readonly #times = new Map<string, number>();
  /** Properties whose settings cannot be changed, or are left to others. */
  readonly #left = new Set<string>();
  /** Looks at the settings of all properties, one after the other; never rejects. */
  readonly look = singleFlight(async () => {
    for (const id of this.#store.ids('property')) {
      await this.#untilAffordable();
      if (this.#options.signal.aborted || !this.#isOffered) return;
      const view = this.#store.propertyView(id);
      if (view && this.#isWanting(id, view)) await this.#register(id);
    }
  });

  constructor(
    client: CloudClient,
    store: Store,
    poller: Poller,
    options: RegistrationOptions,
    clock: Clock,
    log: Log,
  ) {
    this.#client = client;
    this.#store = store;
    this.#options = options;
    this.#clock = clock;
    this.#log = log;
    this.#poller = poller;
  }

  /** From now on looks at the settings whenever they were read. */
  start(): void {
    this.#poller.on('ended', (poll) => {
      if (poll === 'properties') void this.look();
    });
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

  async #register(id: string): Promise<void> {
    const label = this.#store.label('property', id);
    const before = shownUrlOf(this.#store.propertyView(id));
    const times = this.#times.get(id) ?? 0;
    if (times >= maxTimes) {
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
      this.#times.set(id, times + 1);
      // As the cloud would show it: the topics are no place for a secret.
      const shownCall = { ...call, body: { ...body, webhook_url: shownUrl } };
      takeReply(this.#store, shownCall, reply, this.#clock.monotonic());
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
