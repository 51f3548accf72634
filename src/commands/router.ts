import type { BrokerMessage } from '../broker/message.ts';
import { isSafeId } from '../cloud/decoders.ts';
import { CloudError } from '../cloud/errors.ts';
import { movesOf } from '../cloud/operations.ts';
import type { BridgeAction } from '../entities/row.ts';
import {
  isCommandPath,
  missingPermission,
  type ParsedCommand,
  parseCommand,
  parseIncidentCommand,
  permissionMessage,
  valveAction,
} from '../homeassistant/command.ts';
import type { Target } from '../homeassistant/topics.ts';
import { kindLabels } from '../model/devices.ts';
import { isSameId } from '../model/ids.ts';
import { messageProblem, timeLeftMs } from './messageRules.ts';
import { AnswerStatus, type CommandParts, stopped, type ValveCall } from './outcome.ts';
import { Pauses } from './pauses.ts';
import { Requests } from './requests.ts';
import { resultOf, Updates } from './updates.ts';
import { ValveQueue } from './valveQueue.ts';

/*
 * How a command travels. Each message of the connection comes to `#handle`, which finds out whether the topic is that
 * of a command or of a request. It ignores empty messages. It refuses retained, old, too long and binary messages
 * before they are read. The row of the entity says what a command does (`parseCommand`): mostly a call of the cloud. A
 * command to a valve goes to the valve queue, and any other call goes to the updates. A request
 * (`bridge/request/…`) names its call itself, and the call goes to the updates too. Each message has one outcome, which
 * `Outcomes` emits.
 */

const maxIncidentReads = 4;

/** Finds the commands and requests among the messages of the broker, and carries them out or refuses them. */
export class CommandRouter {
  readonly #parts: CommandParts;
  readonly #stopping = new AbortController();
  readonly #valveQueue: ValveQueue;
  readonly #updates: Updates;
  readonly #requests: Requests;
  readonly #pauses: Pauses;
  #incidentReads = 0;

