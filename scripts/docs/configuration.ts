import { appOptions } from '../../src/config/app.ts';
import { variableOf } from '../../src/config/environment.ts';
import { configJsonSchema, type OptionRow, optionRows, secretPaths } from '../../src/config/schema.ts';
import { isAtOrBelow, isTree, valueAt } from '../../src/config/tree.ts';
import { code, codeBlock, generatedNote, table } from './markdown.ts';

const requiredUnless: Readonly<Record<string, string>> = {
  'cloud.password': '**required**, or `password_file`',
  'mqtt.url': '**required**, unless `mqtt.embedded.enabled`',
};

function defaultOf({ path, default: value }: OptionRow): string {
  const required = requiredUnless[path] ?? (value === undefined ? '**required**' : '');
  return required || (value === null ? '' : code(typeof value === 'string' ? value : JSON.stringify(value)));
}

/** What an option takes, in a word or two. */
function kindOf({ path, type }: OptionRow): string {
  const schema = valueAt(
    configJsonSchema([]),
    path.split('.').flatMap((step) => ['properties', step]),
  );
  const about = isTree(schema) ? schema : {};
  const { enum: words, minimum, maximum, pattern } = about;
  if (Array.isArray(words))
    return words
      .filter((word) => word !== null)
      .map((word) => code(String(word)))
      .join(', ');
  if (type === 'number' && minimum !== undefined) return `${minimum} to ${maximum}`;
  if (type === 'boolean') return '`true`, `false`';
  if (type === 'map') return 'map';
  if (type === 'addresses') return 'text or list';
  if (type === 'list') return 'list';
  if (/^schedules\.(?!timezone)/.test(path)) return 'schedule';
  if (typeof pattern === 'string' && pattern.includes('ms|s|m|h')) return 'duration';
  return type;
}

/** What an option is called in the form of the sonic2mqtt app; empty for one that goes into its file. */
function inApp({ path }: OptionRow): string {
  return appOptions.find((option) => isAtOrBelow(path, option.path))?.label ?? '';
}

/** Where an option stands; empty at the top of the file. */
function sectionOf({ path }: OptionRow): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('.')));
}

/** docs/reference/options.md */
export function configurationPage(): string {
  const sections = [...new Set(optionRows.map(sectionOf))];
  // What stands at the top of the file comes last.
  const sectionPages = sections
    .toSorted((left, right) => Number(left === '') - Number(right === ''))
    .map((section) => {
      const rows = optionRows.filter((row) => sectionOf(row) === section);
      const about = valueAt(configJsonSchema([]), [
        ...section.split('.').flatMap((step) => ['properties', step]),
        'description',
      ]);
      return [
        section === '' ? '## Outside the sections' : `## ${code(section)}`,
        ...(typeof about === 'string' ? [`${about}.`] : []),
        table(
          ['Option', 'Takes', 'Default', 'Meaning', 'In the app'],
          rows.map((row) => [
            code(row.path.slice(section === '' ? 0 : section.length + 1)),
            kindOf(row),
            defaultOf(row),
            row.description,
            inApp(row),
          ]),
        ),
      ].join('\n\n');
    });
  return [
    generatedNote,
    '# Configuration',
    `**In the sonic2mqtt app** of Home Assistant, you set the options with a name in the last column in the *Configuration* of the
app. Some of them appear after you turn on *Show unused optional configuration options*.
Every other option goes into the file \`/addon_configs/0e7938d5_sonic2mqtt/config.yaml\`.

**Everywhere else,** the configuration is one YAML file, by default \`config.yaml\` in the working directory.
\`--config FILE\` or \`SONIC2MQTT_CONFIG\` names another file.

Start with [config.example.yaml](../../config.example.yaml), and test your file with \`sonic2mqtt check\`.
All errors are reported together, each with its line number.
\`sonic2mqtt schema\` prints a JSON Schema for your editor.`,
    `- **Durations** are \`500ms\`, \`30s\`, \`5m\` or \`1h\`.
- **Schedules** are a duration, or a cron expression of 5 fields (or 6, with seconds first) in \`schedules.timezone\`.
- **Environment**: variables override the file. The name is \`SONIC2MQTT_\` and the path in capitals, with two underscores
  between levels: \`${variableOf('mqtt.url')}\`, \`${variableOf('schedules.sonics')}\`. If all required options are variables,
  you need no file. Write a list as YAML, \`[Home, Office]\`, or with commas only.
- **Secrets** can be read from files (Docker secrets). Add \`_file\` to the name of the option and give the path. sonic2mqtt reads
  the account's password again when the cloud rejects it. It reads the broker's password and certificates at each
  connection. The secrets are
  ${secretPaths.map(code).join(',\n  ')}.
- **Paths** in the file are relative to the folder of the file. Paths in variables are relative to the working directory.`,
    'Minimal configuration:',
    codeBlock(
      'yaml',
      `cloud:
  email: me@example.com
  password: secret
mqtt:
  url: mqtt://localhost:1883`,
    ),
    ...sectionPages,
  ].join('\n\n');
}
