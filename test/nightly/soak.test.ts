import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { between, pick, seededRandom } from '../../src/simulator/random.ts';
import { fault, startBridge, type TestBridge } from '../support/bridge.ts';
import { mosquittoAvailable } from '../support/mosquitto.ts';
import { temporaryFolder } from '../support/program.ts';
import { waitFor } from '../support/waitFor.ts';
import { type Figures, grown } from './soak/growth.ts';

/** `npm run soak` has twelve rounds and a thousand valves, and judges whether anything grows. */
const rounds = Number(process.env['SOAK_ROUNDS'] ?? 2);
const isLong = rounds > 2;
const sonics = isLong ? 1_000 : 12;
const pollsPerRound = isLong ? 250 : 20;
const outageMs = isLong ? 3_000 : 1_000;
/** Some requests are always under way. What they hold for the moment is not there in each of several looks. */
const looks = 5;
const patienceMs = 120_000;
const random = seededRandom(1);

type Trouble = (bridge: TestBridge) => Promise<unknown>;

/** The cloud fails in this way for a while, with a command in the middle. */
function outage(...faults: readonly string[]): Trouble {
  return async (bridge) => {
    bridge.cloud.setFaults(faults.map(fault));
    await Promise.all([bridge.command(`sonic/${anySonic(bridge)}/valve/set`, 'OPEN'), pause(outageMs)]);
    bridge.cloud.setFaults([]);
  };
}

const anySonic = ({ cloud: { world } }: TestBridge) => pick(random, world.sonics.ids) ?? '';

/** All that can be expected in some years. */
const troubles: Readonly<Record<string, Trouble>> = {
  'the cloud answers 503': outage('error=503'),
  'the cloud never answers': outage('hang'),
  'the cloud cuts connections': outage('reset'),
  'the cloud shows a web page': outage('html'),
  'the cloud asks to wait': outage('rate-limit=1'),
  'half of the answers are errors': outage('error=500:0.5', 'latency=20:0.5'),
  'one list is refused': outage('error=403@list_sonics'),
  'records are odd': outage('bad-record', 'unsafe-id', 'unknown-enum', 'long-name'),
  'lists move and lie': outage('moving-pages', 'missing-page=2:0.3', 'lying-totals=7:0.3'),
  'the machine sleeps': async ({ program }) => {
    program.signal('SIGSTOP');
    await pause(outageMs);
    program.signal('SIGCONT');
  },
  'the broker restarts': ({ broker }) => broker.restart(),
  'Home Assistant starts': ({ mqtt }) => mqtt.publish('homeassistant/status', 'online'),
  'the sessions expire': async ({ cloud }) => cloud.expireTokens(),
  'devices change, come and go': async (bridge) => {
    const { world } = bridge.cloud;
    const [id, other, hub = ''] = [anySonic(bridge), anySonic(bridge), pick(random, world.signals.ids)];
    const { id: incident } = world.openIncident({ type: 'water_presence_detected', sonicId: id });
    world.setValve(other, 'closed');
    world.changeSonic(id, { name: `Tap ${between(random, 1, 1_000_000)}` });
    world.dropCloud(hub);
    await bridge.polls(2);
    world.closeIncident(incident);
    world.setValve(other, 'open');
    world.connectCloud(hub);
    world.removeSonic(other);
    world.addSonic(hub);
  },
  'everything is commanded, and nonsense': async (bridge) => {
    const id = anySonic(bridge);
    const [property = ''] = bridge.cloud.world.properties.ids;
    await Promise.all(
      ['CLOSE', 'OPEN', 'CLOSE'].map((word) => bridge.command(`sonic/${id}/valve/set`, word)),
    );
    await bridge.command(`sonic/${id}/pressure_test/start`, 'PRESS');
    await bridge.command(`property/${property}/settings/auto_shut_off/set`, 'OFF');
    await bridge.request('list_incidents', { query: { page: 1 } });
    await bridge.command(`sonic/${id}/valve/set`, 'HALF');
    await bridge.command('sonic/nobody/valve/set', 'CLOSE');
  },
};

