import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import writeFileAtomic from 'write-file-atomic';
import type { Log } from '../base/log.ts';
import type { StoredSession } from '../cloud/session.ts';

/** Whose session it is; another account's is never used. */
export interface Account {
  readonly baseUrl: string;
  readonly email: string;
}

interface Content {
  session: (StoredSession & Account) | null;
  /** Ids of open incidents that were announced. */
  announced: string[];
}

const fileName = 'ledger.json';

/** What is kept on disk: one file, written atomically, readable by its owner only. */
export class Ledger {
  readonly #directory: string;
  readonly #account: Account;
  readonly #log: Log;
  readonly #announced = new Set<string>();
  #session: StoredSession | null = null;
  #isDirty = true;
  /** One after the other; each takes in all that was said before it began. */
  #writes: Promise<void> = Promise.resolve();
  #problem: string | null = null;

  constructor(directory: string, account: Account, log: Log) {
    this.#directory = directory;
    this.#account = account;
    this.#log = log;
  }

  /** Reads the file and finds out whether it can be written; never throws: without a file it works without memory. */
  async open(): Promise<void> {
    const content = this.#read();
    for (const id of content.announced) this.#announced.add(id);
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

  /** Resolves once everything is on disk, or cannot be. */
  flush(): Promise<void> {
    this.#writes = this.#writes.then(() => (this.#isDirty ? this.#write() : undefined));
    return this.#writes;
  }

  #save(): void {
    this.#isDirty = true;
    void this.flush();
  }

  async #write(): Promise<void> {
    this.#isDirty = false;
    const content: Content = {
      session: this.#session && { ...this.#account, ...this.#session },
      announced: [...this.#announced],
    };
    try {
      makeFolder(this.#directory);
      await writeFileAtomic(this.#path, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 });
      if (this.#problem) this.#log.info(`The data directory ${this.#directory} can be written again`);
      this.#problem = null;
    } catch (error) {
      const reason = describe(error);
      const problem = `the data directory cannot be used, so nothing is remembered over a restart (${reason})`;
      if (this.#problem === null) this.#log.warn(`data_dir ${this.#directory}: ${problem}`);
      this.#problem = problem;
    }
  }

  #read(): Content {
    let text: string;
    try {
      text = readFileSync(this.#path, 'utf8');
    } catch {
      return { session: null, announced: [] };
    }
    const content = parse(text);
    if (content) return content;
    const aside = `${this.#path}.unreadable`;
    this.#log.warn(`${this.#path} is not readable; it is put aside as ${aside} and started anew`);
    try {
      renameSync(this.#path, aside);
      chmodSync(aside, 0o600);
    } catch {
      // A directory that cannot be written is said when the file is written.
    }
    return { session: null, announced: [] };
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

function parse(text: string): Content | null {
  try {
    const value: Partial<Content> | null = JSON.parse(text);
    if (typeof value !== 'object' || value === null || !Array.isArray(value.announced)) return null;
    const { session } = value;
    const isSession = session && typeof session.token === 'string' && typeof session.since === 'number';
    return {
      session: isSession ? session : null,
      announced: value.announced.filter((id) => typeof id === 'string'),
    };
  } catch {
    return null;
  }
}
