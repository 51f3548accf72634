import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * What the bridge is made of: every package that its users run, as CycloneDX. Needs npm 10 and no network. npm reads it
 * from a copy without what only development needs: its `--omit dev` also omits what the program needs as well, as `zod`.
 */
export function billOfMaterials(): string {
  const [manifest, lock] = ['package.json', 'package-lock.json'].map((file) =>
    JSON.parse(readFileSync(file, 'utf8')),
  );
  for (const each of [manifest, lock.packages['']]) delete each.devDependencies;
  for (const [path, { dev }] of Object.entries<{ dev?: boolean }>(lock.packages)) {
    if (dev === true) delete lock.packages[path];
  }
  const scratch = mkdtempSync(join(tmpdir(), 'sonic2mqtt-bill-'));
  try {
    // npm calls a project by the name of its folder.
    const copy = join(scratch, manifest.name);
    mkdirSync(copy);
    writeFileSync(join(copy, 'package.json'), JSON.stringify(manifest));
    writeFileSync(join(copy, 'package-lock.json'), JSON.stringify(lock));
    const args = ['--sbom-format', 'cyclonedx', '--sbom-type', 'application', '--package-lock-only'];
    return execFileSync('npm', ['sbom', ...args, '--prefix', copy], { encoding: 'utf8', stdio: 'pipe' });
  } finally {
    rmSync(scratch, { recursive: true });
  }
}
