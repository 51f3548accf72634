import type { SeenRequest } from '../simulation/virtualCloud.ts';
import { parsed } from './eyes.ts';

/** A message that reached a bridge. */
export interface Delivered {
  readonly topic: string;
  readonly payload: string;
  /** Whether it came with the retain flag. */
  readonly isFlagged: boolean;
  /** When somebody published it; null for one of the broker's memory. In ms of the simulation. */
  readonly publishedAt: number | null;
  /** In ms of the simulation. */
  readonly at: number;
}

/** A movement of water that a message asks for. */
interface Wish extends Delivered {
  readonly thingId: string;
  readonly action: string;
  readonly isTest: boolean;
  readonly publishedAt: number;
  /** How many requests it was used for; more than one where several bridges heard it. */
  uses: number;
}

/** What the judge is told by those who look at other things. */
export interface MoveCircumstances {
  /** Ms of the simulation. */
  now(): number;
  requestTimeoutMs(): number;
  /** How many bridges hear the commands. */
  bridges(): number;
  counted(check: string): void;
  violated(words: string): void;
}

const minuteMs = 60_000;
/** A message and its request may pass within the same moment. */
const toleranceMs = 100;

/**
 * Moved is wanted: each request that can move water has one live message of its own, which is not empty and young enough
 * when the request's bytes are written, and no newer message for that valve was delivered before.
 */
export class MoveJudge {
  readonly #circumstances: MoveCircumstances;
  #wishes: Wish[] = [];
  /** By the number of its request. */
  readonly #usedBy = new Map<number, Wish>();
  /** When a request for a session was under way, and until when: null while it is. */
  #signIns: { readonly number: number; readonly from: number; until: number | null }[] = [];

  constructor(circumstances: MoveCircumstances) {
    this.#circumstances = circumstances;
  }

  /** A bridge starts anew: it has no message. */
  forget(): void {
    this.#wishes = [];
  }

  /** A message reached a bridge. */
  delivered(message: Delivered): void {
    const { publishedAt, isFlagged, payload, at } = message;
    if (publishedAt === null || isFlagged || payload === '') return;
    const wish = wishOf(message);
    if (!wish) return;
    this.#wishes = this.#wishes.filter((each) => at - each.at < 10 * minuteMs);
    this.#wishes.push({ ...message, ...wish, publishedAt, uses: 0 });
  }

  /** The bytes of a request are written. */
  sent(request: SeenRequest): void {
    const now = this.#circumstances.now();
    if (request.operation === 'sign_in' || request.operation === 'refresh_token') {
      this.#signIns = this.#signIns.filter(({ until }) => until === null || now - until < 10 * minuteMs);
      this.#signIns.push({ number: request.number, from: now, until: null });
    }
    const move = moveOf(request);
    if (move) this.#judge(request, move, now);
  }

  /** A request has ended, well or not. */
  ended({ number }: Pick<SeenRequest, 'number'>): void {
    const signIn = this.#signIns.find((each) => each.number === number);
    if (signIn) signIn.until ??= this.#circumstances.now();
  }

  /** The cloud plainly did not act on a request: it may be sent once more. */
  givenBack({ number }: SeenRequest): void {
    const wish = this.#usedBy.get(number);
    if (wish) wish.uses -= 1;
    this.#usedBy.delete(number);
  }

  #judge(
    request: SeenRequest,
    { thingId, action, isTest }: NonNullable<ReturnType<typeof moveOf>>,
    now: number,
  ) {
    const { counted, violated, requestTimeoutMs, bridges } = this.#circumstances;
    counted('what moves water was wanted, once, in time, and last');
    const words = `${request.method} ${request.target} ${request.body}`;
    const all = this.#wishes.filter((wish) => wish.thingId === thingId);
    const fitting = all.filter((wish) => wish.action === action);
    const free = fitting.findLast(({ uses }) => uses < bridges());
    if (!free) {
      violated(
        `${words}: ${fitting.length === 0 ? 'nobody asked for it' : 'it was asked for and sent before'}`,
      );
      return;
    }
    free.uses += 1;
    this.#usedBy.set(request.number, free);
    const ageMs = now - free.publishedAt;
    const limitMs = requestTimeoutMs() + this.#signInMs(free.publishedAt, now) + toleranceMs;
    if (ageMs > limitMs)
      violated(`${words}: its message is ${ageMs} ms old, of at most ${Math.round(limitMs)}`);
    const isYoung = (wish: Wish) => wish.at - wish.publishedAt < requestTimeoutMs() / 2;
    // A test gives way to a newer command, and a command not to a newer test.
    const rivals = all.filter((wish) => isTest || !wish.isTest);
    const newest = rivals.findLast((wish) => isYoung(wish) && wish.at < now);
    if (newest && newest.at > free.at && newest.action !== action)
      violated(`${words}: ${newest.payload} came ${Math.round(now - newest.at)} ms before it was sent`);
  }

  /** How long sign-ins were under way between two times. */
  #signInMs(from: number, to: number): number {
    return this.#signIns.reduce((sum, each) => {
      const [start, end] = [Math.max(from, each.from), Math.min(to, each.until ?? to)];
      return sum + Math.max(0, end - start);
    }, 0);
  }
}

/** What a request would move; null for one that moves no water. */
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

/** The movement that a message asks for; null where it asks for none that can be understood. */
function wishOf({ topic, payload }: Delivered) {
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
