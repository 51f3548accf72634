import { expect, it } from 'vitest';
import { entityTable } from '../../src/entities/tables.ts';
import { commandFilters } from '../../src/homeassistant/command.ts';
import { componentId } from '../../src/homeassistant/discovery.ts';
import type { TargetKind } from '../../src/homeassistant/topics.ts';
import { type DeviceKind, deviceKinds } from '../../src/model/devices.ts';
import { truths } from '../stories/entityTruths.ts';
import { discoveryOf } from '../support/discoveries.ts';
import { topics, wholeHouse } from '../support/views.ts';

const howToUpdate =
  'A topic is not what test/contract/names.json says. Renaming or removing one breaks ' +
  'dashboards and automations: it needs a major version. If it is meant, or if something was added, run ' +
  '`npx vitest run test/contract/names.test.ts --update` and commit the file with its line in CHANGELOG.md';

const whereTruths =
  'test/stories/entityTruths.ts says for each entity with a state how to see in the simulated cloud what it has to show. ' +
  'Each of them needs one line there, and no other entity has one';

const id = '{id}';

/** The topics of a kind of device, each with what it carries. */
function topicsOf(kind: DeviceKind): Record<string, string> {
  const retained = topics.documents(kind, id);
  const commands = commandTopicsOf(kind);
  return {
    [topics.discovery(kind, id)]: 'discovery',
    ...Object.fromEntries(retained.map((topic) => [topic, 'retained'])),
    ...Object.fromEntries(commands.map((topic) => [topic, 'command'])),
  };
}

function commandTopicsOf(kind: TargetKind): string[] {
  return commandFilters(topics)
    .filter((filter) => topics.parse(filter)?.kind === kind)
    .map((filter) => filter.replace('+', id).replace('+', '{field}'));
}

/** The unique ids of a kind of device's entities by component id, as Home Assistant is told. */
function entitiesOf(kind: DeviceKind): Record<string, unknown> {
  const view = wholeHouse.find((each) => each.kind === kind);
  const { components = {} } = view ? discoveryOf(view) : {};
  const ids = Object.entries(components).map(([component, { unique_id: uniqueId }]) => [
    component,
    String(uniqueId).replace(`${kind}-1`, id),
  ]);
  return Object.fromEntries(ids.toSorted());
}

it('no topic changes without a decision', async () => {
  const names = Object.fromEntries(deviceKinds.map((kind) => [kind, topicsOf(kind)]));
  const commands = commandTopicsOf('incident').map((topic) => [topic, 'command']);
  const incident = { [topics.incident(id)]: 'retained', ...Object.fromEntries(commands) };
  const text = `${JSON.stringify({ ...names, incident }, null, 2)}\n`;
  await expect(text, howToUpdate).toMatchFileSnapshot('names.json');
});

it.each(deviceKinds)('a %s of which everything is known has every entity of its table', (kind) => {
  const rows: readonly Parameters<typeof componentId>[0][] = entityTable(kind);
  expect(Object.keys(entitiesOf(kind))).toEqual(rows.map(componentId).toSorted());
});

it.each(deviceKinds)('each entity of a %s that has a state has its truth', (kind) => {
  const rows: readonly Parameters<typeof componentId>[0][] = entityTable(kind);
  const ids = rows.filter(({ component }) => component !== 'button').map(componentId);
  expect(Object.keys(truths[kind]).toSorted(), whereTruths).toEqual(ids.toSorted());
});
