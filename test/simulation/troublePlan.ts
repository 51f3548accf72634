import type { Random } from '../../src/base/backoff.ts';
import { between, pick } from '../../src/simulator/random.ts';
import { type FloodKind, floodKinds } from './orders.ts';
import { aRouteTrouble, type RouteTrouble } from './routeFaults.ts';
import type { BrokerFault } from './virtualBroker.ts';
import type { RequestFault } from './virtualCloud.ts';
import type { DiskFault, FileDamage } from './virtualDisk.ts';

/** A fault that is simulated: once, or for a while. */
export type Trouble =
  | {
      readonly at: 'cloud';
      readonly fault: RequestFault;
      /** The share of requests that fail. */
      readonly share: number;
      /** Which requests fail: all, those that change something, or those of every third operation. */
      readonly whom: 'all' | 'changes' | 'some';
    }
  | RouteTrouble
  | { readonly at: 'lists'; readonly fault: string }
  | { readonly at: 'session'; readonly fault: 'expired' | 'revoked' | 'rejected' }
  | { readonly at: 'broker'; readonly fault: BrokerFault }
  | { readonly at: 'broker'; readonly fault: 'cut' | 'taken-over' | 'restart' | 'partial' }
  | { readonly at: 'broker'; readonly fault: 'flag-lost' | 'remembers-all' | 'old-info' }
  /** The broker refuses messages on matching topics. */
  | { readonly at: 'broker'; readonly fault: 'refuses'; readonly what: RegExp }
  | { readonly at: 'disk'; readonly fault: DiskFault }
  /** The process is killed while a shut-off is paused, and the next run finds the state file like this. */
  | { readonly at: 'state-file'; readonly fault: FileDamage }
  | { readonly at: 'process'; readonly fault: 'killed' | 'stopped' }
  | { readonly at: 'clock'; readonly fault: 'ahead' | 'behind' }
  /** The machine sleeps, at once or at the next command that reaches the bridge. */
  | { readonly at: 'machine'; readonly fault: 'sleep' | 'sleep-at-command'; readonly sleepMs: number }
  | { readonly at: 'people'; readonly fault: 'forty-commands' }
  | FloodTrouble
  /**
   * Another bridge runs: by mistake on the same topics, for a trial on other topics, or for another account.
   */
  | { readonly at: 'others'; readonly fault: 'trial' | 'account' };

/** A client sends orders far too fast. Meanwhile a leak opens, and somebody closes the valve. */
export interface FloodTrouble {
  readonly at: 'flood';
  readonly fault: FloodKind;
  /** Whether the cloud limits everything but the vital lists, the session and the valves. */
  readonly isLimited: boolean;
}

/** A trouble, with its time and duration. */
export interface PlannedTrouble {
  readonly trouble: Trouble;
  /** Ms since the simulation began. */
  readonly startMs: number;
  readonly durationMs: number;
}

const minuteMs = 60_000;

/** How long the bridge may take to recover from a trouble that has ended. */
export const recoveryMs = 15 * minuteMs;

const requestFaults: readonly RequestFault[] = [
  'refused',
  'reset-before',
  'hang-before',
  'slow-connect',
  'reset-after',
  'hang-after',
  'truncated',
  'gateway-timeout-after',
  'slow',
  'error-500',
  'error-502',
  'error-503',
  'html',
  'odd-json',
  'limited',
  'denied',
];

/**
 * Topics that a broker may refuse: all, states of devices, discovery messages, incidents, or messages about
 * the bridge.
 */
const refusals = [
  /./,
  /\/(sonic|signal|property)\//,
  /\/sonic\/[^/]+$/,
  /\/config$/,
  /\/incidents$/,
  /\/bridge\//,
];

/** How long a machine may sleep, in s. */
const sleepsS = [3, 12, 40, 100, 600, 3_000];

