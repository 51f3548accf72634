import type { Mutation } from './mutation.ts';

const installationTests = ['test/stories/otherInstallations.test.ts'];
const bridgeTests = ['test/unit/health/otherBridges.test.ts'];
const stateTests = ['test/unit/state/stateFile.test.ts'];

/** Several bridges and installations, and what others keep on the broker and the disk. */
export const otherMutations: readonly Mutation[] = [
  {
    promise: 'a replayed bridge/info of an earlier run stops no valve command',
    file: 'src/health/otherBridges.ts',
    text: 'const isAware = heard.includes(this.instanceId);',
    replacement: 'const isAware = true;',
    tests: bridgeTests,
  },
  {
    promise: 'a second live bridge stops valve commands',
    file: 'src/health/otherBridges.ts',
    text: 'const runsUntil = isLive ? now + stoppedAfterMs',
    replacement: 'const runsUntil = isLive ? 0',
    tests: bridgeTests,
  },
  {
    promise: 'a second live bridge does not vouch for what this one cannot read',
    file: 'src/polling/pollStatus.ts',
    text: 'this.isSharingTopics ? at : cloudAnsweredAt',
    replacement: 'cloudAnsweredAt',
    tests: ['test/unit/polling/pollStatus.test.ts'],
  },
  {
    promise: 'a live bridge knows that it shares its topics',
    file: 'src/daemon.ts',
    text: 'poller.setSharingTopics(otherBridges.problem !== null)',
    replacement: 'poller.setSharingTopics(false)',
    tests: installationTests,
  },
  {
    promise: 'of a removed device nothing stays that the broker has refused to replace',
    file: 'src/publishing/cleanup.ts',
    text: 'retained.markStale(topic);',
    replacement: 'retained.markUnknown(topic);',
    tests: ['test/stories/brokerMemory.test.ts'],
  },
  {
    promise: 'each bridge must answer a new connection',
    file: 'src/health/otherBridges.ts',
    text: '    this.#instance += 1;\n    const until',
    replacement: '    const until',
    tests: bridgeTests,
  },
  {
    promise: 'a bridge leaves its devices to a live bridge that announces them',
    file: 'src/publishing/discoveryMessages.ts',
    text: 'const isElsewhere = this.#otherBridges.isAnnouncing(topic);',
    replacement: 'const isElsewhere = false;',
    tests: installationTests,
  },
  {
    promise: 'a device that another bridge announces is not deleted',
    file: 'src/publishing/discoveryMessages.ts',
    text: 'if (this.#otherBridges.isAnnouncing(topic) || (known?.device?.kind ?? kind) !== kind) return false;',
    replacement: 'if ((known?.device?.kind ?? kind) !== kind) return false;',
    tests: installationTests,
  },
  {
    promise: 'a device is not deleted with another one of its ID',
    file: 'src/publishing/discoveryMessages.ts',
    text: ' || (known?.device?.kind ?? kind) !== kind) return false;',
    replacement: ') return false;',
    tests: installationTests,
  },
  {
    promise: 'messages of others below the base topic stay',
    file: 'src/publishing/retainedScan.ts',
    text: 'if (target && isTopicOfBridge(target))',
    replacement: 'if (target)',
    tests: ['test/unit/publishing/retainedScan.test.ts'],
  },
  {
    promise: 'cleanup leaves what another installation announces',
    file: 'src/publishing/retainedScan.ts',
    text: "return stateTopic === this.#topics.bridge('state');",
    replacement: 'return true;',
    tests: ['test/unit/publishing/retainedScan.test.ts'],
  },
  {
    promise: 'a former base topic that a live bridge uses stays as it is',
    file: 'src/publishing/formerTopics.ts',
    text: "if (isInUse) return 'in use';",
    replacement: '',
    tests: installationTests,
  },
  {
    promise: 'a state file that this process has not written is not overwritten',
    file: 'src/state/stateFile.ts',
    text: 'else await this.#adoptForeign();',
    replacement: '',
    tests: stateTests,
  },
  {
    promise: 'two bridges that write one state file say so',
    file: 'src/state/stateFile.ts',
    text: 'this.#noteProblem(this.#isSharedFile ? sharedFile : null)',
    replacement: 'this.#noteProblem(null)',
    tests: stateTests,
  },
];
