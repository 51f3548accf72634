import { version } from '../base/version.ts';
import type { Availability } from '../cloud/client.ts';
import { type OperationName, operationNames } from '../cloud/operations.ts';
import type { ApplianceCategories } from '../model/records.ts';

/** What it tells that changes while the bridge runs. */
export interface InfoNow {
  /** The same object for as long as they are the same. */
  readonly figures: { readonly lastUpdate: string | null; readonly requestsLastHour: number };
  readonly counts: Readonly<Record<string, number>>;
  readonly applianceCategories: ApplianceCategories['categories'] | null | undefined;
  readonly availability: (operation: OperationName) => Availability;
}

/** The document `bridge/info`: wanted with each pass, and so written anew only if something in it is new. */
export class InfoDocument {
  readonly #startedAt: string;
  readonly #configuration: unknown;
  #basis: readonly unknown[] = [];
  #text = '';

  constructor(startedAt: string, configuration: unknown) {
    this.#startedAt = startedAt;
    this.#configuration = configuration;
  }

  /** As JSON. */
  text({ figures, counts, applianceCategories = null, availability }: InfoNow): string {
    const operations = operationNames.map(availability);
    const basis = [figures, applianceCategories, ...Object.values(counts), ...operations];
    if (basis.every((each, index) => each === this.#basis[index])) return this.#text;
    this.#basis = basis;
    this.#text = JSON.stringify({
      version,
      started_at: this.#startedAt,
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
