import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readProject } from './project.ts';

/**
 * What users of the project in a folder run, as npm lists it; without the network. npm is shown a project that needs
 * what is bundled, and has no development.
 */
export function billOfMaterials(folder: string): string {
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
  const scratch = mkdtempSync(join(tmpdir(), 'sonic2mqtt-sbom-'));
  try {
    // npm calls a project by the name of its folder.
    const copy = join(scratch, manifest.name);
    mkdirSync(copy);
    writeFileSync(join(copy, 'package.json'), JSON.stringify(manifest));
    writeFileSync(join(copy, 'package-lock.json'), JSON.stringify(lock));
    const form = ['--sbom-format', 'cyclonedx', '--sbom-type', 'application', '--package-lock-only'];
    return execFileSync('npm', ['sbom', ...form, '--prefix', copy], { encoding: 'utf8' });
  } finally {
    rmSync(scratch, { recursive: true });
  }
}
