import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../support/program.ts';

const project = fileURLToPath(new URL('../..', import.meta.url));
const depcruise = join(project, 'node_modules/dependency-cruiser/bin/dependency-cruise.mjs');
const configuration: { forbidden: { name: string }[] } = createRequire(import.meta.url)(
  join(project, '.dependency-cruiser.cjs'),
);

interface Cruise {
  readonly modules: readonly { source: string; dependencies: readonly { resolved: string }[] }[];
  readonly summary: { readonly violations: readonly { from: string; to: string; rule: { name: string } }[] };
}

/** What `npm run check` looks at, in the project or in one like it; its exit status is the number of violations. */
function cruise(folder: string): Promise<Cruise> {
  return new Promise((resolve, reject) => {
    const args = [depcruise, 'src', '--output-type', 'json'];
    execFile(process.execPath, args, { cwd: folder, maxBuffer: 64_000_000 }, (error, stdout, stderr) => {
      if (stdout === '') reject(error ?? new Error(stderr));
      else resolve(JSON.parse(stdout));
    });
  });
}

/** A violation of each rule: the file that commits it, and what it imports. */
const violations: Readonly<Record<string, readonly [file: string, imported: string]>> = {
  'base-imports': ['base/a.ts', '../model/target.ts'],
  'model-imports': ['model/a.ts', '../base/target.ts'],
  'texts-imports': ['texts/a.ts', '../base/target.ts'],
  'config-imports': ['config/a.ts', '../cloud/target.ts'],
  'cloud-imports': ['cloud/a.ts', '../config/target.ts'],
  'entities-imports': ['entities/a.ts', '../cloud/target.ts'],
  'homeassistant-imports': ['homeassistant/a.ts', '../broker/target.ts'],
  'broker-imports': ['broker/a.ts', '../model/target.ts'],
  'simulator-imports': ['simulator/a.ts', '../cloud/target.ts'],
  'state-imports': ['state/a.ts', '../store/target.ts'],
  'store-imports': ['store/a.ts', '../polling/target.ts'],
  'polling-imports': ['polling/a.ts', '../commands/target.ts'],
  'commands-imports': ['commands/a.ts', '../publishing/target.ts'],
  'publishing-imports': ['publishing/a.ts', '../commands/target.ts'],
  'health-imports': ['health/a.ts', '../publishing/target.ts'],
  'webhook-imports': ['webhook/a.ts', '../publishing/target.ts'],
  'http-imports': ['http/a.ts', '../commands/target.ts'],
  'undici-lives-in-cloud': ['broker/b.ts', 'undici'],
  'ws-lives-in-cli': ['config/c.ts', 'ws'],
  'zod-lives-in-cli-and-cloud-and-config-and-state-and-simulator': ['model/b.ts', 'zod'],
  'mqtt-lives-in-broker': ['store/b.ts', 'mqtt'],
  'aedes-lives-in-broker': ['cli/b.ts', 'aedes'],
  'yaml-lives-in-config': ['cli/c.ts', 'yaml'],
  'node-cron-lives-in-polling-and-config': ['base/b.ts', 'node-cron'],
  'pino-lives-in-base': ['store/c.ts', 'pino'],
  'sonic-boom-lives-in-base': ['cloud/b.ts', 'sonic-boom'],
  'commander-lives-in-cli': ['config/b.ts', 'commander'],
  'no-cycles': ['entities/b.ts', './b.ts'],
  'src-knows-no-tests': ['base/c.ts', '../../test/target.ts'],
  'only-main-imports-the-commands': ['daemon.ts', './cli/target.ts'],
  'only-the-commands-import-the-daemon': ['start.ts', './daemon.ts'],
  'not-resolvable': ['base/d.ts', './nowhere.ts'],
};

const rooms = readdirSync(join(project, 'src'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

describe('the layering check', () => {
  it('has a rule for each room but the commands, and a planted violation for each rule', () => {
    const rules = configuration.forbidden.map(({ name }) => name);
    expect(rules).toEqual(Object.keys(violations));
    for (const room of rooms.filter((each) => each !== 'cli')) expect(rules).toContain(`${room}-imports`);
  });

  it('follows every import of the project, and finds nothing to complain about', async () => {
    const { modules, summary } = await cruise(project);
    const seen = modules.map(({ source }) => source).filter((source) => source.startsWith('src/'));
    const files = readdirSync(join(project, 'src'), { recursive: true, encoding: 'utf8' });
    expect(seen.toSorted()).toEqual(
      files
        // The status page is all files that a browser takes as they are.
        .filter((file) => /\.ts$|^texts\//.test(file) || /^(http\/page|cli\/setupPage)\//.test(file))
        .map((file) => `src/${file}`)
        .toSorted(),
    );
    const daemon = modules.find(({ source }) => source === 'src/daemon.ts');
    expect(daemon?.dependencies.map(({ resolved }) => resolved)).toContain('src/polling/poller.ts');
    expect(summary.violations).toEqual([]);
  });

  it('finds each planted violation', async () => {
    const folder = temporaryFolder();
    const write = (path: string, text: string) => {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    };
    for (const file of ['.dependency-cruiser.cjs', 'tsconfig.json'])
      cpSync(join(project, file), join(folder, file));
    write('package.json', '{"type":"module"}');
    write('test/target.ts', 'export const target = 1;\n');
    for (const room of rooms) write(`src/${room}/target.ts`, 'export const target = 1;\n');
    for (const [file, imported] of Object.values(violations)) {
      write(`src/${file}`, `import type { target } from '${imported}';\nexport type Used = typeof target;\n`);
      if (imported.startsWith('.')) continue;
      write(`node_modules/${imported}/package.json`, '{"type":"module","main":"index.js"}');
      write(`node_modules/${imported}/index.js`, 'export const target = 1;\n');
    }
    const { summary } = await cruise(folder);
    const found = summary.violations.map(({ rule, from }) => `${rule.name}: ${from}`);
    for (const [rule, [file]] of Object.entries(violations)) expect(found).toContain(`${rule}: src/${file}`);
  });
});
