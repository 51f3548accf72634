import { describe, expect, it } from 'vitest';
import { hasEntity } from '../../../src/entities/row.ts';
import { entityTable } from '../../../src/entities/tables.ts';
import { componentId, deviceOf, discoveryBody, viewId } from '../../../src/homeassistant/discovery.ts';
import { discoveryMessage } from '../../../src/homeassistant/discoveryMessage.ts';
import type { DeviceView } from '../../../src/model/devices.ts';
import { discoveryIn } from '../../support/discoveries.ts';
import { aSonic, context, sonicView, wholeHouse } from '../../support/views.ts';

const announced = (view: DeviceView, offers = () => true) => discoveryMessage(view, offers, context);

/** The message written out for this device alone. */
function writtenOut(view: DeviceView): string {
  const rows = entityTable(view.kind).filter((row) => hasEntity(row, view, () => true));
  return JSON.stringify({
    device: deviceOf(view, context),
    ...discoveryBody(rows, view, viewId(view), context),
  });
}

const inHouses = (id: string) => [
  sonicView({ sonic: aSonic({ id, name: 'Kitchen' }) }),
  sonicView({ sonic: aSonic({ id, name: '"Under" the \u0091 stairs $& {id}' }) }),
  sonicView({ sonic: aSonic({ id, name: 'Kitchen' }), telemetry: null }),
  sonicView({ sonic: aSonic({ id, name: 'Kitchen' }), telemetry: null, usage: null }),
];

describe('an announcement', () => {
  it.each(wholeHouse.map((view) => [view.kind, view] as const))(
    'of a %s is its message to the letter',
    (_, view) => {
      expect(announced(view).bytes([]).toString()).toBe(writtenOut(view));
      expect(announced(view).componentIds).toEqual(Object.keys(discoveryIn(announced(view)).components));
    },
  );

  it('of another device of the same kind is another, with the same entities', () => {
    for (const view of ['sonic-1', 'sonic-2', 'a-longer-id', 's'].flatMap(inHouses)) {
      expect(announced(view).bytes([]).toString()).toBe(writtenOut(view));
    }
  });

  it('has another gist whenever it says something else, and only then', () => {
    const all = ['sonic-1', 'sonic-2'].flatMap(inHouses);
    const gists = new Set(all.map((view) => announced(view).gist));
    expect(gists.size).toBe(all.length);
    expect(gists).toEqual(
      new Set(['sonic-1', 'sonic-2'].flatMap(inHouses).map((view) => announced(view).gist)),
    );
    const [view] = all as [DeviceView];
    expect(announced(view, () => false).gist).not.toBe(announced(view).gist);
  });

  it('withdraws components by naming no more than their platform', () => {
    const [view] = wholeHouse;
    if (!view) throw new Error('an empty house');
    const withdrawn = ['sensor_flow', 'of_another_origin'];
    const { components } = discoveryIn(announced(view), withdrawn);
    expect(components).toEqual({
      ...discoveryIn(announced(view)).components,
      sensor_flow: { platform: 'sensor' },
      of_another_origin: { platform: 'sensor' },
    });
    const [row] = entityTable(view.kind);
    expect(components).toHaveProperty(row ? componentId(row) : '');
  });
});
