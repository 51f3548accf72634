import type { SettledValve, ValveAction } from './valve.ts';

export const commandStatuses = [
  'sent',
  'confirmed',
  'not_confirmed',
  'error',
  'refused',
  'superseded',
] as const;
export type CommandStatus = (typeof commandStatuses)[number];

/** A message that asked for a movement. The same object names it each time. */
export interface AskedCommand {
  /** Null for a message that names none. */
  readonly action: ValveAction | null;
  readonly topic: string;
  /** ISO 8601 in UTC. */
  readonly askedAt: string;
}

/** The newest command for a valve. Times are ISO 8601 in UTC. */
interface LastCommand {
  /** Null if the message names no action. */
  readonly action: ValveAction | null;
  readonly asked_at: string;
  readonly status: CommandStatus;
  /** For people; null if there is nothing to explain. */
  readonly reason: string | null;
}

/** A command that the valve, as far as is known, did not carry out. */
export interface FailedCommand extends LastCommand {
  readonly action: ValveAction;
  /** How long the valve was read without a movement, in s; null if it was not read for the whole time. */
  readonly waited_s: number | null;
  /** False if the command has certainly not acted: it was refused, or not sent. */
  readonly may_have_moved: boolean;
}

/**
 * How long a request of an earlier run may still arrive, in ms. If a process is killed, the kernel goes on trying to
 * deliver what was written, for about two minutes.
 */
export const mayArriveMs = 180_000;

/** How long a failed command is shown, in ms, unless a newer command is confirmed. */
export const failureShownMs = 24 * 3_600_000;

export const movers = ['command', 'by_hand', 'automatic_shut_off', 'elsewhere'] as const;

/** How a valve came to its position. A key is null if it is not known. */
export interface Movement {
  readonly valve: SettledValve;
  /** ISO 8601 in UTC. */
  readonly at: string | null;
  readonly by: (typeof movers)[number] | null;
  readonly topic: string | null;
  /** The id of the incident that shows what moved the valve. */
  readonly incident_id: string | null;
}

export interface ValveRecord {
  readonly command: (LastCommand & { readonly topic: string }) | null;
  /** With `at`, the time of the failure in ms since 1970. */
  readonly failed: (FailedCommand & { readonly at: number }) | null;
  /** The action of a command that ended before the valve arrived; null once the valve is read in a position. */
  readonly stopped: ValveAction | null;
  readonly movement: Movement | null;
}

/**
 * Which texts tell of a failed command: what has happened, and what follows from it. The reason is to be followed by a full
 * stop. A valve that was not read for the whole time may have moved unseen.
 */
export function failureTexts({ action, status, waited_s, may_have_moved, reason }: FailedCommand) {
  const kind = status !== 'not_confirmed' ? 'failed' : waited_s === null ? 'unconfirmed' : 'not_confirmed';
  const unsure = kind === 'not_confirmed' ? 'command_advice' : 'command_unsure';
  return {
    text: `${kind}_${action}`,
    advice: may_have_moved ? unsure : 'command_unmoved',
    reason: reason?.replace(/[.!]$/, '') ?? null,
  } as const;
}
