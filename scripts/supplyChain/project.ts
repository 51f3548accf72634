import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { importedPackages, reachedFrom } from './bundled.ts';

/** What package.json says of what it needs. */
export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly engines: { readonly node: string };
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

/** A package as package-lock.json describes it. */
export interface LockedPackage {
  /** Where it is installed; the same package may be at several places. */
  readonly path: string;
  readonly version: string;
  readonly license?: string;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly engines?: { readonly node?: string };
  readonly hasInstallScript?: boolean;
  /** Whether nothing but development needs it: neither is it in the program's bundle nor may it come into it. */
  readonly dev?: boolean;
}

/** What comes into the project from elsewhere. */
export interface Project {
  readonly manifest: Manifest;
  /** What package-lock.json says of package.json. */
  readonly lockedManifest: Partial<Manifest>;
  readonly packages: readonly LockedPackage[];
  /** The names of those that the program imports. They are bundled with it, so that its users install no package. */
  readonly imported: readonly string[];
  /** The lines of .npmrc. */
  readonly npmrc: readonly string[];
}

/** Reads what is in a folder, and needs nothing to be installed there. */
export function readProject(folder: string): Project {
  const read = (file: string) => readFileSync(join(folder, file), 'utf8');
  const locked: Record<string, object> = JSON.parse(read('package-lock.json')).packages;
  const { '': lockedManifest = {}, ...packages } = locked;
  const imported = importedPackages(folder);
  const bundled = reachedFrom(imported, packages);
  return {
    manifest: JSON.parse(read('package.json')),
    lockedManifest,
    packages: Object.entries(packages).map(([path, each]) => ({
      ...(each as LockedPackage),
      path,
      dev: !bundled.has(path),
    })),
    imported,
    npmrc: existsSync(join(folder, '.npmrc')) ? read('.npmrc').trim().split('\n') : [],
  };
}

/** The packages that users of the bridge run. */
export function productionPackages({ packages }: Project): LockedPackage[] {
  return packages.filter(({ dev }) => dev !== true);
}

/** Name and version, as in `zod@4.0.0`. */
export function idOf({ path, version }: LockedPackage): string {
  return `${path.split('node_modules/').at(-1)}@${version}`;
}
