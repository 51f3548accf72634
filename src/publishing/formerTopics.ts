import type { Log } from '../base/log.ts';
import type { Topics } from '../homeassistant/topics.ts';
import type { StateFile } from '../state/stateFile.ts';

/**
 * Says once that the base topic or the discovery prefix may have changed. The messages there stay until `cleanup`. A
 * former base topic looks like that of another bridge with the same folder, so only a new state file asks for it.
 * Never rejects.
 */
export async function warnOfFormerTopics(topics: Topics, state: StateFile, log: Log): Promise<void> {
  const { base, discoveryPrefix } = topics;
  const prefixes = state.kept.discoveryPrefixes;
  const former = [...prefixes.keys()]
    .filter((prefix) => prefix !== discoveryPrefix)
    .map((prefix) => ({ base, prefix }));
  prefixes.set(discoveryPrefix, true);
  for (const { prefix } of former) prefixes.delete(prefix);
  for (const each of [...former, ...(state.isNew ? await state.others() : [])])
    log.warn(
      `If this bridge had mqtt.base_topic ${each.base} and homeassistant.discovery_prefix ${each.prefix} before, its messages are still on the broker. Set both as before, and run: sonic2mqtt cleanup`,
    );
}
