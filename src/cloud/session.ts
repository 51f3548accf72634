import { type Backoff, backoffMs, type Random } from '../base/backoff.ts';
import type { Clock } from '../base/clock.ts';
import { dayMs, describeDuration, minuteMs } from '../base/duration.ts';
import { errorMessage } from '../base/errorMessage.ts';
import { joinSentences } from '../base/joinSentences.ts';
import type { Log } from '../base/log.ts';
import type { Secrets } from '../base/secrets.ts';
import { singleFlight } from '../base/singleFlight.ts';
import { isToken, type SessionReply } from './decoders.ts';
import { CloudError } from './errors.ts';
import type { Call, OperationName } from './operations.ts';
import * as limits from './signInLimits.ts';

/** `since` is in wall-clock ms. */
export interface StoredSession {
  readonly token: string;
  readonly since: number;
}

export interface SessionOptions {
  readonly email: string;
  /** Read at each sign-in, and repeatedly after a rejection; may reject. */
  readonly password: () => Promise<string>;
  /** Where the session is kept between runs, for one base URL and e-mail. */
  readonly memory: { load(): StoredSession | null; save(session: StoredSession | null): void };
  /** With `--token-file`: the session in memory is neither renewed nor given up. */
  readonly isSessionFixed?: boolean | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly secrets: Secrets;
  readonly send: (call: Call<'sign_in' | 'refresh_token'>, token: string | null) => Promise<SessionReply>;
  /** Called when a changed password may be tried. Without it, nobody looks for one. */
  readonly onPasswordChange?: (() => void) | undefined;
}

export interface SessionState {
  readonly status: 'unknown' | 'signed_in' | 'rejected';
  /** Why the cloud has rejected the account, for people, and the wall-clock ms of the next sign-in; else null. */
  readonly rejection: { readonly reason: string; readonly nextAttemptAt: number } | null;
}

// A developer of the vendor told users that tokens live for two weeks. The bridge renews them well before ten days.
const renewAfterMs = 9 * dayMs;
const passwordCheckMs = 2_000;

/** The wait between two renewals, for all callers, until a request has worked with the newest token. */
const renewalBackoff: Backoff = { firstMs: 2_000, longestMs: 120_000 };

/** Since a token last worked. */
const noWait = { renewals: 0, until: Number.NEGATIVE_INFINITY, failure: null as CloudError | null };

/** The token that all requests share. Two renewals never run at a time. */
export class Session {
  readonly #options: SessionOptions;
  readonly #renew = singleFlight(() => this.#renewWhenAllowed());
  #stored: StoredSession | null = null;
  /** Answered 401, and not tried to be renewed yet. */
  #refused: string | null = null;
  #isProven = false;
  /** Operations that were answered 401 even with a new token. Their 401 says nothing about the session. */
  readonly #unauthorized = new Set<OperationName>();
  #renewEarlyFrom = Number.NEGATIVE_INFINITY;
  #wait = noWait;
  #rejections: limits.Rejections | null = null;
  #triedPassword: string | undefined;
  #isAttemptAsked = false;
  #cancelWatch = () => {};
  #isStopped = false;

  constructor(options: SessionOptions) {
    this.#options = options;
  }

  /** A damaged session of the last run counts as expired. */
  start(): void {
    const stored = this.#options.memory.load();
    if (!stored || !isToken(stored.token)) return;
    this.#stored = stored;
    this.#options.secrets.addToken(stored.token);
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancelWatch();
  }

  get token(): string | null {
    return this.#stored?.token ?? null;
  }

