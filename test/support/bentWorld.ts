import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from './program.ts';

const preload = new URL('bentWorld.mjs', import.meta.url);

/** What a program takes for the world; what it measures with its monotonic clock stays true. */
export interface Bend {
  /** How far its wall clock is ahead, in ms. */
  readonly shiftMs?: number;
  /** How the lookup of each name under `.invalid` fails; else it leads to the loopback. */
  readonly lookupFault?: 'ENOTFOUND' | 'EAI_AGAIN';
}

/** The environment of a program whose world can be bent while it runs. */
export interface BentWorld {
  readonly env: Record<string, string>;
  /** Takes effect within milliseconds; what is not named is as it should be. */
  bend(bend: Bend): void;
}

/** A world that is straight until told otherwise. */
export function bentWorld(): BentWorld {
  const file = join(temporaryFolder(), 'bend.json');
  const bend = ({ shiftMs = 0, lookupFault }: Bend) => {
    // Whoever reads it meanwhile must not find half of it.
    writeFileSync(`${file}.new`, JSON.stringify({ shiftMs, lookupFault: lookupFault ?? null }));
    renameSync(`${file}.new`, file);
  };
  bend({});
  return { env: { NODE_OPTIONS: `--import=${preload.href}`, BENT_WORLD: file }, bend };
}
