import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { logLevels } from '../../src/base/log.ts';
import { appListens, appOptions } from '../../src/config/app.ts';
import { optionRows, secretPaths } from '../../src/config/schema.ts';
import { languages } from '../../src/model/language.ts';

const project = fileURLToPath(new URL('../..', import.meta.url));
const folder = join(project, 'home-assistant-app');
const read = (file: string) => readFileSync(join(folder, file), 'utf8');

/** What the tests read of the app's config.yaml. */
interface AppConfig {
  readonly options: Readonly<Record<string, unknown>>;
  readonly schema: Readonly<Record<string, string | readonly [string]>>;
  readonly [key: string]: unknown;
}

const app: AppConfig = parse(read('config.yaml'));
const keys = appOptions.map(({ key }) => key);
const typeOf = (key: string) => [app.schema[key]].flat().join();
describe('config.yaml of the app', () => {
  it('has what Home Assistant asks for', () => {
    expect(app).toMatchObject({
      version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
      slug: 'sonic2mqtt',
      arch: ['aarch64', 'amd64'],
      services: ['mqtt:want'],
      map: [
        { type: 'addon_config', read_only: true },
        { type: 'ssl', read_only: true },
      ],
      ports: { '8099/tcp': null },
      ingress: true,
      ingress_port: 8099,
    });
    expect(parse(readFileSync(join(project, 'repository.yaml'), 'utf8'))).toEqual({
      name: 'sonic2mqtt',
      url: expect.stringMatching(/^https:/),
      maintainer: expect.any(String),
    });
    expect(appListens).toBe('0.0.0.0:8099');
  });

  it('asks for no right that it does not need', () => {
    const described = ['name', 'version', 'image', 'slug', 'url', 'description'];
    const known = [...described, 'arch', 'homeassistant', 'startup', 'boot'];
    const others = Object.keys(app).filter((key) => !known.includes(key));
    expect(others).toEqual([
      ...['services', 'homeassistant_api', 'map', 'ingress', 'ingress_port', 'panel_icon', 'ports'],
      ...['options', 'schema'],
    ]);
  });

  it('has types that Home Assistant knows, and hides every secret', () => {
    const types = /^(bool|email|url|str|password|list\([^)]+\)|match\(\^\([^)]+\)\$\))\??$/;
    for (const key of keys) expect(typeOf(key), key).toMatch(types);
    const secrets = appOptions.filter(({ path }) => secretPaths.includes(path)).map(({ key }) => key);
    expect(keys.filter((key) => typeOf(key).startsWith('password'))).toEqual(secrets);
    expect(typeOf('log_level')).toBe(`list(${logLevels.join('|')})`);
    const controls = optionRows.flatMap(({ path }) => /^control\.(.+)/.exec(path)?.[1] ?? []);
    expect(typeOf('control')).toBe(`match(^(${controls.join('|')})$)`);
  });
});

const defaultIn = /(?:Default|Vorgabe|Par défaut|Standaard|Domyślnie)\u00a0?: (.+)\.$/;

it('has a form in each language that its entities have names in', () => {
  expect(readdirSync(join(folder, 'translations'))).toEqual(
    languages.map((each) => `${each}.yaml`).toSorted(),
  );
});

describe.each(readdirSync(join(folder, 'translations')))('translations/%s', (file) => {
  const { configuration, network } = parse(read(`translations/${file}`));

  it('says of every option what it is called and what it is for', () => {
    expect(Object.keys(configuration)).toEqual(keys);
    for (const key of keys) {
      expect(configuration[key], key).toEqual({
        name: expect.any(String),
        description: expect.stringMatching(/\.$/),
      });
    }
    const names = keys.map((key) => configuration[key].name);
    expect(new Set(names).size).toBe(keys.length);
    expect(Object.keys(network)).toEqual(Object.keys(Object(app['ports'])));
  });

  it('names the default that the program has', () => {
    for (const { key, path } of appOptions.filter((each) => each.path.startsWith('schedules.'))) {
      const usual = optionRows.find((row) => row.path === path)?.default;
      expect(defaultIn.exec(configuration[key].description)?.[1] ?? usual, key).toBe(usual);
    }
    expect(configuration.schedules_incidents.description).toMatch(defaultIn);
  });
});

