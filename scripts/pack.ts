/**
 * Packs what has been built for its users:  npm run pack [FOLDER]. All packages are in the bundle, so that nothing else is
 * installed with it: the packed package.json names none of them, and dist/sbom.cdx.json names all.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { billOfMaterials } from './build/bill.ts';

const destination = process.argv[2] ?? '.';
const manifest = JSON.parse(readFileSync('package.json', 'utf8'));
const folder = mkdtempSync(join(tmpdir(), 'sonic2mqtt-pack-'));
try {
  for (const each of [...manifest.files, 'README.md', 'LICENSE']) {
    cpSync(each, join(folder, each), { recursive: true });
  }
  const { dependencies: _, devDependencies: __, scripts: ___, private: ____, ...shipped } = manifest;
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(shipped, null, 2)}\n`);
  writeBill();
  execFileSync('npm', ['pack', folder, '--pack-destination', destination], { stdio: 'inherit' });
  // The address of the newest release's file stays the same, and so do the instructions.
  renameSync(join(destination, `sonic2mqtt-${manifest.version}.tgz`), join(destination, 'sonic2mqtt.tgz'));
} finally {
  rmSync(folder, { recursive: true });
}

/** Debian's npm is too old to write one; a package that somebody makes there for himself goes without. */
function writeBill(): void {
  try {
    writeFileSync(join(folder, 'dist/sbom.cdx.json'), billOfMaterials());
  } catch (error) {
    if (process.env['CI']) throw error;
    console.warn('This npm cannot write a bill of materials: the package has none');
  }
}
