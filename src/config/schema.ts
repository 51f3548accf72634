import { z } from 'zod';
import { logLevels } from '../base/log.ts';
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
  webUrl,
  whole,
} from './values.ts';

const sectionMessage = 'must be a section: its options indented below it';

function section<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.strictObject(shape, { error: sectionMessage });
}

const secretFile = (what: string) =>
  optional(text).describe(`File that holds the ${what} (Docker secrets), instead of writing it here`);

/** Marks what must never be shown; the word is JSON Schema's own. */
const hidden = { writeOnly: true } as const;

/** THE CONFIGURATION: every option, its default as one would write it, and what it is for. */
export const configSchema = section({
  cloud: section({
    base_url: serviceUrl.describe('Address of the cloud service'),
    email: email.describe('E-mail address of the account'),
    password: secret.meta({ description: 'Password of the account', ...hidden }),
    password_file: secretFile('password of the account'),
    request_timeout: duration('100ms')
      .prefault('10s')
      .describe('How long one request, and so one command, may take'),
    max_concurrency: whole(1, 32).prefault(4).describe('Requests under way at the same time'),
    max_requests_per_minute: whole(1, 1_000_000)
      .prefault(300)
      .describe('Requests a minute over all schedules; commands go first'),
    routes: z
      .record(z.string(), route, { error: 'must be a map of operation names to routes' })
      .prefault({})
      .describe('Other routes by operation name, "METHOD /path/{param}"; null switches an operation off'),
  }).describe('The cloud service and the account'),

  mqtt: section({
    url: optional(brokerUrls).describe(
      'Address of the broker: mqtt, mqtts, ws or wss; a list for a cluster: the next one where one is away; required unless the embedded broker is enabled',
    ),
    username: optional(text).describe('User name on the broker'),
    password: secret.meta({ description: 'Password on the broker', ...hidden }),
    password_file: secretFile('password on the broker'),
    client_id: text
      .prefault('sonic2mqtt')
      .describe(
        'Client id; each client of a broker needs its own. Where bridges share an account, sonic2mqtt_{index}',
      ),
    protocol_version: z
      .literal([4, 5], { error: 'must be 4 (MQTT 3.1.1) or 5' })
      .prefault(5)
      .describe('4 is MQTT 3.1.1; 5 falls back to 4 where the broker refuses it'),
    ca_file: optional(text).describe(
      'Certificate of the authority that signed the broker’s certificate (PEM)',
    ),
    cert_file: optional(text).describe('Client certificate (PEM); goes with key_file'),
    key_file: optional(text).describe('Key of the client certificate (PEM, not encrypted)'),
    reject_unauthorized: flag.prefault(true).describe('false accepts any certificate of the broker'),
    // MQTT counts the keepalive in seconds, in 16 bits.
    keepalive: duration('1s', '18h').prefault('60s').describe('How soon a dead connection is noticed'),
    base_topic: topic.prefault('sonic2mqtt').describe('First part of every topic of the bridge'),
    embedded: section({
      enabled: flag.prefault(false).describe('Run a broker inside the bridge'),
      host: text.prefault('127.0.0.1').describe('Address it listens on; 0.0.0.0 is every network'),
      // None by the system's choice: nobody would find it there.
      port: whole(1, 65_535).prefault(1883).describe('Port it listens on'),
      username: optional(text).describe('User name that its clients must give'),
      password: secret.meta({ description: 'Password that its clients must give', ...hidden }),
      password_file: secretFile('password that its clients must give'),
    })
      .prefault({})
      .describe(
        'A broker inside the bridge (MQTT 3.1.1), for trying out and Node-RED; Home Assistant wants an MQTT 5 broker',
      ),
  })
    .prefault({})
    .describe('The broker'),

  homeassistant: section({
    enabled: flag.prefault(true).describe('Announce devices and entities to Home Assistant'),
    discovery_prefix: topic
      .prefault('homeassistant')
      .describe('Topic under which Home Assistant looks for them'),
    status_topic: topic
      .prefault('homeassistant/status')
      .describe('Topic on which Home Assistant says that it has started'),
  })
    .prefault({})
    .describe('Home Assistant'),

  schedules: section({
    timezone: timeZone.prefault('UTC').describe('Time zone of cron expressions'),
    incidents: schedule.prefault('30s').describe('When incidents are read'),
    sonics: schedule.prefault('60s').describe('When sonics and their valves are read'),
    telemetry: schedule.prefault('60s').describe('When flow, pressure and temperature are read'),
    signals: schedule.prefault('5m').describe('When signals (the hubs) are read'),
    usage: schedule.prefault('15m').describe('When water usage is read'),
    pressure_tests: schedule.prefault('1h').describe('When pressure tests are read'),
    properties: schedule
      .prefault('1h')
      .describe('When properties, their settings and notification settings are read'),
  })
    .prefault({})
    .describe('When the cloud is read: a duration, or a cron expression of 5 or 6 fields'),

  filters: section({
    properties: names.prefault([]).describe('Names or ids of the properties to bridge; empty: all'),
  })
    .prefault({})
    .describe('What to leave out'),

  shard: section({
    index: whole(0, 255).prefault(0).describe('Which of them is this one, counted from 0'),
    count: whole(1, 256).prefault(1).describe('How many bridges share the account and the broker'),
  })
    .prefault({})
    .describe('Which part of the properties is this bridge’s, where several bridges share an account'),

  control: section({
    valves: flag
      .prefault(true)
      .describe(
        'Open and close valves; `false` also forbids pressure tests and incident actions that may move one',
      ),
    incidents: flag.prefault(true).describe('Resolve and snooze incidents'),
    pressure_tests: flag.prefault(true).describe('Start pressure tests'),
    settings: flag.prefault(true).describe('Change property and notification settings, and names'),
    account: flag.prefault(false).describe('Create properties and invitations, change the user’s profile'),
  })
    .prefault({})
    .describe('What MQTT may change; everything else is refused, and said so'),

  valve: section({
    confirm_timeout: duration('100ms')
      .prefault('90s')
      .describe('How long a valve command may take to show before it counts as failed'),
    confirm_interval: duration('100ms')
      .prefault('2s')
      .describe('How often the valve is read until the command shows'),
  })
    .prefault({})
    .describe('How valve commands are followed up'),

  stale_after: duration('100ms')
    .prefault('5m')
    .describe('Without a good poll for so long, values are shown as unavailable'),

  http: section({
    listen: optional(listenAddress).describe(
      'Where to serve the status page, health, metrics and the webhook, such as 127.0.0.1:8099; empty: nowhere',
    ),
    only_from: networks
      .prefault([])
      .describe('IP addresses and networks that are answered, such as 192.168.1.0/24; empty: everybody'),
    webhook: section({
      secret: secret.meta({
        description: 'Last part of the webhook’s path; a delivery only triggers an early poll',
        ...hidden,
      }),
      secret_file: secretFile('last part of the webhook’s path'),
      signing_secret: secret.meta({
        description: 'When set, the signature of each delivery (HL-Signature) is verified',
        ...hidden,
      }),
      signing_secret_file: secretFile('signing secret'),
      public_url: optional(webUrl).describe(
        'Address under which the cloud reaches the webhook, with /webhook/ and the secret',
      ),
      register: flag
        .prefault(false)
        .describe('Put public_url into each property’s webhook_url, and switch it on'),
    })
      .prefault({})
      .describe('Deliveries from the cloud, so that news come before the next poll'),
  })
    .prefault({})
    .describe('The status page, health, metrics and the webhook over HTTP'),

  data_dir: text
    .prefault('./data')
    .describe('Folder for the session token, usage totals and incidents already announced'),

  log: section({
    level: oneOf(logLevels).prefault('info').describe('How much is told: trace, debug, info, warn or error'),
    format: oneOf(['pretty', 'json']).prefault('pretty').describe('pretty for people, json for machines'),
  })
    .prefault({})
    .describe('The log, on standard error'),
});

