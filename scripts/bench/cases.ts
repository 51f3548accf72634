import type { Case } from './case.ts';
import { again } from './cases/again.ts';
import { birth } from './cases/birth.ts';
import { changes } from './cases/changes.ts';
import { command } from './cases/command.ts';
import { distant } from './cases/distant.ts';
import { idle } from './cases/idle.ts';
import { memory } from './cases/memory.ts';
import { quiet } from './cases/quiet.ts';
import { reconnect } from './cases/reconnect.ts';
import { refresh } from './cases/refresh.ts';
import { requests } from './cases/requests.ts';
import { start } from './cases/start.ts';

/** Everything that is measured, in the order of the documentation. */
export const cases: readonly Case[] = [
  start,
  distant,
  refresh,
  again,
  quiet,
  changes,
  reconnect,
  birth,
  command,
  memory,
  idle,
  requests,
];
