import { Command, CommanderError, Option } from 'commander';
import { emailPattern } from '../base/email.ts';
import { type LogLevel, logLevels } from '../base/log.ts';
import { didYouMean, nearest } from '../base/nearest.ts';
import { version } from '../base/version.ts';
import { type CommandContext, exitStatus, type ProcessContext, usualPageAddress } from './context.ts';
import { numberOption, textOption } from './options.ts';

/*
 * How a command works. This file has the command line. Each command has a file of its own, which is loaded when the
 * command runs. The command receives the process as a `CommandContext`, reads the configuration (`configuration.ts`),
 * builds the parts that it needs, and returns an exit status. `run.ts` starts the bridge. `check.ts`, `setup.ts` and
 * the setup page share the checks in `checks.ts`.
 */

/** Commands that run until they are stopped, so that a stop is no failure. `sonic2mqtt` without a command is `run`. */
export const lastingCommands: readonly string[] = ['sonic2mqtt', 'run', 'demo', 'simulate'];

export async function runProgram(
  argv: readonly string[],
  context: ProcessContext,
  onStart: (command: string) => void = () => {},
): Promise<number> {
  let status: number = exitStatus.done;
  const program = await createProgram(argv, context, (ended) => {
    status = ended;
  });
  program.hook('preAction', (_program, command) => onStart(command.name()));
  try {
    await program.parseAsync(argv, { from: 'user' });
    return status;
  } catch (error) {
    // The library has already shown the help, the version or the problem with the arguments.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitStatus.done : exitStatus.badUsage;
    throw error;
  }
}

