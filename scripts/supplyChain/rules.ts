import { isDeepStrictEqual } from 'node:util';
import { versionBetween } from './engines.ts';
import { isPermissive } from './licences.ts';
import { idOf, type Manifest, type Project, productionPackages } from './project.ts';

/** What may come into the project: each rule with what breaks it, in words. */
const rules: Readonly<Record<string, (project: Project) => string[]>> = {
  'package.json names exact versions': ({ manifest }) =>
    Object.entries({ ...manifest.dependencies, ...manifest.devDependencies })
      .filter(([, version]) => !/^\d+\.\d+\.\d+$/.test(version))
      .map(([name, version]) => `${name} ${version}`),

  'package-lock.json is in step with package.json': ({ manifest, lockedManifest }) =>
    copiedFields.filter((field) => !isDeepStrictEqual(manifest[field], lockedManifest[field])),

  'the program needs no package that is not bundled': ({ manifest }) =>
    Object.keys(manifest.dependencies ?? {}),

  'every package has the hash of its content': ({ packages }) =>
    packages.filter(({ integrity }) => !/^sha512-[\w+/]{86}==$/.test(integrity ?? '')).map(idOf),

  // Without an address npm takes a package from the registry of its user, which is the public one by default.
  'every package is the one of the public registry': ({ packages, npmrc }) => [
    ...packages
      .filter(({ resolved }) => resolved !== undefined && !resolved.startsWith('https://registry.npmjs.org/'))
      .map((each) => `${idOf(each)} of ${each.resolved}`),
    ...npmrc.filter((line) => /registry *=|_auth|_password/.test(line)).map((line) => `.npmrc with ${line}`),
  ],

  'no production package runs a script when it is installed': (project) =>
    productionPackages(project)
      .filter(({ hasInstallScript }) => hasInstallScript === true)
      .map(idOf),

  'every production package runs on each Node that ours admits': (project) =>
    productionPackages(project).flatMap((each) => {
      const version = versionBetween(project.manifest.engines.node, each.engines?.node ?? '*');
      return version === undefined ? [] : [`${idOf(each)} on ${version}`];
    }),

  'every production package has a permissive licence': (project) =>
    productionPackages(project)
      .filter(({ license }) => !isPermissive(license))
      .map((each) => `${idOf(each)} with ${each.license ?? 'none'}`),
};

/** What npm copies from package.json into package-lock.json. */
const copiedFields: readonly (keyof Manifest)[] = [
  'name',
  'version',
  'engines',
  'dependencies',
  'devDependencies',
];

/** The names of all rules. */
export const ruleNames = Object.keys(rules);

/** All that breaks a rule, a line for each. */
export function problemsOf(project: Project): string[] {
  return Object.entries(rules).flatMap(([name, broken]) =>
    broken(project).map((what) => `${name}; not so: ${what}`),
  );
}
