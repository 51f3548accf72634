import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { singleFlight } from '../base/singleFlight.ts';
import type { CloudClient } from '../cloud/client.ts';
import { CloudError, type CloudErrorKind } from '../cloud/errors.ts';
import { storeReply } from '../commands/updates.ts';
import type { Poller } from '../polling/poller.ts';
import type { Store } from '../store/store.ts';

/** The address that the cloud should call, and the form of it that logs may show. */
interface RegistrationOptions {
  /** The address for the `webhook_url` of each property. */
  readonly url: string;
  /** The address without its secrets, for logs and topics. */
  readonly shownUrl: string;
  /** Ends the requests in progress when it aborts. */
  readonly stopping: AbortSignal;
}

/**
 * If the address was changed back this many times, another program sets its own address. It then stays until the next
 * start.
 */
const maxTimes = 3;

/**
 * Writes the webhook's address into the settings of each property that has another address, whenever the settings were
 * read.
 */
export class WebhookRegistration {
  readonly #client: CloudClient;
  readonly #store: Store;
  readonly #poller: Poller;
  readonly #options: RegistrationOptions;
  readonly #clock: Clock;
  readonly #log: Log;
  /** By property: how often the address was written; infinity if the cloud will always reject it. */
  readonly #times = new Map<string, number>();
  /** Checks the settings of all properties, one after the other; never rejects. */
  readonly look = singleFlight(async () => {
    const { stopping } = this.#options;
    for (const id of this.#store.ids('property')) {
      const isOffered = this.#client.isOffered('update_property_settings');
      if (stopping.aborted || !isOffered) return;
      await this.#register(id);
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
    this.#poller = poller;
    this.#options = options;
    this.#clock = clock;
    this.#log = log;
  }

  /** Starts to check the settings whenever they were read. */
  start(): void {
    this.#poller.on('ended', (poll) => {
      if (poll === 'properties') void this.look();
    });
  }

  async #register(id: string): Promise<void> {
    const settings = this.#store.propertyView(id)?.settings;
    // If the settings cannot be read, the account is only a guest of the property, and a guest cannot change them
    // either.
    if (!settings || (settings.webhook_enabled !== false && this.#isOurs(settings.webhook_url))) return;
    const times = this.#times.get(id) ?? 0;
    if (times > maxTimes) return;
    this.#times.set(id, times + 1);
    const label = this.#store.label('property', id);
    if (times === maxTimes) {
      this.#log.warn(
        { device: id },
        `Webhook of ${label}: overwritten repeatedly by another client. Giving up`,
      );
      return;
    }
    const { url, shownUrl, stopping } = this.#options;
    const body = { webhook_enabled: true, webhook_url: url };
    const call = { operation: 'update_property_settings', params: { property_id: id }, body } as const;
    try {
      const reply = await this.#client.call(call, { priority: 'list', signal: stopping });
      // Stored without its secrets, because the address is published at topics.
      const shownCall = { ...call, body: { ...body, webhook_url: shownUrl } };
      storeReply(this.#store, shownCall, reply, this.#clock.monotonic());
      this.#logSuccess(id, label, settings.webhook_url ?? '');
    } catch (error) {
      if (!stopping.aborted) this.#logFailure(id, label, error);
      const isRejected = error instanceof CloudError && permanentKinds.includes(error.kind);
      this.#times.set(id, isRejected ? Number.POSITIVE_INFINITY : times);
    }
  }

  #logSuccess(id: string, label: string, before: string): void {
    if (before === '' || this.#isOurs(before)) {
      this.#log.info({ device: id }, `Webhook registered for ${label}`);
      return;
    }
    // Only the origin of the other address is logged, because the rest may be secret.
    const origin = URL.canParse(before) ? new URL(before).origin : 'another address';
    this.#log.warn({ device: id }, `Webhook of ${label} replaced: ${origin} gets no more calls`);
  }

  #logFailure(id: string, label: string, error: unknown): void {
    if (!(error instanceof CloudError)) {
      this.#log.error({ err: error, device: id }, `Internal error: cannot register the webhook for ${label}`);
      return;
    }
    const { operation, message, kind } = error;
    const sentence = `Cannot register the webhook for ${label}: ${message}`;
    const isPermanent = permanentKinds.includes(kind);
    this.#log.warn({ device: id, operation }, isPermanent ? sentence : `${sentence}. Trying again later`);
  }

  #isOurs(shown: string | null): boolean {
    const { url, shownUrl } = this.#options;
    return shown !== null && [url, shownUrl].map(bareOf).includes(bareOf(shown));
  }
}

/** The same request would fail again with these errors. */
const permanentKinds: readonly CloudErrorKind[] = ['forbidden', 'rejected', 'notFound', 'unsupported'];

/** The address in one form. The cloud may change the case of the host, or the slash at the end. */
function bareOf(address: string): string {
  const { href } = URL.canParse(address) ? new URL(address) : { href: address };
  return href.replace(/\/+$/, '');
}
