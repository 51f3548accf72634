import { type Mutation, mistakesIn } from './mutation.ts';

/** Several bridges and installations, and what others keep on the broker and the disk. */
export const otherMutations: readonly Mutation[] = [
  ...mistakesIn('daemon.ts', ['stories/otherInstallations'], {
    'a live bridge knows that it shares its topics': [
      'poller.setSharingTopics(otherBridges.problem !== null)',
      'poller.setSharingTopics(false)',
    ],
  }),
  ...mistakesIn('health/otherBridges.ts', ['unit/health/otherBridges'], {
    'a replayed bridge/hello of an earlier run stops no valve command': [
      'if (to !== this.instanceId) return;',
      '',
    ],
    'a second live bridge stops valve commands': [
      'this.#running.set(id, this.#clock.monotonic() + stoppedAfterMs);',
      'this.#running.set(id, 0);',
    ],
    'each bridge must answer a new connection': ['this.#connections += 1;', ''],
  }),
  ...mistakesIn('polling/pollStatus.ts', ['unit/polling/pollStatus'], {
    'a second live bridge does not vouch for what this one cannot read': [
      'this.isSharingTopics ? at : cloudAnsweredAt',
      'cloudAnsweredAt',
    ],
  }),
  ...mistakesIn('publishing/discoveryMessages.ts', ['stories/otherInstallations'], {
    'a bridge leaves its devices to a live bridge that announces them': [
      'const isElsewhere = this.#announcers.isLeft(topic);',
      'const isElsewhere = false;',
    ],
    'a device that another bridge announces is not deleted': [
      'if (this.#announcers.isForeign(topic) || (known?.device?.kind ?? kind) !== kind) return false;',
      'if ((known?.device?.kind ?? kind) !== kind) return false;',
    ],
  }),
  ...mistakesIn('publishing/formerTopics.ts', ['stories/otherInstallations'], {
    'a former base topic that a live bridge uses stays as it is': ["if (isInUse) return 'in use';", ''],
  }),
  ...mistakesIn('publishing/retainedMessages.ts', ['unit/publishing/retainedMessages'], {
    'messages of others below the base topic stay': [
      'return target !== null && (isDocument(target) || isCommand(target));',
      'return target !== null;',
    ],
    'cleanup leaves what another installation announces': [
      "return readDiscovery(payload)?.stateTopic === topics.bridge('state');",
      'return readDiscovery(payload) !== null;',
    ],
  }),
  ...mistakesIn('state/stateFile.ts', ['unit/state/stateFile'], {
    'a state file that this process has not written is not overwritten': [
      'else await this.#adoptForeign();',
      '',
    ],
    'two bridges that write one state file say so': [
      'this.#noteProblem(this.#isSharedFile ? sharedFile : null)',
      'this.#noteProblem(null)',
    ],
  }),
];