/** The kinds of trouble. A kind that is named twice is drawn twice as often. */
const kinds: readonly ((random: Random) => Trouble)[] = [
  ...requestFaults.map(
    (fault) =>
      (random: Random): Trouble => ({
        at: 'cloud',
        fault,
        share: pick(random, [1, 1, 0.5, 0.1]) ?? 1,
        whom: pick(random, ['all', 'all', 'changes', 'some'] as const) ?? 'all',
      }),
  ),
  (random) => ({
    at: 'lists',
    fault:
      pick(random, ['missing-page=2', 'missing-page=1', 'bad-record', 'unsafe-id', 'unknown-enum']) ??
      'bad-record',
  }),
  (random) => ({
    at: 'session',
    fault: pick(random, ['expired', 'revoked', 'rejected'] as const) ?? 'expired',
  }),
  ...(['away', 'frozen', 'subscriptions-refused', 'slow', 'quota'] as const).map(
    (fault) => (): Trouble => ({ at: 'broker', fault }),
  ),
  ...(['cut', 'cut', 'taken-over', 'restart', 'restart', 'partial'] as const).map(
    (fault) => (): Trouble => ({ at: 'broker', fault }),
  ),
  ...(['flag-lost', 'remembers-all', 'old-info'] as const).map(
    (fault) => (): Trouble => ({ at: 'broker', fault }),
  ),
  (random) => ({ at: 'broker', fault: 'refuses', what: pick(random, refusals) ?? /./ }),
  (random) => ({ at: 'broker', fault: 'refuses', what: pick(random, refusals) ?? /./ }),
  ...Array(14).fill(aRouteTrouble),
  ...(['sleep', 'sleep-at-command', 'sleep-at-command'] as const).map(
    (fault) =>
      (random: Random): Trouble => ({ at: 'machine', fault, sleepMs: (pick(random, sleepsS) ?? 30) * 1_000 }),
  ),
  () => ({ at: 'people', fault: 'forty-commands' }),
  aFlood,
  ...(['trial', 'account'] as const).map((fault) => (): Trouble => ({ at: 'others', fault })),
  ...(['EROFS', 'ENOSPC', 'EIO', 'slow', 'unmounted'] as const).map(
    (fault) => (): Trouble => ({ at: 'disk', fault }),
  ),
  ...(['damaged', 'cut', 'empty', 'missing', 'older', 'older', 'evening'] as const).map(
    (fault) => (): Trouble => ({ at: 'state-file', fault }),
  ),
  () => ({ at: 'process', fault: 'killed' }),
  () => ({ at: 'process', fault: 'killed' }),
  () => ({ at: 'process', fault: 'stopped' }),
  (random) => ({ at: 'clock', fault: random() < 0.5 ? 'ahead' : 'behind' }),
];

function aFlood(random: Random): FloodTrouble {
  return { at: 'flood', fault: pick(random, floodKinds) ?? 'names', isLimited: random() < 0.5 };
}

/** Troubles that often begin shortly after another one. Null means none. */
const companions: readonly (((random: Random) => Trouble) | null)[] = [
  ...Array(7).fill(null),
  () => ({ at: 'process', fault: 'killed' }),
  () => ({ at: 'process', fault: 'stopped' }),
  () => ({ at: 'broker', fault: 'cut' }),
];

/**
 * Draws the troubles between two moments: about one in ten minutes, from seconds to half an hour long, some
 * at the same time.
 */
export function planTroubles(random: Random, fromMs: number, toMs: number, drawn = kinds): PlannedTrouble[] {
  const planned: PlannedTrouble[] = [];
  let startMs = fromMs;
  for (;;) {
    startMs += (random() < 0.2 ? 0.2 : 1) * between(random, 1, 26) * minuteMs;
    if (startMs >= toMs) return planned;
    const trouble = pick(random, drawn)?.(random);
    if (!trouble) continue;
    const longestMs = pick(random, [0.1, 1, 5, 30]) ?? 1;
    const durationMs = Math.min(random() * longestMs * minuteMs + 500, toMs - startMs);
    planned.push({ trouble, startMs, durationMs });
    const also = pick(random, companions)?.(random);
    // Two harmless faults may be harmful together.
    if (also) planned.push({ trouble: also, startMs: startMs + 5_000 * random(), durationMs: 1_000 });
  }
}

/**
 * Draws troubles that come one at a time: each after the one before has ended, and the bridge has recovered. Many are
 * floods, because only one that comes alone excuses nothing.
 */
export function planSingleTroubles(random: Random, fromMs: number, toMs: number): PlannedTrouble[] {
  let nextMs = fromMs;
  const drawn = [...kinds, ...Array(20).fill(aFlood)];
  return planTroubles(random, fromMs, toMs, drawn).filter(({ startMs, durationMs }) => {
    const isAlone = startMs >= nextMs;
    if (isAlone) nextMs = startMs + durationMs + recoveryMs;
    return isAlone;
  });
}

/** A trouble in a few words, for the trace. */
export function describeTrouble(trouble: Trouble): string {
  const where =
    trouble.at === 'route' ? ` of ${trouble.operation}${trouble.page ? ` page ${trouble.page}` : ''}` : '';
  return `${kindOf(trouble)}${where}`;
}

export function kindOf({ at, fault }: Trouble): string {
  return `${at}: ${fault}`;
}