describe('the folder of the app', () => {
  it('names the file of all other options by its full path, in the form of each language', () => {
    // The Supervisor names the folder after the address of the repository, in lower case.
    const { url } = parse(readFileSync(join(project, 'repository.yaml'), 'utf8'));
    const repository = createHash('sha1').update(url.toLowerCase()).digest('hex').slice(0, 8);
    const path = `/addon_configs/${repository}_${app['slug']}/config.yaml`;
    const forms = readdirSync(join(folder, 'translations')).map((file) => `translations/${file}`);
    for (const page of ['DOCS.md', ...forms]) expect(read(page)).toContain(path);
    const reference = readFileSync(join(project, 'docs/reference/options.md'), 'utf8');
    expect(reference).toContain(path);
  });

  it('calls the options in English as the program does', () => {
    const { configuration } = parse(read('translations/en.yaml'));
    const names = keys.map((key) => [key, configuration[key].name]);
    expect(names).toEqual(appOptions.map(({ key, label }) => [key, label]));
  });

  it.each([
    ['icon.png', 128, 128],
    ['logo.png', 250, 100],
  ])('has %s in the size that Home Assistant recommends', (file, width, height) => {
    const bytes = readFileSync(join(folder, file));
    expect(bytes.subarray(0, 8).toString('latin1')).toBe('\x89PNG\r\n\x1a\n');
    expect([bytes.readUInt32BE(16), bytes.readUInt32BE(20)]).toEqual([width, height]);
  });

  it('has the changelog of the project, and pages that link to nothing that Home Assistant does not have', () => {
    expect(realpathSync(join(folder, 'CHANGELOG.md'))).toBe(realpathSync(join(project, 'CHANGELOG.md')));
    for (const page of ['README.md', 'DOCS.md', 'CHANGELOG.md'])
      expect(read(page)).not.toMatch(/\]\((?!https:)/);
    const options = optionRows.map(({ path }) => path.split('.').at(-1));
    const named = [...read('DOCS.md').matchAll(/`([a-z]+_[a-z_]+)`/g)].map(([, key]) => key);
    expect([...keys, ...options, 'addon_configs']).toEqual(expect.arrayContaining(named));
  });

  it('is the only one that the Supervisor takes for an app: it looks for config.yaml everywhere but in hidden folders', () => {
    const local = ['node_modules', 'dist', 'data', 'coverage'];
    const folders = readdirSync(project, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.') && !local.includes(entry.name))
      .map(({ name }) => name);
    const files = folders.flatMap((name) =>
      readdirSync(join(project, name), { recursive: true, encoding: 'utf8' }).map(
        (file) => `${name}/${file}`,
      ),
    );
    const committed = files.filter((file) => !file.includes('/node_modules/'));
    expect(committed.filter((file) => /(^|\/)config\.(ya?ml|json)$/.test(file))).toEqual([
      'home-assistant-app/config.yaml',
    ]);
    expect(existsSync(join(folder, 'Dockerfile'))).toBe(false);
  });

  it('has an AppArmor profile that lets it write its data only, and run nothing but the program', () => {
    const lines = read('apparmor.txt')
      .split('\n')
      .map((line) => line.trim());
    const profiles = lines.filter((line) => line.startsWith('profile '));
    expect(profiles).toEqual([`profile ${app['slug']} flags=(attach_disconnected,mediate_deleted) {`]);
    const rules = lines.flatMap((line) => {
      const [, path, access] = /^(\/\S+) (\w+),$/.exec(line) ?? [];
      return path && access ? [{ path, access }] : [];
    });
    const pathsWith = (right: RegExp) =>
      rules.filter(({ access }) => right.test(access)).map(({ path }) => path);
    expect(pathsWith(/[wakl]/)).toEqual(['/data/**', '/dev/shm/sonic2mqtt']);
    expect(pathsWith(/x/)).toEqual(['/usr/local/bin/node', '/usr/bin/dash', '/usr/bin/find']);
    expect(
      lines.filter((line) => /^(file|capability|network|mount|ptrace|unix|signal)\b/.test(line)),
    ).toEqual([
      ...['inet stream', 'inet dgram', 'inet6 stream', 'inet6 dgram', 'netlink raw'].map(
        (kind) => `network ${kind},`,
      ),
      ...['signal (receive),', 'capability dac_override,'],
    ]);
  });

  it('runs the image of all, as root: only root can read what the Supervisor writes', () => {
    const stages = readFileSync(join(project, 'Dockerfile'), 'utf8')
      .split(/^FROM /m)
      .slice(-3);
    expect(stages.map((stage) => stage.replaceAll(/^#.*\n/gm, '').trim()).slice(1)).toEqual([
      'program AS home-assistant-app',
      'program\nUSER node',
    ]);
    expect(stages[0]).not.toMatch(/^USER /m);
    expect(stages[0]).toContain(`io.hass.arch="${['aarch64', 'amd64'].join('|')}"`);
  });
});
