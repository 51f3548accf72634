import { randomBytes } from 'node:crypto';

// The cloud keeps ten active tokens per client, as the vendor documents.
const maxTokens = 10;

export class Sessions {
  readonly #now: () => number;
  /** When each token was issued, in ms since 1970, the oldest first; minus infinity for a token that was made to expire. */
  readonly #tokens = new Map<string, number>();
  #password: string | null;
  email: string;
  /** How long a token is valid, in ms. */
  lifetimeMs: number;

  constructor(email: string, password: string, lifetimeMs: number, now: () => number) {
    this.email = email;
    this.#password = password;
    this.lifetimeMs = lifetimeMs;
    this.#now = now;
  }

  /** Issues a new token; null if the credentials are wrong. */
  signIn(email: string, password: string): string | null {
    const isRight = email.toLowerCase() === this.email.toLowerCase() && password === this.#password;
    return isRight ? this.#issue() : null;
  }

  isValid(token: string): boolean {
    return this.#now() < (this.#tokens.get(token) ?? Number.NEGATIVE_INFINITY) + this.lifetimeMs;
  }

  /**
   * Replaces the bearer's token, or the token that the body names, by a new one. Either may have expired. Returns null
   * if one of them is unknown.
   */
  refresh(bearer: string, named = bearer): string | null {
    return this.#tokens.has(bearer) && this.#tokens.delete(named) ? this.#issue() : null;
  }

  signOut(token: string): void {
    this.#tokens.delete(token);
  }

  /** Makes all tokens expire. They can still be refreshed. */
  expireAll(): void {
    for (const token of this.#tokens.keys()) this.#tokens.set(token, Number.NEGATIVE_INFINITY);
  }

  /** Changes the password; null means that no password is right. All sessions end. */
  setPassword(password: string | null): void {
    this.#password = password;
    this.#tokens.clear();
  }

  /**
   * An opaque token in the form of the cloud's tokens. It does not depend on the seed, because a token is a secret even
   * here.
   */
  #issue(): string {
    const token = `${randomBytes(180).toString('base64')}--${randomBytes(20).toString('hex')}`;
    this.#tokens.set(token, this.#now());
    const [oldest = ''] = this.#tokens.keys();
    if (this.#tokens.size > maxTokens) this.#tokens.delete(oldest);
    return token;
  }
}
