import type { Clock } from '../base/clock.ts';
import { describeDuration } from '../base/duration.ts';
import { errorMessage } from '../base/errorMessage.ts';
import type { Log } from '../base/log.ts';
import type { Secrets } from '../base/secrets.ts';
import { singleFlight } from '../base/singleFlight.ts';
import { isToken, type SessionReply } from './decoders.ts';
import { CloudError } from './errors.ts';
import type { Call } from './operations.ts';
import { automaticAttemptAt, earliestAttemptAt, type Rejections, withRejection } from './signInLimits.ts';

/** A token and when it was given. */
export interface StoredSession {
  readonly token: string;
  /** Wall-clock ms. */
  readonly since: number;
}

/** Where a session is kept between runs, for one base URL and e-mail. */
export interface SessionMemory {
  load(): StoredSession | null;
  save(session: StoredSession | null): void;
}

export interface SessionOptions {
  readonly email: string;
  /** Read at each sign-in, and again and again after a rejection; may throw. */
  readonly password: () => string;
  readonly memory: SessionMemory;
  readonly clock: Clock;
  readonly log: Log;
  readonly secrets: Secrets;
  /** Sends a session operation and reads its answer. */
  readonly send: (call: Call<'sign_in' | 'refresh_token'>, token: string | null) => Promise<SessionReply>;
  /** Told once a changed password may be tried; without it nobody tries again after a rejection. */
  readonly onPasswordChange?: (() => void) | undefined;
}

export interface SessionState {
  readonly status: 'unknown' | 'signed_in' | 'rejected';
  /** Wall-clock ms of the next sign-in after a rejection; null where there was none. */
  readonly nextAttemptAt: number | null;
}

// A developer of the vendor told users that tokens live for two weeks; renewed well before ten days.
const renewAfterMs = 9 * 24 * 3_600_000;
const renewEarlyAgainMs = 600_000;
const futileRenewalPauseMs = 60_000;
const passwordCheckMs = 2_000;

/** The token that all requests share: kept, renewed and given up in one place, one renewal at a time. */
export class Session {
  readonly #options: SessionOptions;
  readonly #clock: Clock;
  readonly #renew = singleFlight(() => this.#renewWhenAllowed());
  #stored: StoredSession | null = null;
  #renewEarlyFrom = Number.NEGATIVE_INFINITY;
  #noRenewalBefore = Number.NEGATIVE_INFINITY;
  /** What the cloud answered when it asked to wait, and until when. */
  #pause: { readonly until: number; readonly error: CloudError } | null = null;
  #rejections: Rejections | null = null;
  #triedPassword: string | undefined;
  #isAttemptAsked = false;
  #isPasswordNew = false;
  #cancelWatch = () => {};
  #isStopped = false;

  constructor(options: SessionOptions) {
    this.#options = options;
    this.#clock = options.clock;
  }

  /** Takes up the session of the last run; a damaged one has as good as expired. */
  start(): void {
    const stored = this.#options.memory.load();
    if (!stored || !isToken(stored.token)) return;
    this.#stored = stored;
    this.#options.secrets.addToken(stored.token);
  }

  /** Looks for no other password any more. */
  stop(): void {
    this.#isStopped = true;
    this.#cancelWatch();
  }

  /** The token as it is now; null where there is none. */
  get token(): string | null {
    return this.#stored?.token ?? null;
  }

