import type { SeenRequest } from '../simulation/virtualCloud.ts';
import { parsed } from './discoveredEntities.ts';

/** A message that reached a bridge. */
export interface Delivered {
  readonly topic: string;
  readonly payload: string;
  readonly isFlagged: boolean;
  /** When it was published, in ms of the simulation. Null for a message that the broker had stored. */
  readonly publishedAt: number | null;
  /** In ms of the simulation. */
  readonly at: number;
}

/** A message that asks to move a valve or to start a pressure test. */
interface WantedMove extends Delivered {
  readonly thingId: string;
  readonly action: string;
  readonly isTest: boolean;
  readonly publishedAt: number;
  /** How many requests it has caused. If several bridges received it, each may send one. */
  uses: number;
}

/** What the oracle tells this judge. */
export interface MoveContext {
  /** Ms of the simulation. */
  now(): number;
  requestTimeoutMs(): number;
  /** How many bridges receive the commands. */
  bridges(): number;
  countCheck(check: string): void;
  reportViolation(words: string): void;
}

const minuteMs = 60_000;
/** A message and its request may have the same time, so times are compared with this tolerance. */
const toleranceMs = 100;

/**
 * The promise "moved is wanted": each request that can move water has a live message of its own. The message
 * is not empty, and it is young enough when the request is written. No newer message for that valve was
 * delivered before.
 */
export class MoveJudge {
  readonly #context: MoveContext;
  #wantedMoves: WantedMove[] = [];
  /** The message behind each request, by the number of the request. */
  readonly #usedBy = new Map<number, WantedMove>();
  /** Requests for a session: from when until when. `until` is null while the request is running. */
  #signIns: { readonly number: number; readonly from: number; until: number | null }[] = [];

  constructor(context: MoveContext) {
    this.#context = context;
  }

  /** A new run of the bridge begins. It has received no message. */
  forget(): void {
    this.#wantedMoves = [];
  }

  delivered(message: Delivered): void {
    const { publishedAt, isFlagged, payload, at } = message;
    if (publishedAt === null || isFlagged || payload === '') return;
    const wanted = wantedMoveIn(message);
    if (!wanted) return;
    this.#wantedMoves = this.#wantedMoves.filter((each) => at - each.at < 10 * minuteMs);
    this.#wantedMoves.push({ ...message, ...wanted, publishedAt, uses: 0 });
  }

  /** The bridge has written a request to its connection. */
  sent(request: SeenRequest): void {
    const now = this.#context.now();
    if (request.operation === 'sign_in' || request.operation === 'refresh_token') {
      this.#signIns = this.#signIns.filter(({ until }) => until === null || now - until < 10 * minuteMs);
      this.#signIns.push({ number: request.number, from: now, until: null });
    }
    const move = moveOf(request);
    if (move) this.#judge(request, move, now);
  }

  /** A request has ended, with or without success. */
  ended({ number }: Pick<SeenRequest, 'number'>): void {
    const signIn = this.#signIns.find((each) => each.number === number);
    if (signIn) signIn.until ??= this.#context.now();
  }

  /** The cloud rejected a request without acting on it, so the bridge may send it once more. */
  rejected({ number }: SeenRequest): void {
    const wanted = this.#usedBy.get(number);
    if (wanted) wanted.uses -= 1;
    this.#usedBy.delete(number);
  }

  #judge(
    request: SeenRequest,
    { thingId, action, isTest }: NonNullable<ReturnType<typeof moveOf>>,
    now: number,
  ) {
    const { countCheck, reportViolation, requestTimeoutMs, bridges } = this.#context;
    countCheck('a request that moves water has one recent command');
    const words = `${request.method} ${request.target} ${request.body}`;
    const all = this.#wantedMoves.filter((wanted) => wanted.thingId === thingId);
    const matching = all.filter((wanted) => wanted.action === action);
    const unused = matching.findLast(({ uses }) => uses < bridges());
    if (!unused) {
      reportViolation(
        `${words}: ${matching.length === 0 ? 'nobody asked for it' : 'it was asked for and sent before'}`,
      );
      return;
    }
    unused.uses += 1;
    this.#usedBy.set(request.number, unused);
    const ageMs = now - unused.publishedAt;
    const limitMs = requestTimeoutMs() + this.#signInMs(unused.publishedAt, now) + toleranceMs;
    if (ageMs > limitMs)
      reportViolation(`${words}: its message is ${ageMs} ms old, of at most ${Math.round(limitMs)}`);
    const isYoung = (wanted: WantedMove) => wanted.at - wanted.publishedAt < requestTimeoutMs() / 2;
    // A newer command cancels a test. A newer test does not cancel a command.
    const rivals = all.filter((wanted) => isTest || !wanted.isTest);
    const newest = rivals.findLast((wanted) => isYoung(wanted) && wanted.at < now);
    if (newest && newest.at > unused.at && newest.action !== action)
      reportViolation(
        `${words}: ${newest.payload} came ${Math.round(now - newest.at)} ms before it was sent`,
      );
  }

  /** How much of the time between two moments was spent on sign-ins. */
  #signInMs(from: number, to: number): number {
    return this.#signIns.reduce((sum, each) => {
      const [start, end] = [Math.max(from, each.from), Math.min(to, each.until ?? to)];
      return sum + Math.max(0, end - start);
    }, 0);
  }
}

/** The movement that a request asks for. Null if it moves no water. */
export function moveOf({ operation, params, body }: SeenRequest) {
  switch (operation) {
    case 'command_valve':
    case 'command_wifi_valve':
      return { thingId: params['sonic_id'] ?? '', action: String(parsed(body)['action']), isTest: false };
    case 'change_thing_state':
      return { thingId: params['thing_id'] ?? '', action: String(parsed(body)['action']), isTest: false };
    case 'start_pressure_test':
      return { thingId: params['thing_id'] ?? '', action: 'test', isTest: true };
    default:
      return null;
  }
}

const requests: Readonly<Record<string, string>> = {
  command_valve: 'sonic_id',
  command_wifi_valve: 'sonic_id',
  change_thing_state: 'thing_id',
  start_pressure_test: 'thing_id',
};

/** The movement that a message asks for. Null if it asks for none, or cannot be read. */
function wantedMoveIn({ topic, payload }: Delivered) {
  const [, valveId] = /\/sonic\/([^/]+)\/valve\/set$/.exec(topic) ?? [];
  if (valveId !== undefined) {
    const action = actionOf(payload);
    return action === null ? null : { thingId: valveId, action, isTest: false };
  }
  const [, testedId] = /\/sonic\/([^/]+)\/pressure_test\/start$/.exec(topic) ?? [];
  if (testedId !== undefined) return { thingId: testedId, action: 'test', isTest: true };
  const [, operation = ''] = /\/bridge(?:_\d+)?\/request\/([^/]+)$/.exec(topic) ?? [];
  const idName = requests[operation];
  if (idName === undefined) return null;
  const { params, body } = parsed(payload) as {
    params?: Record<string, unknown>;
    body?: Record<string, unknown>;
  };
  const isTest = operation === 'start_pressure_test';
  const action = isTest ? 'test' : String(body?.['action']);
  return { thingId: String(params?.[idName]), action, isTest };
}

function actionOf(payload: string): string | null {
  const word = payload.trim().toLowerCase();
  if (word === 'open' || word === 'close') return word;
  const { action, ...others } = parsed(payload);
  if (typeof action !== 'string' || Object.keys(others).length > 0) return null;
  const lower = action.toLowerCase();
  return lower === 'open' || lower === 'close' ? lower : null;
}
