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
    'eventTypes' in row ? `${row.eventTypes.length} event types` : undefined,
  ];
  return [
    code(row.key),
    row.component,
    row.name ?? '*the name of the device*',
    kinds.filter((kind) => kind !== undefined).join(', '),
    row.category ?? '',
    row.isDisabledByDefault ? 'no' : row.isHiddenByDefault ? 'hidden' : 'yes',
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
    `Each sonic, signal and property is a device, linked to the one it hangs on, and the bridge is a device too. A device is
announced with one retained message (device-based discovery; Home Assistant 2024.12 or newer).`,
    `- The **key** never changes: the unique id is \`sonic2mqtt_{id}_{key}\`, for the bridge \`sonic2mqtt_bridge_{key}\`.
- Home Assistant makes the **entity id** from the names of device and entity: the sensor "Water flow" of the sonic
  "Kitchen" is \`sensor.kitchen_water_flow\`, and its valve is \`valve.kitchen\`. You can rename both there.
- **Enabled** *no* means that the entity is off by default: enable it in its settings. *Hidden* means that it works, and is not
  on dashboards that Home Assistant makes by itself: another entity shows nearly the same. Home Assistant applies both only when
  it first sees an entity. Before 2026 it hides nothing.
- **Needs** says what must work, or the entity is unavailable: the *bridge* itself, fresh data from the *cloud*, and the
  *link* of the device (a sonic's radio and its signal's connection to the cloud). A lost cloud changes no value.
- Every \`incident_…\` sensor is on while an incident of that type is open, with the record as its attributes. The
  \`incident\` event fires once for each incident that opens.
- Flow, pressure, temperature and the automatic shut-off limits exist where the cloud offers them. What \`control\` in
  the [configuration](options.md#control) forbids has no entity.`,
    ...sections,
  ].join('\n\n');
}
