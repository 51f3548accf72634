import { isConnected } from '../model/devices.ts';
import type { Telemetry } from '../model/records.ts';
import { measurementAgeMs, measurementOf } from '../model/telemetry.ts';
import { type DeviceQuery, queryDevices } from './perDevice.ts';
import type { PollParts, PollRun } from './pollParts.ts';
import { incomplete, mergeProblems, type PollFailure, type PollProblem, toProblem } from './pollProblem.ts';

/** Reads the measurements of each sonic: flow, pressure and temperature. */
export class TelemetryPoll {
  readonly #parts: PollParts;
  /** Sonics that have stopped measuring: the cloud has only old values of them. */
  readonly #silent = new Set<string>();

  constructor(parts: PollParts) {
    this.#parts = parts;
  }

  /** Reads all sonics. Resolves to null if all were read; rejects if none could be read. */
  async poll(run: PollRun): Promise<PollFailure | null> {
    const { store, stopping } = this.#parts;
    const known = new Set(store.ids('sonic'));
    for (const id of this.#silent) if (!known.has(id)) this.#silent.delete(id);
    // A sonic whose radio link is down sends no measurements.
    const linked = [...known].filter(
      (id) => isConnected(store.sonicView(id)?.sonic.radio_connection ?? null) !== false,
    );
    // Wi-Fi sonics have another operation than the others, and only one of the two may fail.
    const problems: PollProblem[] = [];
    const errors: unknown[] = [];
    let queries = 0;
    for (const isWifi of [false, true]) {
      const ids = linked.filter((id) => store.topology.isWifi(id) === isWifi);
      if (ids.length === 0) continue;
      queries += 1;
      try {
        const problem = await queryDevices(this.#parts, run, ids, this.#query(isWifi));
        if (problem) problems.push(problem);
      } catch (error) {
        if (stopping.aborted) throw error;
        errors.push(error);
      }
    }
    if (errors.length > 0 && errors.length === queries) throw errors[0];
    return incomplete(mergeProblems([...errors.map(toProblem), ...problems]));
  }

  #query(isWifi: boolean): DeviceQuery {
    const { client, store, statuses, stopping } = this.#parts;
    const operation = isWifi ? 'read_wifi_telemetry' : 'read_telemetry';
    return {
      operation,
      poll: 'telemetry',
      read: async (id) => {
        const call = { operation, params: { sonic_id: id } } as const;
        const telemetry = await client.call(call, { signal: stopping });
        const ageMs = measurementAgeMs(telemetry, client.cloudNow);
        const isCurrent = store.setTelemetry(id, telemetry, ageMs, statuses.maxAgeMs('telemetry'));
        this.#logSilence(id, telemetry, isCurrent);
      },
      onNone: (id) => void store.setTelemetry(id, null),
    };
  }

  /** Logs when a sonic stops measuring, although the cloud still answers for it, and when it measures again. */
  #logSilence(id: string, telemetry: Telemetry, isCurrent: boolean): void {
    if (isCurrent !== this.#silent.has(id)) return;
    const sonic = this.#parts.store.label('sonic', id);
    if (isCurrent) {
      this.#silent.delete(id);
      this.#parts.log.info({ device: id }, `Valve ${sonic} sends measurements again`);
      return;
    }
    this.#silent.add(id);
    const since = measurementOf(telemetry).probedAt ?? telemetry.probed_at;
    this.#parts.log.warn(
      { device: id },
      `Valve ${sonic} sends no new measurements. The last ones are from ${since}. Flow, pressure and temperature are unknown. Check its battery and its hub.`,
    );
  }
}
