import { basename, dirname } from 'node:path';
import type { Random } from '../../src/base/backoff.ts';
import type { Disk } from '../../src/state/disk.ts';
import type { ProcessClock } from './virtualTime.ts';

/** Faults of a disk. `unmounted` shows an empty folder in its place. */
export type DiskFault = 'EROFS' | 'ENOSPC' | 'EIO' | 'slow' | 'unmounted';

/** What may have happened to a file while no process used it. */
export type FileDamage = 'damaged' | 'cut' | 'empty' | 'missing' | 'older' | 'evening';

/** What a run finds of what earlier ones have saved: all, an older file, damage, or nothing at all. */
export type Memory = 'kept' | 'older' | 'damaged' | 'none';

/**
 * A disk in memory, which keeps its files when the process ends. A file is replaced as a whole, or not at
 * all.
 */
export class VirtualDisk {
  readonly #random: Random;
  readonly #mounted = new Map<string, string>();
  /** The files in the folder while the disk is not mounted there. */
  #beneath = new Map<string, string>();
  #fault: DiskFault | null = null;
  #memory: Memory = 'kept';
  writes = 0;
  #underWay = 0;
  #isHeld: (text: string) => boolean = () => false;
  #held: { readonly text: string; readonly release: () => void }[] = [];
  /** The texts that were written, the newest last. */
  readonly #texts: { readonly path: string; readonly text: string }[] = [];

  constructor(random: Random) {
    this.#random = random;
  }

  get fault(): DiskFault | null {
    return this.#fault;
  }

  set fault(fault: DiskFault | null) {
    if (fault === 'unmounted') this.#beneath = new Map();
    this.#fault = fault;
  }

  get memory(): Memory {
    if (this.fault === 'unmounted') return 'none';
    return isBroken(this.fault) ? 'damaged' : this.#memory;
  }

  /** A run has found the files as they are, and writes new ones. */
  found(): void {
    this.#memory = 'kept';
  }

  damage(how: FileDamage): void {
    if (how === 'older' || how === 'evening') {
      // The card has lost its last writes, or the folder was put back as it was.
      const old = how === 'older' ? this.#texts.at(-1 - Math.ceil(10 * this.#random())) : this.#texts[0];
      if (!old) return;
      this.files.set(old.path, old.text);
      this.#memory = 'older';
      return;
    }
    for (const [path, text] of [...this.files]) {
      if (how === 'missing') this.files.delete(path);
      else this.files.set(path, damaged(text, how));
    }
    this.#memory = how === 'missing' ? 'none' : 'damaged';
  }

  /** The files that can be read now. */
  get files(): Map<string, string> {
    return this.#fault === 'unmounted' ? this.#beneath : this.#mounted;
  }

  /** Delays writes of such texts until they are no longer held. */
  hold(isHeld: (text: string) => boolean): void {
    this.#isHeld = isHeld;
    const released = this.#held.filter(({ text }) => !isHeld(text));
    this.#held = this.#held.filter(({ text }) => isHeld(text));
    for (const { release } of released) release();
  }

  /** Whether a write is running. */
  get isWriting(): boolean {
    return this.#underWay > 0;
  }

  /** How many writes are held. */
  get waiting(): number {
    return this.#held.length;
  }

  /** The disk as a process sees it. A write that is running when the process dies may succeed or not. */
  of(clock: ProcessClock): Disk {
    return {
      read: async (path) => {
        if (this.fault === 'EIO') throw failure('EIO', 'i/o error, read');
        const text = this.files.get(path);
        if (text === undefined) throw failure('ENOENT', `no such file or directory, open '${path}'`);
        return text;
      },
      names: async (folder) =>
        [...this.files.keys()].filter((path) => dirname(path) === folder).map((path) => basename(path)),
      write: async (path, text) => {
        this.writes += 1;
        if (this.#isHeld(text)) await new Promise<void>((release) => this.#held.push({ text, release }));
        const durationMs = this.fault === 'slow' ? 5_000 * this.#random() : 1 + 30 * this.#random();
        const takesHoldAt = this.#random();
        this.#underWay += 1;
        clock.afterDespiteDeath(durationMs, () => {
          this.#underWay -= 1;
        });
        await new Promise<void>((resolve) => {
          // A write may be completed even if the process dies.
          clock.afterDespiteDeath(durationMs * takesHoldAt, () => {
            if (!isBroken(this.fault) && (!clock.isDead || this.#random() < 0.5)) {
              this.files.set(path, text);
              this.#texts.push({ path, text });
            }
          });
          clock.after(durationMs, resolve);
        });
        if (isBroken(this.fault)) throw failure(this.fault, `${this.fault}, open '${path}'`);
      },
      rename: async (from, to) => {
        if (isBroken(this.fault)) throw failure(this.fault, `${this.fault}, rename`);
        const text = this.files.get(from);
        if (text === undefined) throw failure('ENOENT', 'no such file');
        this.files.delete(from);
        this.files.set(to, text);
      },
    };
  }
}

function damaged(text: string, how: 'damaged' | 'cut' | 'empty'): string {
  if (how === 'empty') return '';
  return how === 'cut' ? text.slice(0, text.length >> 1) : text.replaceAll(/[0-9]/g, '?');
}

function isBroken(fault: DiskFault | null): fault is Exclude<DiskFault, 'slow' | 'unmounted'> {
  return fault !== null && fault !== 'slow' && fault !== 'unmounted';
}

function failure(code: string, message: string): Error {
  return Object.assign(new Error(`${code}: ${message}`), { code });
}