/** Every command with its options. Its parts are loaded only when it runs, so `run` does not load the simulator. */
async function createProgram(
  argv: readonly string[],
  given: ProcessContext,
  onEnd: (status: number) => void,
): Promise<Command> {
  const program = new Command('sonic2mqtt')
    .description('Control and monitor Sonic water valves from Home Assistant, over MQTT')
    .usage('[COMMAND] [OPTIONS]')
    .argument('[command]')
    .addOption(
      textOption('--config <file>', 'configuration file (default: $SONIC2MQTT_CONFIG or ./config.yaml)'),
    )
    .addOption(new Option('--log-level <level>', 'log level').choices(logLevels))
    .version(version, '--version', 'show the version')
    .helpOption('-h, --help', 'show the help')
    .helpCommand(false)
    .addHelpText(
      'after',
      '\nExit status: 0 done, 1 failed, 2 wrong usage or configuration, 3 account rejected',
    )
    .configureHelp({ showGlobalOptions: true, subcommandTerm: (command) => command.name() })
    .configureOutput({
      writeOut: (text) => given.print(text.trimEnd()),
      writeErr: (text) => given.complain(text.trimEnd()),
      outputError: (text, write) => write(inOneLine(text)),
    })
    .exitOverride()
    .showHelpAfterError('See sonic2mqtt --help');

  const contextOf = (): CommandContext => {
    const { config, logLevel } = program.opts<{ config?: string; logLevel?: LogLevel }>();
    return { ...given, configFile: config, logLevel };
  };
  const add = (name: string, summary: string, help?: string) => {
    const command = program.command(name).description(summary);
    if (help) command.addHelpText('after', `\n${help}`);
    return command.showHelpAfterError(`See sonic2mqtt ${name} --help`);
  };
  const end = async (command: Promise<number>) => onEnd(await command);
  const runBridge = async () => end((await import('./run.ts')).run(contextOf()));

  program.action(async (word: string | undefined) => {
    if (word === undefined) return runBridge();
    const names = program.commands.map((command) => command.name());
    return program.error(`unknown command '${word}'${didYouMean(nearest(word, names))}`);
  });

  add('run', 'Run sonic2mqtt until you stop it (the default)').action(runBridge);

  add('demo', 'Try sonic2mqtt without a valve, an account or a broker')
    .addOption(numberOption('--port <n>', 65_535, 'MQTT port on 127.0.0.1 (default: 1883, or any free port)'))
    .addOption(
      numberOption(
        '--http-port <n>',
        65_535,
        'status page port on 127.0.0.1 (default: 8099, or any free port)',
      ),
    )
    .action(async (options) => end((await import('./demo.ts')).demo(contextOf(), options)));

  add(
    'check',
    'Test configuration, account and broker. Moves no valve',
    'Prints OK, WARN or FAIL for each step. Signs in to the cloud and connects to the broker, but changes\n' +
      'nothing there. You can run it while sonic2mqtt runs.',
  )
    .option('--report', 'the same as `diagnostics --account`')
    .action(async ({ report }) =>
      report
        ? end((await import('./diagnostics.ts')).diagnostics(contextOf(), { account: true }))
        : end((await import('./check.ts')).check(contextOf())),
    );

  add(
    'setup',
    'Serve a page that writes the configuration',
    'Open its address in a browser, and enter the code. The page asks for your account and your broker, and tests\n' +
      'both. setup ends when the file is written.',
  )
    .addOption(
      textOption(
        '--listen <host:port>',
        `address of the page (default: ${usualPageAddress}). 0.0.0.0:8099 is for other computers too`,
      ),
    )
    .action(async (_options, command) => end((await import('./setup.ts')).setup(contextOf(), command)));

  add(
    'call',
    'Call one cloud operation. Some operations move a valve',
    `JSON has the form of a request over MQTT: {"params":{…},"query":{…},"body":{…}}. - reads it from stdin.
An operation that changes something needs "body", if need be {}.
A valve command, a pressure test or an action on an incident can move a valve.
control options do not apply to call, but cloud.routes does.
Each call uses its own session and signs out afterwards, unless it prints the token.

Examples:
  sonic2mqtt call --list
  sonic2mqtt call list_incidents '{"query":{"open":true}}'
  sonic2mqtt call command_valve '{"params":{"sonic_id":"ID"},"body":{"action":"close"}}'
  sonic2mqtt call sign_in - < request.json > session.json
  sonic2mqtt call validate_token --token-file session.json`,
  )
    .usage('OPERATION [JSON] [--token-file FILE] | --list')
    .argument('[operation]')
    .argument('[json]')
    .option('--list', 'list the operations and their fields')
    .addOption(
      textOption('--token-file <file>', 'use the session of an earlier call sign_in, as it is; - is stdin'),
    )
    .showHelpAfterError('See sonic2mqtt call --list')
    .action(async (operation, json, _options, command) =>
      end((await import('./call.ts')).call(contextOf(), command, operation, json)),
    );

  const simulate = add('simulate', 'Run only the simulated cloud, for development and tests')
    .addOption(numberOption('--port <n>', 65_535, 'port on 127.0.0.1 (default: a free port)'))
    .addOption(numberOption('--seed <n>', 2 ** 32 - 1, 'the same seed gives the same devices and events'))
    .addOption(numberOption('--properties <n>', 100_000, 'number of properties (default: 2)'))
    .addOption(numberOption('--signals <n>', 100_000, 'number of hubs (default: 3)'))
    .addOption(numberOption('--sonics <n>', 100_000, 'number of valves (default: 4)'))
    .addOption(numberOption('--wifi-sonics <n>', 100_000, 'number of valves without a hub (default: 0)'))
    .addOption(textOption('--email <e-mail>', 'e-mail of the account', emailPattern, 'an e-mail address'))
    .addOption(textOption('--password <password>', 'password of the account', /./, 'at least one character'))
    .addOption(
      new Option('--role <role>', 'role in the properties: a guest gets 403 for changes').choices([
        ...['owner', 'user', 'guest'],
      ]),
    )
    .action(async (options, command) =>
      end((await import('./simulate.ts')).simulate(contextOf(), options, command)),
    );
  if (argv.includes('simulate')) (await import('./simulate.ts')).addFaults(simulate);

  add(
    'cleanup',
    'Delete everything that sonic2mqtt stored on the broker',
    'Deletes the retained messages of this bridge, so its devices disappear from Home Assistant.\n' +
      'Your account, your valves and data_dir stay as they are.\n' +
      'Stop sonic2mqtt first. While it runs, or an automatic shut-off is paused, cleanup deletes nothing.',
  )
    .option(
      '--force',
      'delete all the same, for example if the broker shows sonic2mqtt as online after a crash',
    )
    .action(async (options) => end((await import('./cleanup.ts')).cleanup(contextOf(), options)));

  add(
    'dashboard',
    'Print a Home Assistant dashboard of your valves',
    'sonic2mqtt must be running. Paste the text into the raw configuration editor of a new dashboard.\n' +
      'A tap shows details. The buttons ask before they move water.',
  ).action(async () => end((await import('./dashboard.ts')).dashboard(contextOf())));

  add(
    'history',
    'Print the litres of each past day, or import them',
    'Reads every month of every valve from the cloud. Without --home-assistant, it changes nothing.\n' +
      'An import adds the days before the first hour that Home Assistant has. A second import changes nothing.',
  )
    .addOption(
      textOption(
        '--from <month>',
        'first month, YYYY-MM (default: as far back as the cloud has days)',
        /^20\d\d-(0[1-9]|1[0-2])$/,
        'a month such as 2025-01',
      ),
    )
    .option('--csv', 'print for programs, as CSV')
    .addOption(
      textOption(
        '--home-assistant <url>',
        'import into the statistics of Water total there',
        /^https?:\/\/[^\s/]+/,
        'an address such as http://homeassistant.local:8123',
      ),
    )
    .addOption(
      textOption('--token-file <file>', 'long-lived access token of an administrator there; - is stdin'),
    )
    .action(async (_options, command) => end((await import('./history.ts')).history(contextOf(), command)));

  add('schema', 'Print the JSON Schema of the configuration, for editors').action(async () => {
    const { configJsonSchema } = await import('../config/schema.ts');
    const { operationNames } = await import('../cloud/operations.ts');
    given.print(JSON.stringify(configJsonSchema(operationNames), null, 2));
  });

  add(
    'diagnostics',
    'Print an anonymised bug report, as JSON',
    'Reads the configuration, the cloud, the broker and data_dir, for at most 30 seconds. Changes nothing.\n' +
      'It has no secret, name, ID, address or serial number, and no text of the cloud: only numbers, times and\n' +
      'known words. Read the report before you share it.',
  )
    .option('--account', 'also print what your account contains: versions, and the outcome of each read')
    .action(async (options) => end((await import('./diagnostics.ts')).diagnostics(contextOf(), options)));

  return program;
}

/** Changes the library's messages to our own form: `sonic2mqtt: unknown option '--prot'. Did you mean --port?`. */
function inOneLine(error: string): string {
  return error.replace(/^(error: )?/, 'sonic2mqtt: ').replace(/\n\(Did you mean (.*)\)/, '. Did you mean $1');
}
