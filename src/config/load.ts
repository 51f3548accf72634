import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { errorMessage } from '../base/errorMessage.ts';
import { crossProblems, type OperationParams } from './checks.ts';
import { fileVariable, readEnvironment, type Setting, variableOf } from './environment.ts';
import { type ParsedFile, parseFile, readTextFile } from './file.ts';
import { ConfigError, type ConfigPlace, type ConfigProblem, knownPart, schemaProblems } from './problems.ts';
import { type Config, configSchema, optionRows, secretPaths } from './schema.ts';
import { isAtOrBelow, isTree, type Tree, valueAt, withoutEmpty, withValueAt } from './tree.ts';
import { configWarnings, type Warning } from './warnings.ts';

/*
 * How the configuration is read. `schema.ts` has every option with its default. The YAML file (`file.ts`) is read into a tree. A
 * form, if there is one (`app.ts`), adds values, and the environment (`environment.ts`) replaces values. The schema checks each
 * value, and `checks.ts` checks them together. All problems are reported at once, each with its line. No message
 * repeats a secret.
 */

/** Options from a form, in addition to those of the file. */
export interface Form {
  /** The file with all other options, and the path by which the user knows it; null if there is none. */
  readonly file: { readonly path: string; readonly shown: string } | null;
  /** What the user has filled in. The file must not have it too. */
  readonly settings: readonly Setting[];
  /** Values for options that are neither in the form nor in the file. */
  readonly defaults: readonly Setting[];
  readonly problems: readonly string[];
  /** What messages call the field of an option; undefined if the form does not have it. */
  readonly placeOf: (option: string) => string | undefined;
}

interface LoadOptions {
  /** The file from `--config`. If it is given, it must exist. */
  readonly file?: string | undefined;
  readonly env: NodeJS.ProcessEnv;
  /** For relative paths in `file` and in variables. Those in the file start from the file's own folder. */
  readonly cwd: string;
  /** The operations that `cloud.routes` may name. If they are not given, the names are not checked. */
  readonly operations?: OperationParams | undefined;
  readonly form?: Form | undefined;
}

export interface LoadedConfig {
  readonly config: Config;
  /** Null if no file was read. */
  readonly file: string | null;
  /** Possible mistakes that do not prevent the start. */
  readonly warnings: readonly Warning[];
}

/** Reads the file and the environment; the environment has priority. Throws a ConfigError that names every problem. */
export function loadConfig({ file, env, cwd, operations, form }: LoadOptions): LoadedConfig {
  const path = resolve(cwd, file ?? (env[fileVariable] || (form?.file?.path ?? 'config.yaml')));
  const namedBy = file !== undefined ? '--config' : env[fileVariable] ? fileVariable : null;
  const source = form?.file === null ? null : readSource(path, namedBy);
  if (source === null && form?.file !== null && existsSync(misnamedFile(path)))
    throw new ConfigError([`${misnamedFile(path)} is not read. Rename it to config.yaml`]);
  const parsed = parseFile(source ?? '');
  const environment = readEnvironment(env);
  const unknown = [...(form?.problems ?? []), ...environment.problems];
  if (!form && source === null && isUnconfigured({ file, env, cwd })) {
    const message = `No configuration found at ${path}. Run sonic2mqtt setup to write it`;
    throw new ConfigError([message], message);
  }
  const isEmpty = !form && parsed.value === null && environment.settings.length + unknown.length === 0;
  if (isEmpty && source !== null) {
    throw new ConfigError([`${path} is empty. Fill it in. config.example.yaml shows every option`]);
  }
  const fileTree = parsed.value ?? {};
  const written = isTree(fileTree) ? withoutEmpty(fileTree, (each) => !mayBeEmpty(each.join('.'))) : {};
  const formSettings = [
    ...(form?.defaults ?? []).filter((each) => !isIn(written, each)),
    ...(form?.settings ?? []),
  ];
  const describe = describer(parsed, [...formSettings, ...environment.settings], form);
  const errorOf = (problems: readonly ConfigProblem[]) => {
    const described = describe(problems);
    return new ConfigError([...described.map(({ message }) => message), ...unknown], undefined, described);
  };
  if (parsed.value === undefined) throw errorOf(parsed.problems);
  if (!isTree(fileTree)) throw errorOf([notSections]);

  const isSet = (option: string) => environment.settings.some((each) => each.path.join('.') === option);
  const folder = source === null ? cwd : folderOf(path, cwd);
  const folderFor = (option: string) => (isSet(option) ? cwd : folder);
  const merged = merge(merge(written, formSettings), environment.settings);
  const tree = withAbsolutePaths({ ...merged, cloud: merged['cloud'] ?? {} }, folderFor);
  const result = configSchema.safeParse(tree);
  const faults = [
    ...parsed.problems,
    ...(form?.settings ?? []).filter((each) => isIn(written, each)).map((each) => givenTwice(each, parsed)),
    ...(result.error ? schemaProblems(result.error, tree) : []),
    ...crossProblems(tree, operations),
  ];
  if (!result.success || faults.length + unknown.length > 0) throw errorOf(faults);
  const config = result.data;
  const shown = form?.file && namedBy === null ? form.file.shown : path;
  return { config, file: source === null ? null : shown, warnings: configWarnings(config) };
}

