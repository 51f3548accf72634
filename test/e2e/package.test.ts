import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
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

describe('the package', () => {
  const folder = temporaryFolder();
  const tarball = join(folder, 'sonic2mqtt.tgz');
  const installed = join(folder, 'node_modules/sonic2mqtt');
  beforeAll(() => {
    // The tests have built it.
    const script = ['--import', './scripts/typescript.mjs', 'scripts/pack.ts', folder];
    execFileSync(process.execPath, script, { cwd: project, env: { ...alone, CI: 'true' }, stdio: 'pipe' });
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
    const names = readdirSync(installed, { recursive: true, encoding: 'utf8' }).filter((name) =>
      statSync(join(installed, name)).isFile(),
    );
    expect(names.filter((name) => !/^dist\/(chunks\/)?\w[\w-]*\.js(\.map)?$/.test(name)).toSorted()).toEqual([
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'config.example.yaml',
      'dist/LICENCES.txt',
      'dist/sbom.cdx.json',
      'package.json',
      'systemd/sonic2mqtt.service',
    ]);
    expect(statSync(tarball).size).toBeLessThan(1_500_000);
    const sizes = names.map((name) => statSync(join(installed, name)).size);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(6_000_000);
  });

  it('brings no other package with it, and says what is in its bundle, with the licences', () => {
    expect(readdirSync(join(folder, 'node_modules')).filter((name) => !name.startsWith('.'))).toEqual([
      'sonic2mqtt',
    ]);
    const licences = readFileSync(join(installed, 'dist/LICENCES.txt'), 'utf8');
    const bundled = [...licences.matchAll(/^(\S+) (\d+\.\d+\.\d+\S*) \([^)]+\)$/gm)].map(([, ...id]) =>
      id.join('@'),
    );
    const bill = JSON.parse(readFileSync(join(installed, 'dist/sbom.cdx.json'), 'utf8'));
    const listed = bill.components.map(
      (each: { name: string; version: string }) => `${each.name}@${each.version}`,
    );
    expect(bundled.length).toBeGreaterThan(40);
    expect(bundled.filter((id) => !listed.includes(id))).toEqual([]);
  });

  it('says its version, and what may be configured', () => {
    expect(run('--version')).toBe(`${version}\n`);
    expect(JSON.parse(run('schema'))).toHaveProperty('properties.cloud');
  });
});
