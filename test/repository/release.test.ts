import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { writtenDocuments } from '../../scripts/docs/documents.ts';
import { releasedApp, releaseOf } from '../../scripts/release/release.ts';
import { permittedSkips } from '../support/permittedSkips.ts';
import { temporaryFolder } from '../support/program.ts';

const project = fileURLToPath(new URL('../..', import.meta.url));
const read = (file: string) => readFileSync(join(project, file), 'utf8');
const { version, engines } = JSON.parse(read('package.json'));

/** What the tests read of a workflow. */
interface Workflow {
  readonly on: Record<string, unknown>;
  readonly permissions: object;
  readonly jobs: Record<string, Job>;
}

interface Job {
  readonly needs?: string | string[];
  readonly permissions: object;
  readonly 'timeout-minutes': number;
  readonly strategy?: { readonly matrix: { readonly node?: readonly number[] } };
  readonly container?: { readonly options?: string };
  readonly steps: readonly {
    readonly uses?: string;
    readonly run?: string;
    readonly with?: Record<string, unknown>;
    readonly env?: Record<string, string>;
  }[];
}

const names = ['ci', 'release', 'advisories', 'nightly', 'codeql', 'scorecard'];
const files = names.map((name) => `.github/workflows/${name}.yml`);
const workflow = (file: string): Workflow => parse(read(file));
const [ci, release, advisories, nightly, codeql, scorecard] = files.map(workflow);
/** Fails a run of tests that skips others than `.ci/skips.json` permits. */
const reportingSkips = '--reporter=default --reporter=./test/support/permittedSkips.ts';
const commands = (job: Job | undefined) => (job?.steps ?? []).flatMap(({ run }) => run ?? []);

describe('the version', () => {
  it('stands in package.json and the changelog, and is written nowhere else by hand', () => {
    const folders = ['docs', 'docker', 'systemd', '.github'].flatMap((folder) =>
      readdirSync(join(project, folder), { recursive: true, encoding: 'utf8' }).map(
        (file) => `${folder}/${file}`,
      ),
    );
    const written = writtenDocuments().map(({ name }) => name);
    const places = [...readdirSync(project), ...folders]
      .filter((file) => file !== 'package-lock.json' && !(written.includes(file) && file !== 'README.md'))
      .filter((file) => statSync(join(project, file)).isFile())
      .filter((file) =>
        read(file)
          .split(/[^\w.-]+/)
          .includes(version),
      );
    expect(places.toSorted()).toEqual(['CHANGELOG.md', 'package.json']);
  });
});

describe('a tag', () => {
  function projectWith(manifest: { version: string }, changelog: string): string {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
    writeFileSync(join(folder, 'CHANGELOG.md'), changelog);
    return folder;
  }
  const good =
    '# Changelog\n\n## Unreleased\n\n## 1.2.0 - 2026-12-01\n\n### Added\n\n- This.\n\n## 1.1.0 - 2026-11-01\n\n- That.\n';

  it('becomes a release with the words of its section', () => {
    expect(releaseOf('v1.2.0', projectWith({ version: '1.2.0' }, good))).toEqual({
      version: '1.2.0',
      channel: 'latest',
      tags: ['1.2.0', '1.2', '1', 'latest'],
      notes: '### Added\n\n- This.\n',
    });
  });

  it('of a version to be tried is for those who ask for it', () => {
    const folder = projectWith({ version: '1.3.0-rc.1' }, `## 1.3.0-rc.1 - 2026-12-02\n\n- New.\n`);
    expect(releaseOf('v1.3.0-rc.1', folder)).toMatchObject({
      channel: 'next',
      tags: ['1.3.0-rc.1', 'next'],
    });
  });

  it.each([
    ['v1.2.1', '1.2.0', good, /the tag is v1\.2\.1/],
    ['v1.3.0', '1.3.0', good, /no section 1\.3\.0/],
    ['v1.2.0', '1.2.0', good.replace('Unreleased\n', 'Unreleased\n\n- Later.\n'), /under Unreleased/],
    ['v1.2.0', '1.2.0', good.replace(' - 2026-12-01', ''), /no date/],
  ])('%s of %s that does not agree is refused in words', (tag, own, changelog, words) => {
    const found = releaseOf(tag, projectWith({ version: own }, changelog));
    expect('problem' in found && found.problem).toMatch(words);
  });
});

