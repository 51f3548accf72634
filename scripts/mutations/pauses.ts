import type { Mutation } from './mutation.ts';

const pauses = 'src/commands/pauses.ts';
const model = 'src/model/pause.ts';
const kept = 'src/state/kept.ts';
const stateFile = 'src/state/stateFile.ts';
const stories = ['test/stories/pause.test.ts'];
const modelTests = ['test/unit/model/pause.test.ts'];
const stateTests = ['test/unit/state/stateFile.test.ts'];

/** What is paused, and given back. */
export const pauseMutations: readonly Mutation[] = [
  {
    promise: 'a pause is on disk before the cloud receives it',
    file: pauses,
    text: 'await state.kept.pauses.set(id, pause).saved();',
    replacement: 'state.kept.pauses.set(id, pause);',
    tests: stories,
  },
  {
    promise: 'a pause that cannot be kept is refused',
    file: pauses,
    text: 'return state.problem === null && state.kept.pauses.isSaved(id);',
    replacement: 'return true;',
    tests: stories,
  },
  {
    promise: 'what is off already is not paused',
    file: pauses,
    text: 'if (!before && isOn === false)',
    replacement: 'if (false)',
    tests: stories,
  },
  {
    promise: 'the shut-off is on again only when the cloud shows it',
    file: pauses,
    text: "if (each.phase !== 'none') await this.#read(id, timeoutMs);",
    replacement: "this.#apply(id, 'seen_on');",
    tests: stories,
  },
  {
    promise: 'turning it on is tried again',
    file: pauses,
    text: 'if (this.#isEnding(id) && now >= each.retryAt && each.attempt === null)',
    replacement: 'if (false)',
    tests: stories,
  },
  {
    promise: 'a pause of an earlier run is taken up',
    file: pauses,
    text: 'for (const [id, pause] of state.kept.pauses) {',
    replacement: 'for (const [id, pause] of new Map<string, Pause>()) {',
    tests: stories,
  },
  {
    promise: 'a reading that was under way before the pause does not end it',
    file: pauses,
    text: ' || sentAt < this.#provesFrom(each)',
    replacement: '',
    tests: stories,
  },
  {
    promise: 'one outdated reading does not end a pause',
    file: model,
    text: "seen_on: 'resuming' },",
    replacement: "seen_on: 'none' },",
    tests: stories,
  },
  {
    promise: 'cleanup deletes nothing while a shut-off stays off',
    file: 'src/cli/cleanup.ts',
    text: 'if (problem !== null) {',
    replacement: "if (problem === '') {",
    tests: ['test/e2e/cleanup.test.ts'],
  },
  {
    promise: 'a pause whose state file is lost ends',
    file: 'src/publishing/recovery.ts',
    text: 'pauses.set(id, pause);',
    replacement: '',
    tests: stories,
  },
  {
    promise: 'who turns it on in the app ends the pause',
    file: model,
    text: "due: 'resuming', seen_on: 'resuming' },",
    replacement: "due: 'resuming' },",
    tests: [...modelTests, ...stories],
  },
  {
    promise: 'what may have begun is undone where the command has failed',
    file: model,
    text: "rejected: 'none', unanswered: 'resuming' },",
    replacement: "rejected: 'none', unanswered: 'none' },",
    tests: [...modelTests, ...stories],
  },
  {
    promise: 'a pause that cannot be kept longer keeps its end',
    file: pauses,
    text: 'if (isKept) each.pause = pause;',
    replacement: 'if (isKept !== null) each.pause = pause;',
    tests: stories,
  },
  {
    promise: 'a clock that is set back makes no pause longer',
    file: model,
    text: 'return Math.min(until - now, endsAt - monotonic);',
    replacement: 'return until - now;',
    tests: [...modelTests, ...stories],
  },
  {
    promise: 'a clock that is behind the file ends a pause',
    file: 'src/state/sections.ts',
    text: '(isClockBehind ? 0 : leftMs)',
    replacement: 'leftMs',
    tests: [...stateTests, ...stories],
  },
  {
    promise: 'a pause that was over is not brought back by an old file',
    file: kept,
    text: 'else if (!this.#own.has(id)) super.set(id, value);',
    replacement: 'else super.set(id, value);',
    tests: stateTests,
  },
  {
    promise: 'the backup has the pauses of this moment',
    file: stateFile,
    text: 'if (!isDue && isDeepStrictEqual(new Map(pauses), this.#pausesInBackup)) return;',
    replacement: 'if (!isDue) return;',
    tests: stories,
  },
  {
    promise: 'a pause is taken from the broker where no file has it',
    file: 'src/publishing/recovery.ts',
    text: 'return this.#parts.state.isNew || !isKnown;',
    replacement: 'return this.#parts.state.isNew || isKnown === undefined;',
    tests: stories,
  },
  {
    promise: 'a pause that may be lost is told',
    file: 'src/store/store.ts',
    text: 'const isNone = kept.pauses.isKnown || settings.of(propertyId)?.auto_shut_off === true;',
    replacement: 'const isNone = true || settings.of(propertyId)?.auto_shut_off === kept.pauses.isKnown;',
    tests: stories,
  },
  {
    promise: 'a file that cannot be read for a moment is not damaged',
    file: stateFile,
    text: 'if (unreadableCodes.includes(code)) return',
    replacement: "if ([...unreadableCodes, 'EIO'].includes(code)) return",
    tests: stateTests,
  },
  {
    promise: 'of two that start together, one has the lock',
    file: 'src/state/lock.ts',
    text: 'isFree = names.includes(own) && !areAlive.includes(true);',
    replacement: 'isFree = true;',
    tests: ['test/unit/state/lock.test.ts'],
  },
  {
    promise: 'OFF does not make a pause permanent',
    file: 'src/commands/updates.ts',
    text: "return state === 'none'",
    replacement: 'return true',
    tests: stories,
  },
  {
    promise: 'ON ends a pause',
    file: pauses,
    text: "updates.on('accepted', (call) => this.#recordAccepted(call));",
    replacement: '',
    tests: stories,
  },
  {
    promise: 'health says that it is still off',
    file: 'src/health/accountProblems.ts',
    text: "filter(([, { state }]) => state === 'failed')",
    replacement: 'filter(() => false)',
    tests: stories,
  },
  {
    promise: 'a state file is its own after writes that failed',
    file: stateFile,
    text: 'this.#ownTexts = [...this.#ownTexts.slice(0, 1), ...this.#ownTexts.slice(1).slice(-1), digestOf(text)];',
    replacement: 'this.#ownTexts = [...this.#ownTexts.slice(-1), digestOf(text)];',
    tests: stateTests,
  },
];
