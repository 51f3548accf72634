import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { createLog } from '../base/log.ts';
import { Secrets } from '../base/secrets.ts';
import { fileVariable } from '../config/environment.ts';
import { listenAddress } from '../config/values.ts';
import { type CommandContext, exitStatus, usualPageAddress } from './context.ts';
import { serveSetup } from './setupPage.ts';

export async function setup(context: CommandContext, command: Command): Promise<number> {
  const { print, complain, env, cwd, configFile, logLevel: level = 'warn' } = context;
  const { listen = usualPageAddress } = command.opts<{ listen?: string }>();
  const address = listenAddress.safeParse(listen);
  if (!address.success) return command.error(`--listen ${address.error.issues[0]?.message}`);
  const file = resolve(cwd, configFile ?? (env[fileVariable] || 'config.yaml'));
  if (existsSync(file)) {
    complain(`${file} exists already. Edit it, or move it away and start setup again.`);
    return exitStatus.badUsage;
  }
  const log = createLog({ level, format: 'pretty', secrets: new Secrets() });
  const invite = (words: string) => print(`${words}. Press Ctrl+C to stop.`);
  const options = { ...address.data, option: '--listen', file, log, invite, isStarting: false };
  if (!(await serveSetup(context, options))) {
    complain('Setup was stopped. Nothing was saved.');
    return exitStatus.failed;
  }
  const named = configFile === undefined ? '' : ` --config ${file}`;
  print(
    `Saved ${file}. Only you can read it. Start sonic2mqtt as a service, or with: sonic2mqtt run${named}`,
  );
  return exitStatus.done;
}
