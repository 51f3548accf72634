import { hasEntity, type Offers } from '../entities/row.ts';
import { entityTable } from '../entities/tables.ts';
import type { DeviceView } from '../model/devices.ts';
import { type Component, componentId, deviceOf, optionsOf, platformOf, restOf, viewId } from './discovery.ts';
import type { Topics } from './topics.ts';

/** A device's discovery message, which is long and seldom new: written only when it is wanted. */
export interface Announcement {
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
  /** The one that was used last: the ids of an account are of one length. */
  cast: Cast;
}

/** The pieces with room between them for ids of one length. */
interface Cast {
  readonly idLength: number;
  readonly bytes: Buffer;
  readonly idsAt: readonly number[];
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
  const template = templateFor(view, topics, offers, version);
  const { number, componentIds } = template;
  const device = JSON.stringify(deviceOf(view, topics, version));
  return {
    gist: `${number} ${device}`,
    componentIds,
    bytes: (withdrawn) => withWithdrawn(messageOf(template, device, viewId(view)), componentIds, withdrawn),
  };
}

/** A copy of the cast with the ids set in: put together as a text, and only then made bytes, it takes twice as long. */
function messageOf(template: Template, device: string, id: string): Buffer {
  if (template.cast.idLength !== id.length) template.cast = castOf(template.pieces, id.length);
  const { bytes, idsAt } = template.cast;
  const start = Buffer.from(`{"device":${device},`);
  const message = Buffer.concat([start, bytes]);
  const idBytes = Buffer.from(id);
  for (const at of idsAt) message.set(idBytes, start.length + at);
  return message;
}

function castOf(pieces: readonly string[], idLength: number): Cast {
  let end = -idLength;
  const ends = pieces.map((piece) => {
    end += idLength + Buffer.byteLength(piece);
    return end;
  });
  return { idLength, bytes: Buffer.from(pieces.join(' '.repeat(idLength))), idsAt: ends.slice(0, -1) };
}

function templateFor(view: DeviceView, topics: Topics, offers: Offers, version: string): Template {
  const known = templates.get(topics) ?? new Map<string, Template>();
  templates.set(topics, known);
  const allRows = entityTable(view.kind);
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
  const pieces = text.slice('{'.length).split(placeholder);
  const template = {
    number: known.size,
    componentIds: rows.map(componentId),
    pieces,
    cast: castOf(pieces, viewId(view).length),
  };
  known.set(shape, template);
  return template;
}

/** Withdrawn components stand behind the others. */
function withWithdrawn(message: Buffer, present: readonly string[], withdrawn: readonly string[]): Buffer {
  if (withdrawn.length === 0) return message;
  const components: Record<string, Component> = {};
  for (const id of withdrawn) components[id] = { platform: platformOf(id) ?? 'sensor' };
  const added = JSON.stringify(components).slice('{'.length, -'}'.length);
  const end = `${present.length > 0 ? ',' : ''}${added}}}`;
  return Buffer.concat([message.subarray(0, -'}}'.length), Buffer.from(end)]);
}
