import { forEachLimit } from '../base/forEachLimit.ts';
import type { BrokerMessage } from '../broker/message.ts';
import type { Answered } from '../cloud/client.ts';
import { CloudError } from '../cloud/errors.ts';
import { type Call, movesOf, type OperationName, operationRow } from '../cloud/operations.ts';
import type { CallOptions } from '../cloud/requestPipeline.ts';
import { isHeldBack } from '../cloud/retry.ts';
import { isSameId } from '../model/ids.ts';
import { noPause } from '../model/pause.ts';
import type { Incident, Sonic } from '../model/records.ts';
import type { Store } from '../store/store.ts';
import { type MessageLimits, timeLeftMs } from './messageRules.ts';
import { AnswerStatus, type CommandParts, type Outcome, reasonFor } from './outcome.ts';
import { isSuperseded, type ValveQueue } from './valveQueue.ts';

interface Update {
  readonly topic: string;
  /** The fields that it sets. Of the waiting commands with the same fields, the newest wins. */
  readonly fields: string;
  /** Carries the command out when its turn has come; never rejects. */
  readonly run: () => Promise<UpdateResult>;
}

export type UpdateResult = Pick<Outcome, 'status' | 'reason' | 'http_status'>;

type SendOptions = Pick<CallOptions, 'timeoutMs' | 'onAnswer'>;

/** How many commands may wait for one record. Further ones are refused, because they would not be sent in time. */
const maxWaitingPerRecord = 20;

const maxCallsAtOnce = 4;

export type UpdatesParts = MessageLimits &
  Pick<CommandParts, 'client' | 'store' | 'poller' | 'outcomes' | 'log'> & {
    readonly valveQueue: Pick<ValveQueue, 'sendOther'>;
    /** The cloud has accepted a change. Resolves to why its effect may not last, for people; null if it does. */
    readonly onAccepted: (call: Call) => Promise<string | null>;
  };

/**
 * Changes settings, names and incidents, one command at a time for each record. Of the waiting commands that set the
 * same fields, the newest wins. Each call is sent once, and only within the command's time. Its answer is stored, and
 * the poll that reads the change runs early.
 */
export class Updates {
  readonly #parts: UpdatesParts;
  /** The records to which a command is being sent, each with its waiting commands by the fields that they set. */
  readonly #waiting = new Map<string, Map<string, Update>>();

  constructor(parts: UpdatesParts) {
    this.#parts = parts;
  }

  apply(message: BrokerMessage, record: string, calls: readonly Call[]): void {
    const { topic } = message;
    this.enqueue(record, { topic, fields: changedFields(calls), run: () => this.#runCalls(message, calls) });
  }

  /** Carries a command out after the earlier commands for the same record, and records its outcome. */
  enqueue(record: string, update: Update): void {
    const { outcomes } = this.#parts;
    const { topic, fields } = update;
    const waiting = this.#waiting.get(record);
    if (!waiting) {
      void this.#drain(record, update);
      return;
    }
    const before = waiting.get(fields);
    if (!before && waiting.size >= maxWaitingPerRecord) {
      const reason = `rate_limited: ${maxWaitingPerRecord} commands for this device are already waiting`;
      outcomes.record(topic, 'refused', reason, null);
      return;
    }
    waiting.delete(fields);
    waiting.set(fields, update);
    if (before) {
      outcomes.record(before.topic, 'superseded', 'a newer command for this setting arrived', null);
    }
  }

  /**
   * Sends a call that a message or the bridge itself has requested, stores the answer, and runs the poll that reads the
   * change. If the call may move a valve and a newer command for the valve has come, the call is not sent. Rejects with
   * the client's error, or if the effect of what a message requested may not last.
   */
  async send(
    message: BrokerMessage | null,
    call: Call,
    options: SendOptions,
  ): Promise<Answered<OperationName>> {
    const answer = await this.#call(message, call, options);
    const accepted = this.#parts.onAccepted(call);
    const problem = message ? await accepted : null;
    if (problem !== null) throw new Error(problem);
    return answer;
  }

  async #call(
    message: BrokerMessage | null,
    call: Call,
    options: SendOptions,
  ): Promise<Answered<OperationName>> {
    const { client, store, outcomes, valveQueue, stopping, clock } = this.#parts;
    const startedAt = clock.monotonic();
    // The bridge's own duty, to end a pause, waits for no budget.
    const priority = message ? 'command' : 'valve';
    try {
      const answer =
        message && movesOf(call) !== null
          ? await valveQueue.sendOther(message, call, movedValve(call, store), options)
          : await client.callRaw(call, { ...options, priority, signal: stopping });
      this.#useAnswer(call, answer.reply, startedAt);
      return answer;
    } catch (error) {
      const { operation } = call;
      // Either the cloud may have made the change, or the incident has rejected the action, so its stored record is
      // outdated.
      if (error instanceof CloudError && (error.mayHaveActed || operation === 'act_on_incident')) {
        this.#pollFor(call);
      }
      outcomes.noteFailure(message?.topic ?? '', error);
      throw error;
    }
  }

  async #drain(record: string, first: Update): Promise<void> {
    const waiting = new Map<string, Update>();
    this.#waiting.set(record, waiting);
    await this.#run(first);
    for (const [fields, next] of waiting) {
      waiting.delete(fields);
      await this.#run(next);
    }
    this.#waiting.delete(record);
  }

