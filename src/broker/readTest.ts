import type { Clock } from '../base/clock.ts';
import type { BrokerOptions } from './clientOptions.ts';
import { matchesAny } from './topicFilter.ts';

/** How long a message may take back from the broker, in ms. */
const backMs = 5_000;

/** How often the bridge tries again if it cannot read, and if it can, in ms. */
const againMs = { denied: 60_000, passed: 3_600_000 };

/** If so many messages in a row are lost, the bridge cannot read. A busy broker may drop one of QoS 0. */
const maxLost = 3;

/** `unknown`: the bridge may not publish at the topic, or the connection has ended before. */
export type ReadTestResult = 'passed' | 'denied' | 'unknown';

/**
 * Finds out whether the broker sends valve commands to the bridge. A broker with an access list may accept a
 * subscription and then send nothing. So the bridge sends itself an empty message, which is never a command, at the
 * topic of a valve that does not exist: on each connection, and once an hour, because access lists change.
 */
export class ReadTest {
  /** The result of the first test. */
  readonly first: Promise<ReadTestResult>;
  readonly #topic: string;
  readonly #send: (topic: string) => Promise<void>;
  readonly #isProof: (topic: string) => boolean;
  readonly #clock: Clock;
  #settle: (result: ReadTestResult) => void = () => {};
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
    // A command for any valve proves the same, so an access list may name single valves.
    const isForTest = (filter: string) => matchesAny([filter])(testTopic);
    this.#isProof = matchesAny(subscriptions.filter(isForTest));
    this.#clock = clock;
    this.first = new Promise((settle) => {
      this.#settle = settle;
    });
  }

  get isDenied(): boolean {
    return this.#lost >= maxLost;
  }

  received(topic: string): void {
    if (!this.#isProof(topic)) return;
    this.#hasHeard = true;
    this.#lost = 0;
    this.#settle('passed');
  }

  start(): void {
    if (this.#topic === '') return;
    this.#hasHeard = false;
    this.#send(this.#topic).then(
      () => this.#after(backMs, () => this.#judge()),
      () => {
        this.#settle('unknown');
        this.#after(againMs.passed, () => this.start());
      },
    );
  }

  stop(): void {
    this.#isStopped = true;
    this.#settle('unknown');
    this.#cancel();
  }

  #judge(): void {
    if (this.#hasHeard) {
      this.#after(againMs.passed, () => this.start());
      return;
    }
    this.#lost += 1;
    if (this.isDenied) {
      this.#settle('denied');
      this.#after(againMs.denied, () => this.start());
    } else this.start();
  }

  #after(delayMs: number, next: () => void): void {
    if (!this.#isStopped) this.#cancel = this.#clock.after(delayMs, next);
  }
}
