import type { Random } from '../../src/base/backoff.ts';
import { between, pick } from '../../src/simulator/random.ts';
import type { BrokerFault } from './virtualBroker.ts';
import type { RequestFault } from './virtualCloud.ts';
import type { DiskFault } from './virtualDisk.ts';

/** Something that goes wrong at a moment, or from then on for a while. */
export type Trouble =
  | {
      readonly at: 'cloud';
      readonly fault: RequestFault;
      /** How often it strikes. */
      readonly share: number;
      /** Whom: every request, those that change something, or every third operation, by its name. */
      readonly whom: 'all' | 'changes' | 'some';
    }
  | { readonly at: 'lists'; readonly fault: string }
  | { readonly at: 'session'; readonly fault: 'expired' | 'revoked' | 'rejected' }
  | { readonly at: 'broker'; readonly fault: BrokerFault }
  | { readonly at: 'broker'; readonly fault: 'cut' | 'taken-over' | 'restart' | 'partial' }
  | { readonly at: 'disk'; readonly fault: DiskFault }
  | { readonly at: 'process'; readonly fault: 'killed' | 'stopped' }
  | { readonly at: 'clock'; readonly fault: 'ahead' | 'behind' };

/** A trouble and when it strikes. */
export interface Storm {
  readonly trouble: Trouble;
  /** Ms since the simulation began. */
  readonly startMs: number;
  readonly durationMs: number;
}

const minuteMs = 60_000;

const requestFaults: readonly RequestFault[] = [
  'refused',
  'reset-before',
  'hang-before',
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

/** What may strike, each as often as it is named. */
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
  ...(['EROFS', 'ENOSPC', 'EIO', 'slow'] as const).map((fault) => (): Trouble => ({ at: 'disk', fault })),
  () => ({ at: 'process', fault: 'killed' }),
  () => ({ at: 'process', fault: 'killed' }),
  () => ({ at: 'process', fault: 'stopped' }),
  (random) => ({ at: 'clock', fault: random() < 0.5 ? 'ahead' : 'behind' }),
];

/** The storms between two moments: about one in a quarter of an hour, from seconds to half an hour, some at the same time. */
export function forecast(random: Random, fromMs: number, toMs: number): Storm[] {
  const storms: Storm[] = [];
  let startMs = fromMs;
  for (;;) {
    startMs += (random() < 0.2 ? 0.2 : 1) * between(random, 1, 36) * minuteMs;
    if (startMs >= toMs) return storms;
    const trouble = pick(random, kinds)?.(random);
    if (!trouble) continue;
    const longestMs = pick(random, [0.1, 1, 5, 30]) ?? 1;
    const durationMs = Math.min(random() * longestMs * minuteMs + 500, toMs - startMs);
    storms.push({ trouble, startMs, durationMs });
  }
}

/** A trouble in a word or two. */
export function describe(trouble: Trouble): string {
  return `${trouble.at}: ${trouble.fault}`;
}
