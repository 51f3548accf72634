import type { Clock } from '../base/clock.ts';
import { CloudError } from '../cloud/errors.ts';
import type { Call } from '../cloud/operations.ts';
import { type Doubt, lookIntoMissing } from '../polling/missingRoute.ts';
import type { Slice } from '../polling/pollStatus.ts';
import type { Happening } from '../store/store.ts';
import { sliceShowing } from './shownIn.ts';
import { takeReply } from './takeReply.ts';

/** What following up takes; nothing is looked at once its signal has aborted. */
export interface FollowUpOptions extends Doubt {
  readonly clock: Clock;
  readonly happened: (happenings: readonly Happening[]) => void;
  /** A slice may show something new: worth an early poll. */
  readonly changed: (slice: Slice) => void;
  /** A pressure test of that sonic was started. */
  readonly testStarted: (sonicId: string) => void;
}

/** What follows a call that somebody asked for, in whichever way. */
export class FollowUp {
  readonly #options: FollowUpOptions;

  constructor(options: FollowUpOptions) {
    this.#options = options;
  }

  /** The cloud has answered: takes in what it said, and looks at what the call has changed. */
  done(call: Call, reply: unknown): void {
    const { store, clock, happened } = this.#options;
    happened(takeReply(store, call, reply, clock.monotonic()));
    this.lookAt(call);
    if (call.operation === 'start_pressure_test') this.#options.testStarted(call.params.thing_id);
  }

  /**
   * The call has failed: looks at what it may have changed all the same, and into a 404 or 405, should it be one. Says whether
   * the operation was given up for it; never rejects.
   */
  failed(topic: string, call: Call, error: unknown): Promise<boolean> {
    const { log, offersChanged } = this.#options;
    if (!(error instanceof CloudError)) log.error({ err: error }, `${topic} went wrong`);
    else if (error.kind === 'unsupported') offersChanged();
    // What was asked for may be done.
    else if (error.mayHaveActed) this.lookAt(call);
    return lookIntoMissing(call, error, this.#options);
  }

  /** Looks early at what shows the effect of a call. */
  lookAt({ operation }: Call): void {
    const { signal, changed } = this.#options;
    const slice = sliceShowing(operation);
    if (slice !== null && !signal.aborted) changed(slice);
  }
}
