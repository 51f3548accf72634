import { isAccountList, type ListName, type OperationName, operationRow, paramNames } from './operations.ts';

/** The lists of the record that a parameter names. A hub is a signal, and a thing is a sonic of either kind. */
const listsOf: Readonly<Record<string, readonly ListName[]>> = {
  property_id: ['list_properties'],
  signal_id: ['list_signals'],
  hub_id: ['list_signals'],
  sonic_id: ['list_sonics'],
  wifi_sonic_id: ['list_wifi_sonics'],
  thing_id: ['list_sonics', 'list_wifi_sonics'],
  incident_id: ['list_incidents'],
};

/**
 * Finds out which routes the cloud does not have. A published route is never missing. Any other is missing after a 501, and
 * after a 404 or 405 that cannot be about a record. That of a valve command always can be about its valve. Any other can be
 * about a record if the operation has worked before, if the last complete list does not have the record, or if no published
 * list was answered well since the first such answer for this record. So neither a mistyped id nor a device without such data
 * disables an operation for all valves. A gateway that has lost its routes answers 404 to everything. Then the published
 * lists show that no answer is about a route.
 */
export class MissingRoutes {
  readonly #missing = new Set<OperationName>();
  readonly #worked = new Set<OperationName>();
  /** The ids of each list that was read whole. */
  readonly #lists = new Map<OperationName, ReadonlySet<string>>();
  /** By call that was answered 404 or 405: `#goodLists` of the first time. */
  readonly #notFound = new Map<string, number>();
  /** Missing, but no published list has been answered well since. */
  readonly #unproven = new Set<OperationName>();
  /** How many published lists were answered well. */
  #goodLists = 0;
  /** Whether a published list was answered as if it had no route, and none has been answered well since. */
  #isGatewayLost = false;

  has(name: OperationName): boolean {
    return this.#missing.has(name);
  }

  /** Whether a 404 or 405 may mean that. If a list or record was read before, only the list or record is gone. */
  mayBeMissing(name: OperationName): boolean {
    const { path, reply, moves } = operationRow(name);
    const isAboutRecords = paramNames(path).length > 0 || reply.kind === 'page';
    // What one valve refuses takes no other valve its command.
    if (isPublished(name) || moves === 'command') return false;
    return !(isAboutRecords && this.#worked.has(name));
  }

  recordWorked(name: OperationName): void {
    this.#worked.add(name);
    if (!isPublishedList(name)) return;
    this.#goodLists += 1;
    this.#isGatewayLost = false;
    this.#unproven.clear();
  }

  recordList(name: ListName, records: readonly { readonly id: string }[]): void {
    this.#lists.set(name, new Set(records.map(({ id }) => id)));
  }

  /** Returns whether the route is missing. */
  recordError(
    name: OperationName,
    params: Readonly<Record<string, string>>,
    status: number | undefined,
  ): boolean {
    const hasNoRoute = status === 404 || status === 405 || status === 501;
    if (hasNoRoute && isPublishedList(name)) {
      this.#isGatewayLost = true;
      for (const unproven of this.#unproven) this.#missing.delete(unproven);
      this.#unproven.clear();
    }
    if (!hasNoRoute || isPublished(name) || this.#isGatewayLost) return false;
    const isMissing = status === 501 || (this.mayBeMissing(name) && !this.#isAboutRecord(name, params));
    if (isMissing) {
      this.#missing.add(name);
      this.#unproven.add(name);
    }
    return isMissing;
  }

  #isAboutRecord(name: OperationName, params: Readonly<Record<string, string>>): boolean {
    const listed = Object.entries(params).flatMap(([param, id]) => {
      const lists = listsOf[name.includes('wifi') ? 'wifi_sonic_id' : param];
      return lists ? [lists.some((list) => this.#lists.get(list)?.has(id))] : [];
    });
    if (listed.length === 0 && !this.#worked.has(name)) return false;
    if (listed.includes(false)) return true;
    const key = [name, ...Object.values(params)].join(' ');
    const firstAt = this.#notFound.get(key) ?? this.#goodLists;
    this.#notFound.set(key, firstAt);
    return firstAt === this.#goodLists;
  }
}

function isPublishedList(name: OperationName): boolean {
  return isPublished(name) && isAccountList(name);
}

function isPublished(name: OperationName): boolean {
  const { source, number, session } = operationRow(name);
  return source !== 'assumed' && (number !== null || session === true);
}
