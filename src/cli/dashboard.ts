import { sanitize } from '../base/sanitize.ts';
import type { Connection } from '../broker/connection.ts';
import { type DiscoveredDevice, dashboardText, readDiscovered } from '../homeassistant/dashboard.ts';
import { topicsOf } from '../partOptions.ts';
import { readConfiguration } from './configuration.ts';
import { type CommandContext, exitStatus } from './context.ts';
import { withOwnConnection } from './ownSession.ts';

export async function dashboard(context: CommandContext): Promise<number> {
  const configuration = await readConfiguration(context, { level: 'warn' });
  const { config, log } = configuration;
  const { enabled, language } = config.homeassistant;
  if (!enabled) {
    context.complain(
      'sonic2mqtt: homeassistant.enabled is off, so Home Assistant has no devices. Set it to true',
    );
    return exitStatus.badUsage;
  }
  const topics = topicsOf(config);
  const state = topics.bridge('state');

  const print = async (connection: Connection): Promise<number> => {
    const devices = new Map<string, DiscoveredDevice>();
    let running: string | null = null;
    await connection.readRetained([state, topics.discoveryFilter], ({ topic, payload }) => {
      if (topic === state) running = payload;
      const device = readDiscovered(payload, topics);
      if (device) devices.set(topic, device);
    });
    const text = running === 'online' ? dashboardText([...devices.values()], language) : null;
    if (text !== null) {
      context.print(text.trimEnd().split('\n').map(sanitize).join('\n'));
      return exitStatus.done;
    }
    log.error(
      running === 'online'
        ? `sonic2mqtt has not announced a property or a valve yet. Wait until ${topics.bridge('cloud')} is online`
        : `sonic2mqtt does not run: ${state} is ${running ?? 'not there'}. Start it first`,
    );
    return exitStatus.failed;
  };

  return withOwnConnection(configuration, 'dashboard', context.signal, print);
}