/** The configuration as the bridge uses it: keys as in the file, durations in ms, nothing left out; empty is null. */
export type Config = z.output<typeof configSchema>;

/** One option, for tables of them and for reading it from the environment. */
export interface OptionRow {
  /** With dots between the levels, as in `mqtt.embedded.port`. */
  readonly path: string;
  readonly type: 'text' | 'addresses' | 'number' | 'boolean' | 'list' | 'map';
  /** As one would write it in the file; undefined where a value must be given. */
  readonly default: unknown;
  readonly description: string;
  readonly secret?: true;
}

const rowTypes: Readonly<Record<string, OptionRow['type']>> = {
  number: 'number',
  // The only literals of the configuration are numbers.
  literal: 'number',
  boolean: 'boolean',
  array: 'list',
  record: 'map',
  // The only union is that of one address and a list of them.
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

/** Every option, in the order of the file. */
export const optionRows: readonly OptionRow[] = rowsOf(configSchema, '');

/** The options that are secret; each can also be given as a file, at the same path with `_file` behind it. */
export const secretPaths = optionRows.filter((row) => row.secret).map((row) => row.path);

/** The addresses of the broker, or of the nodes of a cluster; none if the embedded broker is meant. */
export function brokerAddresses({ mqtt }: Config): readonly string[] {
  return [mqtt.url ?? []].flat();
}

/** JSON Schema (draft 2020-12) of the configuration file, for editors; `operations` are the names that routes may have. */
export function configJsonSchema(operations: readonly string[]): object {
  const schema = z.toJSONSchema(configSchema, {
    target: 'draft-2020-12',
    io: 'input',
    override({ zodSchema, jsonSchema }) {
      if (zodSchema instanceof z.ZodRecord) jsonSchema.propertyNames = { enum: [...operations] };
      if (!jsonSchema.properties) return;
      // What the file leaves out may come from the environment, so no key is required.
      delete jsonSchema.required;
      // The default of a section is an empty one, which says nothing.
      delete jsonSchema.default;
    },
  });
  return { ...schema, title: 'Configuration of sonic2mqtt' };
}
