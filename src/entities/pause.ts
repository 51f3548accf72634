import type { PropertyView } from '../model/devices.ts';
import { maxPauseMinutes, minPauseMinutes } from '../model/pause.ts';
import { type BridgeAction, type EntityRow, type Refusal, rowsFor } from './row.ts';

const { sensor, button, number } = rowsFor<PropertyView>('cloud');

/**
 * The cloud does not show the automatic shut-off to a guest. Until this is known, Home Assistant keeps the entity of an
 * earlier run.
 */
const exists = ({ settings }: PropertyView) => settings !== null;

const operation = 'update_property_settings';

function inMinutes(
  kind: 'pause' | 'set_pause_minutes',
  { property }: PropertyView,
  payload: string,
  min: number,
): BridgeAction | Refusal {
  // Home Assistant may send a whole number as 60.0.
  const minutes = /^\d{1,4}(\.0+)?$/.test(payload.trim()) ? Number(payload) : Number.NaN;
  if (minutes >= min && minutes <= maxPauseMinutes) return { kind, propertyId: property.id, minutes };
  const end = min === 0 ? ', or 0 to end the pause' : '';
  return { refusal: `must be whole minutes from ${minPauseMinutes} to ${maxPauseMinutes}${end}` };
}

/** Their commands need `control.settings`, like those of the switch. */
export const pauseEntities: readonly EntityRow<PropertyView>[] = [
  number({
    key: 'pause_minutes',
    name: 'Pause duration',
    category: 'config',
    icon: 'mdi:timer-cog-outline',
    exists,
    deviceClass: 'duration',
    unit: 'min',
    min: minPauseMinutes,
    max: maxPauseMinutes,
    value: ({ pauseMinutes }) => pauseMinutes,
    command: {
      path: 'pause_minutes/set',
      operation,
      action: (view, payload) => inMinutes('set_pause_minutes', view, payload, minPauseMinutes),
    },
  }),
  button({
    key: 'pause',
    name: 'Pause automatic shut-off',
    icon: 'mdi:pause-circle-outline',
    exists,
    command: {
      path: 'pause/start',
      operation,
      action: ({ property, pauseMinutes: minutes }) => ({ kind: 'pause', propertyId: property.id, minutes }),
    },
  }),
  button({
    key: 'resume',
    name: 'Resume automatic shut-off',
    icon: 'mdi:play-circle-outline',
    payload: '0',
    exists,
    command: {
      path: 'pause/set',
      operation,
      action: (view, payload) => inMinutes('pause', view, payload, 0),
    },
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
