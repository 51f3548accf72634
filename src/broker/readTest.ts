import type { Clock } from '../base/clock.ts';
import { matchesAny } from './topicFilter.ts';

/** How long a message may take back from the broker, in ms. */
const echoMs = 5_000;

/** The wait before the next test, in ms: if the message came back, and if the bridge cannot read. */
const againMs = { heard: 600_000, denied: 60_000 };

/** If so many messages in a row are lost, the bridge cannot read. A busy broker may drop one of QoS 0. */
const maxLost = 3;

/**
 * Finds out whether the broker sends commands to the bridge. A broker with an access list may accept a subscription and
 * then send nothing. So the bridge sends itself an empty message, which is never a command, at the command topic of a
 * valve that does not exist.
 */
export class ReadTest {
  readonly #send: () => Promise<void>;
  readonly #isProof: (topic: string) => boolean;
  readonly #clock: Clock;
  #hasHeard = false;
  #lost = 0;
  #isStopped = false;
  #cancel: () => void = () => {};

  /** `send` publishes the message. It rejects if the broker does not accept it. Then nothing is known. */
  constructor(topic: string, subscriptions: readonly string[], send: () => Promise<void>, clock: Clock) {
    this.#send = send;
    // A command for a real valve proves the same, so an access list may name single valves.
    this.#isProof = matchesAny(subscriptions.filter((filter) => matchesAny([filter])(topic)));
    this.#clock = clock;
  }

  /** Whether the broker keeps commands from the bridge. */
  get isDenied(): boolean {
    return this.#lost >= maxLost;
  }

  received(topic: string): void {
    if (!this.#isProof(topic)) return;
    this.#hasHeard = true;
    this.#lost = 0;
  }

  start(): void {
    this.#hasHeard = false;
    this.#send().then(
      () => this.#after(echoMs, () => this.#judge()),
      () => this.#after(againMs.heard, () => this.start()),
    );
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel();
  }

  #judge(): void {
    if (!this.#hasHeard) this.#lost += 1;
    if (this.#lost > 0 && !this.isDenied) this.start();
    else this.#after(this.isDenied ? againMs.denied : againMs.heard, () => this.start());
  }

  #after(delayMs: number, next: () => void): void {
    if (!this.#isStopped) this.#cancel = this.#clock.after(delayMs, next);
  }
}
