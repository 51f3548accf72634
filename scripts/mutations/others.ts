import { type Mutation, mistakesIn } from './mutation.ts';

/** Several bridges and installations, and what others keep on the broker and the disk. */
export const otherMutations: readonly Mutation[] = [
  ...mistakesIn('broker/connection.ts', ['stories/sameTopics', 'unit/broker/wired'], {
    'a bridge that another one has put out stands still': ["ending === 'taken over' || ", ''],
    'a bridge notices that the broker closes young connections again and again': [
      'isYoungEnd ? this.#youngEnds + 1 : 0',
      '0',
    ],
  }),
  ...mistakesIn('daemon.ts', ['stories/sameTopics'], {
    'a bridge that was put out reads nothing': ["connection.on('lost', pause)", 'connection'],
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
];
