import { setTimeout as passed } from 'node:timers/promises';
import { sanitize } from '../base/sanitize.ts';
import type { Connection } from '../broker/connection.ts';
import type { CloudClient } from '../cloud/client.ts';
import { CloudError } from '../cloud/errors.ts';
import type { Topics } from '../homeassistant/topics.ts';
import { pauseFromShown } from '../model/pause.ts';
import { maxTopicsAtOnce, objectIn, readRetained } from '../publishing/retainedScan.ts';
import type { Configuration } from './configuration.ts';
import { ownClient, rejectionText, signOutAndClose } from './ownSession.ts';

/** For so many readings, the cloud may still show the shut-off as off after it has accepted to turn it on. */
const maxReadings = 6;
const readAgainMs = 2_000;

/** By the id of a property: its name, or its id if the name is not known. */
export type PausedProperties = ReadonlyMap<string, string>;

/**
 * The properties whose automatic shut-off is paused, or was not turned on again after a pause: those that the state
 * file names (`kept`), and those of the messages on the broker. `known` are all properties in the state file.
 */
export async function findPaused(
  connection: Connection,
  {
    topics,
    known,
    kept,
  }: { readonly topics: Topics; readonly known: readonly string[]; readonly kept: readonly string[] },
): Promise<PausedProperties> {
  const paused = new Set(kept);
  let isListing = false;
  const notePause = (topic: string, payload: string) => {
    isListing = true;
    const id = topics.parse(topic)?.id;
    if (id !== undefined && pauseFromShown(objectIn(payload))) paused.add(id);
  };
  const pauseOf = (id: string) => topics.below('property', id, 'pause');
  await readRetained(connection, [pauseOf('+')], notePause);
  // Some brokers send retained messages only for exact topics.
  const exact = isListing ? [] : known.map(pauseOf);
  for (let start = 0; start < exact.length; start += maxTopicsAtOnce) {
    await readRetained(connection, exact.slice(start, start + maxTopicsAtOnce), notePause);
  }
  const names = new Map<string, unknown>();
  const records = [...paused].slice(0, maxTopicsAtOnce).map((id) => topics.device('property', id));
  if (records.length === 0) return new Map();
  await readRetained(connection, records, (topic, payload) => {
    names.set(topics.parse(topic)?.id ?? '', (objectIn(payload) as { readonly name?: unknown }).name);
  });
  return new Map(
    [...paused].map((id) => {
      const name = names.get(id);
      return [id, typeof name === 'string' ? name : id];
    }),
  );
}

/**
 * Turns the automatic shut-off of these properties on, and reads it back. Returns why the first one could not be turned
 * on; null if all are on.
 */
export async function endPauses(
  configuration: Configuration,
  paused: PausedProperties,
  { print, signal }: { readonly print: (line: string) => void; readonly signal: AbortSignal },
): Promise<string | null> {
  const client = ownClient(configuration);
  try {
    for (const [id, name] of paused) {
      const label = sanitize(name);
      const { isOn, problem } = await turnOn(client, id, signal);
      if (isOn) print(`The automatic shut-off of ${label} is on again`);
      else if (problem === null)
        print(`${label} is no longer in the account. Its automatic shut-off was paused`);
      else return `The automatic shut-off of ${label} is paused and could not be turned on: ${problem}`;
    }
    return null;
  } finally {
    await signOutAndClose(client, signal);
  }
}

/** Whether a reading shows the shut-off of a property on. If not, why; null if the account does not have the property. */
async function turnOn(
  client: CloudClient,
  property_id: string,
  signal: AbortSignal,
): Promise<{ readonly isOn: boolean; readonly problem: string | null }> {
  const options = { priority: 'command', signal } as const;
  const params = { property_id };
  const body = { auto_shut_off: true };
  try {
    await client.call({ operation: 'update_property_settings', params, body }, options);
    for (let reading = 1; reading <= maxReadings; reading++) {
      const settings = await client.call({ operation: 'read_property_settings', params }, options);
      if (settings.auto_shut_off === true) return { isOn: true, problem: null };
      await passed(readAgainMs, undefined, { signal });
    }
    return { isOn: false, problem: 'the cloud still shows it off' };
  } catch (error) {
    if (signal.aborted) return { isOn: false, problem: 'interrupted' };
    if (!(error instanceof CloudError)) throw error;
    const problem = rejectionText(error) ?? error.message;
    return { isOn: false, problem: error.kind === 'notFound' ? null : problem };
  }
}