  get state(): SessionState {
    if (this.#rejections) {
      const waitMs = this.#nextAttemptAt(this.#rejections) - this.#clock.monotonic();
      return { status: 'rejected', nextAttemptAt: this.#clock.now() + Math.max(0, waitMs) };
    }
    return { status: this.#stored ? 'signed_in' : 'unknown', nextAttemptAt: null };
  }

  /**
   * The renewal that a request has to wait for, if any: a sign-in where there is no token, and for what is not
   * hurried the early renewal of an old one.
   */
  renewalDue(isHurried: boolean): Promise<void> | null {
    if (!this.#stored) return this.#renew();
    // A clock that was wrong when the token came leaves an age below zero, or one of decades: renewing puts it right.
    const isOld = Math.abs(this.#clock.now() - this.#stored.since) > renewAfterMs;
    return isOld && !isHurried && this.#clock.monotonic() >= this.#renewEarlyFrom ? this.#renewEarly() : null;
  }

  /** Replaces the token that the cloud refused; if it has been replaced meanwhile, there is nothing to do. */
  async replace(refused: string | null): Promise<void> {
    if (this.token !== null && this.token !== refused) return;
    if (this.token !== null && this.#clock.monotonic() < this.#noRenewalBefore) {
      throw this.#authError('the cloud rejects a new session');
    }
    await this.#renew();
  }

  /** Notes that a renewal was of no use: the cloud refuses the new token as well. */
  noteFutileRenewal(): void {
    // An operation that always answers 401 must not cost a renewal each time it is polled.
    this.#noRenewalBefore = this.#clock.monotonic() + futileRenewalPauseMs;
  }

  /** Takes over the token of an answer. */
  adopt({ token_details: token }: SessionReply): void {
    this.#options.secrets.addToken(token);
    this.#keep({ token, since: this.#clock.now() });
    this.#rejections = null;
    this.#cancelWatch();
  }

  /** Gives the token up, after it was signed out. */
  forget(): void {
    this.#keep(null);
  }

  /** Lets the next call sign in at once after a rejection, within the hard limits. */
  signInNow(): void {
    this.#isAttemptAsked = true;
  }

  /** A failure that leaves the token as it was does no harm. */
  async #renewEarly(): Promise<void> {
    const { token } = this;
    this.#renewEarlyFrom = this.#clock.monotonic() + renewEarlyAgainMs;
    try {
      await this.#renew();
    } catch (error) {
      if (this.token !== token) throw error;
      this.#options.log.debug({ err: error }, 'The session could not be renewed early');
    }
  }

  #keep(session: StoredSession | null): void {
    this.#stored = session;
    this.#options.memory.save(session);
  }

  /** What the cloud asked to wait is waited, also by those that would only ask again. */
  async #renewWhenAllowed(): Promise<void> {
    const leftMs = (this.#pause?.until ?? 0) - this.#clock.monotonic();
    if (this.#pause && leftMs > 0) {
      const { kind, message, gist, status } = this.#pause.error;
      const words = `${message}. The cloud requests a wait of ${describeDuration(leftMs)}`;
      const details = { status, gist, retryAfterMs: leftMs, mayHaveActed: false };
      throw new CloudError(kind, 'sign_in', words, details);
    }
    this.#pause = null;
    try {
      await this.#refreshOrSignIn();
    } catch (error) {
      if (error instanceof CloudError && error.retryAfterMs) {
        this.#pause = { until: this.#clock.monotonic() + error.retryAfterMs, error };
      }
      throw error;
    }
  }

  async #refreshOrSignIn(): Promise<void> {
    const { token } = this;
    if (token !== null) {
      try {
        this.adopt(await this.#options.send({ operation: 'refresh_token', body: {} }, token));
        this.#options.log.debug('Renewed the session');
        return;
      } catch (error) {
        if (!isRefusal(error)) throw error;
        // It is of no use any more, so nobody need ask with it while a sign-in fails.
        if (error instanceof CloudError && error.status === 401) this.#keep(null);
      }
    }
    await this.#signIn();
  }

  async #signIn(): Promise<void> {
    const { email, log, secrets, send } = this.#options;
    this.#checkLimits();
    const password = this.#readPassword();
    secrets.add(password);
    this.#triedPassword = password;
    this.#isPasswordNew = false;
    const at = this.#clock.monotonic();
    try {
      this.adopt(await send({ operation: 'sign_in', body: { email, password } }, null));
      log.info('Signed in to the cloud');
    } catch (error) {
      throw this.#failedSignIn(error, at);
    }
  }

  #failedSignIn(cause: unknown, at: number): unknown {
    if (!(cause instanceof CloudError)) return cause;
    const isRejected = [400, 401, 403, 422].includes(cause.status ?? 0);
    // While the password is in doubt, an attempt counts even where its answer was lost.
    if (isRejected || (this.#rejections && cause.mayHaveActed)) {
      this.#rejections = withRejection(this.#rejections, at);
      this.#isAttemptAsked = false;
    }
    if (this.#rejections) this.#watchPassword();
    if (!isRejected) return signInError(cause);
    this.#keep(null);
    const error = this.#authError(
      `the cloud rejects the e-mail or the password (status ${cause.status})`,
      cause.status,
    );
    // The error says it to whoever asked, and health to everybody: once, not at each attempt.
    this.#options.log.debug(`Sign-in failed: ${error.message}`);
    return error;
  }

  #checkLimits(): void {
    if (this.#rejections && this.#clock.monotonic() < this.#nextAttemptAt(this.#rejections)) {
      throw this.#authError('the cloud rejects the e-mail or the password');
    }
  }

