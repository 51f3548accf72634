import type { Mutation } from './mutation.ts';

const valveQueue = 'src/commands/valveQueue.ts';
const valveQueueTests = ['test/unit/commands/valveQueue.test.ts'];
const routerTests = ['test/unit/commands/router.test.ts'];
const requestTests = ['test/unit/commands/requestsRefused.test.ts'];
const clientTests = ['test/unit/cloud/client.test.ts'];
const httpTests = ['test/unit/cloud/http.test.ts'];

/** What is sent: once only, in time, and the newest. */
export const sendingMutations: readonly Mutation[] = [
  {
    promise: 'a valve command is never asked again',
    file: 'src/cloud/client.ts',
    text: 'const { retry } = operationRow(name);',
    replacement: "const retry = 'safe';",
    tests: clientTests,
  },
  {
    promise: 'what may have been done is not repeated',
    file: 'src/cloud/retry.ts',
    text: 'return isPassing(error) && !error.mayHaveActed;',
    replacement: 'return isPassing(error);',
    tests: ['test/unit/cloud/retry.test.ts'],
  },
  {
    promise: 'a broken connection may have acted',
    file: 'src/cloud/networkErrors.ts',
    text: 'const mayHaveActed = wasSent;',
    replacement: 'const mayHaveActed = false;',
    tests: httpTests,
  },
  {
    promise: 'a timeout may have acted',
    file: 'src/cloud/http.ts',
    text: '{ mayHaveActed: isSent,',
    replacement: '{ mayHaveActed: false,',
    tests: clientTests,
  },
  {
    promise: 'what was given up is not sent later',
    file: 'src/cloud/http.ts',
    text: '          signal,\n        }),',
    replacement: '        }),',
    tests: httpTests,
  },
  {
    promise: 'what was given up is not delivered later',
    file: 'src/cloud/http.ts',
    text: "signal.addEventListener('abort', reset);",
    replacement: '',
    tests: httpTests,
  },
  {
    promise: 'no command is sent with too little time left',
    file: 'src/cloud/client.ts',
    text: "if (isLate && operationRow(name).retry === 'never')",
    replacement: 'if (false)',
    tests: clientTests,
  },
  {
    promise: 'no message that was under way too long is a command',
    file: 'src/commands/messageRules.ts',
    text: 'if (timeLeftMs(message.sentAfter, limits) === null)',
    replacement: 'if (false)',
    tests: routerTests,
  },
  {
    promise: 'no valve is moved by an old, retained or late message, whoever hands it over',
    file: valveQueue,
    text: 'messageProblem(message, this.#parts)?.reason ?? otherBridges.problem',
    replacement: 'otherBridges.problem',
    tests: valveQueueTests,
  },
  {
    promise: 'no valve is moved while another bridge runs',
    file: valveQueue,
    text: 'messageProblem(message, this.#parts)?.reason ?? otherBridges.problem',
    replacement: 'messageProblem(message, this.#parts)?.reason ?? null',
    tests: valveQueueTests,
  },
  {
    promise: 'a message is as old as the last ping that was answered',
    file: 'src/broker/pings.ts',
    text: 'ping?.sentAt ?? this.#sentAfter',
    replacement: 'this.#clock.monotonic()',
    tests: ['test/unit/broker/messageAge.test.ts'],
  },
  {
    promise: 'no valve command that waited too long is sent',
    file: valveQueue,
    text: 'const timeoutMs = timeLeftMs(message.sentAfter, this.#parts);',
    replacement: 'const timeoutMs: number | null = 1_000;',
    tests: valveQueueTests,
  },
  {
    promise: 'what waits at a stop is not sent',
    file: valveQueue,
    text: 'if (signal.aborted || timeoutMs === null)',
    replacement: 'if (timeoutMs === null)',
    tests: valveQueueTests,
  },
  {
    promise: 'no request that waited too long is sent',
    file: 'src/commands/requests.ts',
    text: 'if (timeoutMs > 0) return isChange',
    replacement: 'if (true) return isChange',
    tests: requestTests,
  },
  {
    promise: 'no change that waited too long is sent',
    file: 'src/commands/updates.ts',
    text: 'const timeoutMs = timeLeftMs(sentAfter, this.#parts);',
    replacement: 'const timeoutMs: number | null = 1_000;',
    tests: ['test/unit/commands/updates.test.ts'],
  },
  {
    promise: 'a command has the request timeout and no more',
    file: 'src/cloud/client.ts',
    text: 'timeoutMs ?? (isPoll(priority) ? null : this.#options.requestTimeoutMs)',
    replacement: 'timeoutMs ?? null',
    tests: clientTests,
  },
  {
    promise: 'commands to one valve run one at a time',
    file: valveQueue,
    text: 'if (!this.#sending.has(valve)) void',
    replacement: 'void',
    tests: valveQueueTests,
  },
  {
    promise: 'the command that gave way is told so',
    file: valveQueue,
    text: 'if (before) this.#end(before, superseded);',
    replacement: '',
    tests: valveQueueTests,
  },
  {
    promise: 'a newer command ends the waits of the one before',
    file: valveQueue,
    text: 'this.#sending.get(valve)?.overtaken.abort();',
    replacement: '',
    tests: valveQueueTests,
  },
  {
    promise: 'a command whose answer was lost does not pass for overtaken',
    file: valveQueue,
    text: 'error instanceof CloudError && provablyNotExecuted(error);',
    replacement: 'true;',
    tests: valveQueueTests,
  },
  {
    promise: 'two spellings of an id are one valve',
    file: valveQueue,
    text: 'return id.toLowerCase();',
    replacement: 'return id;',
    tests: valveQueueTests,
  },
  {
    promise: 'a stop ends the commands',
    file: valveQueue,
    text: '{ priority, signal, sendSignal, timeoutMs, onAnswer }',
    replacement: '{ priority, sendSignal, timeoutMs, onAnswer }',
    tests: valveQueueTests,
  },
  {
    promise: 'a message that comes during the stop is refused',
    file: 'src/commands/messageRules.ts',
    text: 'if (limits.signal.aborted) return',
    replacement: 'if (false) return',
    tests: [...routerTests, ...requestTests],
  },
  {
    promise: 'a closed client sends nothing more',
    file: 'src/cloud/client.ts',
    text: "this.#closing.abort(new GivenUp('the client is closed', false));",
    replacement: '',
    tests: ['test/unit/cloud/oddData.test.ts'],
  },
];
