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
 * How the configuration is read. `schema.ts` has every option with its default. The YAML file (`file.ts`), or the options of the
 * Home Assistant app (`app.ts`), are read into a tree, and the environment (`environment.ts`) replaces values in it. The schema
 * checks each value, and `checks.ts` checks them together. All problems are reported at once, each with its line. No message
 * repeats a secret.
 */

/** Options that do not come from the configuration file, and how messages name them. */
export interface Given {
  readonly file: string;
  /** Its line numbers only give the order of the problems. */
  readonly parsed: ParsedFile;
  /** Describes a problem in one line, with the name of the option that the user knows. */
  readonly tell: (problem: ConfigProblem) => string;
}

interface LoadOptions {
  /** The file from `--config`. If it is given, it must exist. */
  readonly file?: string | undefined;
  readonly env: NodeJS.ProcessEnv;
  /** For relative paths in `file` and in variables. Those in the file start from the file's own folder. */
  readonly cwd: string;
  /** The operations that `cloud.routes` may name. If they are not given, the names are not checked. */
  readonly operations?: OperationParams | undefined;
  readonly given?: Given | undefined;
}

export interface LoadedConfig {
  readonly config: Config;
  /** Null if only the environment was used. */
  readonly file: string | null;
  /** Possible mistakes that do not prevent the start. */
  readonly warnings: readonly Warning[];
}

/** Reads the file and the environment; the environment has priority. Throws a ConfigError that names every problem. */
export function loadConfig({ file, env, cwd, operations, given }: LoadOptions): LoadedConfig {
  const path = given?.file ?? resolve(cwd, file ?? (env[fileVariable] || 'config.yaml'));
  const namedBy = file !== undefined ? '--config' : env[fileVariable] ? fileVariable : null;
  const source = given ? '' : readSource(path, namedBy);
  const parsed = given?.parsed ?? parseFile(source ?? '');
  const environment = readEnvironment(env);
  const { settings, problems } = environment;
  const misnamed = source === null && existsSync(misnamedFile(path)) ? misnamedFile(path) : null;
  const misnamedMessage = `${misnamed} is not read. Rename it to config.yaml`;
  if (misnamed !== null && settings.length === 0) throw new ConfigError([misnamedMessage]);
  const unknown = misnamed === null ? problems : [...problems, misnamedMessage];
  if (!given && source === null && isUnconfigured({ file, env, cwd })) {
    const message = `No configuration found at ${path}. Run sonic2mqtt setup to write it`;
    throw new ConfigError([message], message);
  }
  if (!given && parsed.value === null && source !== null && settings.length + unknown.length === 0) {
    throw new ConfigError([`${path} is empty. Fill it in. config.example.yaml shows every option`]);
  }
  const describe = describer(parsed, settings, given);
  const errorOf = (problems: readonly ConfigProblem[]) => {
    const described = describe(problems);
    return new ConfigError([...described.map(({ message }) => message), ...unknown], undefined, described);
  };

  const fileTree = parsed.value ?? {};
  const isReadable = parsed.value !== undefined && isTree(fileTree);
  if (!isReadable) {
    const faults = parsed.value === undefined ? parsed.problems : [notSections];
    throw errorOf(faults);
  }

  const isSet = (option: string) => settings.some((each) => each.path.join('.') === option);
  const folder = source === null ? cwd : folderOf(path, cwd);
  const folderFor = (option: string) => (isSet(option) ? cwd : folder);
  const tree = withAbsolutePaths(merge(fileTree, settings), folderFor);
  const result = configSchema.safeParse(tree);
  const faults = [
    ...parsed.problems,
    ...(result.error ? schemaProblems(result.error, tree) : []),
    ...crossProblems(tree, operations),
  ];
  if (result.success && faults.length === 0 && environment.problems.length === 0) {
    const config = result.data;
    const warnings = configWarnings(config, environment);
    if (misnamed !== null) warnings.push({ about: misnamed, message: misnamedMessage });
    return { config, file: source === null ? null : path, warnings };
  }
  throw errorOf(faults);
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

function merge(fileTree: Tree, settings: readonly Setting[]): Tree {
  const given = withoutEmpty(fileTree, (path) => !mayBeEmpty(path.join('.')));
  // A secret in the environment replaces the secret in the file, whether it is given as a value or as a file name.
  const rivals = settings.flatMap(({ path }) => {
    const written = path.join('.');
    const secretPath = secretPaths.find((each) => written === each || written === `${each}_file`);
    return secretPath ? [secretPath, `${secretPath}_file`] : [];
  });
  const cleared = rivals.reduce((tree, path) => withValueAt(tree, path.split('.'), undefined), given);
  const merged = settings.reduce((tree, { path, value }) => withValueAt(tree, path, value), cleared);
  return { ...merged, cloud: merged['cloud'] ?? {} };
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
function describer(file: ParsedFile, settings: readonly Setting[], given: Given | undefined) {
  const located = (problem: ConfigProblem) => {
    const { path, line, message } = problem;
    const name = path.join('.');
    const option = knownPart(path);
    const setting = settings.findLast((each) => isAtOrBelow(name, each.path.join('.')));
    if (given && !setting) {
      return { option, line: file.lineOf(path) ?? null, message: given.tell(problem) };
    }
    const lineInFile = setting ? undefined : (line ?? file.lineOf(path));
    const lineWords = lineInFile ? `line ${lineInFile}` : undefined;
    const place = setting?.variable ?? lineWords ?? (name ? variableOf(name) : undefined);
    const subject = name ? `${name} (${place})` : place;
    return {
      option,
      line: lineInFile ?? null,
      message: subject === undefined ? message : `${subject}: ${message}`,
    };
  };
  const order = ({ line }: ConfigPlace) => line ?? Number.MAX_SAFE_INTEGER;
  return (problems: readonly ConfigProblem[]): (ConfigPlace & { readonly message: string })[] => {
    const lines = problems.map(located).sort((left, right) => order(left) - order(right));
    return [...new Map(lines.map((line) => [line.message, line])).values()];
  };
}