  get state(): SessionState {
    if (!this.#rejections) return { status: this.#stored ? 'signed_in' : 'unknown', rejection: null };
    const reason = limits.rejectionMessage(this.#rejections.said);
    const nextAttemptAt = this.#options.clock.now() + this.#attemptInMs(this.#rejections);
    return { status: 'rejected', rejection: { reason, nextAttemptAt } };
  }

  /** The renewal that a request has to wait for, or null. A hurried one does not wait for a token that is only old. */
  renewalDue(isHurried: boolean): Promise<void> | null {
    if (this.#options.isSessionFixed) return null;
    if (!this.#stored) return this.#renew();
    // With a clock that was wrong when the token came, its age looks negative, or like decades.
    const isOld = Math.abs(this.#options.clock.now() - this.#stored.since) > renewAfterMs;
    return isOld && !isHurried && this.#options.clock.monotonic() >= this.#renewEarlyFrom
      ? this.#renewEarly()
      : null;
  }

  /**
   * After a 401. Resolves to whether to try again with another token. A refused token is not used again, even if its
   * renewal fails. But if it has worked for others, and a new one was refused here before, the fault is in the operation.
   */
  async replace(refused: string | null, name: OperationName): Promise<boolean> {
    if (this.#options.isSessionFixed) return false;
    if (this.token !== null) {
      if (this.token !== refused) return true;
      const isOwnFault = this.#isProven && this.#unauthorized.has(name);
      const isJustRenewed = !this.#isProven && this.#waitMs > 0;
      if (isOwnFault || isJustRenewed) return false;
      this.#keep(null);
      this.#refused = refused;
    }
    await this.#renew();
    return true;
  }

  /** The last answer to the operation: 401 even with a new token, or a success with that token. */
  noteAnswer(name: OperationName, status: number, token: string | null): void {
    if (status === 401) this.#unauthorized.add(name);
    if (status >= 300 || token === null || token !== this.token) return;
    this.#unauthorized.delete(name);
    this.#isProven = true;
    this.#wait = noWait;
  }

  adopt({ token_details: token }: SessionReply): void {
    this.#options.secrets.addToken(token);
    this.#isProven = false;
    this.#wait = { ...this.#wait, failure: null };
    this.#keep({ token, since: this.#options.clock.now() });
    this.#rejections = null;
    this.#cancelWatch();
  }

  forget(): void {
    this.#keep(null);
    this.#wait = noWait;
  }

  /** Lets the next call sign in at once after a rejection, within the hard limits. */
  signInNow(): void {
    this.#isAttemptAsked = true;
  }

  /** Renews a token that still works, so a failure does no harm. */
  async #renewEarly(): Promise<void> {
    const { clock, log } = this.#options;
    this.#renewEarlyFrom = clock.monotonic() + 10 * minuteMs;
    await this.#renew().catch((err: unknown) => log.debug({ err }, 'The session could not be renewed early'));
  }

  #keep(session: StoredSession | null): void {
    this.#stored = session;
    this.#options.memory.save(session);
  }

  get #waitMs(): number {
    return Math.max(0, this.#wait.until - this.#options.clock.monotonic());
  }

  /** All callers share one back-off, because too many sign-ins can lock the account. */
  async #renewWhenAllowed(): Promise<void> {
    const retryAfterMs = this.#waitMs;
    if (this.#wait.failure !== null && retryAfterMs > 0) {
      const { kind, message, key, status } = this.#wait.failure;
      throw new CloudError(kind, 'sign_in', message, { status, key, retryAfterMs, mayHaveActed: false });
    }
    let failure: CloudError | null = null;
    try {
      await this.#refreshOrSignIn();
    } catch (error) {
      // A rejected password has limits of its own, and if the password cannot be read, nothing was sent.
      if (!(error instanceof CloudError) || error.kind === 'auth') throw error;
      failure = error;
      throw error;
    } finally {
      const { clock, random } = this.#options;
      const renewals = this.#wait.renewals + 1;
      const waitMs = Math.max(failure?.retryAfterMs ?? 0, backoffMs(renewalBackoff, renewals, random));
      this.#wait = { renewals, until: clock.monotonic() + waitMs, failure };
    }
  }

  async #refreshOrSignIn(): Promise<void> {
    const token = this.token ?? this.#refused;
    this.#refused = null;
    if (token !== null) {
      try {
        this.adopt(await this.#options.send({ operation: 'refresh_token', body: {} }, token));
        this.#options.log.debug('Renewed the session');
        return;
      } catch (error) {
        if (!(error instanceof CloudError)) throw error;
        if (error.status === undefined) throw signInError(error);
        // It must not be sent again if the sign-in fails.
        if (error.status === 401) this.#keep(null);
      }
    }
    await this.#signIn();
  }

  async #signIn(): Promise<void> {
    const { email, log, secrets, send } = this.#options;
    if (this.#rejections && this.#attemptInMs(this.#rejections) > 0) throw this.#authError(this.#rejections);
    const password = await this.#readPassword();
    secrets.add(password);
    this.#triedPassword = password;
    const at = this.#options.clock.monotonic();
    try {
      this.adopt(await send({ operation: 'sign_in', body: { email, password } }, null));
      log.info('Signed in to the cloud');
    } catch (error) {
      throw error instanceof CloudError ? this.#failedSignIn(error, at) : error;
    }
  }

  #failedSignIn(cause: CloudError, at: number): CloudError {
    // An answer that is not JSON comes from a firewall or a proxy. Only the 401 for rejected credentials may have no JSON.
    const isRejected = cause.status === 401 || (cause.isJson && [400, 403, 422].includes(cause.status ?? 0));
    // After a rejection, an attempt counts even if its answer was lost.
    if (isRejected || (this.#rejections && cause.mayHaveActed)) {
      const said = isRejected ? cause.said : this.#rejections?.said;
      this.#rejections = limits.withRejection(this.#rejections, at, said);
      this.#isAttemptAsked = false;
    }
    if (this.#rejections) this.#watchPassword();
    if (!isRejected || !this.#rejections) return signInError(cause);
    this.#keep(null);
    const error = this.#authError(this.#rejections, cause.status);
    // Health reports it once. One line for each attempt would be too much.
    this.#options.log.debug(`Sign-in failed: ${error.message}`);
    return error;
  }

  #attemptInMs(rejections: limits.Rejections): number {
    const at = this.#isAttemptAsked
      ? limits.earliestAttemptAt(rejections)
      : limits.automaticAttemptAt(rejections);
    return Math.max(0, at - this.#options.clock.monotonic());
  }

  #authError(rejections: limits.Rejections, status?: number): CloudError {
    const { said } = rejections;
    const key = limits.rejectionMessage(said, status);
    const next = `Next attempt in ${describeDuration(this.#attemptInMs(rejections))}, or when the password file changes`;
    const message = this.#options.onPasswordChange ? joinSentences([key, next]) : key;
    return new CloudError('auth', 'sign_in', message, { status, key, said, mayHaveActed: false });
  }

  async #readPassword(): Promise<string> {
    try {
      return await this.#options.password();
    } catch (cause) {
      const message = `cannot read the password: ${errorMessage(cause)}`;
      throw new CloudError('auth', 'sign_in', message, { mayHaveActed: false, cause });
    }
  }

  #watchPassword(): void {
    this.#cancelWatch();
    const { onPasswordChange, clock } = this.#options;
    if (this.#isStopped || !onPasswordChange) return;
    this.#cancelWatch = clock.after(passwordCheckMs, () => void this.#lookForPassword(onPasswordChange));
  }

  async #lookForPassword(onPasswordChange: () => void): Promise<void> {
    const { clock, log } = this.#options;
    const isAllowed = this.#rejections && limits.earliestAttemptAt(this.#rejections) <= clock.monotonic();
    const isChanged = isAllowed && (await this.#isPasswordChanged());
    if (!this.#rejections || this.#isStopped) return;
    if (!isChanged) return this.#watchPassword();
    this.#isAttemptAsked = true;
    log.info('The password file has changed. Signing in again');
    onPasswordChange();
  }

  async #isPasswordChanged(): Promise<boolean> {
    try {
      return (await this.#options.password()) !== this.#triedPassword;
    } catch {
      return false;
    }
  }
}

/** Its kind never looks like an answer to the caller's own operation. */
function signInError(error: CloudError): CloudError {
  const { kind, status, retryAfterMs, timedOut } = error;
  const isOwn = kind === 'invalid' || kind === 'unsupported';
  const isPassable = kind === 'rateLimited' || kind === 'unreadable';
  const hint = status === 404 || status === 405 ? '. Check cloud.base_url' : '';
  const key = `cannot sign in: ${error.key}${hint}`;
  const details = { status, retryAfterMs, timedOut, key, mayHaveActed: false, cause: error };
  const message = `cannot sign in: ${error.message}${hint}`;
  return new CloudError(isPassable ? kind : isOwn ? 'auth' : 'unavailable', 'sign_in', message, details);
}
