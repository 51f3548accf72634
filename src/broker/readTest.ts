import type { Clock } from '../base/clock.ts';
import type { BrokerOptions } from './clientOptions.ts';
import { matchesAny } from './topicFilter.ts';

/** How long a message may take back from the broker, in ms. */
const echoMs = 5_000;

/** How often the bridge tries again if it cannot read, in ms. */
const againMs = 60_000;

/** If so many messages in a row are lost, the bridge cannot read. A busy broker may drop one of QoS 0. */
const maxLost = 3;

/**
 * Finds out whether the broker sends commands to the bridge. A broker with an access list may accept a subscription and
 * then send nothing. So the bridge sends itself an empty message, which is never a command, at the topic for the name of
 * a valve that does not exist. Other programs may count or announce the messages at the topics that move valves.
 */
export class ReadTest {
  readonly #topic: string;
  readonly #send: (topic: string) => Promise<void>;
  readonly #isProof: (topic: string) => boolean;
  readonly #clock: Clock;
  #hasHeard = false;
  #lost = 0;
  #isStopped = false;
  #cancel: () => void = () => {};

  constructor(
    { testTopic = '', subscriptions }: BrokerOptions,
    send: (topic: string) => Promise<void>,
    clock: Clock,
  ) {
    this.#topic = testTopic;
    this.#send = send;
    // Any command for a device of this kind proves the same, so an access list may name single devices.
    const kind = testTopic.replace(/[^/]+\/[^/]+\/set$/, '');
    this.#isProof = matchesAny(subscriptions.filter((filter) => filter.startsWith(kind)));
    this.#clock = clock;
  }

  get isDenied(): boolean {
    return this.#lost >= maxLost;
  }

  received(topic: string): void {
    if (!this.#isProof(topic)) return;
    this.#hasHeard = true;
    this.#lost = 0;
  }

  start(): void {
    if (this.#topic === '') return;
    this.#hasHeard = false;
    this.#send(this.#topic).then(
      () => this.#after(echoMs, () => this.#judge()),
      // The bridge may not publish there, so nothing is known.
      () => undefined,
    );
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel();
  }

  #judge(): void {
    if (this.#hasHeard) return;
    this.#lost += 1;
    if (this.isDenied) this.#after(againMs, () => this.start());
    else this.start();
  }

  #after(delayMs: number, next: () => void): void {
    if (!this.#isStopped) this.#cancel = this.#clock.after(delayMs, next);
  }
}
