import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readProject } from './project.ts';

/** The packages that users of the project in a folder run, as npm lists them (CycloneDX); without the network. */
export function billOfMaterials(folder: string): string {
  const form = ['--sbom-format', 'cyclonedx', '--sbom-type', 'application', '--package-lock-only'];
  return withShippedProject(folder, (copy) =>
    execFileSync('npm', ['sbom', ...form, '--prefix', copy], { encoding: 'utf8' }),
  );
}

/**
 * Whether npm knows an advisory on a package that users of the project run: npm's report, and its exit status, which
 * is 0 only if there is none. Needs the registry.
 */
export function auditOf(folder: string): { readonly report: string; readonly status: number } {
  return withShippedProject(folder, (copy) => {
    const { stdout, stderr, status } = spawnSync('npm', ['audit', '--package-lock-only', '--prefix', copy], {
      encoding: 'utf8',
    });
    return { report: `${stdout}${stderr}`.trim(), status: status ?? 1 };
  });
}

/**
 * Calls npm with a copy of the project that lists the bundled packages as its dependencies. In the project itself they
 * are development dependencies, which npm leaves out of audits and bills of materials.
 */
function withShippedProject<Result>(folder: string, use: (copy: string) => Result): Result {
  const [manifest, lock] = ['package.json', 'package-lock.json'].map((file) =>
    JSON.parse(readFileSync(join(folder, file), 'utf8')),
  );
  const project = readProject(folder);
  const needed = project.imported.map((name) => [name, manifest.devDependencies[name]]);
  for (const each of [manifest, lock.packages['']]) {
    each.dependencies = Object.fromEntries(needed);
    delete each.devDependencies;
  }
  for (const { path, dev } of project.packages) {
    if (dev) delete lock.packages[path];
    else delete lock.packages[path].dev;
  }
  const scratch = mkdtempSync(join(tmpdir(), 'sonic2mqtt-shipped-'));
  try {
    // npm calls a project by the name of its folder.
    const copy = join(scratch, manifest.name);
    mkdirSync(copy);
    writeFileSync(join(copy, 'package.json'), JSON.stringify(manifest));
    writeFileSync(join(copy, 'package-lock.json'), JSON.stringify(lock));
    return use(copy);
  } finally {
    rmSync(scratch, { recursive: true });
  }
}
