import { type Mutation, mistakesIn } from './mutation.ts';

/** What is taken for a command. */
export const commandMutations: readonly Mutation[] = [
  ...mistakesIn('broker/message.ts', ['stories/storedCommands'], {
    'a stored command is known as retained': [
      'const isRetained = packet.retain === true;',
      'const isRetained = false;',
    ],
  }),
  ...mistakesIn('broker/mqttSession.ts', ['stories/commands'], {
    'what the broker delivers again is not taken again': ['return dup && isTaken;', 'return false;'],
  }),
  ...mistakesIn('broker/storedMessages.ts', ['stories/storedCommands'], {
    'a command is in doubt until the broker has shown that it marks what it has stored': [
      "return this.#isOver(this.#subscribedAt) ? null : 'unproven';",
      'return null;',
    ],
    'on a broker that does not mark what it has stored no command is certain to be new': [
      "if (this.#again === 'answered') this.#unmarkedAt ??= this.#clock.monotonic();",
      '',
    ],
  }),
  ...mistakesIn('cloud/decoders.ts', ['unit/cloud/decoders'], {
    'an id that is not safe in a topic is left out': [
      'const safeIdPattern = /^(?!bridge(_\\d+)?$)[A-Za-z0-9_-]{1,128}$/;',
      'const safeIdPattern = /^(?!bridge(_\\d+)?$).{1,128}$/;',
    ],
  }),
  ...mistakesIn('cloud/request.ts', ['unit/cloud/request'], {
    'an id stays within its segment of a path': ['!staysInSegment(value)', 'false'],
  }),
  ...mistakesIn('commands/messageRules.ts', ['unit/commands/router', 'unit/commands/requestsRefused'], {
    'a retained message is refused': ['if (message.isRetained) return', 'if (false) return'],
  }),
  ...mistakesIn('commands/messageRules.ts', ['unit/commands/router', 'stories/storedCommands'], {
    'a stored command that the broker does not mark is refused': [
      'if (message.mayBeStored) return',
      'if (false) return',
    ],
  }),
  ...mistakesIn('cloud/operations.ts', ['stories/valve'], {
    'an incident’s action that may move a valve counts as a move': [
      "moves === 'maybe' && isHarmlessAction(String(action)) ? null : moves",
      "moves === 'maybe' ? null : moves",
    ],
  }),
  ...mistakesIn('commands/messageRules.ts', ['unit/commands/router'], {
    'what is no text is no command': ['return isText ?', 'return true ?'],
  }),
  ...mistakesIn('commands/requests.ts', ['unit/commands/requestsRefused'], {
    'a request keeps to control': ['if (forbidden !== null)', 'if (false)'],
    'the session is nobody else’s': ['if (operationRow(name).session) {', 'if (false) {'],
  }),
  ...mistakesIn('commands/router.ts', ['unit/commands/router'], {
    'an empty message is no command, with and without the retain flag': [
      "if (payload === '')",
      "if (payload === '' && message.isRetained)",
    ],
  }),
  ...mistakesIn('commands/valveQueue.ts', ['stories/valve'], {
    'a pressure test that waits gives way to a newer valve command': [
      'this.#newestOf.set(id, this.#newest);',
      '',
    ],
    'a pressure test that was put off gives way to a newer valve command': [
      'for (const other of this.#others) {',
      'for (const other of [] as Mover[]) {',
    ],
  }),
  ...mistakesIn('config/schema.ts', ['contract/configuration'], {
    'an account is not changed unless that is allowed': [
      'account: flag.prefault(false)',
      'account: flag.prefault(true)',
    ],
  }),
  ...mistakesIn('homeassistant/command.ts', ['unit/homeassistant/command'], {
    'only OPEN and CLOSE move a valve': ["if (word !== 'open' && word !== 'close')", "if (word === '')"],
    'a command keeps to control': [
      'return needed.find((section) => !control[section]) ?? null;',
      'return null;',
    ],
  }),
];
