import type { CloudClient } from '../cloud/client.ts';
import { CloudError, type CloudErrorKind, isPermanent } from '../cloud/errors.ts';
import type { Incident } from '../model/records.ts';

/** When more incidents vanish from the list at once, the list is believed. */
const mostAsked = 20;

/** So many complete lists in a row that miss an incident are believed, where the cloud does not tell of it by itself. */
const mostListsDoubted = 3;

/** Asks for incidents that were open and that the list of open ones misses: at first only the cloud's own word closes one. */
export class MissingIncidents {
  readonly #client: CloudClient;
  readonly #signal: AbortSignal;
  /** How many complete lists in a row have missed an incident of which the cloud does not tell by itself. */
  #doubted: ReadonlyMap<string, number> = new Map();

  constructor(client: CloudClient, signal: AbortSignal) {
    this.#client = client;
    this.#signal = signal;
  }

  /**
   * What has become of each: none are told of that are beyond the most that is asked for. An incomplete list doubts none
   * of them. Rejects when this is given up.
   */
  async ask(missing: readonly Incident[], isListComplete: boolean): Promise<Incident[]> {
    const doubted = new Map<string, number>();
    const asked = missing
      .slice(0, mostAsked)
      .map((incident) => this.#read(incident, isListComplete ? doubted : null));
    const found = await Promise.all(asked);
    if (isListComplete) this.#doubted = doubted;
    return found;
  }

  /**
   * The incident as it is now; as it was known where the cloud does not tell, and few complete lists in a row have missed
   * it, which is noted: null, this one is not complete.
   */
  async #read(incident: Incident, doubted: Map<string, number> | null): Promise<Incident> {
    const call = { operation: 'read_incident', params: { incident_id: incident.id } } as const;
    let kind: CloudErrorKind | null = null;
    try {
      const answer = await this.#client.call(call, { signal: this.#signal });
      // What is said of another tells nothing of this one.
      if (answer.id === incident.id) return answer;
    } catch (error) {
      if (this.#signal.aborted) throw error;
      if (error instanceof CloudError) ({ kind } = error);
    }
    const gone = { ...incident, open: false };
    if (kind === 'notFound') return gone;
    if (doubted === null) return incident;
    // Where it cannot be asked for there is only the list.
    const times = (this.#doubted.get(incident.id) ?? 0) + 1;
    if (isPermanent({ kind }) || times >= mostListsDoubted) return gone;
    doubted.set(incident.id, times);
    return incident;
  }
}
