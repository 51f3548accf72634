import { hasEntity, type Offers } from '../entities/row.ts';
import type { DeviceView } from '../model/devices.ts';
import {
  allRowsOf,
  type Component,
  componentId,
  deviceOf,
  optionsOf,
  platformOf,
  restOf,
  viewId,
} from './discovery.ts';
import type { Topics } from './topics.ts';

/** A device's discovery message, which is long and seldom new: written only when it is wanted. */
export interface Announcement {
  /** Short, and another one whenever the message is. */
  readonly gist: string;
  /** The ids of the components in it. */
  readonly componentIds: readonly string[];
  /** The message as JSON, with these components withdrawn: Home Assistant drops what is named without its settings. */
  readonly text: (withdrawn: readonly string[]) => string;
}

/**
 * Stands for the id of a device in a template: nothing else in a message has it. It is one of the first 256 characters,
 * since a text with any other takes twice the memory, and so would each message.
 */
const placeholder = '\u0091';

/** What follows the device in the messages of all devices of one kind with the same entities. */
interface Template {
  readonly number: number;
  readonly componentIds: readonly string[];
  /** Between them comes the device's id. */
  readonly pieces: readonly [string, ...string[]];
}

const templates = new WeakMap<Topics, Map<string, Template>>();

/**
 * What is announced of a device. All sonics with the same entities differ in nothing but id, name and the like: the rest
 * of their messages, 30 KB each, is made once for all of them.
 */
export function announcementOf(
  view: DeviceView,
  topics: Topics,
  offers: Offers,
  version: string,
): Announcement {
  const { number, componentIds, pieces } = templateFor(view, topics, offers, version);
  const device = JSON.stringify(deviceOf(view, topics, version));
  return {
    gist: `${number} ${device}`,
    componentIds,
    // In one go: what is put together in two is copied once more.
    text: (withdrawn) => {
      const [first, ...others] = pieces;
      const text = [`{"device":${device},${first}`, ...others].join(viewId(view));
      return withWithdrawn(text, componentIds, withdrawn);
    },
  };
}

function templateFor(view: DeviceView, topics: Topics, offers: Offers, version: string): Template {
  const known = templates.get(topics) ?? new Map<string, Template>();
  templates.set(topics, known);
  const allRows = allRowsOf(view);
  let shape = `${version} ${view.kind} `;
  for (const row of allRows) {
    const isThere = hasEntity(row, view, offers);
    shape += isThere ? '+' : '-';
    if (isThere && row.component === 'select') shape += JSON.stringify(optionsOf(row, view));
  }
  const found = known.get(shape);
  if (found) return found;
  const rows = allRows.filter((row) => hasEntity(row, view, offers));
  const text = JSON.stringify(restOf(rows, view, placeholder, topics, version));
  const template = {
    number: known.size,
    componentIds: rows.map(componentId),
    pieces: text.slice('{'.length).split(placeholder) as [string, ...string[]],
  };
  known.set(shape, template);
  return template;
}

/** Withdrawn components stand behind the others. */
function withWithdrawn(text: string, present: readonly string[], withdrawn: readonly string[]): string {
  if (withdrawn.length === 0) return text;
  const components: Record<string, Component> = {};
  for (const id of withdrawn) components[id] = { platform: platformOf(id) ?? 'sensor' };
  const added = JSON.stringify(components).slice('{'.length, -'}'.length);
  return `${text.slice(0, -'}}'.length)}${present.length > 0 ? ',' : ''}${added}}}`;
}
