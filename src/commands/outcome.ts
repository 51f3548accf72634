/** The outcome of a command, as told on `bridge/event`. */
export interface Outcome {
  readonly topic: string;
  readonly status: 'ok' | 'error' | 'refused' | 'superseded';
  readonly reason: string | null;
  readonly http_status: number | null;
}

/** Why a command with the retain flag is refused. */
export const retainedWords =
  'a retained command would be carried out again at each restart: send it without the retain flag, and delete the retained one with an empty retained message';

/** Why a command that comes during the stop is refused. */
export const stoppedWords = 'the bridge is stopping: it was not sent';

/** Why a command that was under way at the stop has ended. */
export const unansweredWords =
  'the bridge was stopped before the cloud answered; it may still be carried out';
