import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { createGunzip } from 'node:zlib';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { reachedFrom } from '../../scripts/supplyChain/bundled.ts';
import {
  idOf,
  type LockedPackage,
  type Project,
  productionPackages,
  readProject,
} from '../../scripts/supplyChain/project.ts';
import { problemsOf, ruleNames } from '../../scripts/supplyChain/rules.ts';
import { startProcess } from '../support/childProcess.ts';
import { temporaryFolder } from '../support/program.ts';

const folder = fileURLToPath(new URL('../..', import.meta.url));
const project = readProject(folder);
/** Each once, although it may be installed at several places. */
const idsOf = (packages: readonly LockedPackage[]) => [...new Set(packages.map(idOf))].toSorted();

/** Without a network, without what npm remembers of it, and without what the running npm was told. */
const alone = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name))),
  npm_config_cache: temporaryFolder(),
  npm_config_registry: 'http://127.0.0.1:9',
};

describe('what comes from elsewhere', () => {
  it('is in order', () => {
    expect(problemsOf(project)).toEqual([]);
  });

  it('is what npm would install for each package, all the way down', () => {
    const args = ['ls', '--package-lock-only', '--all', '--json'];
    const { problems } = JSON.parse(
      execFileSync('npm', args, { cwd: folder, env: alone, encoding: 'utf8', stdio: 'pipe' }),
    );
    expect(problems).toBeUndefined();
  });

  it('is what a package of that name needs, wherever in the tree it is installed', () => {
    const packages = {
      'node_modules/ours': {
        dependencies: { nested: '1', shared: '1' },
        optionalDependencies: { absent: '1', maybe: '1' },
      },
      'node_modules/ours/node_modules/nested': { dependencies: { shared: '2', '@scoped/deep': '1' } },
      'node_modules/ours/node_modules/shared': {},
      'node_modules/shared': { peerDependencies: { theirs: '1' } },
      'node_modules/@scoped/deep': { dependencies: { ours: '1', shared: '1' } },
      'node_modules/theirs': {},
      'node_modules/maybe': {},
      'node_modules/nobodys': {},
    };
    expect([...reachedFrom(['ours'], packages)].toSorted()).toEqual(
      Object.keys(packages)
        .filter((path) => !path.endsWith('nobodys'))
        .toSorted(),
    );
  });

  it('is as many packages as SECURITY.md says', () => {
    const page = readFileSync(join(folder, 'SECURITY.md'), 'utf8');
    const [, direct, all] = /(\d+) direct and (\d+) in all/.exec(page) ?? [];
    expect(project.imported).toHaveLength(Number(direct));
    expect(productionPackages(project)).toHaveLength(Number(all));
  });
});

/** The project with something else in it: a package, or a word of package.json. */
function projectWith(changes: {
  readonly locked?: Partial<LockedPackage>;
  readonly manifest?: Partial<Project['manifest']>;
  readonly npmrc?: string;
}): Project {
  const { locked, manifest, npmrc } = changes;
  const [sound] = project.packages;
  if (!sound) throw new Error('the lock file is empty');
  const { dev: _, ...production } = sound;
  const planted = { ...production, path: 'node_modules/planted', version: '1.0.0', ...locked };
  return {
    ...project,
    manifest: { ...project.manifest, ...manifest },
    lockedManifest: { ...project.lockedManifest, ...(manifest?.engines && { engines: manifest.engines }) },
    packages: locked ? [...project.packages, planted] : project.packages,
    npmrc: npmrc === undefined ? project.npmrc : [...project.npmrc, npmrc],
  };
}

