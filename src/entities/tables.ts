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

export interface ViewOf {
  readonly bridge: BridgeView;
  readonly property: PropertyView;
  readonly signal: SignalView;
  readonly sonic: SonicView;
}

// Rows that several tables share are copied, so that each row belongs to one kind of device.
const tables: { readonly [Kind in DeviceKind]: readonly EntityRow<ViewOf[Kind]>[] } = {
  bridge: bridgeEntities.map((row) => ({ ...row })),
  property: propertyEntities.map((row) => ({ ...row })),
  signal: signalEntities.map((row) => ({ ...row })),
  sonic: sonicEntities.map((row) => ({ ...row })),
};

/** The table of a kind of device. Its rows only read views of that kind, and must receive no others. */
export function entityTable(kind: DeviceKind): readonly EntityRow<DeviceView>[] {
  return tables[kind] as unknown as readonly EntityRow<DeviceView>[];
}
