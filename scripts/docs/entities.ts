import type { EntityRow } from '../../src/entities/row.ts';
import { entityTable } from '../../src/entities/tables.ts';
import type { DeviceKind } from '../../src/model/devices.ts';
import { code, generatedNote, table } from './markdown.ts';

const devices: Readonly<Record<DeviceKind, string>> = {
  sonic: 'Sonic (a valve)',
  signal: 'Signal (a hub)',
  property: 'Property',
  bridge: 'The bridge itself',
};

const needs = {
  device: 'bridge, cloud, link',
  cloud: 'bridge, cloud',
  bridge: 'bridge',
} as const satisfies Record<EntityRow<unknown>['needs'], string>;

function entityLine(row: EntityRow<never>): string[] {
  const kinds = [
    'deviceClass' in row ? row.deviceClass : undefined,
    'unit' in row ? row.unit : undefined,
    'options' in row ? row.options.join(' / ') : undefined,
  ];
  return [
    code(row.key),
    row.component,
    row.name ?? '*the name of the device*',
    kinds.filter((kind) => kind !== undefined).join(', '),
    row.category ?? '',
    row.isDisabledByDefault ? 'no' : 'yes',
    needs[row.needs],
  ];
}

/** docs/reference/entities.md */
export function entitiesPage(): string {
  const heads = ['Key', 'Platform', 'Name', 'Class, unit, values', 'Category', 'Enabled', 'Needs'];
  const sections = (Object.keys(devices) as DeviceKind[]).flatMap((kind) => [
    `## ${devices[kind]}`,
    table(
      heads,
      entityTable(kind).map((row) => entityLine(row)),
    ),
  ]);
  return [
    generatedNote,
    '# Entities in Home Assistant',
    `Each valve (*sonic*), hub (*signal*) and property is a device, and sonic2mqtt itself is one too (*bridge*).
A valve is linked to its hub, and a hub to its property.
Home Assistant 2024.12 or newer is required (device-based discovery).`,
    `- The **key** never changes. The unique ID is \`sonic2mqtt_{id}_{key}\`, and \`sonic2mqtt_bridge_{key}\` for the bridge. If \`mqtt.base_topic\` is not \`sonic2mqtt\`, unique IDs begin with \`sonic2mqtt_{base_topic}_\`.
- Home Assistant builds the **entity ID** from the names of the device and the entity. The sensor "Water flow" of the valve "Kitchen" is \`sensor.kitchen_water_flow\`, and the valve is \`valve.kitchen\`. You can rename both.
- **Enabled** *no*: the entity is off by default. Turn it on in its settings.
- **Needs** lists what must work, otherwise the entity is unavailable: the *bridge*, fresh data from the *cloud*, and the *link* of the device. The link of a valve is its connection to the hub, and the hub's connection to the cloud.
- An alert of an owner is an *incident* of the cloud. An \`incident_…\` sensor is on while an alert of this type is open. Its attributes are the record. \`bridge/event\` reports each new alert once.
- The states of \`battery\`, \`moved_by\`, \`pressure_test_result\` and the bridge’s \`status\` are words in the same [language](options.md#homeassistant). The attribute \`code\` is the word in the table: use it in automations.
- \`alert\` is on while an alert of any type is open. Its attribute \`alerts\` lists them in words, in the [language](options.md#homeassistant) of the names.
- \`summary\` is the headline of the [status page](../status-page.md) for the property. It also reports what is unknown, an outage of the cloud, a pause of the automatic shut-off, and for ten minutes a change that was refused. It is unavailable after an outage of \`stale_after\`, as everything that the cloud tells.
- \`pressure_test_result\` is the newest open alert about a test, from the day of the last test on. A closed alert no longer counts. It is unknown while a test runs, and while such an alert may be open.
- \`water_at_rest\` is the time of the last measurement without flow. It is kept over a restart. A flow that is too small to be measured counts as none. It changes with each measurement, so it is off by default.
- Flow, pressure, temperature and the limits of the automatic shut-off exist if the cloud offers them.
- An entity does not exist if [\`control\`](options.md#control) forbids it.`,
    ...sections,
  ].join('\n\n');
}
