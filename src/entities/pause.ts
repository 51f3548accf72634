import type { PropertyView } from '../model/devices.ts';
import { maxPauseMinutes, minPauseMinutes } from '../model/pause.ts';
import { type BridgeAction, type EntityRow, type Refusal, rowsFor } from './row.ts';

const { sensor, button, number } = rowsFor<PropertyView>('cloud');

/**
 * The cloud does not show the automatic shut-off to a guest. Until this is known, Home Assistant keeps the entity of an
 * earlier run.
 */
const exists = ({ settings }: PropertyView) => settings !== null;

const command = {
  path: 'pause/set',
  operation: 'update_property_settings',
  action: ({ property }: PropertyView, payload: string): BridgeAction | Refusal => {
    // Home Assistant may send a whole number as 60.0.
    const minutes = /^\d{1,4}(\.0+)?$/.test(payload.trim()) ? Number(payload) : Number.NaN;
    if (minutes <= maxPauseMinutes) return { kind: 'pause', propertyId: property.id, minutes };
    const range = `whole minutes from ${minPauseMinutes} to ${maxPauseMinutes}`;
    return { refusal: `must be ${range}, or 0 to end the pause` };
  },
} as const;

/** Their command needs `control.settings`, like that of the switch. */
export const pauseEntities: readonly EntityRow<PropertyView>[] = [
  // A number that pauses by itself needs no administrator in Home Assistant, as publishing a message would.
  number({
    key: 'pause',
    name: 'Pause automatic shut-off',
    icon: 'mdi:pause-circle-outline',
    exists,
    deviceClass: 'duration',
    unit: 'min',
    min: 0,
    max: maxPauseMinutes,
    value: ({ pause }) => pause?.minutes ?? null,
    command,
  }),
  button({
    key: 'resume',
    name: 'Resume automatic shut-off',
    icon: 'mdi:play-circle-outline',
    payload: '0',
    exists,
    command,
  }),
  sensor({
    key: 'paused_until',
    name: 'Automatic shut-off paused until',
    // The bridge keeps this value itself, even if the cloud is unreachable.
    needs: 'bridge',
    icon: 'mdi:timer-pause-outline',
    exists,
    deviceClass: 'timestamp',
    value: ({ pause }) => pause?.until ?? null,
    attributes: {
      path: 'pause',
      expression: "{'status': value_json.state, 'reason': value_json.reason}",
    },
  }),
];
