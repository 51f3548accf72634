import { randomBytes } from 'node:crypto';

// The cloud keeps ten active tokens per client (cloud facts 2).
const mostTokens = 10;

interface Token {
  readonly issuedAt: number;
  expired: boolean;
}

/** Who may sign in, and the tokens that were handed out. */
export class Sessions {
  readonly #now: () => number;
  /** Oldest first. */
  readonly #tokens = new Map<string, Token>();
  #password: string | null;
  /** Who may sign in. */
  email: string;
  /** How long a token is good for, in ms. */
  lifetimeMs: number;

  constructor(email: string, password: string, lifetimeMs: number, now: () => number) {
    this.email = email;
    this.#password = password;
    this.lifetimeMs = lifetimeMs;
    this.#now = now;
  }

  /** A new token for the right credentials; null for others. */
  signIn(email: string, password: string): string | null {
    const isRight = email.toLowerCase() === this.email.toLowerCase() && password === this.#password;
    return isRight ? this.#issue() : null;
  }

  /** Whether a request with the token may pass. */
  isValid(token: string): boolean {
    const known = this.#tokens.get(token);
    return known !== undefined && !known.expired && this.#now() < known.issuedAt + this.lifetimeMs;
  }

  /**
   * A new token for that of the bearer, or another known one that is named, expired or not, which is worth nothing from
   * then on; null for others.
   */
  refresh(bearer: string, named = bearer): string | null {
    return this.#tokens.has(bearer) && this.#tokens.delete(named) ? this.#issue() : null;
  }

  /** Forgets the token. */
  signOut(token: string): void {
    this.#tokens.delete(token);
  }

  /** Makes all tokens expired; they can still be refreshed. */
  expireAll(): void {
    for (const token of this.#tokens.values()) token.expired = true;
  }

  /** From now on only this password is right, null refuses all; sessions of the old one end. */
  setPassword(password: string | null): void {
    this.#password = password;
    this.#tokens.clear();
  }

  /** Opaque, in the shape that the cloud's have; never seeded, as a token is a secret even here. */
  #issue(): string {
    const token = `${randomBytes(180).toString('base64')}--${randomBytes(20).toString('hex')}`;
    this.#tokens.set(token, { issuedAt: this.#now(), expired: false });
    const oldest = this.#tokens.keys().next().value;
    if (this.#tokens.size > mostTokens && oldest !== undefined) this.#tokens.delete(oldest);
    return token;
  }
}