/** A planted fault of each kind, and how the rule that it breaks names it; null where none is broken. */
const planted: readonly (readonly [Parameters<typeof projectWith>[0], string | null])[] = [
  [{ locked: {} }, null],
  [
    { manifest: { devDependencies: { mqtt: '^5.16.0' } } },
    'package.json names exact versions; not so: mqtt ^5.16.0',
  ],
  [
    { manifest: { dependencies: { mqtt: '5.16.0' } } },
    'the program needs no package that is not bundled; not so: mqtt',
  ],
  [{ manifest: { version: '9.9.9' } }, 'package-lock.json is in step with package.json; not so: version'],
  [
    { locked: { integrity: 'sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=' } },
    'every package has the hash of its content; not so: planted@1.0.0',
  ],
  [
    { locked: { resolved: 'https://npm.example.com/planted-1.0.0.tgz' } },
    'every package is the one of the public registry; not so: planted@1.0.0 of https://npm.example.com/planted-1.0.0.tgz',
  ],
  [{ locked: { resolved: 'https://registry.npmjs.org/planted/-/planted-1.0.0.tgz' } }, null],
  [
    { npmrc: '@mine:registry=https://npm.example.com/' },
    'every package is the one of the public registry; not so: .npmrc with @mine:registry=https://npm.example.com/',
  ],
  [
    { locked: { hasInstallScript: true } },
    'no production package runs a script when it is installed; not so: planted@1.0.0',
  ],
  [{ locked: { hasInstallScript: true, dev: true } }, null],
  ...['>=20', '>= 0.6.0', '>=0.8.x', '*', '^20.17.0 || >=22.9.0'].map(
    (node) => [{ locked: { engines: { node } } }, null] as const,
  ),
  ...(
    [
      ['>=22', '20.19.0'],
      ['^20 || ^22', '23.0.0'],
      ['^20.19.0 || >=22.12.1', '22.12.0'],
      ['^20.19.1 || >=22', '20.19.0'],
    ] as const
  ).map(
    ([node, version]) =>
      [
        { locked: { engines: { node } } },
        `every production package runs on each Node that ours admits; not so: planted@1.0.0 on ${version}`,
      ] as const,
  ),
  ...['ISC', '(MIT OR GPL-3.0-only)', 'GPL-2.0-only OR (BSD-2-Clause AND Apache-2.0)'].map(
    (license) => [{ locked: { license } }, null] as const,
  ),
  ...[
    'GPL-3.0-only',
    'MIT AND MPL-2.0',
    '(MIT OR ISC) AND LGPL-3.0-or-later',
    'SEE LICENSE IN x',
    'UNLICENSED',
    '',
  ].map(
    (license) =>
      [
        { locked: { license } },
        `every production package has a permissive licence; not so: planted@1.0.0 with ${license}`,
      ] as const,
  ),
  [{ locked: { license: 'MPL-2.0', dev: true } }, null],
];

describe('the check of what comes from elsewhere', () => {
  it.each(planted)('of %j says %j', (changes, problem) => {
    const found = problemsOf(projectWith(changes));
    if (problem === null) expect(found).toEqual([]);
    else expect(found).toContain(problem);
  });

  it('has a planted fault for each rule', () => {
    const broken = planted.flatMap(([, problem]) => problem?.split('; not so: ')[0] ?? []);
    expect([...new Set(broken)].toSorted()).toEqual(ruleNames.toSorted());
  });

  it('wants a licence to be named', () => {
    const { license: _, ...nameless } = {
      ...project.packages[0],
      path: 'node_modules/nameless',
    } as LockedPackage;
    const { dev: __, ...production } = nameless;
    const found = problemsOf({ ...project, packages: [...project.packages, production] });
    expect(found).toEqual([expect.stringContaining('with none')]);
  });
});

/** What the tests read of a CycloneDX document. */
interface Bill {
  readonly bomFormat: string;
  readonly specVersion: string;
  readonly serialNumber: string;
  readonly version: number;
  readonly metadata: { readonly timestamp: string; readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn?: readonly string[] }[];
}

interface Component {
  readonly 'bom-ref': string;
  readonly type: string;
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly licenses?: readonly { readonly license?: { readonly id: string }; readonly expression?: string }[];
  readonly hashes?: readonly { readonly alg: string; readonly content: string }[];
}

