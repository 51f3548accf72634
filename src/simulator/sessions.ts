import { randomBytes } from 'node:crypto';

// The cloud keeps ten active tokens per client, as the vendor documents.
const maxTokens = 10;

/** The credentials that can sign in, and the tokens that were given. */
export class Sessions {
  readonly #now: () => number;
  /** When each token was issued, in ms since 1970, oldest first; one that was made to expire was never. */
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

  /** A new token; null for wrong credentials. */
  signIn(email: string, password: string): string | null {
    const isRight = email.toLowerCase() === this.email.toLowerCase() && password === this.#password;
    return isRight ? this.#issue() : null;
  }

  /** Whether a request with the token may pass. */
  isValid(token: string): boolean {
    return this.#now() < (this.#tokens.get(token) ?? Number.NEGATIVE_INFINITY) + this.lifetimeMs;
  }

  /**
   * A new token in place of the bearer's, or of another one that the body names, expired or not; null if either is
   * unknown.
   */
  refresh(bearer: string, named = bearer): string | null {
    return this.#tokens.has(bearer) && this.#tokens.delete(named) ? this.#issue() : null;
  }

  signOut(token: string): void {
    this.#tokens.delete(token);
  }

  /** Makes all tokens expire; they can still be refreshed. */
  expireAll(): void {
    for (const token of this.#tokens.keys()) this.#tokens.set(token, Number.NEGATIVE_INFINITY);
  }

  /** Only this password is right from now on, none if it is null; all sessions end. */
  setPassword(password: string | null): void {
    this.#password = password;
    this.#tokens.clear();
  }

  /** Opaque, in the shape that the cloud's have; never seeded, as a token is a secret even here. */
  #issue(): string {
    const token = `${randomBytes(180).toString('base64')}--${randomBytes(20).toString('hex')}`;
    this.#tokens.set(token, this.#now());
    const [oldest = ''] = this.#tokens.keys();
    if (this.#tokens.size > maxTokens) this.#tokens.delete(oldest);
    return token;
  }
}
