import { CloudError } from '../cloud/errors.ts';
import { ConfigError } from '../config/problems.ts';
import { brokerChecks } from './brokerChecks.ts';
import { reportTo, runChecks } from './checks.ts';
import { cloudChecks } from './cloudChecks.ts';
import { type Configuration, readConfiguration } from './configuration.ts';
import { type CommandContext, exitStatus } from './context.ts';
import { machineChecks } from './machineChecks.ts';
import { withOwnClient } from './ownSession.ts';

export async function check(context: CommandContext): Promise<number> {
  const { print, signal } = context;
  const report = reportTo(print);
  const { found } = report;
  let configuration: Configuration;
  try {
    configuration = await readConfiguration(context, { level: 'error' });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const { problems } = error;
    const words = problems.length === 1 ? problems : [`${problems.length} problems`, ...problems];
    found({ check: 'configuration', outcome: 'FAIL', words: words.join('\n  ') });
    return exitStatus.badUsage;
  }
  const { config, from, warnings } = configuration;
  found({ check: 'configuration', outcome: 'OK', words: `from ${from}` });
  for (const { message } of warnings) found({ check: 'configuration', outcome: 'WARN', words: message });

  const errors: unknown[] = [];
  await withOwnClient(configuration, signal, async (client) => {
    // The checks in a row depend on each other. If one fails, the row ends.
    const rows = [
      ...machineChecks(config).map((each) => [each]),
      cloudChecks(config, client),
      ...brokerChecks(configuration, 'check', signal).map((each) => [each]),
    ];
    for (const row of rows) if (!signal.aborted) errors.push(await runChecks(row, report, signal));
  });
  if (signal.aborted) return exitStatus.failed;
  if (errors.some((error) => error instanceof CloudError && error.kind === 'auth'))
    return exitStatus.rejected;
  return errors.every((error) => error === null) ? exitStatus.done : exitStatus.failed;
}
