import { beforeAll, describe, expect, it } from 'vitest';
import { beginStory, startQuietHouse } from '../support/brokerStory.ts';
import type { House } from '../support/house.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcpProxy.ts';
import { waitFor } from '../support/waitFor.ts';

let house: House;
beforeAll(async () => {
  house = await startQuietHouse();
});

/** A way to the house's broker, and its address. */
async function startWay(): Promise<{ way: TcpProxy; url: string }> {
  const way = await startTcpProxy(Number(new URL(house.broker.url).port));
  return { way, url: `mqtt://127.0.0.1:${way.port}` };
}

interface Fault {
  readonly name: string;
  readonly strike: (way: TcpProxy) => unknown;
  readonly mend: (way: TcpProxy) => void;
  readonly words: RegExp;
  /** Of MQTT; a broker of 3.1.1 remembers all for a client that does not ask it not to. */
  readonly version: 4 | 5;
}

const faults: readonly Fault[] = [
  {
    name: 'is reset',
    strike: (way) => {
      way.reset();
      way.cut();
    },
    mend: (way) => way.mend(),
    words: /the connection was reset/,
    version: 4,
  },
  {
    name: 'breaks in mid-packet',
    strike: async (way) => {
      way.breakAfter(7);
      await house.watcher.publish('homeassistant/status', 'breaking');
      way.cut();
    },
    mend: (way) => way.mend(),
    words: /the connection was closed/,
    version: 5,
  },
  {
    name: 'freezes in silence',
    strike: (way) => {
      way.freeze();
      // What is on its way then is lost, and is no refusal.
      const { world } = house.simulator;
      world.setValve(world.sonics.ids[0] ?? '', 'closed');
    },
    mend: (way) => way.thaw(),
    words: /it does not answer any more/,
    version: 5,
  },
];

const linesOf = (log: string, words: RegExp) => log.split('\n').filter((line) => words.test(line));

describe('a way to the broker that', () => {
  it.each(faults)(
    '$name is told once, and afterwards all is as it was',
    async ({ strike, mend, words, version }) => {
      const { way, url } = await startWay();
      const story = await beginStory(house, url, { keepalive: '1s', protocol_version: version });
      await strike(way);
      await story.liveMeanwhile();
      await story.bridge.waitForOutput(words);
      mend(way);
      await story.untilWhole();
      expect(story.warnings().filter((line) => words.test(line))).toHaveLength(1);
      expect(story.warnings().length).toBeLessThanOrEqual(3);
      expect(linesOf(story.bridge.stderr, /did not take/)).toEqual([]);
      await strike(way);
      await story.bridge.waitForOutput(/(back after[\s\S]*WARN.*MQTT broker)/);
      await story.stop();
      mend(way);
    },
    90_000,
  );

  it('comes and goes all the time is told in a few lines, and is taken less and less often', async () => {
    const { way, url } = await startWay();
    const story = await beginStory(house, url);
    const gapsMs: number[] = [];
    for (const isReset of [false, true, false]) {
      const [before, { visits }] = [performance.now(), way];
      const from = house.watcher.messages.length;
      if (isReset) way.reset();
      way.cut();
      way.mend();
      await waitFor(() => way.visits > visits, { what: 'the next visit', timeoutMs: 40_000 });
      gapsMs.push(performance.now() - before);
      await house.watcher.waitForMessage(
        ({ topic, text }) => topic === 'sonic2mqtt/bridge/state' && text === 'online',
        { what: 'the bridge to be back', from, timeoutMs: 40_000 },
      );
    }
    await story.untilWhole();
    expect(gapsMs[2]).toBeGreaterThanOrEqual(2_000);
    expect(story.warnings().slice(2)).toEqual([]);
    expect(story.warnings()[1]).toContain('again and again');
    expect(linesOf(story.bridge.stderr, /Connected to the MQTT broker/)).toHaveLength(2);
    await story.stop();
  }, 90_000);

  it.each([
    ['takes its time', { delayMs: 250 }],
    ['drips', { delayMs: 1, pieceBytes: 100 }],
  ])(
    '%s shows all, and commands go through',
    async (_, pace) => {
      const { way, url } = await startWay();
      way.slow(pace);
      const story = await beginStory(house, url);
      const [id = ''] = house.simulator.world.sonics.ids;
      const told = house.events('command').length;
      for (const [action, valve] of [
        ['CLOSE', 'closed'],
        ['OPEN', 'open'],
      ]) {
        await house.watcher.publish(`sonic2mqtt/sonic/${id}/valve/set`, action ?? '');
        await house.watcher.waitForTopic(
          `sonic2mqtt/sonic/${id}`,
          (text) => JSON.parse(text).valve === valve,
          40_000,
        );
      }
      await waitFor(() => house.events('command').length === told + 2, { what: 'both outcomes' });
      expect(house.events('command').map(({ status }) => status)).not.toContain('error');
      expect(story.warnings()).toEqual([]);
      await story.stop();
    },
    90_000,
  );

  it('breaks right behind a command has it carried out once', async () => {
    const { way, url } = await startWay();
    const story = await beginStory(house, url);
    const [id = ''] = house.simulator.world.sonics.ids;
    const sent = () => house.simulator.requests.count('command_valve');
    const before = sent();
    await house.watcher.publish(`sonic2mqtt/sonic/${id}/valve/set`, 'CLOSE');
    await waitFor(() => sent() > before, { what: 'the command to reach the cloud', intervalMs: 1 });
    way.reset();
    const isClosed = (text: string) => JSON.parse(text).valve === 'closed';
    await house.watcher.waitForTopic(`sonic2mqtt/sonic/${id}`, isClosed, 40_000);
    await story.bridge.waitForOutput(/back after/);
    // What the broker had for the bridge comes before its answer to another command.
    await house.watcher.publish(`sonic2mqtt/sonic/${id}/valve/set`, 'nonsense');
    await waitFor(() => house.events('command').some(({ status }) => status === 'refused'), {
      what: 'the refusal',
    });
    expect(sent()).toBe(before + 1);
    house.simulator.world.setValve(id, 'open');
    await house.watcher.waitForTopic(`sonic2mqtt/sonic/${id}`, (text) => !isClosed(text));
    await story.stop();
  }, 90_000);
});
