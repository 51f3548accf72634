import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { reasonOf } from '../base/reason.ts';
import type { CloudClient } from '../cloud/client.ts';
import { CloudError } from '../cloud/errors.ts';
import { isPastSendWindow } from '../cloud/lateness.ts';
import type { Call, OperationName } from '../cloud/operations.ts';
import { namesRecords } from '../polling/missingRoute.ts';
import type { FollowUp } from './followUp.ts';
import type { Outcome } from './outcome.ts';

/** The operations that commands may come to, besides the valves'. */
const changeNames = [
  'act_on_incident',
  'patch_property',
  'patch_signal',
  'patch_sonic',
  'patch_wifi_sonic',
  'start_pressure_test',
  'update_customer_notifications',
  'update_notification_settings',
  'update_property_configuration',
  'update_property_settings',
] as const satisfies readonly OperationName[];

/** A call that changes something besides a valve. */
export type ChangeCall = Call<(typeof changeNames)[number]>;

/** Whether it is one of the calls that are run here. */
export function isChange(call: Call): call is ChangeCall {
  return changeNames.some((name) => name === call.operation);
}

/** How a command ended: its status, why if it is not ok, and the cloud's status code if it answered. */
export type ChangeEnd = (status: Outcome['status'], reason: string | null, httpStatus: number | null) => void;

/** A command that comes to one or several changes, and who is told how it ended, once. */
export interface ChangeErrand {
  /** Where it was asked for. */
  readonly topic: string;
  /** Its time starts then, in ms of the monotonic clock. */
  readonly sentAfter: number;
  /** What it is about: commands to one target run one after the other. */
  readonly target: string;
  readonly calls: readonly ChangeCall[];
  readonly onEnd: ChangeEnd;
}

export interface ChangesOptions {
  readonly client: CloudClient;
  readonly followUp: FollowUp;
  /** How long a command may wait before it is sent, in ms; it is never sent later. */
  readonly requestTimeoutMs: number;
  /** Ends what is under way; nothing is sent after that. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly log: Log;
}

/** How one call ended; the reason is null where it went well. */
interface CallEnd {
  readonly reason: string | null;
  readonly httpStatus: number | null;
}

/** More that wait for one target are refused: they would not be sent in time. */
const mostWaiting = 20;

/** Calls of one command that are under way at a time. */
const callsAtOnce = 4;

/**
 * Runs the changes of settings, names and incidents. Those of one target run one after the other, of those that wait
 * for the same fields the newest wins, and each call reaches the cloud at most once: none is repeated here.
 */
export class Changes {
  readonly #options: ChangesOptions;
  /** By target, while a command is being sent: those that wait behind it. */
  readonly #lanes = new Map<string, ChangeErrand[]>();

  constructor(options: ChangesOptions) {
    this.#options = options;
  }

  /** Runs a command when those before it have ended; its end is told in any case. */
  take(errand: ChangeErrand): void {
    const { target } = errand;
    const lane = this.#lanes.get(target);
    if (!lane) {
      this.#lanes.set(target, []);
      void this.#drain(target, errand);
      return;
    }
    const subjects = new Set(subjectsOf(errand));
    const isCovered = (each: ChangeErrand) => subjectsOf(each).every((subject) => subjects.has(subject));
    const left = lane.filter((each) => !isCovered(each));
    if (left.length >= mostWaiting) {
      errand.onEnd('refused', `${mostWaiting} commands are waiting for this one's turn already`, null);
      return;
    }
    this.#lanes.set(target, [...left, errand]);
    for (const each of lane.filter(isCovered)) {
      each.onEnd('superseded', 'a newer command for the same arrived', null);
    }
  }

  async #drain(target: string, first: ChangeErrand): Promise<void> {
    for (let next: ChangeErrand | undefined = first; next; next = this.#lanes.get(target)?.shift()) {
      await this.#run(next);
    }
    this.#lanes.delete(target);
  }

  async #run({ topic, calls, sentAfter, onEnd }: ChangeErrand): Promise<void> {
    const left = [...calls];
    const ends: CallEnd[] = [];
    const next = async () => {
      for (let call = left.shift(); call; call = left.shift())
        ends.push(await this.#send(topic, call, sentAfter));
    };
    await Promise.all(Array.from({ length: callsAtOnce }, next));
    const failures = ends.filter(({ reason }) => reason !== null);
    const [shown] = failures.length > 0 ? failures : ends;
    const { reason = null, httpStatus = null } = shown ?? {};
    if (reason === null) onEnd('ok', null, httpStatus);
    else if (calls.length === 1) onEnd('error', reason, httpStatus);
    else onEnd('error', `${failures.length} of ${calls.length} failed: ${reason}`, httpStatus);
  }

  async #send(topic: string, call: ChangeCall, sentAfter: number): Promise<CallEnd> {
    const { client, followUp, requestTimeoutMs, signal, clock, log } = this.#options;
    const timeoutMs = sentAfter + requestTimeoutMs - clock.monotonic();
    if (isPastSendWindow(timeoutMs, requestTimeoutMs)) {
      return { reason: 'timeout: what came before it took too long; it was not sent', httpStatus: null };
    }
    let httpStatus: number | null = null;
    const onAnswer = (status: number) => {
      httpStatus = status;
    };
    // Not the values: an address may hold a secret.
    const fields = Object.keys(call.body).join(', ');
    const { operation } = call;
    log.info({ topic, operation }, `Sending ${operation} to the cloud: ${fields} (MQTT command)`);
    try {
      const isOneOfMany = namesRecords(call);
      const reply = await client.call(call, { signal, timeoutMs, onAnswer, isOneOfMany });
      followUp.done(call, reply);
      return { reason: null, httpStatus };
    } catch (error) {
      void followUp.failed(topic, call, error);
      // An incident that refuses is not what it was taken for.
      const hasRefused = error instanceof CloudError && !error.mayHaveActed;
      if (hasRefused && call.operation === 'act_on_incident') followUp.lookAt(call);
      return { reason: reasonOf(error), httpStatus };
    }
  }
}

/** What a command is about, field by field. */
function subjectsOf({ calls }: Pick<ChangeErrand, 'calls'>): string[] {
  return calls.flatMap(({ operation, params, body }) =>
    Object.keys(body).map((field) => [operation, ...Object.values(params), field].join('/')),
  );
}