  #nextAttemptAt(rejections: Rejections): number {
    return this.#isAttemptAsked ? earliestAttemptAt(rejections) : automaticAttemptAt(rejections);
  }

  #authError(words: string, status?: number): CloudError {
    const { nextAttemptAt } = this.state;
    const next =
      nextAttemptAt === null || !this.#options.onPasswordChange
        ? ''
        : `. Next attempt in ${describeDuration(nextAttemptAt - this.#clock.now())}, or when the password file changes`;
    return new CloudError('auth', 'sign_in', words + next, { status, gist: words, mayHaveActed: false });
  }

  #readPassword(): string {
    try {
      return this.#options.password();
    } catch (error) {
      const why = errorMessage(error);
      throw new CloudError('auth', 'sign_in', `cannot read the password: ${why}`, {
        mayHaveActed: false,
        cause: error,
      });
    }
  }

  /** Looks for another password until one is accepted; tells of it as soon as it may be tried. */
  #watchPassword(): void {
    this.#cancelWatch();
    const { onPasswordChange } = this.#options;
    if (this.#isStopped || !onPasswordChange) return;
    this.#cancelWatch = this.#clock.after(passwordCheckMs, () => {
      if (!this.#rejections) return;
      if (!this.#isPasswordNew && this.#isPasswordChanged()) {
        this.#isPasswordNew = true;
        this.#isAttemptAsked = true;
        this.#options.log.info('The password file has changed. Signing in again');
      }
      const mayTry = this.#clock.monotonic() >= this.#nextAttemptAt(this.#rejections);
      if (this.#isPasswordNew && mayTry) onPasswordChange();
      else this.#watchPassword();
    });
  }

  #isPasswordChanged(): boolean {
    try {
      return this.#options.password() !== this.#triedPassword;
    } catch {
      return false;
    }
  }
}

/** Whether the cloud answered, and a sign-in may do better. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof CloudError) || error.kind === 'rateLimited') return false;
  return error.kind !== 'unavailable' || error.status !== undefined;
}

/** Any other failure of a sign-in, in kinds that no caller takes for an answer to its own operation. */
function signInError(error: CloudError): CloudError {
  const { kind, status, retryAfterMs, timedOut } = error;
  const isPassable = kind === 'unavailable' || kind === 'rateLimited' || kind === 'unreadable';
  const hint = status === 404 || status === 405 ? '. Check cloud.base_url' : '';
  const gist = `cannot sign in: ${error.gist}${hint}`;
  return new CloudError(
    isPassable ? kind : kind === 'invalid' || kind === 'unsupported' ? 'auth' : 'unavailable',
    'sign_in',
    `cannot sign in: ${error.message}${hint}`,
    { status, retryAfterMs, timedOut, gist, mayHaveActed: false, cause: error },
  );
}