/** Waits until all is well and the broker has what the cloud has: the same quiet state at the end of each round. */
async function calm(bridge: TestBridge): Promise<void> {
  const { world } = bridge.cloud;
  await bridge.mqtt.publish('sonic2mqtt/bridge/refresh', 'now');
  const isCalm = () =>
    bridge.json('bridge/health')?.status === 'ok' &&
    bridge.mqtt.last.get('sonic2mqtt/bridge/state') === 'online' &&
    world.sonics.ids.every(
      (id) => bridge.json(`sonic/${id}`)?.valve_state === world.sonics.get(id)?.valve_state,
    );
  const what = 'the broker to have what the cloud has';
  await waitFor(isCalm, { what, timeoutMs: patienceMs, intervalMs: 200 });
}

it.skipIf(!mosquittoAvailable() || process.platform !== 'linux')(
  'through all that goes wrong in years the program holds no more than before',
  { timeout: 3_600_000 },
  async () => {
    const signals = Math.ceil(sonics / 4);
    const bridge = await startBridge({
      isStarted: false,
      // The real cloud has ten on a page. Then HTTP would take most of the time, and not the bridge.
      cloud: { properties: Math.ceil(signals / 12), signals, sonics, pageSize: 250, pressureTestMs: 500 },
      config: {
        cloud: { request_timeout: '1500ms', max_concurrency: 8, max_requests_per_minute: 1_000_000 },
        schedules: {
          incidents: '250ms',
          sonics: '250ms',
          signals: '250ms',
          properties: '5s',
          telemetry: '10s',
        },
        stale_after: '2s',
        valve: { confirm_timeout: '3s', confirm_interval: '200ms' },
      },
    });
    const file = join(temporaryFolder(), 'figures');
    writeFileSync(file, '');
    const probe = fileURLToPath(new URL('soak/probe.mjs', import.meta.url));
    const NODE_OPTIONS = `--import=${probe} --disable-warning=ExperimentalWarning`;
    bridge.start({}, { NODE_OPTIONS, SOAK_FIGURES: file });
    await bridge.untilShown();
    const figures = (): Figures[] =>
      readFileSync(file, 'utf8')
        .trim()
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line));
    const look = async () => {
      const before = figures().length;
      bridge.program.signal('SIGUSR2');
      await waitFor(() => figures().length > before, { what: 'the figures', timeoutMs: patienceMs });
    };
    const seen: Figures[] = [];
    for (let round = 1; round <= rounds; round++) {
      for (const [, run] of Object.entries(troubles).toSorted(() => random() - 0.5)) {
        await run(bridge);
        await bridge.polls(2);
      }
      await bridge.polls(pollsPerRound);
      await calm(bridge);
      for (let count = 0; count < looks; count++) await look();
      const [first = {}, ...others] = figures().slice(-looks);
      const least = Object.entries(first).map(
        ([name, value]) => [name, Math.min(value, ...others.map((each) => each[name] ?? value))] as const,
      );
      seen.push(Object.fromEntries(least));
      console.info(`round ${round}: ${JSON.stringify(seen.at(-1))}`);
      // What was heard would be most of the memory of this process.
      bridge.mqtt.forget();
      bridge.events();
      bridge.cloud.requests.clear();
    }
    expect(bridge.program.stderr).not.toMatch(/ ERROR: | FATAL: /);
    expect(seen.map(({ warnings }) => warnings)).toEqual(seen.map(() => 0));
    for (const value of Object.values({ ...seen.at(-1), warnings: 1 })) expect(value).toBeGreaterThan(0);
    expect(grown(seen) ?? []).toEqual([]);
    expect((await bridge.program.stop()).code).toBe(0);
    await bridge.close();
  },
);
