import type { SeenRequest } from '../simulation/virtualCloud.ts';
import { slackMs } from './bounds.ts';
import { parsed } from './discoveredEntities.ts';
import type { Delivered } from './moveJudge.ts';
import type { WorldView } from './worldHistory.ts';

/** What is left on a disk of what was saved there: all, an older file, damage, or no file at all. */
export type Memory = 'kept' | 'older' | 'damaged' | 'none';

/** What the oracle tells this judge. */
export interface PauseContext {
  /** Ms of the simulation. */
  now(): number;
  /** Whether the bridge has run and been connected to the broker for a while. */
  canPublish(): boolean;
  isRefused(topic: string): boolean;
  /** What a run that begins now finds of what earlier ones have saved. */
  memory(): Memory;
  /** Whether the broker delivers all retained messages, with their retain flag. */
  showsRetained(): boolean;
  isHealthOk(): boolean;
  countCheck(check: string): void;
  reportViolation(words: string): void;
}

/** An automatic shut-off that the bridge has turned off for a pause, and must turn on again. */
interface PausedShutOff {
  readonly since: number;
  /** The end of the pause. */
  readonly dueAt: number;
  /** Whether it was saved in a folder that another disk may cover at the next start. */
  readonly isFragile: boolean;
  /** Whether this run may not know it. Then health must say so. */
  readonly mayBeLost: boolean;
}

const minuteMs = 60_000;
/** A command and its request are at most this far apart. */
const commandMs = minuteMs;
/** This long after a pause is shown as over, the bridge must no longer turn the shut-off on by itself. */
const afterwardsMs = 2 * minuteMs;

/**
 * The promise about pauses: the bridge turns a paused shut-off on again in time, or shows that it could not.
 * While the shut-off is off it is shown as paused, and after the end of the pause as being turned on. The
 * bridge turns it on by itself for no other reason.
 */
export class PauseJudge {
  readonly #retained: ReadonlyMap<string, string>;
  readonly #base: string;
  readonly #context: PauseContext;
  readonly #paused = new Map<string, PausedShutOff>();
  /** The last command for a pause, by property. */
  readonly #pauseCommands = new Map<string, { readonly minutes: number; readonly at: number }>();
  /** When a client last asked to turn the shut-off off permanently. */
  readonly #offAt = new Map<string, number>();
  /** Whether the last message shows that there is no pause. */
  readonly #isOver = new Map<string, boolean>();
  /** When the pause was last shown as over. Null while there may be a pause. */
  readonly #closedAt = new Map<string, number | null>();

  constructor(retained: ReadonlyMap<string, string>, base: string, context: PauseContext) {
    this.#retained = retained;
    this.#base = base;
    this.#context = context;
  }

  /**
   * A run without intact files may have lost a pause, and must say so. A run that finds no trace of an earlier one
   * cannot know. Health asks the owner to end a lost pause, or to leave it by a restart.
   */
  runBegan(): void {
    const { memory, showsRetained } = this.#context;
    // An older file may have a pause that has ended since. It is a duty all the same.
    if (memory() === 'older') for (const id of this.#closedAt.keys()) this.#closedAt.set(id, null);
    for (const [id, each] of this.#paused) {
      const isOnBroker = showsRetained() && this.#retained.has(this.#topicOf(id));
      const isTraceless = (memory() === 'none' || memory() === 'older') && !isOnBroker;
      if (each.isFragile || each.mayBeLost || isTraceless) this.#paused.delete(id);
      else if (memory() !== 'kept' && memory() !== 'older')
        this.#paused.set(id, { ...each, mayBeLost: true });
    }
  }

  #topicOf(id: string): string {
    return `${this.#base}/property/${id}/pause`;
  }

  delivered({ topic, payload, isFlagged, publishedAt, at }: Delivered): void {
    if (publishedAt === null || isFlagged) return;
    const [, id = '', path = ''] = /\/property\/([^/]+)\/(.+)$/.exec(topic) ?? [];
    const minutes = path === 'pause/set' ? Number(payload) : 0;
    if (minutes > 0) {
      this.#pauseCommands.set(id, { minutes, at });
      this.#closedAt.set(id, null);
    }
    const isOff = path === 'settings/auto_shut_off/set' && payload === 'OFF';
    if (isOff || path === 'settings/set') this.#offAt.set(id, at);
  }

