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
  ...mistakesIn('homeassistant/topics.ts', ['unit/homeassistant/topics'], {
    'two bridges for one account show their own devices': [
      "return `${this.#node}_${kind === 'bridge' ? 'bridge' : id}`;",
      "return `sonic2mqtt_${kind === 'bridge' ? 'bridge' : id}`;",
    ],
  }),
  ...mistakesIn('publishing/discoveryMessages.ts', ['stories/otherInstallations'], {
    'a discovery message that others replace comes back': [
      'if (announced.losses <= maxRestorations) this.#repeat(announced, spacingMs);',
      '',
    ],
    'two bridges do not replace each other without end': [
      'const maxRestorations = 3;',
      'const maxRestorations = 1e9;',
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
      "if (topics.isDiscovery(topic)) return announcingBridge(payload) === topics.bridge('state');",
      'if (topics.isDiscovery(topic)) return announcingBridge(payload) !== null;',
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
