import { sleep } from '../base/clock.ts';
import { isConnected } from '../model/reach.ts';
import { measurementAgeMs } from '../model/telemetry.ts';
import { type DeviceQuery, queryDevices } from './perDevice.ts';
import type { PollParts, PollRun } from './pollParts.ts';
import { incomplete, mergeProblems, type PollFailure, type PollProblem, toProblem } from './pollProblem.ts';

/** Reads the measurements of each sonic. Resolves to null if all were read; rejects if none could be read. */
export async function pollTelemetry(parts: PollParts, run: PollRun): Promise<PollFailure | null> {
  const { store, stopping } = parts;
  // A sonic whose radio link is down sends no measurements.
  const linked = store
    .ids('sonic')
    .filter((id) => isConnected(store.sonicView(id)?.sonic.radio_connection ?? null) !== false);
  // Wi-Fi sonics have another operation than the others, and only one of the two may fail.
  const problems: (PollProblem | null)[] = [];
  const errors: unknown[] = [];
  for (const isWifi of [false, true]) {
    const ids = linked.filter((id) => store.isWifi(id) === isWifi);
    if (ids.length === 0) continue;
    try {
      problems.push(await queryDevices(parts, run, ids, telemetryQuery(parts, isWifi)));
    } catch (error) {
      if (stopping.aborted) throw error;
      errors.push(error);
    }
  }
  if (errors.length > 0 && problems.length === 0) throw errors[0];
  return incomplete(mergeProblems([...errors.map(toProblem), ...problems]));
}

/** How long after a movement the flow is measured again, in ms. */
const afterMovementMs = 5_000;

/** Reads the measurements of a sonic soon after it has moved, because a flow from before that is not shown; never rejects. */
export async function readAfterMovement(parts: PollParts, sonicId: string): Promise<void> {
  const { clock, client, store, stopping } = parts;
  const { operation, read } = telemetryQuery(parts, store.isWifi(sonicId));
  if (!store.sonicView(sonicId)?.telemetry || !client.isOffered(operation)) return;
  // If it fails, the next poll reads it.
  await sleep(clock, afterMovementMs, stopping)
    .then(() => read(sonicId, clock.monotonic()))
    .catch(() => undefined);
}

function telemetryQuery({ client, store, statuses, stopping }: PollParts, isWifi: boolean): DeviceQuery {
  const operation = isWifi ? 'read_wifi_telemetry' : 'read_telemetry';
  return {
    operation,
    poll: 'telemetry',
    read: async (id) => {
      const call = { operation, params: { sonic_id: id } } as const;
      const telemetry = await client.call(call, { signal: stopping });
      const ageMs = measurementAgeMs(telemetry, client.counter.cloudNow);
      store.setTelemetry(id, telemetry, ageMs, statuses.maxAgeMs('telemetry'));
    },
    onNone: (id) => store.setTelemetry(id, null),
  };
}
