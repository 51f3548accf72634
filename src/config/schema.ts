import { z } from 'zod';
import { logLevels } from '../base/log.ts';
import { languages } from '../model/language.ts';
import {
  brokerUrls,
  duration,
  email,
  flag,
  listenAddress,
  names,
  networks,
  oneOf,
  optional,
  route,
  schedule,
  secret,
  serviceUrl,
  text,
  timeZone,
  topic,
  whole,
} from './values.ts';

const sectionMessage = 'must be a section, with its options indented below it';

function section<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.strictObject(shape, { error: sectionMessage });
}

const secretFile = (what: string) => optional(text).describe(`File with the ${what}, for Docker secrets`);

/** Marks an option that must never be shown. The keyword comes from JSON Schema. */
const hidden = { writeOnly: true } as const;

/** THE CONFIGURATION: every option with its default, as a user would write it, and its description. */
export const configSchema = section({
  cloud: section({
    base_url: serviceUrl.prefault('https://api.watergate.ai').describe('Address of the cloud service'),
    email: email.describe('E-mail address of the account'),
    password: secret.meta({ description: 'Password of the account', ...hidden }),
    password_file: secretFile('password of the account'),
    request_timeout: duration('100ms')
      .prefault('10s')
      .describe('Timeout for a single cloud request, commands included'),
    max_concurrency: whole(1, 32)
      .prefault(4)
      .describe('Maximum number of cloud requests at the same time, in addition to valve commands'),
    max_requests_per_minute: whole(1, 1_000_000)
      .prefault(300)
      .describe(
        'Maximum number of cloud requests per minute. Commands go first, with half of it. Valve commands come in addition',
      ),
    routes: z
      .record(z.string(), route, { error: 'must be a map of operation names to routes' })
      .prefault({})
      .describe('Other paths by operation, "METHOD /path/{param}". null switches an operation off'),
  }).describe('The cloud service and the account'),

  mqtt: section({
    url: optional(brokerUrls).describe(
      'MQTT broker URL (mqtt, mqtts, ws or wss). A list for a cluster. Required unless the built-in broker is enabled',
    ),
    username: optional(text).describe('Broker user name'),
    password: secret.meta({ description: 'Broker password', ...hidden }),
    password_file: secretFile('broker password'),
    client_id: optional(text).describe(
      'MQTT client ID. Made from base_topic, so that the broker lets only one bridge use it',
    ),
    protocol_version: z
      .literal([4, 5], { error: 'must be 4 (MQTT 3.1.1) or 5' })
      .prefault(5)
      .describe('MQTT version: 5, or 4 for MQTT 3.1.1. Falls back to 4 if the broker rejects 5'),
    ca_file: optional(text).describe('CA certificate of the broker (PEM). Needs mqtts:// or wss://'),
    cert_file: optional(text).describe('Client certificate (PEM). Needs key_file'),
    key_file: optional(text).describe('Key of the client certificate (PEM, not encrypted)'),
    reject_unauthorized: flag
      .prefault(true)
      .describe('Check the broker’s certificate. false accepts any certificate'),
    // MQTT has the keepalive in seconds, as a number of 16 bits.
    keepalive: duration('1s', '18h')
      .prefault('60s')
      .describe('Time after which a dead broker connection is noticed'),
    base_topic: topic.prefault('sonic2mqtt').describe('First part of every topic of sonic2mqtt'),
    embedded: section({
      enabled: flag.prefault(false).describe('Start the built-in broker'),
      host: text
        .prefault('127.0.0.1')
        .describe('Listen address of the built-in broker. 0.0.0.0 for all networks'),
      // Not 0: the system would choose a port, which clients could not find.
      port: whole(1, 65_535).prefault(1883).describe('Port of the built-in broker'),
      username: optional(text).describe('User name for clients of the built-in broker'),
      password: secret.meta({ description: 'Password for clients of the built-in broker', ...hidden }),
      password_file: secretFile('password for clients of the built-in broker'),
    })
      .prefault({})
      .describe(
        'Built-in MQTT 3.1.1 broker, for trials and your own flows. Home Assistant and the ready flows need MQTT 5',
      ),
  })
    .prefault({})
    .describe('The MQTT broker'),

  homeassistant: section({
    enabled: flag.prefault(true).describe('Create devices and entities in Home Assistant'),
    discovery_prefix: topic
      .prefault('homeassistant')
      .describe('Discovery prefix of Home Assistant’s MQTT integration'),
    status_topic: topic.prefault('homeassistant/status').describe('Topic of Home Assistant’s birth message'),
    language: oneOf(languages)
      .prefault('en')
      .describe('Language of entity names: en, de, fr, nl or pl. IDs stay English'),
  })
    .prefault({})
    .describe('Home Assistant'),

  schedules: section({
    timezone: timeZone
      .prefault('UTC')
      .describe('Time zone of cron expressions, and of days of water use if the property has none'),
    incidents: schedule.prefault('30s').describe('Update interval of incidents'),
    sonics: schedule.prefault('60s').describe('Update interval of valves (sonics)'),
    telemetry: schedule.prefault('60s').describe('Update interval of flow, pressure and temperature'),
    signals: schedule.prefault('5m').describe('Update interval of hubs (signals)'),
    usage: schedule.prefault('15m').describe('Update interval of water usage'),
    pressure_tests: schedule.prefault('1h').describe('Update interval of pressure tests'),
    properties: schedule.prefault('1h').describe('Update interval of properties and their settings'),
  })
    .prefault({})
    .describe('Update intervals: a duration, or a cron expression with 5 or 6 fields'),

  filters: section({
    properties: names
      .prefault([])
      .describe('Names or IDs of the properties to include. * is any part of a name. Empty for all'),
  })
    .prefault({})
    .describe('Properties to include'),

  control: section({
    valves: flag
      .prefault(true)
      .describe(
        'Open and close valves. `false` also forbids pressure tests and incident actions that move a valve',
      ),
    incidents: flag.prefault(true).describe('Resolve and snooze incidents'),
    pressure_tests: flag.prefault(true).describe('Start pressure tests'),
    settings: flag.prefault(true).describe('Change property and notification settings, and names'),
    account: flag.prefault(false).describe('Create properties and invitations, change the user profile'),
  })
    .prefault({})
    .describe('What MQTT clients may change. Anything else is refused and logged'),

  valve: section({
    confirm_timeout: duration('100ms')
      .prefault('90s')
      .describe('Time for a valve to move before the command counts as failed'),
    confirm_interval: duration('100ms')
      .prefault('2s')
      .describe('Interval between readings of a moving valve'),
  })
    .prefault({})
    .describe('Confirmation of valve commands'),

  stale_after: duration('100ms')
    .prefault('5m')
    .describe('Mark entities unavailable after this long without fresh data'),

  http: section({
    listen: optional(listenAddress).describe(
      'Address of the status page, health checks, metrics and webhook, for example 127.0.0.1:8099. Empty for off',
    ),
    only_from: networks
      .prefault([])
      .describe('IP addresses and networks that may connect, for example 192.168.1.0/24. Empty for all'),
    device_metrics: flag.prefault(false).describe('Metrics of each valve, with its name and its property'),
    webhook: section({
      secret: secret.meta({
        description: 'Last part of the webhook path. A call only triggers an early update',
        ...hidden,
      }),
      secret_file: secretFile('last part of the webhook path'),
      signing_secret: secret.meta({
        description: 'Key to verify the signature (HL-Signature) of each call',
        ...hidden,
      }),
      signing_secret_file: secretFile('signing secret'),
    })
      .prefault({})
      .describe('Lets the cloud notify sonic2mqtt, so changes appear before the next update'),
  })
    .prefault({})
    .describe('Status page, health checks, metrics and webhook'),

  data_dir: text
    .prefault('./data')
    .describe('Folder for the session token, usage totals and announced incidents'),

  log: section({
    level: oneOf(logLevels).prefault('info').describe('Log level: trace, debug, info, warn or error'),
    format: oneOf(['pretty', 'json']).prefault('pretty').describe('pretty for people, json for programs'),
  })
    .prefault({})
    .describe('Log, written to standard error'),
});

