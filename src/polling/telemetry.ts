import { isConnected } from '../model/devices.ts';
import { measurementAgeMs } from '../model/telemetry.ts';
import { type DeviceQuery, queryDevices } from './perDevice.ts';
import type { PollParts, PollRun } from './pollParts.ts';
import { incomplete, mergeProblems, type PollFailure, type PollProblem, toProblem } from './pollProblem.ts';

/** Reads the measurements of each sonic: flow, pressure and temperature. */
export class TelemetryPoll {
  readonly #parts: PollParts;

  constructor(parts: PollParts) {
    this.#parts = parts;
  }

  /** Reads all sonics. Resolves to null if all were read; rejects if none could be read. */
  async poll(run: PollRun): Promise<PollFailure | null> {
    const { store, stopping } = this.#parts;
    // A sonic whose radio link is down sends no measurements.
    const linked = store
      .ids('sonic')
      .filter((id) => isConnected(store.sonicView(id)?.sonic.radio_connection ?? null) !== false);
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
        store.setTelemetry(id, telemetry, ageMs, statuses.maxAgeMs('telemetry'));
      },
      onNone: (id) => store.setTelemetry(id, null),
    };
  }
}
