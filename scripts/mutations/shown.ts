import type { Mutation } from './mutation.ts';

const storeTests = ['test/unit/store/store.test.ts'];
const valveTests = ['test/unit/model/valve.test.ts'];
const healthTests = ['test/stories/health.test.ts'];
const announcementTests = ['test/stories/announcements.test.ts'];

/** What is shown. */
export const showingMutations: readonly Mutation[] = [
  {
    promise: 'a pressure test is no closed valve',
    file: 'src/model/valve.ts',
    text: "if (valveState === 'pressure_test') return lastSettled;",
    replacement: "if (valveState === 'pressure_test') return 'closed';",
    tests: valveTests,
  },
  {
    promise: 'an unknown word is no position',
    file: 'src/model/valve.ts',
    text: 'return shownByState.get(valveState) ?? null;',
    replacement: 'return shownByState.get(valveState) ?? lastSettled;',
    tests: valveTests,
  },
  {
    promise: 'a requested close is not a closed valve',
    file: 'src/model/valve.ts',
    text: "['requested_closed', 'closing'],",
    replacement: "['requested_closed', 'closed'],",
    tests: valveTests,
  },
  {
    promise: 'a command alone closes no valve',
    file: 'src/model/valve.ts',
    text: 'return movementOf[command.action];',
    replacement: 'return targetOf[command.action];',
    tests: storeTests,
  },
  {
    promise: 'the word of the cloud stands over a command',
    file: 'src/store/valves.ts',
    text: 'return isOver && this.#accepted.delete(id);',
    replacement: 'return false;',
    tests: storeTests,
  },
  {
    promise: 'what was read before a command says nothing of it',
    file: 'src/store/valves.ts',
    text: 'if (readAt < accepted.acceptedAt)',
    replacement: 'if (false)',
    tests: storeTests,
  },
  {
    promise: 'a command is confirmed only by what was read since',
    file: 'src/commands/valveQueue.ts',
    text: '(store.devices.sonic.readAt(id) ?? sentAt) >= sentAt;',
    replacement: 'true;',
    tests: ['test/unit/commands/valveQueue.test.ts'],
  },
  {
    promise: 'an answer that comes late does not undo a newer reading',
    file: 'src/store/table.ts',
    text: 'if (this.isOlder(id, readAt)) return null;',
    replacement: '',
    tests: storeTests,
  },
  {
    promise: 'an older list does not undo a newer reading',
    file: 'src/store/table.ts',
    text: 'return sentAt < Math.max(',
    replacement: 'return 0 > Math.max(',
    tests: storeTests,
  },
  {
    promise: 'an incomplete list removes no device',
    file: 'src/store/table.ts',
    text: 'if (!isComplete) return changes;',
    replacement: '',
    tests: storeTests,
  },
  {
    promise: 'one list without a device removes none',
    file: 'src/store/table.ts',
    text: 'constructor(maxMisses = 2) {',
    replacement: 'constructor(maxMisses = 1) {',
    tests: storeTests,
  },
  {
    promise: 'absences that were interrupted do not count',
    file: 'src/store/table.ts',
    text: '    entry.misses = 0;\n    const spelled',
    replacement: '    const spelled',
    tests: storeTests,
  },
  {
    promise: 'a crawl that missed a page is incomplete',
    file: 'src/cloud/client.ts',
    text: 'complete: problem === null',
    replacement: 'complete: true',
    tests: ['test/unit/cloud/readList.test.ts'],
  },
  {
    promise: 'a lost cloud changes no value',
    file: 'src/polling/details.ts',
    text: '        if (!isPermanent(error)) return toProblem(error);\n        query.store(null',
    replacement: '        query.store(null',
    tests: ['test/unit/polling/poller.test.ts', 'test/stories/uncertain.test.ts'],
  },
  {
    promise: 'health is judged though no poll ends',
    file: 'src/health/healthMonitor.ts',
    text: 'this.#cancelTimer = this.#clock.after(nextMs, () => this.#evaluate());',
    replacement: '',
    tests: healthTests,
  },
  {
    promise: 'health tells of messages that the broker rejects',
    file: 'src/broker/retained.ts',
    text: 'if (!refusal.isDeletion) return refusal;',
    replacement: '',
    tests: healthTests,
  },
  {
    promise: 'health tells of a vital list that waits',
    file: 'src/polling/pollStatus.ts',
    text: 'return now > dueAt + waitMs;',
    replacement: 'return false;',
    tests: healthTests,
  },
  {
    promise: 'a lost cloud makes values unavailable',
    file: 'src/health/healthMonitor.ts',
    text: 'const isFresh = leftMs > 0;',
    replacement: 'const isFresh = this.#isCloudFresh || leftMs > 0;',
    tests: announcementTests,
  },
  {
    promise: 'an incident that one list misses is closed by nothing but the cloud’s answer for it',
    file: 'src/polling/lists.ts',
    text: 'if (isPermanent({ kind: answer }) || times >= minListsMissing) return closed;',
    replacement: 'return closed;',
    tests: ['test/unit/polling/poller.test.ts'],
  },
  {
    promise: 'what hangs leaves a connection to what matters more',
    file: 'src/cloud/requestQueue.ts',
    text: 'Math.max(1, this.#maxConcurrency - keptFree)',
    replacement: 'this.#maxConcurrency',
    tests: ['test/unit/cloud/requestQueue.test.ts'],
  },
  {
    promise: 'no flood and no budget keeps the lists of valves and leaks waiting',
    file: 'src/cloud/requestQueue.ts',
    text: 'if (late && lateInMs <= 0 &&',
    replacement: 'if (late && false &&',
    tests: ['test/unit/cloud/requestQueue.test.ts'],
  },
  {
    promise: 'a wish of the cloud to wait is no longer than ten minutes for valves and leaks',
    file: 'src/cloud/pauses.ts',
    text: 'isVitalList(name) ? Math.min(ms, maxVitalPauseMs) : ms',
    replacement: 'ms',
    tests: ['test/unit/cloud/client.test.ts'],
  },
];
