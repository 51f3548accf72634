import { version } from '../base/version.ts';
import type { Availability } from '../cloud/client.ts';
import { type OperationName, operationNames } from '../cloud/operations.ts';
import type { ApplianceCategories } from '../model/records.ts';

/** What it tells that changes while the bridge runs. */
export interface InfoInputs {
  /** The same object for as long as they are the same. */
  readonly figures: { readonly lastUpdate: string | null; readonly requestsLastHour: number };
  readonly counts: Readonly<Record<string, number>>;
  readonly applianceCategories: ApplianceCategories['categories'] | null | undefined;
  readonly availability: (operation: OperationName) => Availability;
}

/** By how much the told start may be off, in ms: two clocks never go quite alike, and this must not change all the time. */
const mostOffMs = 60_000;

/** The document `bridge/info`: wanted with each pass, and so written anew only if something in it is new. */
export class InfoDocument {
  readonly #instanceId: string;
  readonly #reckonStart: () => number;
  readonly #configuration: unknown;
  #startedAt: number;
  #basis: readonly unknown[] = [];
  #text = '';

  /**
   * The id tells this run of the bridge from every other. Reckoned is its start, in ms since 1970, by the clock as it is
   * when that is asked for.
   */
  constructor(instanceId: string, reckonStart: () => number, configuration: unknown) {
    this.#instanceId = instanceId;
    this.#reckonStart = reckonStart;
    this.#configuration = configuration;
    this.#startedAt = reckonStart();
  }

  /** The start of the bridge as it is told, in ms since 1970: another once the clock has been set. */
  get startedAt(): number {
    const reckoned = this.#reckonStart();
    if (Math.abs(reckoned - this.#startedAt) > mostOffMs) this.#startedAt = reckoned;
    return this.#startedAt;
  }

  /** As JSON. */
  text({ figures, counts, applianceCategories = null, availability }: InfoInputs): string {
    const operations = operationNames.map(availability);
    const startedAt = new Date(this.startedAt).toISOString();
    const basis = [startedAt, figures, applianceCategories, ...Object.values(counts), ...operations];
    if (basis.every((each, index) => each === this.#basis[index])) return this.#text;
    this.#basis = basis;
    this.#text = JSON.stringify({
      version,
      instance_id: this.#instanceId,
      started_at: startedAt,
      last_update: figures.lastUpdate,
      requests_last_hour: figures.requestsLastHour,
      counts,
      appliance_categories: applianceCategories,
      operations: Object.fromEntries(operationNames.map((name, index) => [name, operations[index]])),
      configuration: this.#configuration,
    });
    return this.#text;
  }
}
