import { type Mutation, mistakesIn } from './mutation.ts';

/** What is paused, and given back. */
export const pauseMutations: readonly Mutation[] = [
  ...mistakesIn('cli/cleanup.ts', ['unit/cli/cleanup'], {
    'cleanup deletes nothing while a shut-off is paused': [
      'if (kept.pauses.size > 0) return true;',
      'if (kept.pauses.size > 1) return true;',
    ],
  }),
  ...mistakesIn('commands/pauses.ts', ['stories/pause'], {
    'a pause is on disk before the cloud receives it': [
      'await state.kept.pauses.set(id, pause).saved();',
      'state.kept.pauses.set(id, pause);',
    ],
    'a pause that cannot be kept is refused': [
      'return state.problem === null && state.kept.pauses.isSaved(id);',
      'return true;',
    ],
    'what is off already is not paused': ['if (!before && isOn === false)', 'if (false)'],
    'the shut-off is on again only when the cloud shows it': [
      'if (!isDone()) await this.#read(id, timeoutMs);',
      'this.#forget(id);',
    ],
    'one outdated reading does not end a pause': [
      'if (!this.#record(id)?.isOver) this.#end(id, duty);',
      'if (!this.#record(id)?.isOver) this.#forget(id);',
    ],
    'who turns it on in the app ends the pause': [
      'if (!this.#record(id)?.isOver) this.#end(id, duty);',
      'if (!this.#record(id)?.isOver) return;',
    ],
    'what may have begun is undone where the command has failed': [
      'duty.settledAt = clock.monotonic() + requestTimeoutMs;\n      this.#end(id, duty);',
      'this.#forget(id);',
    ],
    'turning it on is tried again': ['if (isOver && now >= duty.retryAt)', 'if (false)'],
    'a pause of an earlier run is taken up': [
      'for (const [id, kept] of state.kept.pauses) {',
      'for (const [id, kept] of new Map<string, Pause>()) {',
    ],
    'a reading that was under way before the pause does not end it': [
      ' || sentAt < this.#provesFrom(id, duty)',
      '',
    ],
    'an ON that the cloud accepts before the pause has begun does not end it': [
      'if (duty && !this.#record(id)?.isPending) {',
      'if (duty) {',
    ],
    'a pause that its own reading has ended is not prolonged': [
      'if (before?.isOver) return refused(stillEnding);',
      ';',
    ],
    'a pause that cannot be kept longer keeps its end': ['if (before) this.#change(id, before);', ';'],
    'ON ends a pause': [
      "if (call.operation !== 'update_property_settings' || call.body.auto_shut_off !== true) return null;",
      'return null;',
    ],
  }),
  ...mistakesIn('commands/updates.ts', ['stories/pause'], {
    'OFF does not make a pause permanent': ["return state === 'none'", 'return true'],
  }),
  ...mistakesIn('health/accountProblems.ts', ['stories/pause'], {
    'health says that it is still off': [
      'filter(([, { reason }]) => reason !== null)',
      'filter(() => false)',
    ],
  }),
  ...mistakesIn('model/pause.ts', ['unit/model/pause', 'stories/pause'], {
    'a clock that is set back makes no pause longer': [
      'return Math.min(until - now, endsAt - monotonic);',
      'return until - now;',
    ],
  }),
  ...mistakesIn('publishing/keptDocuments.ts', ['stories/pause'], {
    'a pause that only the broker knows ends': ['if (pause) kept.pauses.adopt([[id, pause]], isNewer);', ''],
  }),
  ...mistakesIn('model/pause.ts', ['unit/model/pause', 'stories/pause'], {
    'a pause that a stranger has written is a day long at most': [
      'const until = Math.min(endsOn, longest.until);',
      'const until = endsOn;',
    ],
  }),
  ...mistakesIn('publishing/publisher.ts', ['stories/pause', 'stories/brokerMemory'], {
    'the file overwrites nothing on the broker before that was read': [
      'this.isShowingDevices || state.revision !== null',
      'true',
    ],
  }),
  ...mistakesIn('state/kept.ts', ['unit/state/stateFile', 'stories/pause'], {
    'what this run has ended is not brought back': [
      'else if (!isOfThisRun) super.set(id, value);',
      'else super.set(id, value);',
    ],
    'the newer of two memories counts': [
      '(isNewer && !isOfThisRun ? found : known)',
      '(isOfThisRun ? known : found)',
    ],
  }),
  ...mistakesIn('state/sections.ts', ['unit/state/stateFile', 'stories/pause'], {
    'a clock that is behind the file ends a pause': ['(isClockBehind ? 0 : leftMs)', 'leftMs'],
  }),
  ...mistakesIn('state/stateFile.ts', ['unit/state/stateFile'], {
    'a file that cannot be read for a moment is not damaged': [
      'if (unreadableCodes.includes(code)) return',
      "if ([...unreadableCodes, 'EIO'].includes(code)) return",
    ],
    'a file that was mounted late is added before it is replaced': ['await this.#read();', ''],
  }),
  ...mistakesIn('state/stateFile.ts', ['stories/pause'], {
    'a pause that may be lost is told': ["this.kept.lostPauses.set('', true);", ';'],
  }),
  ...mistakesIn('store/store.ts', ['stories/pause'], {
    'a pause that may be lost is told until the shut-off is read as on': [
      'const isProof = settings.auto_shut_off === true &&',
      'const isProof =',
    ],
  }),
];
