import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** What package-lock.json says of what a package needs. */
export interface Needs {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

/** The packages that the program imports, and that are therefore bundled into it: their names. */
export function importedPackages(folder: string): readonly string[] {
  const files = readdirSync(join(folder, 'src'), { recursive: true, encoding: 'utf8' });
  const specifiers = files
    .filter((file) => file.endsWith('.ts'))
    .flatMap((file) => [...readFileSync(join(folder, 'src', file), 'utf8').matchAll(imported)])
    .map(([, specifier = '']) => specifier);
  const names = specifiers
    .filter((specifier) => !/^(node:|\.)/.test(specifier))
    .map((specifier) => /^(@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier);
  return [...new Set(names)].toSorted();
}

const imported = /(?:\bfrom|\bimport\(|\bimport) ?'([^']+)'/g;

/** Where these packages, and all that they need, are installed, by the paths in package-lock.json. */
export function reachedFrom(
  names: readonly string[],
  packages: Readonly<Record<string, Needs>>,
): ReadonlySet<string> {
  const reached = new Set<string>();
  const visit = (name: string, from: string) => {
    const path = installedFor(name, from, packages);
    if (path === null || reached.has(path)) return;
    reached.add(path);
    const { dependencies, optionalDependencies, peerDependencies } = packages[path] ?? {};
    for (const each of Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies })) {
      visit(each, path);
    }
  };
  for (const name of names) visit(name, '');
  return reached;
}

/** Where Node finds a package for another: the nearest folder upwards; null where it is not installed. */
function installedFor(name: string, from: string, packages: Readonly<Record<string, Needs>>): string | null {
  const path = `${from === '' ? '' : `${from}/`}node_modules/${name}`;
  if (Object.hasOwn(packages, path)) return path;
  return from === ''
    ? null
    : installedFor(name, from.replace(/\/?node_modules\/(@[^/]+\/)?[^/]+$/, ''), packages);
}
