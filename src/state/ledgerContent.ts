import type { StoredSession } from '../cloud/session.ts';
import type { AcceptedSettings } from '../model/settings.ts';
import { readUsageRecord, type UsageRecord } from '../model/usage.ts';

/** Whose session it is; another account's is never used. */
export interface Account {
  readonly baseUrl: string;
  readonly email: string;
}

/** What the ledger keeps in its file. */
export interface Content {
  readonly session: (StoredSession & Account) | null;
  /** Ids of open incidents that were announced. */
  readonly announced: readonly string[];
  /** Ids of open incidents that were told of, but not announced at their device: that was not known. */
  readonly waiting: readonly string[];
  /** By the property's id: what the cloud accepted last and does not show. */
  readonly accepted: Readonly<Record<string, AcceptedSettings>>;
  /** By the sonic's id. */
  readonly usage: Readonly<Record<string, UsageRecord>>;
  /** Whether more water may have been read, and shown, than is in here: so it is unless all was written at a stop. */
  readonly isBehind: boolean;
  /** When a copy was made, ISO 8601 in UTC; null in the file itself. */
  readonly copiedAt: string | null;
}

/** The content of a file as far as it could be read. */
export interface Found extends Content {
  /** Whether it tells of usage at all: the first version did not know of it. */
  readonly hasUsage: boolean;
  /** Ids of sonics whose usage could not be read. */
  readonly damaged: readonly string[];
}

/** The content as it is written. */
export function contentText(content: Content): string {
  return `${JSON.stringify(content)}\n`;
}

/** Reads a content that was written; null where it is damaged. A damaged entry of the usage costs only its own sonic. */
export function readContent(text: string): Found | null {
  let value: Partial<Content> | null;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof value !== 'object' || value === null || !Array.isArray(value.announced)) return null;
  const { session, announced, waiting, isBehind, copiedAt } = value;
  const isSession = session && typeof session.token === 'string' && typeof session.since === 'number';
  const behind = isBehind === true;
  return {
    session: isSession ? session : null,
    announced: announced.filter((id) => typeof id === 'string'),
    waiting: Array.isArray(waiting) ? waiting.filter((id) => typeof id === 'string') : [],
    accepted: readAccepted(value.accepted),
    hasUsage: value.usage !== undefined,
    ...readUsage(value.usage, behind),
    isBehind: behind,
    copiedAt: typeof copiedAt === 'string' ? copiedAt : null,
  };
}

function readAccepted(value: unknown): Content['accepted'] {
  const entries = Object.entries(typeof value === 'object' && value !== null ? value : {});
  return Object.fromEntries(entries.map(([id, entry]) => [id, keptOf(Object(entry))]));
}

/**
 * The settings that are kept. Our own webhook's address comes here with its secret hidden, and would pass for the right
 * one after a change of that secret: it is told to the cloud once a run instead.
 */
export function keptOf(settings: AcceptedSettings): AcceptedSettings {
  const { leak_protection_enabled, push_enabled, webhook_url } = settings;
  return {
    ...(typeof leak_protection_enabled === 'boolean' && { leak_protection_enabled }),
    ...(typeof push_enabled === 'boolean' && { push_enabled }),
    ...(typeof webhook_url === 'string' && !webhook_url.includes('[hidden]') && { webhook_url }),
  };
}

/** A sum that is behind must not be shown before the latest month was read again: it would go down. */
function readUsage(value: unknown, isBehind: boolean): Pick<Found, 'usage' | 'damaged'> {
  const usage: [string, UsageRecord][] = [];
  const damaged: string[] = [];
  for (const [id, entry] of Object.entries(typeof value === 'object' && value !== null ? value : {})) {
    const record = readUsageRecord(entry);
    if (record) usage.push([id, isBehind ? { ...record, isWhole: false } : record]);
    else damaged.push(id);
  }
  return { usage: Object.fromEntries(usage), damaged };
}
