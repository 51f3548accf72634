import type { Invitation } from '../model/records.ts';

/** What somebody may be in a property: guests may look, not change. */
export const roles = ['owner', 'user', 'guest'] as const;
export type Role = (typeof roles)[number];

/** Whether the word names a role. */
export function isRole(word: string): word is Role {
  return (roles as readonly string[]).includes(word);
}

/** What somebody was invited to, with whatever else came with the request. */
export interface KeptInvitation extends Invitation {
  readonly property_id: string;
  readonly email: string;
  readonly role: Role;
}