it('the changelog has releases with their dates, the newest of this version, and above them at most what is not released', () => {
  const headings = [...read('CHANGELOG.md').matchAll(/^## (.*)$/gm)].map(([, heading = '']) => heading);
  const released = headings[0] === 'Unreleased' ? headings.slice(1) : headings;
  for (const heading of released) expect(heading).toMatch(/^\d+\.\d+\.\d+ - \d{4}-\d\d-\d\d$/);
  expect(released.map((heading) => heading.split(' ')[0])).toContain(version);
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'package.json'), read('package.json'));
  writeFileSync(
    join(folder, 'CHANGELOG.md'),
    read('CHANGELOG.md').replace(/^## Unreleased\n.*?(?=^## )/ms, ''),
  );
  expect(releaseOf(`v${version}`, folder)).toMatchObject({ version, notes: expect.stringContaining('### ') });
});

describe('the app of Home Assistant', () => {
  it('names at each release the version and the image of the repository that publishes it, and nothing else changes', () => {
    const committed = read('home-assistant-app/config.yaml');
    const first = releasedApp(committed, '1.2.0', 'Someone/Fork');
    const second = releasedApp(first, '1.3.0', 'someone-else/sonic2mqtt');
    expect(parse(first)).toEqual({
      ...parse(committed),
      version: '1.2.0',
      image: 'ghcr.io/someone/fork-home-assistant',
    });
    expect(parse(second)).toEqual({
      ...parse(committed),
      version: '1.3.0',
      image: 'ghcr.io/someone-else/sonic2mqtt-home-assistant',
    });
    expect(second.split('\n')).toHaveLength(first.split('\n').length);
    expect(commands(release?.jobs['app']).join()).toContain(
      'scripts/release.ts app "$VERSION" "$GITHUB_REPOSITORY"',
    );
  });

  it('is the same image, for the machines on which Home Assistant runs', () => {
    const builds = (release?.jobs['image']?.steps ?? []).flatMap(({ uses, with: given }) =>
      uses?.startsWith('docker/build-push-action') ? [given ?? {}] : [],
    );
    const { platforms: _, tags: __, ...first } = builds[0] ?? {};
    const { platforms, tags, target, ...second } = builds[1] ?? {};
    expect(second).toEqual(first);
    expect({ platforms, target }).toEqual({
      platforms: 'linux/amd64,linux/arm64',
      target: 'home-assistant-app',
    });
    expect(tags).toContain('outputs.app');
  });

  it('has the name that the release gives to it', () => {
    const output = join(temporaryFolder(), 'output');
    const [names = ''] = commands(release?.jobs['image']);
    const env = { GITHUB_REPOSITORY: 'Some/Fork', GITHUB_OUTPUT: output, TAGS: '1.2.0 latest' };
    execFileSync('bash', ['-euc', names], { env: { ...process.env, ...env } });
    const image = 'ghcr.io/some/fork';
    expect(readFileSync(output, 'utf8').split('\n')).toEqual([
      `image=${image}`,
      `tags=${image}:1.2.0,${image}:latest,`,
      `app=${image}-home-assistant:1.2.0,${image}-home-assistant:latest,`,
      '',
    ]);
    expect(releasedApp('version: 1', '1.2.0', 'Some/Fork')).toContain(`image: ${image}-home-assistant`);
  });
});

describe('the workflows', () => {
  const all = files.map((file) => ({ file, ...workflow(file) }));
  const jobs = all.flatMap((each) => Object.entries(each.jobs).map(([name, job]) => ({ name, ...job })));

  it('are all known here', () => {
    expect(readdirSync(join(project, '.github/workflows')).toSorted()).toEqual(
      names.map((name) => `${name}.yml`).toSorted(),
    );
  });

  it('permit nothing but what each job says that it needs, and let none run for ever', () => {
    for (const { file, permissions } of all) expect(permissions, file).toEqual({});
    for (const job of jobs) {
      expect(Object.keys(job.permissions).length, job.name).toBeGreaterThan(0);
      expect(job['timeout-minutes'], job.name).toBeLessThanOrEqual(45);
    }
  });

  it('use actions of one exact commit, with the version beside it', () => {
    const uses = files.flatMap((file) =>
      read(file)
        .split('\n')
        .filter((line) => line.includes('uses:')),
    );
    expect(uses.length).toBeGreaterThan(10);
    for (const line of uses)
      expect(line).toMatch(/uses: (actions|docker|github|ossf)\/[\w/-]+@[\da-f]{40} # v\d+\.\d+\.\d+$/);
  });

  it('use no action that needs Node.js 20, which GitHub no longer runs', () => {
    const oldest: Readonly<Record<string, number>> = {
      ...{
        'actions/checkout': 5,
        'actions/setup-node': 5,
        'github/codeql-action': 4,
        'ossf/scorecard-action': 2,
      },
      ...{ 'actions/upload-artifact': 6, 'actions/download-artifact': 7, 'actions/upload-pages-artifact': 5 },
      ...{ 'actions/deploy-pages': 5, 'actions/attest-build-provenance': 3, 'actions/attest-sbom': 3 },
      ...{ 'docker/setup-qemu-action': 4, 'docker/setup-buildx-action': 4, 'docker/login-action': 4 },
      ...{ 'docker/build-push-action': 7 },
    };
    const used = files.flatMap((file) => [...read(file).matchAll(/uses: ([\w-]+\/[\w-]+).* # v(\d+)/g)]);
    for (const [, action = '', major] of used)
      expect(Number(major), action).toBeGreaterThanOrEqual(oldest[action] ?? Number.POSITIVE_INFINITY);
  });

  it('that run tests have a list of those that may be skipped, with files that are there', () => {
    const testing = jobs
      .flatMap(({ steps }) => steps)
      // The flows are in one file of tests, which says if it skips them.
      .filter(({ run }) => /npm (test|run test:(?!node-red))/.test(run ?? ''));
    for (const { run } of testing) expect(run).toContain(reportingSkips);
    const lists = new Set(testing.map(({ env }) => env?.['SKIPS_OF']));
    expect([...lists].toSorted()).toEqual(Object.keys(permittedSkips).toSorted());
    for (const file of Object.values(permittedSkips).flatMap(Object.keys))
      expect(existsSync(join(project, file)), file).toBe(true);
  });

  it('put nothing that others may write into a command, and leave no token with the checkout', () => {
    for (const job of jobs) for (const run of commands(job)) expect(run, job.name).not.toContain('${{');
    const checkouts = jobs
      .flatMap(({ steps }) => steps)
      .filter(({ uses }) => uses?.startsWith('actions/checkout'));
    for (const step of checkouts) expect(step.with).toMatchObject({ 'persist-credentials': false });
  });
});

describe('the checks of a change', () => {
  it('run on the oldest Node that is supported, and those that depend on Node on the others', () => {
    expect(ci?.jobs['test']?.steps.map((step) => step.with?.['node-version'])).toContain(20);
    const { compatibility } = ci?.jobs ?? {};
    expect(compatibility?.strategy?.matrix.node).toEqual([22, 24, 26]);
    expect(commands(compatibility)).toContain(`npm run test:compatibility -- ${reportingSkips}`);
    expect(engines.node).toBe('^20.19.0 || >=22.12.0');
    expect(commands(ci?.jobs['site'])).toContain('npm run site');
    expect(commands(ci?.jobs['test'])).toEqual(
      expect.arrayContaining(['npm ci', 'npm run check', `npm test -- ${reportingSkips}`]),
    );
  });

  it('include those that need root, and Node-RED', () => {
    const { root } = ci?.jobs ?? {};
    expect(root?.container?.options).toBe('--privileged');
    expect(commands(root)).toEqual(expect.arrayContaining(['.ci/tools', `npm test -- ${reportingSkips}`]));
    expect(commands(root).join()).toContain('npm run test:node-red');
  });
});

it('each night what takes minutes is tested, and the tests are', () => {
  expect(Object.keys(nightly?.on ?? {})).toEqual(['schedule', 'workflow_dispatch']);
  const run = Object.values(nightly?.jobs ?? {}).flatMap(commands);
  expect(run).toEqual(
    expect.arrayContaining([`npm run test:nightly -- ${reportingSkips}`, 'npm run mutations']),
  );
});

describe('the security of the repository', () => {
  const job = (from: Workflow | undefined) => Object.values(from?.jobs ?? {})[0];
  const actions = (from: Workflow | undefined) => job(from)?.steps.map(({ uses }) => uses?.split('@')[0]);

  it('has its code analysed for each change', () => {
    expect(Object.keys(codeql?.on ?? {})).toEqual(['push', 'pull_request', 'schedule']);
    expect(job(codeql)?.permissions).toEqual({ contents: 'read', 'security-events': 'write' });
  });

  it('is scored by a workflow of the form that OpenSSF accepts a result from', () => {
    expect(Object.keys(scorecard?.jobs ?? {})).toHaveLength(1);
    expect(Object.keys(scorecard ?? {})).toEqual(['name', 'on', 'permissions', 'jobs']);
    expect(actions(scorecard)).toEqual([
      ...['actions/checkout', 'ossf/scorecard-action', 'github/codeql-action/upload-sarif'],
    ]);
  });
});

describe('everything that comes from elsewhere', () => {
  const digest = /@sha256:[\da-f]{64}$/;

  it('is one exact image: the base of ours, the broker beside it, and the tools that build it', () => {
    const images = [...read('Dockerfile').matchAll(/^FROM (?:--\S+ )?([\w-]+:\S+) AS/gm)].map(
      ([, image]) => image,
    );
    expect(images).toHaveLength(3);
    for (const image of images) expect(image).toMatch(digest);
    expect(parse(read('compose.yaml'), { merge: true }).services.mosquitto.image).toMatch(digest);
    const steps = release?.jobs['image']?.steps ?? [];
    const given = (action: string) => steps.find(({ uses }) => uses?.startsWith(action))?.with;
    expect(given('docker/setup-qemu-action')?.['image']).toMatch(digest);
    expect(given('docker/setup-buildx-action')?.['driver-opts']).toMatch(digest);
  });

  it('is looked up among the known advisories each day, and for each change', () => {
    expect(Object.keys(advisories?.on ?? {})).toEqual(
      expect.arrayContaining(['schedule', 'push', 'pull_request']),
    );
    expect(commands(advisories?.jobs['audit'])).toContain('npm run audit');
  });
});

describe('a release', () => {
  const { package: pack, image, npm, notes, site, pages } = release?.jobs ?? {};
  const signed = (job: Job | undefined) =>
    (job?.steps ?? []).filter(({ uses }) => uses?.startsWith('actions/attest-')).map((step) => step.with);

  it('begins with a tag, and publishes only what has passed all tests', () => {
    expect(release?.on).toEqual({ push: { tags: ['v*'] } });
    expect(commands(pack)).toEqual(
      expect.arrayContaining(['npm ci', 'npm run check', `npm test -- ${reportingSkips}`]),
    );
    for (const job of [image, npm, notes, site]) expect([job?.needs].flat()).toContain('package');
  });

  it('may write only where each job publishes', () => {
    expect(pack?.permissions).toEqual({ contents: 'read' });
    const signs = { 'id-token': 'write', attestations: 'write' };
    expect(image?.permissions).toEqual({ contents: 'read', packages: 'write', ...signs });
    expect(npm?.permissions).toEqual(signs);
    expect(notes?.permissions).toEqual({ contents: 'write' });
    expect(site?.permissions).toEqual({ contents: 'read' });
    expect(pages?.permissions).toEqual({ pages: 'write', 'id-token': 'write' });
  });

  it('has an image for every machine, with its provenance and what it is made of', () => {
    const build = image?.steps.find(({ uses }) => uses?.startsWith('docker/build-push-action'));
    expect(build?.with).toMatchObject({
      platforms: 'linux/amd64,linux/arm64,linux/arm/v7',
      provenance: 'mode=max',
      sbom: true,
    });
    const args = [...String(build?.with?.['build-args']).matchAll(/^(\w+)=/gm)].map(([, name]) => name);
    const taken = [...read('Dockerfile').matchAll(/^ARG (\w+)=$/gm)].map(([, name]) => name);
    expect(args.toSorted()).toEqual(taken.toSorted());
  });

  it('signs both images and the package, with what the package is made of', () => {
    expect(signed(image)).toEqual(
      ['', '-home-assistant'].map((ending, index) => ({
        'subject-name': `\${{ steps.names.outputs.image }}${ending}`,
        'subject-digest': `\${{ steps.${['image', 'app'][index]}.outputs.digest }}`,
        'push-to-registry': true,
      })),
    );
    expect(signed(npm)).toEqual([
      { 'subject-path': 'release/*.tgz' },
      { 'subject-path': 'release/*.tgz', 'sbom-path': 'release/sonic2mqtt.cdx.json' },
    ]);
  });

  it('publishes the site that it has built, by a job that runs nothing else', () => {
    expect(commands(site)).toEqual(['npm ci', 'npm run site']);
    expect(site?.steps.at(-1)?.with).toEqual({ path: 'site/dist' });
    expect(pages?.steps.map(({ uses }) => uses?.split('@')[0])).toEqual(['actions/deploy-pages']);
  });

  it('publishes the package with its provenance, and without running anything of it', () => {
    expect(commands(npm).join()).toMatch(/npm publish .* --provenance .*--ignore-scripts/);
    expect(npm?.steps.at(-1)?.run, 'what could not be signed is not published').toContain('npm publish');
    expect(JSON.stringify(npm)).not.toContain('secrets.');
  });
});

it('What is in the bundle is renewed one by one', () => {
  const { updates } = parse(read('.github/dependabot.yml'));
  expect(updates[0].groups.development['dependency-type']).toBe('development');
});
