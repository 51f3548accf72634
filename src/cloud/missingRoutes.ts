import { type ListName, type OperationName, operationRow, paramNames } from './operations.ts';

type Params = Readonly<Record<string, string>>;

/** A list that was read whole, and when its first request was sent, in ms of the monotonic clock. */
interface ReadList {
  readonly sentAt: number;
  readonly ids: ReadonlySet<string>;
}

/**
 * Finds out which routes the cloud does not have. A published route is never missing. One that nobody has published, or
 * that the interface document does not show, is missing after a 501, and after a 404 or 405 that cannot be about a
 * record. It can be about a record where the operation has worked before, and where the record was just removed or never
 * was: so it counts only if the same call had the same answer before, and a complete list that was read since then holds
 * the record. A slip of the keyboard must not take the valves of all other sonics away.
 */
export class MissingRoutes {
  readonly #missing = new Set<OperationName>();
  readonly #worked = new Set<OperationName>();
  readonly #lists = new Map<OperationName, ReadList>();
  /** When the cloud first did not find what a call names, by operation and records. */
  readonly #firstNotFoundAt = new Map<string, number>();

  /** Whether the cloud has shown that it has no such route. */
  has(name: OperationName): boolean {
    return this.#missing.has(name);
  }

  /** Whether a 404 or 405 may mean that the cloud has no such route: a list or a record that was there is only gone. */
  isInDoubt(name: OperationName): boolean {
    const { path, reply } = operationRow(name);
    const isAboutRecords = paramNames(path).length > 0 || reply.kind === 'page';
    return !isPublished(name) && !(isAboutRecords && this.#worked.has(name));
  }

  /** The cloud has answered the operation well. */
  recordWorked(name: OperationName): void {
    this.#worked.add(name);
  }

  /** A list was read whole; its first request was sent at this time of the monotonic clock. */
  recordList(name: ListName, records: readonly { readonly id: string }[], sentAt: number): void {
    this.#lists.set(name, { sentAt, ids: new Set(records.map(({ id }) => id)) });
  }

  /** The cloud has answered with an error, at this time of the monotonic clock; whether the route is missing. */
  recordError(name: OperationName, params: Params, status: number | undefined, at: number): boolean {
    const isMissing =
      (status === 501 && !isPublished(name)) ||
      ((status === 404 || status === 405) && this.isInDoubt(name) && !this.#isAboutRecord(name, params, at));
    if (isMissing) this.#missing.add(name);
    return isMissing;
  }

  #isAboutRecord(name: OperationName, params: Params, at: number): boolean {
    const named = Object.entries(params)
      .map(([param, id]) => ({ id, lists: listsHolding(name, param) }))
      .filter(({ lists }) => lists.length > 0);
    if (named.length === 0) return false;
    const listedAt = Math.min(...named.map(({ id, lists }) => this.#lastListedAt(id, lists)));
    if (listedAt === never) return true;
    const key = [name, ...Object.values(params)].join(' ');
    const firstAt = this.#firstNotFoundAt.get(key) ?? at;
    this.#firstNotFoundAt.set(key, firstAt);
    return listedAt <= firstAt;
  }

  #lastListedAt(id: string, names: readonly ListName[]): number {
    const holding = names.map((name) => this.#lists.get(name)).filter((list) => list?.ids.has(id));
    return Math.max(never, ...holding.map((list) => list?.sentAt ?? never));
  }
}

const never = Number.NEGATIVE_INFINITY;

function isPublished(name: OperationName): boolean {
  const { source, number, session } = operationRow(name);
  return source !== 'assumed' && (number !== null || session === true);
}

/** The lists that hold what a parameter names. A hub is a signal, and a thing a sonic of either kind. */
function listsHolding(name: OperationName, param: string): readonly ListName[] {
  switch (param) {
    case 'property_id':
      return ['list_properties'];
    case 'signal_id':
    case 'hub_id':
      return ['list_signals'];
    case 'sonic_id':
      return [name.includes('wifi') ? 'list_wifi_sonics' : 'list_sonics'];
    case 'thing_id':
      return ['list_sonics', 'list_wifi_sonics'];
    case 'incident_id':
      return ['list_incidents'];
    default:
      return [];
  }
}
