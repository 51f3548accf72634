import { sleep, systemClock } from '../base/clock.ts';
import { errorMessage } from '../base/errorMessage.ts';
import { topicsOf } from '../partOptions.ts';
import type { Configuration } from './configuration.ts';
import { importedText, valveLabel } from './history.ts';
import { importDays, readAnchor, readWaterTotals, type WaterTotal } from './historyImport.ts';
import { type HomeAssistantAccess, HomeAssistantSocket } from './homeAssistantSocket.ts';
import { withOwnClient } from './ownSession.ts';
import { findValves, readHistory } from './valveHistory.ts';

/** In ms: after the first wait, Home Assistant has the first statistics of five minutes. Failures wait the second. */
const usualWaits = { firstMs: 600_000, nextMs: 3_600_000 };

/** Imports the past days of each valve once, while the bridge runs; never rejects. */
export async function importInApp(
  configuration: Configuration,
  access: HomeAssistantAccess,
  signal: AbortSignal,
  waits = usualWaits,
): Promise<void> {
  const { log } = configuration;
  for (let waitMs = waits.firstMs; ; waitMs = waits.nextMs) {
    await sleep(systemClock, waitMs, signal).catch(() => undefined);
    if (signal.aborted) return;
    try {
      return await importOnce(configuration, access, signal);
    } catch (error) {
      if (!signal.aborted)
        log.warn(`Past days were not imported: ${errorMessage(error)}. Trying again later`);
    }
  }
}

async function importOnce(
  configuration: Configuration,
  access: HomeAssistantAccess,
  signal: AbortSignal,
): Promise<void> {
  const { config, log } = configuration;
  const home = await HomeAssistantSocket.connect(access, signal);
  try {
    const wanted = new Map<string, WaterTotal>();
    const totals = await readWaterTotals(home, topicsOf(config));
    if (totals.size === 0) throw new Error('Home Assistant has no Water total yet');
    for (const [id, total] of totals)
      if ((await readAnchor(home, total.entityId)) === null) wanted.set(id, total);
    // At later starts everything is imported, so the cloud is not asked again.
    if (wanted.size === 0) return;
    await withOwnClient(configuration, signal, async (client) => {
      for (const valve of await findValves(client, config, signal)) {
        const total = wanted.get(valve.id);
        if (total === undefined) continue;
        const days = await readHistory(client, valve, undefined, signal);
        const dates = await importDays(home, total, valve, days, systemClock.now());
        log.info(`Past days of ${valveLabel(valve)}: ${importedText(dates)}`);
      }
    });
  } finally {
    home.close();
  }
}
