import { parsed } from './eyes.ts';

/** What the judge is told by those who look at other things. */
export interface RecordCircumstances {
  /** Ms since 1970. */
  now(): number;
  /** How far the bridge's wall clock may have been off, in ms. */
  wallErrorMs(): number;
  /** When the cloud may last have received a request to move that valve there, in ms since 1970; null, never. */
  requestedAt(id: string, action: string): number | null;
  /** How long a command may be under way before it has ended, in ms. */
  longestMs(): number;
  /** Whether an incident of one of these types was opened at that valve in the world. */
  hasIncident(id: string, types: readonly string[], incidentId: string): boolean;
  /** Whether the bridge has run, with a link to the broker, for so long, in ms. */
  isHeardFor(ms: number): boolean;
  after(delayMs: number, run: () => void): void;
  counted(check: string): void;
  violated(words: string): void;
}

const tellers: Readonly<Record<string, readonly string[]>> = {
  by_hand: ['device_handle_moved'],
  automatic_shut_off: ['high_volume_alert', 'long_flow_alert', 'water_presence_detected'],
};

/** A command of an earlier run may be found to have moved the valve so much later. */
const restartMs = 12 * 60_000;

/**
 * What is said of commands and movements is true: a movement by a command had a request, one by hand or by the automatic
 * shut-off has its incident, and no command is under way for ever. A failure is shown as the record has it.
 */
export class RecordJudge {
  readonly #circumstances: RecordCircumstances;
  /** The last documents, by topic. */
  readonly #last = new Map<string, string>();

  constructor(circumstances: RecordCircumstances) {
    this.#circumstances = circumstances;
  }

  /** A message that the broker took. */
  take(topic: string, payload: string): void {
    const [, id, path] = /\/sonic\/([^/]+)\/(last_command|movement)$/.exec(topic) ?? [];
    if (id === undefined || this.#last.get(topic) === payload) return;
    this.#last.set(topic, payload);
    // The valve is no longer shown.
    if (payload === '') return;
    const record = parsed(payload);
    if (path === 'movement') this.#judgeMovement(id, record);
    else this.#judgeCommand(topic, payload, id, record);
  }

  #judgeMovement(
    id: string,
    { valve, by, at, incident_id: incidentId, topic }: Record<string, unknown>,
  ): void {
    const { counted, violated, requestedAt, hasIncident, longestMs, now, wallErrorMs } = this.#circumstances;
    if (typeof by !== 'string') return;
    counted('who moved a valve is told truly');
    const words = `sonic ${id} was moved to ${valve} by ${by}`;
    if (by === 'command') {
      const requested = requestedAt(id, valve === 'open' ? 'open' : 'close');
      const noticedMs = Date.parse(String(at));
      if (
        requested === null ||
        noticedMs - requested > longestMs() + restartMs + wallErrorMs() ||
        typeof topic !== 'string'
      )
        violated(`${words}, and no command has asked for it`);
    }
    const types = tellers[by];
    if (types && !hasIncident(id, types, String(incidentId))) violated(`${words}, and no incident tells so`);
    if (Date.parse(String(at)) > now() + 60_000 + wallErrorMs() && by !== 'by_hand')
      violated(`${words} in the future`);
  }

  #judgeCommand(
    topic: string,
    payload: string,
    id: string,
    { status, action, failed }: Record<string, unknown>,
  ): void {
    const { counted, violated, requestedAt, longestMs, isHeardFor, after } = this.#circumstances;
    counted('what became of a command is told truly');
    if (status === 'confirmed' && requestedAt(id, String(action)) === null)
      violated(`a command to ${action} sonic ${id} is confirmed, and was never sent`);
    if (status === 'confirmed' && failed !== null)
      violated(`a command to ${action} sonic ${id} is confirmed, and one is still said to have failed`);
    if (status !== 'sent') return;
    const waitMs = longestMs();
    after(waitMs, () => {
      if (this.#last.get(topic) !== payload || !isHeardFor(waitMs)) return;
      violated(`a command to ${action} sonic ${id} is still under way after ${Math.round(waitMs / 1_000)} s`);
    });
  }
}
