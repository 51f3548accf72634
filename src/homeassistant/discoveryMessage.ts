import { hasEntity, type SupportedOperations } from '../entities/row.ts';
import { entityTable } from '../entities/tables.ts';
import type { DeviceView } from '../model/devices.ts';
import {
  type Component,
  componentId,
  type DiscoveryOrigin,
  deviceOf,
  discoveryBody,
  optionsOf,
  platformOf,
  viewId,
} from './discovery.ts';

/** A device's discovery message, which is long and seldom new: written only when it is wanted. */
export interface DiscoveryMessage {
  /** Short, and another one whenever the message is. */
  readonly gist: string;
  /** The ids of the components in it. */
  readonly componentIds: readonly string[];
  /** The message as JSON, with these components withdrawn: Home Assistant drops what is named without its settings. */
  readonly bytes: (withdrawn: readonly string[]) => Buffer;
}

/** Stands for the id of a device in a template: nothing else in a message has it. */
const placeholder = '\u0091';

/** What follows the device in the messages of all devices of one kind with the same entities. */
interface Template {
  readonly number: number;
  readonly componentIds: readonly string[];
  /** Between them comes the device's id. */
  readonly pieces: readonly string[];
}

const templates = new WeakMap<DiscoveryOrigin, Map<string, Template>>();

/**
 * What is announced of a device. All sonics with the same entities differ in nothing but id, name and the like: the rest
 * of their messages is made once for all of them.
 */
export function discoveryMessage(
  view: DeviceView,
  offers: SupportedOperations,
  maker: DiscoveryOrigin,
): DiscoveryMessage {
  const { number, componentIds, pieces } = templateFor(view, offers, maker);
  const device = JSON.stringify(deviceOf(view, maker));
  return {
    gist: `${number} ${device}`,
    componentIds,
    bytes: (withdrawn) => {
      const message = `{"device":${device},${pieces.join(viewId(view))}`;
      return Buffer.from(withWithdrawn(message, componentIds, withdrawn));
    },
  };
}

function templateFor(view: DeviceView, offers: SupportedOperations, maker: DiscoveryOrigin): Template {
  const known = templates.get(maker) ?? new Map<string, Template>();
  templates.set(maker, known);
  const allRows = entityTable(view.kind);
  let shape = `${view.kind} `;
  for (const row of allRows) {
    const isThere = hasEntity(row, view, offers);
    shape += isThere ? '+' : '-';
    if (isThere && row.component === 'select') shape += JSON.stringify(optionsOf(row, view));
  }
  const found = known.get(shape);
  if (found) return found;
  const rows = allRows.filter((row) => hasEntity(row, view, offers));
  const text = JSON.stringify(discoveryBody(rows, view, placeholder, maker));
  const template = {
    number: known.size,
    componentIds: rows.map(componentId),
    pieces: text.slice('{'.length).split(placeholder),
  };
  known.set(shape, template);
  return template;
}

/** Withdrawn components stand behind the others. */
function withWithdrawn(message: string, present: readonly string[], withdrawn: readonly string[]): string {
  if (withdrawn.length === 0) return message;
  const components: Record<string, Component> = {};
  for (const id of withdrawn) components[id] = { platform: platformOf(id) ?? 'sensor' };
  const added = JSON.stringify(components).slice('{'.length, -'}'.length);
  return `${message.slice(0, -'}}'.length)}${present.length > 0 ? ',' : ''}${added}}}`;
}
