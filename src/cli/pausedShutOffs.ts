import { setTimeout as passed } from 'node:timers/promises';
import { systemClock } from '../base/clock.ts';
import { sanitize } from '../base/sanitize.ts';
import type { Connection } from '../broker/connection.ts';
import type { CloudClient } from '../cloud/client.ts';
import { CloudError } from '../cloud/errors.ts';
import type { Topics } from '../homeassistant/topics.ts';
import { pauseFromShown } from '../model/pause.ts';
import { topicsOf } from '../partOptions.ts';
import { objectIn, readRetained, readTopics } from '../publishing/retainedMessages.ts';
import type { Kept } from '../state/sections.ts';
import type { Configuration } from './configuration.ts';
import { rejectionText, withOwnClient } from './ownSession.ts';

/** For so many readings, the cloud may still show the shut-off as off after it has accepted to turn it on. */
const maxReadings = 6;
const readAgainMs = 2_000;

/**
 * Turns on each automatic shut-off that is paused, or was not turned on again after a pause, and reads it back: those
 * that the state file names, and those of the messages on the broker. Returns why the first one could not be turned on;
 * null if all are on.
 */
export async function endPauses(
  configuration: Configuration,
  connection: Connection,
  kept: Kept,
  { print, signal }: { readonly print: (line: string) => void; readonly signal: AbortSignal },
): Promise<string | null> {
  const topics = topicsOf(configuration.config);
  const paused = await findPaused(connection, topics, kept);
  if (paused.size === 0) return null;
  const names = new Map<string, string>();
  await readTopics(
    connection,
    [...paused].map((id) => topics.device('property', id)),
    (topic, payload) => {
      const { name } = Object(objectIn(payload));
      if (typeof name === 'string') names.set(topics.parse(topic)?.id ?? '', sanitize(name));
    },
  );
  return withOwnClient(configuration, signal, async (client) => {
    for (const id of paused) {
      const name = names.get(id) ?? sanitize(id);
      const problem = await turnOn(client, id, signal);
      if (problem === null) print(`The automatic shut-off of ${name} is on again`);
      else if (problem === notInAccount)
        print(`${name} is no longer in the account. Its automatic shut-off was paused`);
      else return `The automatic shut-off of ${name} is paused and could not be turned on: ${problem}`;
    }
    return null;
  });
}

async function findPaused(connection: Connection, topics: Topics, kept: Kept): Promise<ReadonlySet<string>> {
  const paused = new Set(kept.pauses.keys());
  let isListing = false;
  const note = (topic: string, payload: string) => {
    isListing = true;
    const id = topics.parse(topic)?.id;
    if (id !== undefined && pauseFromShown(objectIn(payload), systemClock)) paused.add(id);
  };
  const pauseOf = (id: string) => topics.below('property', id, 'pause');
  await readRetained(connection, [pauseOf('+')], note);
  if (isListing) return paused;
  // Some brokers send retained messages only for exact topics.
  const known = [...kept.devices.keys()].flatMap((key) => /^property\/(.*)/.exec(key)?.[1] ?? []);
  await readTopics(connection, known.map(pauseOf), note);
  return paused;
}

const notInAccount = 'the account does not have the property';

/** Turns the shut-off of a property on, until a reading shows it on. Returns why that failed; null if it is on. */
async function turnOn(client: CloudClient, property_id: string, signal: AbortSignal): Promise<string | null> {
  const options = { priority: 'command', signal } as const;
  const params = { property_id };
  const body = { auto_shut_off: true };
  try {
    await client.call({ operation: 'update_property_settings', params, body }, options);
    for (let reading = 1; reading <= maxReadings; reading++) {
      const settings = await client.call({ operation: 'read_property_settings', params }, options);
      if (settings.auto_shut_off === true) return null;
      await passed(readAgainMs, undefined, { signal });
    }
    return 'the cloud still shows it off';
  } catch (error) {
    if (signal.aborted) return 'interrupted';
    if (!(error instanceof CloudError)) throw error;
    if (error.kind === 'notFound') return notInAccount;
    return rejectionText(error) ?? error.message;
  }
}