  constructor(parts: CommandParts) {
    this.#parts = parts;
    const { topics, control, statusTopic, connection, poller, state, outcomes } = parts;
    const { client, store, requestTimeoutMs, clock, log } = parts;
    const { confirmTimeoutMs, confirmIntervalMs } = parts;
    const stopping = this.#stopping.signal;
    const common = { client, connection, store, requestTimeoutMs, stopping, clock, log };
    this.#valveQueue = new ValveQueue({
      ...common,
      ...{ poller, outcomes, confirmTimeoutMs, confirmIntervalMs },
    });
    this.#updates = new Updates({
      ...{ ...common, poller, outcomes, valveQueue: this.#valveQueue },
      onAccepted: (call) => this.#pauses.recordAccepted(call),
    });
    this.#requests = new Requests({
      ...common,
      ...{ topics, control, statusTopic, outcomes },
      updates: this.#updates,
    });
    this.#pauses = new Pauses({ ...common, state, updates: this.#updates });
    connection.on('message', (message) => this.#handle(message));
  }

  start(): void {
    this.#pauses.start();
  }

  /** Ends the commands in progress, and refuses later ones. */
  stop(): void {
    this.#stopping.abort(stopped);
  }

  #handle(message: BrokerMessage): void {
    const { topics, requestTimeoutMs, clock } = this.#parts;
    const { topic, payload } = message;
    const operation = topics.operationOf(topic);
    const target = operation === null ? this.#targetOf(topic) : null;
    if (operation === null && target === null) return;
    // A client deletes a retained message by an empty one. With MQTT 3.1.1 it comes without the retain flag.
    if (payload === '') {
      this.#parts.log.debug({ topic }, `Ignored an empty message at ${topic}: it is no command`);
      return;
    }
    this.#valveQueue.noteArrival(message);
    const stopping = this.#stopping.signal;
    const problem = messageProblem(message, { requestTimeoutMs, stopping, clock });
    if (operation !== null) this.#requests.handle(message, operation, problem);
    else if (problem) {
      if (target) this.#noteRefusedMove(message, target, problem.reason);
      this.#refuse(topic, problem.reason);
    } else if (target) this.#handleCommand(message, target);
  }

  #targetOf(topic: string): Target | null {
    const target = this.#parts.topics.parse(topic);
    return target && isCommandPath(target.kind, target.path) ? target : null;
  }

  #handleCommand(message: BrokerMessage, target: Target): void {
    const { control, store, bridge } = this.#parts;
    const { kind, id, path } = target;
    if (kind === 'incident') {
      const incident = store.incidents.get(id);
      if (incident) this.#dispatch(message, target, parseIncidentCommand(incident, message.payload, control));
      else if (isSafeId(id)) void this.#actOnClosedIncident(message, target);
      else this.#refuse(message.topic, this.#unknownTarget(target));
      return;
    }
    const view = kind === 'bridge' ? bridge.view : store.view(kind, id);
    if (view) this.#dispatch(message, target, parseCommand(view, path, message.payload, control));
    else if (kind === 'sonic' && store.unreadDevices.some((each) => each.kind === kind && each.id === id))
      this.#handleUnread(message, target);
    else this.#refuse(message.topic, this.#unknownTarget(target));
  }

  /** A valve of an earlier run, which this run has not read: only a failure is shown of it, and can be dismissed. */
  #handleUnread(message: BrokerMessage, target: Target): void {
    const { store } = this.#parts;
    const { id, path } = target;
    const reason = `valve ${store.label('sonic', id)} was not read since the start. Try again later`;
    const canDismiss = path === 'last_command/dismiss' && store.valves.of(id).failed !== null;
    if (canDismiss) this.#dispatch(message, target, { action: { kind: 'dismiss_failure', sonicId: id } });
    else this.#dispatch(message, target, { refusal: reason });
  }

  #dispatch(message: BrokerMessage, target: Target, parsed: ParsedCommand): void {
    const { kind, id } = target;
    const { topic } = message;
    if ('refusal' in parsed) {
      this.#noteRefusedMove(message, target, parsed.refusal);
      this.#refuse(topic, parsed.refusal);
      return;
    }
    const { action } = parsed;
    if ('kind' in action) {
      if (action.kind === 'pause') {
        this.#pauses.handle(message, action.propertyId, action.minutes);
        return;
      }
      this.#carryOut(action);
      this.#parts.outcomes.record(topic, 'ok', null, null);
    } else if ('operation' in action && movesOf(action) === 'command') {
      this.#valveQueue.move(message, action as ValveCall);
    } else this.#updates.apply(message, `${kind}/${id}`, [action].flat());
  }

  /** Carries out a command that only concerns the bridge itself. */
  #carryOut(action: Exclude<BridgeAction, { kind: 'pause' }>): void {
    const { poller, store, outcomes, log } = this.#parts;
    if (action.kind === 'refresh') poller.refresh();
    else if (action.kind === 'dismiss_failure') {
      const { sonicId: device } = action;
      log.info(
        { device },
        `Failed command of valve ${store.label('sonic', device)} dismissed (MQTT command)`,
      );
      store.valves.dismissFailure(device);
    } else {
      log.level = action.level;
      outcomes.emit('showAgain', 'bridge', '');
    }
  }

  /** Reads a closed incident first, because only its record says which actions it offers, for example `reopen`. */
  async #actOnClosedIncident(message: BrokerMessage, target: Target): Promise<void> {
    const { client, control, store } = this.#parts;
    const { topic, payload, sentAfter } = message;
    const { id } = target;
    const forbidden = missingPermission('act_on_incident', control);
    if (forbidden !== null) {
      this.#refuse(topic, permissionMessage(forbidden));
      return;
    }
    if (this.#incidentReads >= maxIncidentReads) {
      this.#refuse(
        topic,
        `rate_limited: ${maxIncidentReads} closed incidents are already being read. Try again later`,
      );
      return;
    }
    this.#incidentReads += 1;
    const answers = new AnswerStatus();
    try {
      const call = { operation: 'read_incident', params: { incident_id: id } } as const;
      const incident = await client.call(call, {
        priority: 'command',
        signal: this.#stopping.signal,
        timeoutMs: timeLeftMs(sentAfter, this.#parts) ?? 0,
        onAnswer: answers.note,
      });
      // The cloud also answers with incidents of properties that this bridge does not show.
      if (isSameId(incident.id, id) && store.incidents.isShownHere(incident)) {
        this.#dispatch(message, target, parseIncidentCommand(incident, payload, control));
      } else this.#refuse(topic, this.#unknownTarget(target));
    } catch (error) {
      const isMissing = error instanceof CloudError && error.kind === 'notFound';
      if (isMissing) this.#refuse(topic, `there is no incident ${id}`, answers.status);
      else {
        const { status, reason, http_status } = resultOf(error, answers.status);
        this.#parts.outcomes.record(topic, status, reason, http_status);
      }
    } finally {
      this.#incidentReads -= 1;
    }
  }

  /** Records the command as the newest of its valve, although it does not reach the valve queue. */
  #noteRefusedMove(message: BrokerMessage, { kind, id, path }: Target, reason: string): void {
    if (kind !== 'sonic' || path !== 'valve/set') return;
    const action = valveAction(message.payload);
    this.#valveQueue.noteRefused(message, id, typeof action === 'string' ? action : null, reason);
  }

  #unknownTarget({ kind, id }: Target): string {
    const yet = this.#parts.store.isComplete ? '' : '. The cloud was not read completely yet';
    return `there is no ${kind === 'incident' ? kind : kindLabels[kind]} ${id.slice(0, 80)}${yet}`;
  }

  #refuse(topic: string, reason: string, httpStatus: number | null = null): void {
    this.#parts.outcomes.record(topic, 'refused', reason, httpStatus);
  }
}