/** Whether the file has an option, also as the file of a secret. */
const isIn = (tree: Tree, { path }: Setting) =>
  [path, [...path.slice(0, -1), `${path.at(-1)}_file`]].some((each) => valueAt(tree, each) !== undefined);

/** If the form and the file have an option, nobody knows which of them the user meant. */
function givenTwice({ path, place }: Setting, { lineOf }: ParsedFile): ConfigProblem {
  return { path, line: lineOf(path) ?? 1, message: `is ${place} too. Delete it in the file` };
}

/** If one of these options is set, somebody has begun a configuration. */
const firstOptions = [
  'cloud.email',
  'cloud.password',
  'cloud.password_file',
  'mqtt.url',
  'mqtt.embedded.enabled',
];

/** Whether there is no configuration at all: no file, and nothing about an account or a broker in the environment. */
export function isUnconfigured({ file, env, cwd }: LoadOptions): boolean {
  const path = resolve(cwd, 'config.yaml');
  if (file !== undefined || env[fileVariable] || [path, misnamedFile(path)].some((each) => existsSync(each)))
    return false;
  const { settings, problems } = readEnvironment(env);
  return problems.length === 0 && !settings.some(({ path }) => firstOptions.includes(path.join('.')));
}

/** The name that people give to the file by mistake. */
function misnamedFile(path: string): string {
  return path.replace(/\.yaml$/, '.yml');
}

/** The text of the file; null if the file does not exist and was not named explicitly. */
function readSource(path: string, namedBy: string | null): string | null {
  if (namedBy === null && !existsSync(path)) return null;
  try {
    return readTextFile(path);
  } catch (error) {
    const message = errorMessage(error);
    throw new ConfigError([namedBy === null ? message : `${namedBy}: ${message}`]);
  }
}

const notSections: ConfigProblem = {
  path: [],
  line: 1,
  message: 'the file must hold sections such as cloud: and mqtt:',
};

/** Whether null means that the option or section is left out. For a route, null is a value. */
function mayBeEmpty(path: string): boolean {
  return optionRows.some((row) => isAtOrBelow(row.path, path));
}

function merge(given: Tree, settings: readonly Setting[]): Tree {
  // A secret in a setting replaces the given secret, whether it is given as a value or as a file name.
  const rivals = settings.flatMap(({ path }) => {
    const written = path.join('.');
    const secretPath = secretPaths.find((each) => written === each || written === `${each}_file`);
    return secretPath ? [secretPath, `${secretPath}_file`] : [];
  });
  const cleared = rivals.reduce((tree, path) => withValueAt(tree, path.split('.'), undefined), given);
  return settings.reduce((tree, { path, value }) => withValueAt(tree, path, value), cleared);
}

const pathRows = optionRows.filter((row) => /_(file|dir)$/.test(row.path));

function withAbsolutePaths(tree: Tree, folderFor: (option: string) => string): Tree {
  return pathRows.reduce((reached, row) => {
    const path = row.path.split('.');
    const value = valueAt(tree, path) ?? row.default;
    return typeof value === 'string' && value !== ''
      ? withValueAt(reached, path, resolve(folderFor(row.path), value))
      : reached;
  }, tree);
}

/** The folder for relative paths in the file. If the file is a pipe, its own folder is useless. */
function folderOf(file: string, cwd: string): string {
  return /^\/(dev|proc)\//.test(file) ? cwd : dirname(file);
}

/** Describes problems as lines in the order of the file: the option, its place, and what is wrong. */
function describer(file: ParsedFile, settings: readonly Setting[], form: Form | undefined) {
  const located = ({ path, line, message }: ConfigProblem): ConfigPlace & { readonly message: string } => {
    const name = path.join('.');
    const setting = settings.findLast((each) => isAtOrBelow(name, each.path.join('.')));
    const lineInFile = line ?? (setting ? undefined : file.lineOf(path));
    const lineWords = lineInFile && `line ${lineInFile}${form?.file ? ` of ${form.file.shown}` : ''}`;
    const other = setting?.place ?? form?.placeOf(name) ?? (name ? variableOf(name) : undefined);
    const place = lineWords || other;
    const subject = name ? `${name} (${place})` : place;
    return {
      option: knownPart(path),
      line: lineInFile ?? null,
      words: message,
      message: subject === undefined ? message : `${subject}: ${message}`,
    };
  };
  const order = ({ line }: ConfigPlace) => line ?? Number.MAX_SAFE_INTEGER;
  return (problems: readonly ConfigProblem[]): (ConfigPlace & { readonly message: string })[] => {
    const lines = problems.map(located).sort((left, right) => order(left) - order(right));
    return [...new Map(lines.map((line) => [line.message, line])).values()];
  };
}
