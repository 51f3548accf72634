import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import writeFileAtomic from 'write-file-atomic';
import { type Clock, systemClock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { StoredSession } from '../cloud/session.ts';
import { mergedRecords, readUsageRecord, type UsageRecord } from '../model/usage.ts';

/** Whose session it is; another account's is never used. */
export interface Account {
  readonly baseUrl: string;
  readonly email: string;
}

interface Content {
  session: (StoredSession & Account) | null;
  /** Ids of open incidents that were announced. */
  announced: string[];
  /** By the sonic's id. */
  usage: Record<string, UsageRecord>;
}

/** Usage can be read again, so it need not wear out a memory card. */
const usageEveryMs = 60_000;

const fileName = 'ledger.json';

/** What is kept on disk: one file, written atomically, readable by its owner only. */
export class Ledger {
  readonly #directory: string;
  readonly #account: Account;
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #announced = new Set<string>();
  readonly #usage = new Map<string, UsageRecord>();
  /** Sonics whose usage was read from the file or written to it. */
  readonly #remembered = new Set<string>();
  #session: StoredSession | null = null;
  #isDirty = true;
  /** One after the other; each takes in all that was said before it began. */
  #writes: Promise<void> = Promise.resolve();
  #problem: string | null = null;
  #hasWritten = false;
  /** The text of the file when it was last looked at; null where it could not be read. */
  #seenText: string | null | undefined;
  #cancelUsageTimer: (() => void) | null = null;

  constructor(directory: string, account: Account, log: Log, clock: Clock = systemClock) {
    this.#directory = directory;
    this.#account = account;
    this.#log = log;
    this.#clock = clock;
  }

  /** Reads the file and finds out whether it can be written; never throws: without a file it works without memory. */
  async open(): Promise<void> {
    const content = this.#read();
    for (const id of content.announced) this.#announced.add(id);
    this.#takeUsage(content);
    const { session } = content;
    if (session && session.baseUrl === this.#account.baseUrl && session.email === this.#account.email) {
      this.#session = { token: session.token, since: session.since };
    }
    await this.flush();
  }

  /** Why nothing can be kept, in words; null while it can. */
  get problem(): string | null {
    return this.#problem;
  }

  /** The session token of this account. */
  loadSession(): StoredSession | null {
    return this.#session;
  }

  /** Keeps the session token; null forgets it. */
  saveSession(session: StoredSession | null): void {
    this.#session = session;
    this.#save();
  }

  /** Whether the opening of the incident was announced. */
  hasAnnounced(incidentId: string): boolean {
    return this.#announced.has(incidentId);
  }

  /** Keeps that the incidents are announced; resolves once that is on disk, or cannot be. */
  async noteAnnounced(incidentIds: readonly string[]): Promise<void> {
    for (const id of incidentIds) this.#announced.add(id);
    this.#isDirty = true;
    await this.flush();
  }

  /** Forgets an incident that is no longer open: if it opens again, that is announced again. */
  forgetAnnounced(incidentId: string): void {
    if (this.#announced.delete(incidentId)) this.#save();
  }

  /** Ids that were announced and not forgotten. */
  announced(): string[] {
    return [...this.#announced];
  }

  /** What was read of a sonic's water; null for one that was never read. */
  usageOf(sonicId: string): UsageRecord | null {
    return this.#usage.get(sonicId) ?? null;
  }

  /** Whether a sonic's usage will still be known after a restart. */
  remembersUsage(sonicId: string): boolean {
    return this.#problem === null || this.#remembered.has(sonicId);
  }

  /** Keeps what was read of a sonic's water: on disk soon where it is news, else with whatever is written next. */
  keepUsage(sonicId: string, record: UsageRecord, isNews: boolean): void {
    this.#usage.set(sonicId, record);
    this.#isDirty = true;
    if (!isNews) return;
    this.#cancelUsageTimer ??= this.#clock.after(usageEveryMs, () => void this.flush());
  }

  /** Forgets a sonic that is gone for good. */
  forgetUsage(sonicId: string): void {
    this.#usage.delete(sonicId);
    this.#remembered.delete(sonicId);
    this.#isDirty = true;
  }

  /** Sonics of which usage is kept, with when they were last read, in ms since 1970. */
  keptUsage(): { readonly sonicId: string; readonly readAt: number }[] {
    return [...this.#usage].map(([sonicId, { readAt }]) => ({ sonicId, readAt }));
  }

  /** Resolves once everything is on disk, or cannot be. */
  flush(): Promise<void> {
    this.#cancelUsageTimer?.();
    this.#cancelUsageTimer = null;
    this.#writes = this.#writes.then(() => (this.#isDirty ? this.#write() : undefined));
    return this.#writes;
  }

  #save(): void {
    this.#isDirty = true;
    void this.flush();
  }

  async #write(): Promise<void> {
    this.#isDirty = false;
    // A folder that is there only now, as a disk that was mounted late, may hold what an earlier run has kept.
    if (!this.#hasWritten && this.#problem !== null) this.#takeUsage(this.#read());
    const content: Content = {
      session: this.#session && { ...this.#account, ...this.#session },
      announced: [...this.#announced],
      usage: Object.fromEntries(this.#usage),
    };
    try {
      makeFolder(this.#directory);
      await writeFileAtomic(this.#path, `${JSON.stringify(content)}\n`, { mode: 0o600 });
      this.#hasWritten = true;
      this.#seenText = undefined;
      for (const id of Object.keys(content.usage)) this.#remembered.add(id);
      if (this.#problem) this.#log.info(`The data directory ${this.#directory} can be written again`);
      this.#problem = null;
    } catch (error) {
      this.#isDirty = true;
      const reason = describe(error);
      const problem = `the data directory cannot be used, so nothing is remembered over a restart (${reason})`;
      if (this.#problem === null) this.#log.warn(`data_dir ${this.#directory}: ${problem}`);
      this.#problem = problem;
    }
  }

  #takeUsage({ usage }: Content): void {
    for (const [id, kept] of Object.entries(usage)) {
      const read = this.#usage.get(id);
      this.#usage.set(id, read ? mergedRecords(kept, read) : kept);
      this.#remembered.add(id);
    }
  }

  #read(): Content {
    let text: string | null = null;
    try {
      text = readFileSync(this.#path, 'utf8');
    } catch (error) {
      // A file that must not be read must not be replaced either.
      if (isAbsent(error)) return nothingKept();
    }
    if (text === this.#seenText) return nothingKept();
    this.#seenText = text;
    const content = text === null ? null : parse(text, (id) => this.#sayDamaged(id));
    if (content) return content;
    const aside = `${this.#path}.unreadable`;
    this.#log.warn(`${this.#path} is not readable; it is put aside as ${aside} and started anew`);
    try {
      renameSync(this.#path, aside);
      chmodSync(aside, 0o600);
    } catch {
      // A directory that cannot be written is said when the file is written.
    }
    return nothingKept();
  }

  #sayDamaged(sonicId: string): void {
    this.#log.warn(`${this.#path}: the usage of sonic ${sonicId} is damaged; it is counted anew`);
  }

  get #path(): string {
    return join(this.#directory, fileName);
  }
}

/** Without the name of the temporary file, which is another each time. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.message.replace(/,.*$/s, '');
}

/** Not by mkdir's own recursion, which never ends where the system makes no folders, as in /proc. */
function makeFolder(path: string): void {
  if (existsSync(path)) return;
  if (dirname(path) !== path) makeFolder(dirname(path));
  mkdirSync(path, { mode: 0o700 });
}

function nothingKept(): Content {
  return { session: null, announced: [], usage: {} };
}

function isAbsent(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : null;
  return code === 'ENOENT' || code === 'ENOTDIR';
}

function parse(text: string, onDamaged: (sonicId: string) => void): Content | null {
  try {
    const value: Partial<Content> | null = JSON.parse(text);
    if (typeof value !== 'object' || value === null || !Array.isArray(value.announced)) return null;
    const { session } = value;
    const isSession = session && typeof session.token === 'string' && typeof session.since === 'number';
    return {
      session: isSession ? session : null,
      announced: value.announced.filter((id) => typeof id === 'string'),
      usage: readUsage(value.usage, onDamaged),
    };
  } catch {
    return null;
  }
}

/** A damaged entry costs only its own sonic. */
function readUsage(value: unknown, onDamaged: (sonicId: string) => void): Record<string, UsageRecord> {
  const usage: [string, UsageRecord][] = [];
  for (const [id, entry] of Object.entries(typeof value === 'object' && value !== null ? value : {})) {
    const record = readUsageRecord(entry);
    if (record) usage.push([id, record]);
    else onDamaged(id);
  }
  return Object.fromEntries(usage);
}
