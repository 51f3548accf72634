import type { Mutation } from './mutation.ts';

const routerTests = ['test/unit/commands/router.test.ts'];
const requestTests = ['test/unit/commands/requestsRefused.test.ts'];
const storedTests = ['test/stories/storedCommands.test.ts'];
const connectionTests = ['test/unit/broker/connection.test.ts'];

/** What is taken for a command. */
export const commandMutations: readonly Mutation[] = [
  {
    promise: 'a retained message is refused',
    file: 'src/commands/messageRules.ts',
    text: 'if (message.isRetained) return',
    replacement: 'if (false) return',
    tests: [...routerTests, ...requestTests],
  },
  {
    promise: 'an empty message is no command, with and without the retain flag',
    file: 'src/commands/router.ts',
    text: "if (payload === '')",
    replacement: "if (payload === '' && message.isRetained)",
    tests: routerTests,
  },
  {
    promise: 'a stored command is known as retained',
    file: 'src/broker/message.ts',
    text: 'const isRetained = packet.retain === true;',
    replacement: 'const isRetained = false;',
    tests: connectionTests,
  },
  {
    promise: 'a pressure test gives way to a newer valve command',
    file: 'src/commands/valveQueue.ts',
    text: 'wishes.commanded(id);',
    replacement: '',
    tests: ['test/stories/valve.test.ts'],
  },
  {
    promise: 'a stored command that the broker does not mark is refused',
    file: 'src/commands/messageRules.ts',
    text: 'if (message.mayBeStored) return',
    replacement: 'if (false) return',
    tests: [...routerTests, ...storedTests],
  },
  {
    promise: 'a command is in doubt until the broker has shown that it marks what it has stored',
    file: 'src/broker/storedMessages.ts',
    text: "return this.#isOver(this.#subscribedAt) ? null : 'unproven';",
    replacement: 'return null;',
    tests: storedTests,
  },
  {
    promise: 'on a broker that does not mark what it has stored no command is certain to be new',
    file: 'src/broker/storedMessages.ts',
    text: "if (this.#again === 'answered') this.#unmarkedAt ??= this.#clock.monotonic();",
    replacement: '',
    tests: storedTests,
  },
  {
    promise: 'what the broker delivers again is not taken again',
    file: 'src/broker/mqttSession.ts',
    text: 'return dup && isTaken;',
    replacement: 'return false;',
    tests: ['test/stories/commands.test.ts'],
  },
  {
    promise: 'only OPEN and CLOSE move a valve',
    file: 'src/homeassistant/command.ts',
    text: "if (word !== 'open' && word !== 'close')",
    replacement: "if (word === '')",
    tests: ['test/unit/homeassistant/command.test.ts'],
  },
  {
    promise: 'what is no text is no command',
    file: 'src/commands/messageRules.ts',
    text: 'return isText ?',
    replacement: 'return true ?',
    tests: routerTests,
  },
  {
    promise: 'a command keeps to control',
    file: 'src/homeassistant/command.ts',
    text: 'return needed.find((section) => !control[section]) ?? null;',
    replacement: 'return null;',
    tests: ['test/unit/homeassistant/command.test.ts'],
  },
  {
    promise: 'a request keeps to control',
    file: 'src/commands/requests.ts',
    text: 'if (forbidden !== null)',
    replacement: 'if (false)',
    tests: requestTests,
  },
  {
    promise: 'the session is nobody else’s',
    file: 'src/commands/requests.ts',
    text: 'if (operationRow(name).session) {',
    replacement: 'if (false) {',
    tests: requestTests,
  },
  {
    promise: 'an account is not changed unless that is allowed',
    file: 'src/config/schema.ts',
    text: 'account: flag.prefault(false)',
    replacement: 'account: flag.prefault(true)',
    tests: ['test/contract/configuration.test.ts'],
  },
  {
    promise: 'an id stays within its segment of a path',
    file: 'src/cloud/request.ts',
    text: '!staysInSegment(value)',
    replacement: 'false',
    tests: ['test/unit/cloud/request.test.ts'],
  },
  {
    promise: 'an id that is not safe in a topic is left out',
    file: 'src/cloud/decoders.ts',
    text: 'const safeIdPattern = /^(?!bridge(_\\d+)?$)[A-Za-z0-9_-]{1,128}$/;',
    replacement: 'const safeIdPattern = /^(?!bridge(_\\d+)?$).{1,128}$/;',
    tests: ['test/unit/cloud/decoders.test.ts'],
  },
];
