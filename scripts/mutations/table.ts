import type { Mutation } from './mutation.ts';
import { otherMutations } from './others.ts';
import { pauseMutations } from './pauses.ts';
import { sendingMutations } from './sent.ts';
import { showingMutations } from './shown.ts';
import { surroundingMutations } from './surroundings.ts';
import { commandMutations } from './taken.ts';

/** All mistakes that are made. */
export const mutations: readonly Mutation[] = [
  ...commandMutations,
  ...sendingMutations,
  ...pauseMutations,
  ...showingMutations,
  ...surroundingMutations,
  ...otherMutations,
];
