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

export type ReadTest = ReturnType<typeof readTest>;

/**
 * Finds out whether the broker sends valve commands to the bridge. A broker with an access list may accept a
 * subscription and then send nothing. So the bridge sends itself an empty message, which is never a command, at the
 * topic of a valve that does not exist: on each connection, and once an hour, because access lists change.
 */
export function readTest(
  { testTopic = '', subscriptions }: BrokerOptions,
  send: (topic: string) => Promise<void>,
  clock: Clock,
) {
  // A command for any valve proves the same, so an access list may name single valves.
  const isForTest = (filter: string) => matchesAny([filter])(testTopic);
  const isProof = matchesAny(subscriptions.filter(isForTest));
  let settle: (result: ReadTestResult) => void = () => {};
  /** The result of the first test. */
  const first = new Promise<ReadTestResult>((resolve) => {
    settle = resolve;
  });
  let hasHeard = false;
  let lost = 0;
  let isStopped = false;
  let cancel = () => {};

  const isDenied = () => lost >= maxLost;

  function received(topic: string): void {
    if (!isProof(topic)) return;
    hasHeard = true;
    lost = 0;
    settle('passed');
  }

  function start(): void {
    if (testTopic === '') return;
    hasHeard = false;
    send(testTopic).then(
      () => after(backMs, judge),
      () => {
        settle('unknown');
        after(againMs.passed, start);
      },
    );
  }

  function stop(): void {
    isStopped = true;
    settle('unknown');
    cancel();
  }

  function judge(): void {
    if (hasHeard) {
      after(againMs.passed, start);
      return;
    }
    lost += 1;
    if (isDenied()) {
      settle('denied');
      after(againMs.denied, start);
    } else start();
  }

  function after(delayMs: number, next: () => void): void {
    if (!isStopped) cancel = clock.after(delayMs, next);
  }

  return { first, isDenied, received, start, stop };
}