/** Durations are in ms, every option is present, and an empty option is null. */
export type Config = z.output<typeof configSchema>;

/** One option, for tables of options and for reading it from the environment. */
export interface OptionRow {
  /** The path with dots between the levels, for example `mqtt.embedded.port`. */
  readonly path: string;
  readonly type: 'text' | 'addresses' | 'number' | 'boolean' | 'list' | 'map';
  /** The default as a user would write it in the file; undefined if a value must be given. */
  readonly default: unknown;
  readonly description: string;
  readonly secret?: true;
}

const rowTypes: Readonly<Record<string, OptionRow['type']>> = {
  number: 'number',
  // All literals in the configuration are numbers.
  literal: 'number',
  boolean: 'boolean',
  array: 'list',
  record: 'map',
  // The only union is one address or a list of addresses.
  union: 'addresses',
};

function rowsOf(schema: z.ZodObject, prefix: string): OptionRow[] {
  return Object.entries(schema.shape).flatMap(([key, child]): OptionRow[] => {
    const path = `${prefix}${key}`;
    const bare = unwrapped(child);
    if (bare instanceof z.ZodObject) return rowsOf(bare, `${path}.`);
    const meta = child instanceof z.ZodType ? child.meta() : undefined;
    return [
      {
        path,
        type: rowTypes[bare._zod.def.type] ?? 'text',
        default: child instanceof z.ZodPrefault ? child.def.defaultValue : undefined,
        description: meta?.description ?? '',
        ...(meta?.['writeOnly'] === true && { secret: true }),
      },
    ];
  });
}

function unwrapped(schema: z.core.$ZodType): z.core.$ZodType {
  if (schema instanceof z.ZodPrefault || schema instanceof z.ZodNullable) return unwrapped(schema.unwrap());
  return schema instanceof z.ZodPipe ? unwrapped(schema.in) : schema;
}

export const optionRows: readonly OptionRow[] = rowsOf(configSchema, '');

/** The secret options. Each can also be given as a file, with `_file` at the end of its path. */
export const secretPaths = optionRows.filter((row) => row.secret).map((row) => row.path);

/** The addresses of the broker, or of the nodes of a cluster; empty if the embedded broker is used. */
export function brokerAddresses({ mqtt }: Config): readonly string[] {
  return [mqtt.url ?? []].flat();
}

/** JSON Schema (draft 2020-12) for editors. `operations` are the names that routes may have. */
export function configJsonSchema(operations: readonly string[]): object {
  const schema = z.toJSONSchema(configSchema, {
    target: 'draft-2020-12',
    io: 'input',
    override({ zodSchema, jsonSchema }) {
      if (zodSchema instanceof z.ZodRecord) jsonSchema.propertyNames = { enum: [...operations] };
      if (!jsonSchema.properties) return;
      // Any option may come from the environment, so the file needs no key.
      delete jsonSchema.required;
      // The default of a section is an empty section, which says nothing to a reader.
      delete jsonSchema.default;
    },
  });
  return { ...schema, title: 'Configuration of sonic2mqtt' };
}
