import type { Mutation } from './mutation.ts';

const commander = 'src/commands/commander.ts';
const valveLanes = 'src/commands/valveLanes.ts';
const commanderTests = ['test/unit/commands/commander.test.ts'];
const requestTests = ['test/unit/commands/requestsRefused.test.ts'];
const clientTests = ['test/unit/cloud/client.test.ts'];
const transportTests = ['test/unit/cloud/transport.test.ts'];

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
    tests: transportTests,
  },
  {
    promise: 'a timeout may have acted',
    file: 'src/cloud/transport.ts',
    text: 'mayHaveActed: this.#controller !== undefined,',
    replacement: 'mayHaveActed: false,',
    tests: clientTests,
  },
  {
    promise: 'what was given up is not sent later',
    file: 'src/cloud/transport.ts',
    text: "if (this.#isSettled) controller.abort(new Error('given up before it was sent'));",
    replacement: '',
    tests: transportTests,
  },
  {
    promise: 'what was given up is not delivered later',
    file: 'src/cloud/transport.ts',
    text: 'if (request.isChange) connections.reset();',
    replacement: '',
    tests: ['test/unit/cloud/transport.test.ts'],
  },
  {
    promise: 'no command is sent with too little time left',
    file: 'src/cloud/sender.ts',
    text: "if (isLate && operationRow(name).retry === 'never')",
    replacement: 'if (false)',
    tests: clientTests,
  },
  {
    promise: 'no message that was under way too long is a command',
    file: 'src/commands/messageAge.ts',
    text: 'return isPastSendWindow(',
    replacement: 'return false && isPastSendWindow(',
    tests: commanderTests,
  },
  {
    promise: 'a message is as old as the last ping that was answered',
    file: 'src/broker/pings.ts',
    text: 'this.#unanswered.shift() ?? this.#sentAfter',
    replacement: 'this.#clock.monotonic()',
    tests: ['test/unit/broker/messageAge.test.ts'],
  },
  {
    promise: 'no valve command that waited too long is sent',
    file: valveLanes,
    text: 'if (isPastSendWindow(timeoutMs, requestTimeoutMs)) {',
    replacement: 'if (false) {',
    tests: commanderTests,
  },
  {
    promise: 'no request that waited too long is sent',
    file: 'src/commands/requests.ts',
    text: 'if (isPastSendWindow(timeoutMs, requestTimeoutMs)) {',
    replacement: 'if (false) {',
    tests: requestTests,
  },
  {
    promise: 'no change that waited too long is sent',
    file: 'src/commands/changes.ts',
    text: 'if (isPastSendWindow(timeoutMs, requestTimeoutMs)) {',
    replacement: 'if (false) {',
    tests: ['test/unit/commands/changes.test.ts'],
  },
  {
    promise: 'a command has the request timeout and no more',
    file: 'src/cloud/client.ts',
    text: "const { timeoutMs = priority === 'poll' ? null : this.#options.requestTimeoutMs } = options;",
    replacement: 'const { timeoutMs = null } = options;',
    tests: clientTests,
  },
  {
    promise: 'commands to one valve run one at a time',
    file: valveLanes,
    text: 'if (!isBusy) void this.#drain(lane);',
    replacement: 'void this.#drain(lane);',
    tests: commanderTests,
  },
  {
    promise: 'the command that gave way is told so',
    file: valveLanes,
    text: 'this.#waiting.get(lane)?.onEnd(superseded);',
    replacement: '',
    tests: commanderTests,
  },
  {
    promise: 'a newer command ends the waits of the one before',
    file: valveLanes,
    text: 'this.#sending.get(lane)?.abort();',
    replacement: '',
    tests: commanderTests,
  },
  {
    promise: 'two spellings of an id share a lane',
    file: valveLanes,
    text: 'const lane = id.toLowerCase();',
    replacement: 'const lane = id;',
    tests: commanderTests,
  },
  {
    promise: 'a stop ends the commands',
    file: valveLanes,
    text: 'const options = { priority, signal, sendSignal, timeoutMs, onAnswer, isOneOfMany };',
    replacement: 'const options = { priority, sendSignal, timeoutMs, onAnswer, isOneOfMany };',
    tests: commanderTests,
  },
  {
    promise: 'a command that comes during the stop is refused',
    file: commander,
    text: 'signal.aborted ? stoppedWords : (old ?? words);',
    replacement: 'old ?? words;',
    tests: commanderTests,
  },
  {
    promise: 'a request that comes during the stop is refused',
    file: 'src/commands/requests.ts',
    text: 'if (signal.aborted) return',
    replacement: 'if (false) return',
    tests: requestTests,
  },
  {
    promise: 'a closed client sends nothing more',
    file: 'src/cloud/sender.ts',
    text: 'for (const deadline of this.#deadlines) deadline.stop(closed());',
    replacement: '',
    tests: ['test/unit/cloud/oddData.test.ts'],
  },
];
