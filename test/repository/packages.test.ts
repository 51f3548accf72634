import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../support/program.ts';

const project = fileURLToPath(new URL('../..', import.meta.url));

/** A package as package-lock.json describes it. */
interface LockedPackage {
  readonly version: string;
  readonly license?: string;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly engines?: { readonly node?: string };
  readonly hasInstallScript?: boolean;
  /** Whether nothing but development needs it. */
  readonly dev?: boolean;
  /** Whether it is in the archive of another package, and so under that one's hash. */
  readonly inBundle?: boolean;
}

function readPackages(folder: string) {
  const read = (file: string) => readFileSync(join(project, folder, file), 'utf8');
  const { '': root, ...locked } = JSON.parse(read('package-lock.json')).packages;
  return {
    manifest: JSON.parse(read('package.json')),
    root,
    packages: Object.entries<LockedPackage>(locked).map(([path, each]) => ({
      ...each,
      id: `${path.split('node_modules/').at(-1)}@${each.version}`,
    })),
    npmrc: existsSync(join(project, folder, '.npmrc')) ? read('.npmrc') : '',
  };
}

const { manifest, packages } = readPackages('.');
const production = packages.filter(({ dev }) => dev !== true);
const ids = [...new Set(production.map(({ id }) => id))].toSorted();

describe.each(['.', 'site', 'test/node-red', 'test/stryker'])(
  'what comes from elsewhere into %s',
  (folder) => {
    const { manifest, root, packages, npmrc } = readPackages(folder);

    it('has exact versions, and a lock file that is in step', () => {
      const wanted = { ...manifest.dependencies, ...manifest.devDependencies };
      for (const [name, version] of Object.entries(wanted)) expect(version, name).toMatch(/^\d+\.\d+\.\d+$/);
      for (const field of ['name', 'version', 'engines', 'dependencies', 'devDependencies'])
        expect(root[field], field).toEqual(manifest[field]);
    });

    it('has the hash of its content, and comes from the public registry', () => {
      for (const { id, integrity, resolved, inBundle } of packages) {
        if (inBundle !== true) expect(integrity, id).toMatch(/^sha512-[\w+/]{86}==$/);
        // Without an address npm takes a package from the registry of its user, which is the public one by default.
        expect(resolved ?? 'https://registry.npmjs.org/', id).toMatch(/^https:\/\/registry\.npmjs\.org\//);
      }
      expect(npmrc).not.toMatch(/registry *=|_auth|_password/);
    });
  },
);

/** Licences that ask for no more than to be named. */
const permissive = new Set([
  ...['MIT', 'MIT-0', 'ISC', '0BSD', 'BSD-2-Clause', 'BSD-3-Clause', 'Apache-2.0', 'BlueOak-1.0.0'],
  ...['Unlicense', 'CC0-1.0', 'Zlib'],
]);

/** Whether an SPDX expression without brackets in brackets can be fulfilled by permissive licences alone. */
function isPermissive(expression = ''): boolean {
  const flat = expression.replace(/\(([^()]*)\)/g, (_, inner) => (isPermissive(inner) ? 'MIT' : 'none'));
  return flat.split(' OR ').some((choice) => choice.split(' AND ').every((each) => permissive.has(each)));
}

/** Whether a range of Node, in the forms in which packages write it, admits a version. */
function admits(range: string, [major = 0, minor = 0]: readonly number[]): boolean {
  return range.split('||').some((part) => {
    const [, sign, bound = ''] = /^\s*(>=|\^|\*)\s*([\d.x]*)\s*$/.exec(part) ?? [];
    if (sign === undefined) throw new Error(`the range ${range} is in no form that is known here`);
    const [least = 0, leastMinor = 0] = bound.split('.').map((number) => Number.parseInt(number, 10) || 0);
    return sign === '^' || major === least ? major === least && minor >= leastMinor : major > least;
  });
}

/** The first and the last of each line of Node that is supported, and one to come. */
const supportedNodes = [
  [20, 19],
  [20, 99],
  [22, 12],
  [22, 99],
  [23, 0],
  [24, 0],
  [26, 0],
  [99, 0],
] as const;

describe('what users run', () => {
  it('runs no script when it is installed, and has a permissive licence', () => {
    for (const { id, hasInstallScript, license } of production) {
      expect(hasInstallScript, id).not.toBe(true);
      expect(isPermissive(license), `${id} with ${license}`).toBe(true);
    }
    for (const licence of ['ISC', '(MIT OR GPL-3.0-only)', 'GPL-2.0-only OR (BSD-2-Clause AND Apache-2.0)'])
      expect(isPermissive(licence), licence).toBe(true);
    for (const licence of [
      'GPL-3.0-only',
      'MIT AND MPL-2.0',
      '(MIT OR ISC) AND LGPL-3.0-or-later',
      '',
      undefined,
    ])
      expect(isPermissive(licence), licence).toBe(false);
  });

  it('runs on each Node.js that is supported', () => {
    for (const { id, engines } of [{ id: 'sonic2mqtt', engines: manifest.engines }, ...production]) {
      for (const node of supportedNodes)
        expect(admits(engines?.node ?? '*', node), `${id} on ${node.join('.')}`).toBe(true);
    }
    for (const range of ['>=22', '^20 || ^22', '^20.19.0 || >=22.13.0', '^20.20.0 || >=22'])
      expect(
        supportedNodes.every((node) => admits(range, node)),
        range,
      ).toBe(false);
  });

  it('is few packages, as many as is promised', () => {
    const page = readFileSync(join(project, 'docs/internals/promises.md'), 'utf8');
    const [, direct, all] = /(\d+) direct and (\d+) in all/.exec(page) ?? [];
    expect([Object.keys(manifest.dependencies).length, ids.length]).toEqual([Number(direct), Number(all)]);
  });

  it('is what npm installs for each package, all the way down', () => {
    const args = ['ls', '--package-lock-only', '--all', '--json'];
    const { problems } = JSON.parse(
      execFileSync('npm', args, { cwd: project, encoding: 'utf8', stdio: 'pipe' }),
    );
    expect(problems).toBeUndefined();
  });

  it('is in the bill of materials, and nothing else is', () => {
    const file = join(temporaryFolder(), 'sbom.cdx.json');
    execFileSync('npm', ['run', 'sbom', file], { cwd: project, stdio: 'pipe' });
    const { bomFormat, metadata, components } = JSON.parse(readFileSync(file, 'utf8'));
    expect([bomFormat, metadata.component.name]).toEqual(['CycloneDX', 'sonic2mqtt']);
    const listed = components.map(
      ({ name, version }: LockedPackage & { name: string }) => `${name}@${version}`,
    );
    expect(listed.toSorted()).toEqual(ids);
  });

  it('is what the audit asks about', () => {
    expect(manifest.scripts.audit).toBe('npm audit --omit=dev');
  });
});
