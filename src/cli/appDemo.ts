import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { sleep, systemClock } from '../base/clock.ts';
import { errorMessage } from '../base/errorMessage.ts';
import type { Config } from '../config/schema.ts';
import { deleteMessages } from './cleanup.ts';
import type { Configuration } from './configuration.ts';
import { exitStatus } from './context.ts';

const tryAgainMs = 60_000;

/** The configuration with a simulated cloud if the demo is on. If it is off, deletes what an earlier demo has left. */
export async function withDemo(configuration: Configuration, signal: AbortSignal): Promise<Config> {
  const { config, log, app } = configuration;
  if (!app?.isDemo) {
    for (const left of leftByDemo(configuration)) void removeDemo(left, signal);
    return config;
  }
  const demo = demoOf(config);
  const { Simulator } = await import('../simulator/simulator.ts');
  const { startStory } = await import('../simulator/story.ts');
  const { email, password } = demo.cloud;
  const simulator = new Simulator({ email, password: password ?? '', speed: 12, happenings: startStory });
  await simulator.start();
  log.warn('The option demo is on. All valves are simulated. Turn it off to see your own');
  return { ...demo, cloud: { ...demo.cloud, base_url: simulator.url } };
}

/** The configuration of an earlier demo that may have messages on the broker; empty if there is none. */
export function leftByDemo(configuration: Configuration): readonly Configuration[] {
  const config = demoOf(configuration.config);
  return existsSync(config.data_dir) ? [{ ...configuration, config }] : [];
}

/** The configuration without anything of the account: credentials, topics, client ID and folder are other ones. */
function demoOf(config: Config): Config {
  const { cloud, mqtt, schedules, http } = config;
  const every = { kind: 'every', everyMs: 5_000 } as const;
  return {
    ...config,
    cloud: { ...cloud, email: 'demo@example.com', password: 'demo', password_file: null, routes: {} },
    mqtt: { ...mqtt, base_topic: `${mqtt.base_topic}_demo`, client_id: `${mqtt.client_id}_demo` },
    filters: { properties: [] },
    schedules: { ...schedules, incidents: every, sonics: every, telemetry: every, signals: every },
    http: { ...http, webhook: { ...http.webhook, register: false } },
    data_dir: join(config.data_dir, 'demo'),
  };
}

/** Deletes the messages of a demo. Its folder stays until they are deleted, so that the next start tries again. */
async function removeDemo(configuration: Configuration, signal: AbortSignal): Promise<void> {
  const { config, log } = configuration;
  const print = (line: string) => log.info(`The demo is off. ${line}`);
  while (!signal.aborted) {
    const status = await deleteMessages(
      configuration,
      { print, signal },
      { force: true, isDemo: true },
    ).catch((error) => {
      log.debug(`The messages of the demo could not be deleted: ${errorMessage(error)}`);
      return exitStatus.failed;
    });
    if (status === exitStatus.done) return rmSync(config.data_dir, { recursive: true, force: true });
    await sleep(systemClock, tryAgainMs, signal).catch(() => {});
  }
}
