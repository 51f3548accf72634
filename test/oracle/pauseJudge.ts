import type { SeenRequest } from '../simulation/virtualCloud.ts';
import { slackMs } from './bounds.ts';
import { parsed } from './eyes.ts';
import type { Delivered } from './moveJudge.ts';
import type { WorldView } from './worldHistory.ts';

/** What the judge is told by those who look at other things. */
export interface PauseCircumstances {
  /** Ms of the simulation. */
  now(): number;
  /** Whether the bridge runs and is heard, for a while already. */
  isHeard(): boolean;
  isRefused(topic: string): boolean;
  /** Whether what the bridge writes on its disk is there after a restart. */
  canRemember(): boolean;
  counted(check: string): void;
  violated(words: string): void;
}

/** An automatic shut-off that is off because the bridge has paused it. */
interface Debt {
  readonly since: number;
  /** When it has to be on again. */
  readonly dueAt: number;
  /** Whether a restart may lose it, through no fault of the bridge. */
  readonly isFragile: boolean;
}

const minuteMs = 60_000;
/** A command and its request are no further apart. */
const commandMs = minuteMs;
/** Once a pause is shown as over, nobody turns it on any more. */
const afterwardsMs = 2 * minuteMs;

/**
 * What was paused is on again in time, or it is said that it is not. A shut-off that a pause has turned off is shown as paused,
 * and from its end on as being turned on, until it is on. Nothing else turns it on.
 */
export class PauseJudge {
  readonly #retained: ReadonlyMap<string, string>;
  readonly #base: string;
  readonly #circumstances: PauseCircumstances;
  readonly #debts = new Map<string, Debt>();
  /** The last command of each property that asks for a pause. */
  readonly #orders = new Map<string, { readonly minutes: number; readonly at: number }>();
  /** When somebody last asked to turn it off for good. */
  readonly #offAt = new Map<string, number>();
  /** Whether the last message shows no pause. */
  readonly #isOver = new Map<string, boolean>();
  /** When its pause was last shown as over; null while it may have one. */
  readonly #closedAt = new Map<string, number | null>();

  constructor(retained: ReadonlyMap<string, string>, base: string, circumstances: PauseCircumstances) {
    this.#retained = retained;
    this.#base = base;
    this.#circumstances = circumstances;
  }

  /** A run that cannot read its disk knows of no pause, and one whose disk was another has lost it. */
  runBegan(): void {
    const { canRemember } = this.#circumstances;
    for (const [id, { isFragile }] of this.#debts) if (isFragile || !canRemember()) this.#debts.delete(id);
  }

  /** A message reached the bridge. */
  delivered({ topic, payload, isFlagged, publishedAt, at }: Delivered): void {
    if (publishedAt === null || isFlagged) return;
    const [, id = '', path = ''] = /\/property\/([^/]+)\/(.+)$/.exec(topic) ?? [];
    const minutes = path === 'pause/start' ? 60 : path === 'pause/set' ? Number(payload) : 0;
    if (minutes > 0) {
      this.#orders.set(id, { minutes, at });
      this.#closedAt.set(id, null);
    }
    const isOff = path === 'settings/auto_shut_off/set' && payload === 'OFF';
    if (isOff || path === 'settings/set') this.#offAt.set(id, at);
  }

  /**
   * The cloud has done as a request of the bridge asks, or has refused it. Something in front of it may only say that it is
   * done, which makes a pause longer that there is already.
   */
  judged(request: SeenRequest, status: number, isDone = true): void {
    const id = request.params['property_id'] ?? '';
    const order = this.#orders.get(id);
    if (settingOf(request) !== false || status >= 300 || !order) return;
    if (!isDone && !this.#debts.has(id)) return;
    const { now, canRemember } = this.#circumstances;
    const since = now();
    if (since - order.at > commandMs) return;
    // Which of the two it was nobody can tell from outside.
    if (since - (this.#offAt.get(id) ?? Number.NEGATIVE_INFINITY) <= commandMs) this.#debts.delete(id);
    else {
      const before = this.#debts.get(id);
      const dueAt = Math.max(since + order.minutes * minuteMs, before?.dueAt ?? 0);
      this.#debts.set(id, { since: before?.since ?? since, dueAt, isFragile: !canRemember() });
    }
  }

  /** Whoever turns it on pays the debt. */
  worldChanged({ settings }: Pick<WorldView, 'settings'>): void {
    for (const id of this.#debts.keys())
      if (settings.get(id)?.auto_shut_off !== false) this.#debts.delete(id);
  }

  /** The broker took a message. */
  taken(topic: string, payload: string): void {
    const [, id] = new RegExp(`^${this.#base}/property/([^/]+)/pause$`).exec(topic) ?? [];
    if (id === undefined || !this.#closedAt.has(id)) return;
    const isOver = stateIn(payload) === 'none';
    const wasOver = this.#isOver.get(id) ?? true;
    this.#isOver.set(id, isOver);
    if (!isOver) this.#closedAt.set(id, null);
    else if (!wasOver && this.#circumstances.canRemember()) this.#closedAt.set(id, this.#circumstances.now());
  }

  /** Whether the bridge may turn it on by itself. */
  mayTurnOn(request: SeenRequest): boolean {
    const closedAt = this.#closedAt.get(request.params['property_id'] ?? '');
    if (settingOf(request) !== true || closedAt === undefined) return false;
    return closedAt === null || this.#circumstances.now() - closedAt < afterwardsMs;
  }

  /** Judges what is shown of the pauses now. */
  look(): void {
    const { now, isHeard, isRefused, counted, violated } = this.#circumstances;
    for (const [id, { since, dueAt }] of this.#debts) {
      const topic = `${this.#base}/property/${id}/pause`;
      const state = stateIn(this.#retained.get(topic));
      if (state === undefined || !isHeard() || isRefused(topic) || now() - since < slackMs) continue;
      counted('what was paused is on again in time, or it is said');
      const minutesLate = Math.round((now() - dueAt) / minuteMs);
      if (state === 'none') violated(`the shut-off of ${id} is off by a pause, and none is shown`);
      else if (now() - dueAt > slackMs && state === 'paused')
        violated(`the shut-off of ${id} is shown as paused ${minutesLate} min after the end of the pause`);
      else continue;
      this.#debts.delete(id);
    }
  }

  /** The properties whose shut-off should have been on again so many ms ago. */
  overdue(ms: number): string[] {
    const { now } = this.#circumstances;
    return [...this.#debts].filter(([, { dueAt }]) => now() - dueAt > ms).map(([id]) => id);
  }

  /** Whether the shut-off of a property is off by a pause. */
  isPaused(id: string): boolean {
    return this.#debts.has(id);
  }
}

/** What a request would make of the automatic shut-off; undefined where it leaves it. */
function settingOf({ operation, body }: SeenRequest): unknown {
  return operation === 'update_property_settings' ? parsed(body)['auto_shut_off'] : undefined;
}

function stateIn(payload: string | undefined): unknown {
  return payload === undefined ? undefined : parsed(payload)['state'];
}
