import type { Random } from '../base/backoff.ts';
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Connection } from '../broker/connection.ts';
import type { Mirror } from '../broker/mirror.ts';
import type { Topics } from '../homeassistant/topics.ts';
import type { Publisher } from './publisher.ts';

interface PresenceParts {
  readonly topics: Topics;
  readonly statusTopic: string;
  readonly connection: Connection;
  readonly mirror: Mirror;
  readonly publisher: Publisher;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** In ms, after a start of Home Assistant. Several bridges do not publish at the same moment. */
const birthJitterMs = 1_500;

/** The shortest time between two corrections, in ms, while another client keeps publishing `offline`. */
const willSpacingMs = 5_000;

/**
 * Publishes again what other clients need or have replaced: all devices after a start of Home Assistant; that the bridge is
 * online if the broker has published its last will. Returns a function that stops it.
 */
export function keepPresent({
  topics,
  statusTopic,
  publisher,
  clock,
  log,
  ...parts
}: PresenceParts): () => void {
  const { connection, mirror, random } = parts;
  const born = spaced(
    clock,
    () => birthJitterMs * random(),
    0,
    () => {
      log.info('Home Assistant has started. Publishing all devices');
      publisher.republishAll();
    },
  );
  // A cluster may notice late that an earlier connection has ended, and then publishes the last will of that connection.
  const willPublished = spaced(
    clock,
    () => 0,
    willSpacingMs,
    () => {
      mirror.forget([topics.bridge('state')]);
      publisher.planOne('bridge', '');
    },
  );
  connection
    .on('message', ({ topic, payload, isRetained }) => {
      // Home Assistant sets up its entities after its birth message. A stored one is from an earlier start.
      if (topic === statusTopic && payload === 'online' && !isRetained) born.ask();
    })
    .on('willPublished', willPublished.ask);
  return () => {
    for (const each of [born, willPublished]) each.stop();
  };
}

/** Does something a while after it is asked for, once for all that ask meanwhile, and not sooner again than `spacingMs`. */
function spaced(clock: Clock, delayMs: () => number, spacingMs: number, act: () => void) {
  let doneAt = Number.NEGATIVE_INFINITY;
  let cancel: (() => void) | null = null;
  return {
    ask: () => {
      cancel ??= clock.after(Math.max(delayMs(), doneAt + spacingMs - clock.monotonic()), () => {
        cancel = null;
        doneAt = clock.monotonic();
        act();
      });
    },
    stop: () => cancel?.(),
  };
}
