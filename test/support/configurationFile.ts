import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig } from '../../src/config/load.ts';
import { ConfigError } from '../../src/config/problems.ts';

/** The required options, in two lines. */
export const required = [
  'cloud: { email: me@example.com, password: secret }',
  'mqtt: { url: "mqtt://localhost:1883" }',
];

/** Writes a configuration file into the folder and loads it. */
export function loadFrom(folder: string, yaml: string, env: NodeJS.ProcessEnv = {}) {
  writeFileSync(join(folder, 'config.yaml'), yaml);
  return loadConfig({ env, cwd: folder });
}

/** The problems that a configuration has, one line each. */
export function problemsOf(attempt: () => unknown): readonly string[] {
  try {
    attempt();
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}
