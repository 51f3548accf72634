import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { idOf, productionPackages, readProject } from '../../scripts/supplyChain/project.ts';
import { version } from '../../src/base/version.ts';
import { temporaryFolder } from '../support/program.ts';

const project = fileURLToPath(new URL('../..', import.meta.url));

/** Without a network, without what npm remembers of it, and without what the running npm was told. */
const alone = {
  ...Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(npm_|SONIC2MQTT_|NODE_PATH)/i.test(name)),
  ),
  npm_config_cache: temporaryFolder(),
  npm_config_registry: 'http://127.0.0.1:9',
  npm_config_update_notifier: 'false',
};

/** What npm says of a package that it has made. */
interface Packed {
  readonly filename: string;
  readonly size: number;
  readonly unpackedSize: number;
  readonly files: readonly { readonly path: string }[];
}

describe('the package', () => {
  const folder = temporaryFolder();
  let packed: Packed;
  let tarball: string;
  beforeAll(() => {
    // The tests have built it.
    const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder];
    [packed] = JSON.parse(
      execFileSync('npm', args, { cwd: project, env: alone, encoding: 'utf8', stdio: 'pipe' }),
    );
    tarball = join(folder, packed.filename);
    writeFileSync(join(folder, 'package.json'), '{ "private": true }');
    execFileSync('npm', ['install', '--offline', tarball], { cwd: folder, env: alone, stdio: 'pipe' });
  });

  const run = (...args: string[]) =>
    execFileSync(join(folder, 'node_modules/.bin/sonic2mqtt'), args, {
      cwd: folder,
      env: alone,
      encoding: 'utf8',
    });

  it('is small, and has what a user needs and nothing else', () => {
    const names = packed.files.map(({ path }) => path);
    expect(names.filter((name) => !/^dist\/(chunks\/)?\w[\w-]*\.js(\.map)?$/.test(name)).toSorted()).toEqual([
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'config.example.yaml',
      'dist/LICENCES.txt',
      'package.json',
      'systemd/sonic2mqtt.service',
    ]);
    expect(packed.size).toBeLessThan(1_500_000);
    expect(packed.unpackedSize).toBeLessThan(6_000_000);
  });

  it('brings no other package with it, and names the licences of those that are in its bundle', () => {
    expect(readdirSync(join(folder, 'node_modules')).filter((name) => !name.startsWith('.'))).toEqual([
      'sonic2mqtt',
    ]);
    const licences = readFileSync(join(folder, 'node_modules/sonic2mqtt/dist/LICENCES.txt'), 'utf8');
    const bundled = [...licences.matchAll(/^(\S+) (\d+\.\d+\.\d+\S*) \([^)]+\)$/gm)].map(([, ...id]) =>
      id.join('@'),
    );
    const judged = productionPackages(readProject(project)).map(idOf);
    expect(bundled.length).toBeGreaterThan(40);
    expect(bundled.filter((id) => !judged.includes(id))).toEqual([]);
  });

  it('says its version, and what may be configured', () => {
    expect(run('--version')).toBe(`${version}\n`);
    expect(JSON.parse(run('schema'))).toHaveProperty('properties.cloud');
  });
});
