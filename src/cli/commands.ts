import type { Command } from './command.ts';

// Each command loads its parts when it runs: `run` never pays for the simulator.
const simulated = {
  seed: { type: 'string' },
  properties: { type: 'string' },
  signals: { type: 'string' },
  sonics: { type: 'string' },
  'wifi-sonics': { type: 'string' },
} as const;

/** THE COMMANDS, in the order of the help. */
export const commands = {
  run: {
    isLasting: true,
    summary: 'run the bridge until SIGINT or SIGTERM (the default)',
    usage: '',
    options: {},
    run: async (context) => (await import('./run.ts')).run(context),
  },
  demo: {
    isLasting: true,
    summary: 'try it: a simulated cloud, a broker and the bridge, without any configuration',
    usage: '[--port N] [--http-port N]',
    options: { port: { type: 'string' }, 'http-port': { type: 'string' } },
    details: async () => [
      '--port N        port of the MQTT broker on 127.0.0.1 (1883, or any other if that is taken)',
      '--http-port N   port of the status page on 127.0.0.1 (8099, or any other if that is taken)',
    ],
    run: async (context) => (await import('./demo.ts')).demo(context),
  },
  check: {
    summary: 'test the configuration, the account and the broker, a line for each step',
    usage: '',
    options: {},
    run: async (context) => (await import('./check.ts')).check(context),
  },
  call: {
    readsOwnWords: true,
    summary: 'do one operation of the cloud, and print its answer as JSON',
    usage: 'OPERATION [--NAME VALUE …] [--body JSON] [--all-pages] | --list',
    options: {},
    details: async (words) => (await import('./callHelp.ts')).callHelp(words),
    run: async (context) => (await import('./call.ts')).call(context),
  },
  simulate: {
    isLasting: true,
    summary: 'run the simulated cloud alone, for any client of the real one',
    usage:
      '[--port N] [--seed N] [--properties N --signals N --sonics N --wifi-sonics N] [--email E --password P] [--fault FAULT …]',
    options: {
      port: { type: 'string' },
      ...simulated,
      email: { type: 'string' },
      password: { type: 'string' },
      fault: { type: 'string', multiple: true },
    },
    details: async () => (await import('./simulate.ts')).simulateHelp(),
    run: async (context) => (await import('./simulate.ts')).simulate(context),
  },
  cleanup: {
    summary: 'delete every retained message of this bridge from the broker',
    usage: '[--force]',
    options: { force: { type: 'boolean' } },
    details: async () => [
      'Deletes nothing while the bridge runs, since the bridge would not publish everything again.',
      '--force    delete even so, for example after a crash that left bridge/state at online',
    ],
    run: async (context) => (await import('./cleanup.ts')).cleanup(context),
  },
  schema: {
    summary: 'print the JSON Schema of the configuration file',
    usage: '',
    options: {},
    run: async ({ print }) => {
      print((await import('./schema.ts')).schemaCommand().trimEnd());
      return 0;
    },
  },
  diagnostics: {
    summary: 'print one JSON for a bug report, without anything that says whose it is',
    usage: '',
    options: {},
    details: async () => [
      'Looks at the configuration, the cloud, the broker and data_dir, for half a minute at most, and changes',
      'nothing. Names, ids, addresses and serial numbers are replaced. Read it before you show it to anybody.',
    ],
    run: async (context) => (await import('./diagnostics.ts')).diagnostics(context),
  },
} as const satisfies Record<string, Command>;

export type CommandName = keyof typeof commands;
