import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * What users of the project in a folder install, as npm lists it; without the network. npm is shown a project that
 * has no development: its own `--omit dev` leaves out whatever development needs as well (npm/cli issue 7909).
 */
export function billOfMaterials(folder: string): string {
  const [manifest, lock] = ['package.json', 'package-lock.json'].map((file) =>
    JSON.parse(readFileSync(join(folder, file), 'utf8')),
  );
  delete manifest.devDependencies;
  delete lock.packages[''].devDependencies;
  for (const [path, { dev }] of Object.entries<{ dev?: boolean }>(lock.packages)) {
    if (dev) delete lock.packages[path];
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
