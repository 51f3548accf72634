import type { Mutation } from './mutation.ts';

const installationTests = ['test/stories/otherInstallations.test.ts'];
const bridgeTests = ['test/unit/health/otherBridges.test.ts'];
const stateTests = ['test/unit/state/stateFile.test.ts'];

/** Several bridges and installations, and what others keep on the broker and the disk. */
export const otherMutations: readonly Mutation[] = [
  {
    promise: 'a replayed bridge/hello of an earlier run stops no valve command',
    file: 'src/health/otherBridges.ts',
    text: 'if (to !== this.instanceId) return;',
    replacement: '',
    tests: bridgeTests,
  },
  {
    promise: 'a second live bridge stops valve commands',
    file: 'src/health/otherBridges.ts',
    text: 'this.#running.set(id, this.#clock.monotonic() + stoppedAfterMs);',
    replacement: 'this.#running.set(id, 0);',
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
    promise: 'each bridge must answer a new connection',
    file: 'src/health/otherBridges.ts',
    text: 'this.#connections += 1;',
    replacement: '',
    tests: bridgeTests,
  },
  {
    promise: 'a bridge leaves its devices to a live bridge that announces them',
    file: 'src/publishing/discoveryMessages.ts',
    text: 'const isElsewhere = this.#announcers.isLeft(topic);',
    replacement: 'const isElsewhere = false;',
    tests: installationTests,
  },
  {
    promise: 'a device that another bridge announces is not deleted',
    file: 'src/publishing/discoveryMessages.ts',
    text: 'if (this.#announcers.isForeign(topic) || (known?.device?.kind ?? kind) !== kind) return false;',
    replacement: 'if ((known?.device?.kind ?? kind) !== kind) return false;',
    tests: installationTests,
  },
  {
    promise: 'messages of others below the base topic stay',
    file: 'src/publishing/retainedMessages.ts',
    text: 'return target !== null && (isDocument(target) || isCommand(target));',
    replacement: 'return target !== null;',
    tests: ['test/unit/publishing/retainedMessages.test.ts'],
  },
  {
    promise: 'cleanup leaves what another installation announces',
    file: 'src/publishing/retainedMessages.ts',
    text: "return readDiscovery(payload)?.stateTopic === topics.bridge('state');",
    replacement: 'return readDiscovery(payload) !== null;',
    tests: ['test/unit/publishing/retainedMessages.test.ts'],
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