  /** The cloud has carried out or rejected a request of the bridge. */
  processed(request: SeenRequest, status: number): void {
    const id = request.params['property_id'] ?? '';
    const command = this.#pauseCommands.get(id);
    if (settingOf(request) !== false || status >= 300 || !command) return;
    const { now, memory } = this.#context;
    const since = now();
    if (since - command.at > commandMs) return;
    // Nobody can tell from outside whether the pause or the permanent command caused it.
    if (since - (this.#offAt.get(id) ?? Number.NEGATIVE_INFINITY) <= commandMs) this.#paused.delete(id);
    else {
      const dueAt = since + command.minutes * minuteMs;
      this.#paused.set(id, { since, dueAt, isFragile: memory() === 'none', mayBeLost: false });
    }
  }

  /** The debt ends when anyone turns the shut-off on. */
  worldChanged({ settings }: Pick<WorldView, 'settings'>): void {
    for (const id of this.#paused.keys())
      if (settings.get(id)?.auto_shut_off !== false) this.#paused.delete(id);
  }

  /** The broker accepted a message. */
  taken(topic: string, payload: string): void {
    const [, id] = new RegExp(`^${this.#base}/property/([^/]+)/pause$`).exec(topic) ?? [];
    if (id === undefined || !this.#closedAt.has(id)) return;
    this.#prolong(id, stateIn(payload));
    const isOver = stateIn(payload) === 'none';
    const wasOver = this.#isOver.get(id) ?? true;
    this.#isOver.set(id, isOver);
    if (!isOver) this.#closedAt.set(id, null);
    else if (!wasOver && this.#context.memory() === 'kept') this.#closedAt.set(id, this.#context.now());
  }

  /** A command during a pause sends nothing to the cloud. The bridge shows the new end. */
  #prolong(id: string, state: unknown): void {
    const [paused, command] = [this.#paused.get(id), this.#pauseCommands.get(id)];
    const now = this.#context.now();
    if (!paused || !command || state !== 'paused' || now - command.at > commandMs) return;
    const dueAt = Math.max(paused.dueAt, now + command.minutes * minuteMs);
    this.#paused.set(id, { ...paused, dueAt, isFragile: this.#context.memory() === 'none' });
  }

  /** Whether the bridge may send this request without a command, to turn the shut-off on again. */
  mayTurnOn(request: SeenRequest): boolean {
    const closedAt = this.#closedAt.get(request.params['property_id'] ?? '');
    if (settingOf(request) !== true || closedAt === undefined) return false;
    return closedAt === null || this.#context.now() - closedAt < afterwardsMs;
  }

  /** Judges what is shown of the pauses now. */
  check(): void {
    const { now, canPublish, isRefused, isHealthOk, countCheck, reportViolation } = this.#context;
    for (const [id, { since, dueAt, mayBeLost }] of this.#paused) {
      const topic = this.#topicOf(id);
      const state = stateIn(this.#retained.get(topic));
      if (state === undefined || !canPublish() || isRefused(topic) || now() - since < slackMs) continue;
      countCheck('a paused shut-off is on again in time, or shown as off');
      const minutesLate = Math.round((now() - dueAt) / minuteMs);
      if (mayBeLost && !isHealthOk()) continue;
      if (state === 'none') reportViolation(`the shut-off of ${id} is off by a pause, and none is shown`);
      else if (now() - dueAt > slackMs && state === 'paused')
        reportViolation(
          `the shut-off of ${id} is shown as paused ${minutesLate} min after the end of the pause`,
        );
      else continue;
      this.#paused.delete(id);
    }
  }

  /** The properties whose shut-off should have been on again at least this many ms ago. */
  overdue(ms: number): string[] {
    const { now } = this.#context;
    return [...this.#paused]
      .filter(([, { dueAt, mayBeLost }]) => !mayBeLost && now() - dueAt > ms)
      .map(([id]) => id);
  }

  /** Whether a pause has turned off the shut-off of a property. Null if the bridge may not know it. */
  isPaused(id: string): boolean | null {
    return this.#paused.get(id)?.mayBeLost ? null : this.#paused.has(id);
  }
}

/** The new setting of the automatic shut-off in a request. Undefined if the request does not change it. */
function settingOf({ operation, body }: SeenRequest): unknown {
  return operation === 'update_property_settings' ? parsed(body)['auto_shut_off'] : undefined;
}

function stateIn(payload: string | undefined): unknown {
  return payload === undefined ? undefined : parsed(payload)['state'];
}
