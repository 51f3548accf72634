import type { Random } from '../base/backoff.ts';
import { uuid } from './random.ts';

/** The user_details of a session (cloud facts 2). */
export interface User {
  readonly id: string;
  readonly email: string;
  readonly first_name: string;
  readonly last_name: string;
  readonly full_name: string;
  readonly phone: string;
  readonly roles: readonly string[];
  readonly active: boolean;
  readonly language: string;
  readonly organization_id: string | null;
  readonly created_at: string;
}

/** The owner of the account; the telephone number is one of those that are never given out. */
export function newUser(email: string, random: Random, now: number): User {
  return {
    id: uuid(random),
    email,
    first_name: 'Demo',
    last_name: 'User',
    full_name: 'Demo User',
    phone: '+441632960000',
    roles: ['customer'],
    active: true,
    language: 'en',
    organization_id: null,
    created_at: new Date(now - 500 * 24 * 60 * 60 * 1_000).toISOString(),
  };
}
