import { parsed } from './discoveredEntities.ts';

/** What the oracle tells this judge. */
export interface RecordContext {
  /** Ms since 1970. */
  now(): number;
  /** The largest error of the bridge's wall clock, in ms. */
  wallErrorMs(): number;
  /** When a request for this movement was last sent, in ms since 1970. Null if it never was. */
  requestedAt(id: string, action: string): number | null;
  /** Whether the valve was recently where this action moves it. */
  wasMovedBy(id: string, action: string): boolean;
  /** The longest time that a command may take to end, in ms. */
  longestMs(): number;
  /** Whether the cloud opened this incident at that valve, with one of these types. */
  hasIncident(id: string, types: readonly string[], incidentId: string): boolean;
  /** Whether the bridge has run and been connected to the broker for this long, in ms. */
  hasBeenConnectedFor(ms: number): boolean;
  after(delayMs: number, run: () => void): void;
  countCheck(check: string): void;
  reportViolation(words: string): void;
}

const incidentTypesBy: Readonly<Record<string, readonly string[]>> = {
  by_hand: ['device_handle_moved'],
  automatic_shut_off: ['high_volume_alert', 'long_flow_alert', 'water_presence_detected'],
};

/** The bridge may notice this much later that a command of an earlier run has moved the valve. */
const restartMs = 12 * 60_000;

/**
 * The promise about *Moved by* and the last command. A movement by a command had a request. A movement by
 * hand or by the automatic shut-off has an incident that reports it. No command stays under way forever. A
 * confirmed command is not shown as failed.
 */
export class RecordJudge {
  readonly #context: RecordContext;
  readonly #last = new Map<string, string>();
  /** The commands that were shown as sent. */
  readonly #sent = new Set<string>();

  constructor(context: RecordContext) {
    this.#context = context;
  }

  /** The broker accepted a message. */
  take(topic: string, payload: string): void {
    const [, id, path] = /\/sonic\/([^/]+)\/(last_command|movement)$/.exec(topic) ?? [];
    if (id === undefined || this.#last.get(topic) === payload) return;
    this.#last.set(topic, payload);
    if (payload === '') return;
    const record = parsed(payload);
    if (path === 'movement') this.#judgeMovement(id, record);
    else this.#judgeCommand(topic, payload, id, record);
  }

  #judgeMovement(
    id: string,
    { valve, by, at, incident_id: incidentId, topic }: Record<string, unknown>,
  ): void {
    const { countCheck, reportViolation, requestedAt, hasIncident, longestMs, now, wallErrorMs } =
      this.#context;
    if (typeof by !== 'string') return;
    countCheck('who moved a valve is true');
    const words = `sonic ${id} was moved to ${valve} by ${by}`;
    if (by === 'command') {
      const requested = requestedAt(id, valve === 'open' ? 'open' : 'close');
      const noticedMs = Date.parse(String(at));
      if (
        requested === null ||
        noticedMs - requested > longestMs() + restartMs + wallErrorMs() ||
        typeof topic !== 'string'
      )
        reportViolation(`${words}, and no command has asked for it`);
    }
    const types = incidentTypesBy[by];
    if (types && !hasIncident(id, types, String(incidentId)))
      reportViolation(`${words}, and no incident reports it`);
    if (Date.parse(String(at)) > now() + 60_000 + wallErrorMs() && by !== 'by_hand')
      reportViolation(`${words} in the future`);
  }

  #judgeCommand(
    topic: string,
    payload: string,
    id: string,
    { status, action, failed, reason, asked_at: askedAt }: Record<string, unknown>,
  ): void {
    const { countCheck, reportViolation, requestedAt, wasMovedBy, longestMs, hasBeenConnectedFor, after } =
      this.#context;
    countCheck('the outcome of a command is true');
    const command = `${id} ${action} ${askedAt}`;
    if (status === 'sent') this.#sent.add(command);
    // If the process was killed, the next run does not know whether it had sent the command. It confirms the command if the
    // valve is where the command was to move it.
    const isOfEarlierRun = String(reason).startsWith('sonic2mqtt was restarted') && this.#sent.has(command);
    const isConfirmed = isOfEarlierRun
      ? wasMovedBy(id, String(action))
      : requestedAt(id, String(action)) !== null;
    if (status === 'confirmed' && !isConfirmed)
      reportViolation(`a command to ${action} sonic ${id} is confirmed, and was never sent`);
    if (status === 'confirmed' && failed !== null)
      reportViolation(
        `a command to ${action} sonic ${id} is confirmed, and one is still said to have failed`,
      );
    if (status !== 'sent') return;
    const waitMs = longestMs();
    after(waitMs, () => {
      if (this.#last.get(topic) !== payload || !hasBeenConnectedFor(waitMs)) return;
      reportViolation(
        `a command to ${action} sonic ${id} is still under way after ${Math.round(waitMs / 1_000)} s`,
      );
    });
  }
}