describe('the bill of materials', () => {
  let bill: Bill;
  beforeAll(() => {
    const file = join(temporaryFolder(), 'sbom.cdx.json');
    const script = ['--import', './scripts/typescript.mjs', 'scripts/sbom.ts', file];
    execFileSync(process.execPath, script, { cwd: folder, env: alone, stdio: 'pipe' });
    bill = JSON.parse(readFileSync(file, 'utf8'));
  });

  it('is written without the network, as CycloneDX, about this version of the bridge', () => {
    const { name, version } = project.manifest;
    expect(bill).toMatchObject({
      bomFormat: 'CycloneDX',
      specVersion: expect.stringMatching(/^1\.\d$/),
      version: 1,
    });
    expect(bill.serialNumber).toMatch(/^urn:uuid:[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/);
    expect(bill.metadata.component).toMatchObject({ type: 'application', name, version });
    expect(Date.parse(bill.metadata.timestamp)).not.toBeNaN();
  });

  it('has every production package, also those that development needs too, and no other', () => {
    const listed = bill.components.map(({ name, version }) => `${name}@${version}`);
    expect(listed.toSorted()).toEqual(idsOf(productionPackages(project)));
    const sharedWithDevelopment = ['zod', 'yaml', 'minimist'];
    expect(bill.components.map(({ name }) => name)).toEqual(expect.arrayContaining(sharedWithDevelopment));
  });

  it('names of each its kind, address, licence and hash as the lock file has them', () => {
    for (const component of bill.components) {
      const { name, version, purl, licenses, hashes } = component;
      const locked = project.packages.find((each) => idOf(each) === `${name}@${version}`);
      expect(component.type).toBe('library');
      expect(purl).toBe(`pkg:npm/${name.replace('@', '%40')}@${version}`);
      expect(
        licenses?.map(({ license, expression }) => license?.id ?? expression),
        name,
      ).toEqual([locked?.license]);
      const [hash] = hashes ?? [];
      const integrity = `sha512-${Buffer.from(hash?.content ?? '', 'hex').toString('base64')}`;
      expect({ alg: hash?.alg, integrity }).toEqual({ alg: 'SHA-512', integrity: locked?.integrity });
    }
  });

  it('says what needs what, down from the bridge, and names nothing that it does not list', () => {
    const needs = new Map(bill.dependencies.map(({ ref, dependsOn = [] }) => [ref, dependsOn]));
    const reached = new Set<string>();
    const visit = (ref: string) => {
      if (reached.has(ref)) return;
      reached.add(ref);
      for (const each of needs.get(ref) ?? []) visit(each);
    };
    visit(bill.metadata.component['bom-ref']);
    const listed = bill.components.map((each) => each['bom-ref']);
    expect(new Set(listed).size).toBe(listed.length);
    expect([...reached].toSorted()).toEqual([bill.metadata.component['bom-ref'], ...listed].toSorted());
  });
});

describe('npm run audit', () => {
  /** A registry that knows one advisory, on every version of a package; and what it was asked about. */
  async function startRegistry(name: string) {
    const asked: string[] = [];
    const version = project.packages.find(({ path }) => path === `node_modules/${name}`)?.version ?? '';
    const advisory = {
      id: 1,
      url: 'https://example.com/1',
      title: 'Bad',
      severity: 'low',
      vulnerable_versions: '*',
    };
    const server = createServer(async (request, response) => {
      response.setHeader('content-type', 'application/json');
      // npm looks up the versions of a package that has an advisory.
      if (!request.url?.endsWith('/advisories/bulk')) {
        const versions = { [version]: { name, version, dist: {} } };
        return void response.end(JSON.stringify({ name, versions, 'dist-tags': { latest: version } }));
      }
      asked.push(...Object.keys((await json(request.pipe(createGunzip()))) as object));
      response.end(JSON.stringify(asked.includes(name) ? { [name]: [advisory] } : {}));
    });
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    onTestFinished(() => void server.close());
    return { asked, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
  }

  async function audit(url: string): Promise<{ code: number | null; output: string }> {
    const script = ['--import', './scripts/typescript.mjs', 'scripts/audit.ts'];
    const env = { ...alone, npm_config_cache: temporaryFolder(), npm_config_registry: url };
    const program = startProcess(process.execPath, script, { cwd: folder, env });
    const { code } = await program.ended();
    return { code, output: program.output };
  }

  it('fails on an advisory on a package that users run, and asks about all of them', async () => {
    const registry = await startRegistry('undici');
    const { code, output } = await audit(registry.url);
    expect(code).toBe(1);
    expect(output).toContain('undici');
    const names = productionPackages(project).map(({ path }) => path.split('node_modules/').at(-1));
    expect(registry.asked.toSorted()).toEqual([...new Set(names)].toSorted());
  });

  it('does not fail on one that only development runs', async () => {
    const registry = await startRegistry('vitest');
    expect(await audit(registry.url)).toMatchObject({ code: 0 });
  });
});
