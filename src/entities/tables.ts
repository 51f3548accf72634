import type {
  BridgeView,
  DeviceKind,
  DeviceView,
  PropertyView,
  SignalView,
  SonicView,
} from '../model/devices.ts';
import { bridgeEntities } from './bridge.ts';
import { propertyEntities } from './property.ts';
import type { EntityRow } from './row.ts';
import { signalEntities } from './signal.ts';
import { sonicEntities } from './sonic.ts';

/** The view that the rows of each kind of device read. */
export interface ViewOf {
  readonly bridge: BridgeView;
  readonly property: PropertyView;
  readonly signal: SignalView;
  readonly sonic: SonicView;
}

const tables: { readonly [Kind in DeviceKind]: readonly EntityRow<ViewOf[Kind]>[] } = {
  bridge: bridgeEntities,
  property: propertyEntities,
  signal: signalEntities,
  sonic: sonicEntities,
};

/** The table of a kind of device. Its rows only read views of that kind, and must receive no others. */
export function entityTable(kind: DeviceKind): readonly EntityRow<DeviceView>[] {
  return tables[kind] as unknown as readonly EntityRow<DeviceView>[];
}