  async #run({ topic, run }: Update): Promise<void> {
    const { status, reason, http_status } = await run();
    this.#parts.outcomes.record(topic, status, reason, http_status);
  }

  async #runCalls(message: BrokerMessage, calls: readonly Call[]): Promise<UpdateResult> {
    const results: UpdateResult[] = [];
    await forEachLimit(maxCallsAtOnce, calls, async (call) => {
      results.push(await this.#runCall(message, call));
    });
    const failures = results.filter(({ status }) => status !== 'ok');
    const [first] = failures;
    if (!first) return succeeded(results[0]?.http_status ?? null);
    if (calls.length === 1) return first;
    return { ...first, reason: `${failures.length} of ${calls.length} failed: ${first.reason}` };
  }

  async #runCall(message: BrokerMessage, call: Call): Promise<UpdateResult> {
    const { topic, sentAfter } = message;
    const { operation, body } = call as Call & { readonly body?: object };
    const refusal = pausedRefusal(this.#parts.store, call);
    if (refusal !== null) return refused(refusal);
    const timeoutMs = timeLeftMs(sentAfter, this.#parts);
    if (timeoutMs === null) return failed('timeout: earlier commands took too long. This one was not sent');
    // Only an action is logged: other values may hold a secret, for example an address.
    const { action } = (body ?? {}) as { readonly action?: unknown };
    // Of a pressure test, the field only says who asks.
    const fields = operation === 'start_pressure_test' ? [] : Object.keys(body ?? {});
    const about = typeof action === 'string' ? action : fields.join(', ');
    const line = `Sending ${[`${operation} to the cloud`, about].filter(Boolean).join(': ')} (MQTT command)`;
    this.#parts.log.info({ topic, operation }, line);
    const answers = new AnswerStatus();
    try {
      await this.send(message, call, { timeoutMs, onAnswer: answers.note });
      return succeeded(answers.status);
    } catch (error) {
      return resultOf(error, answers.status);
    }
  }

  #useAnswer(call: Call, reply: unknown, startedAt: number): void {
    const { store, poller, clock } = this.#parts;
    storeReply(store, call, reply, clock.monotonic());
    this.#pollFor(call);
    if (call.operation === 'start_pressure_test') void poller.readNewTest(call.params.thing_id);
    // A request that reads a sonic gets the newest state of its valve, so this state is stored and shown.
    if (call.operation === 'read_sonic' || call.operation === 'read_wifi_sonic') {
      const sonic = reply as Sonic;
      if (isSameId(sonic.id, call.params.sonic_id)) store.setSonic(sonic, startedAt);
    }
    // In the same way it confirms or closes an incident, also while the list of incidents cannot be read.
    if (call.operation === 'read_incident') {
      const incident = reply as Incident;
      const reading = { records: [incident], isComplete: false, startedAt };
      if (isSameId(incident.id, call.params.incident_id)) store.replaceIncidents(reading);
    }
  }

  /** Runs the poll that shows the change of a call. */
  #pollFor({ operation }: Call): void {
    const { poller, stopping } = this.#parts;
    const { refreshes } = operationRow(operation);
    if (refreshes && !stopping.aborted) void poller.runNow(refreshes);
  }
}

export function succeeded(http_status: number | null): UpdateResult {
  return { status: 'ok', reason: null, http_status };
}

export function refused(reason: string): UpdateResult {
  return { status: 'refused', reason, http_status: null };
}

export function failed(reason: string, http_status: number | null = null): UpdateResult {
  return { status: 'error', reason, http_status };
}

/** How a command ended whose call has failed. `httpStatus` is the status of the cloud's last answer, or null. */
export function resultOf(error: unknown, httpStatus: number | null): UpdateResult {
  const reason = reasonFor(error);
  if (isHeldBack(error)) return refused(`rate_limited: ${reason}`);
  const status = isSuperseded(error) ? 'superseded' : 'error';
  return { status, reason, http_status: httpStatus };
}

/**
 * Why a call is refused if it would turn the automatic shut-off off permanently during a pause; null for any other
 * call. The shut-off is off already. A scene or a script that sets the state it has found must not keep it from being
 * turned on again.
 */
export function pausedRefusal(store: Store, call: Call): string | null {
  if (call.operation !== 'update_property_settings' || call.body.auto_shut_off !== false) return null;
  const { state } = store.pauseOf(call.params.property_id) ?? noPause;
  return state === 'none'
    ? null
    : 'the automatic shut-off is paused, and is turned on again after the pause. To turn it off permanently, end the pause first';
}

/** The valve that a pressure test or an incident's action moves; null if it is not known. */
function movedValve({ params }: Call, store: Store): string | null {
  const { thing_id, incident_id = '' } = params as {
    readonly thing_id?: string;
    readonly incident_id?: string;
  };
  return thing_id ?? store.incidents.get(incident_id)?.sonic_id ?? null;
}

/** The fields that a command sets, each with its operation and record. */
export function changedFields(calls: readonly Call[]): string {
  const fields = calls.map((call) => {
    const { operation, params, body } = call as { operation: string; params?: object; body?: object };
    return [operation, ...Object.values(params ?? {}), ...Object.keys(body ?? {}).toSorted()].join('/');
  });
  return fields.join(' ');
}

/**
 * Stores the answer to a change, received at `now` in ms of the monotonic clock. The answer is newer than any list that
 * was requested before, and has some data that no list shows. The row of the operation says what the answer is. `reply`
 * is null if the cloud only acknowledged the change.
 */
function storeReply(store: Store, call: Call, reply: unknown, now: number): void {
  const [id = ''] = Object.values<string>(call.params ?? {});
  const { returns } = operationRow(call.operation);
  if (returns === undefined || typeof reply !== 'object' || reply === null) return;
  const { job_id: jobId, name } = reply as { readonly job_id?: string | null; readonly name?: unknown };
  if (returns === 'pressureTestJob') {
    if (jobId) store.recordPressureTestJob(id, jobId);
  }
  // The rest of a sonic, such as the state of a moving valve, may be old.
  else if (returns === 'sonic') store.setAnswer('sonic', id, { name }, now);
  else store.setAnswer(returns, id, reply, now);
}
