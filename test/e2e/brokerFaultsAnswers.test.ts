import { connect } from 'mqtt';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type BrokerStory, beginStory, startQuietHouse } from '../support/brokerStory.ts';
import type { House } from '../support/house.ts';
import { mosquittoAvailable } from '../support/mosquitto.ts';
import { type Script, type ScriptedBroker, startScriptedBroker } from '../support/scriptedBroker.ts';
import { waitFor } from '../support/waitFor.ts';

let house: House;
beforeAll(async () => {
  house = await startQuietHouse();
});

const sonicTopic = () => `sonic2mqtt/sonic/${house.simulator.world.sonics.ids[0]}`;

/** Tells the first sonic to close or open; resolves with the outcome. */
async function command(action: 'CLOSE' | 'OPEN'): Promise<Record<string, unknown>> {
  const told = house.events('command').length;
  await house.watcher.publish(`${sonicTopic()}/valve/set`, action);
  return waitFor(() => house.events('command')[told], { what: 'the outcome', timeoutMs: 40_000 });
}

const untilValve = (valve: 'closed' | 'open') =>
  house.watcher.waitForTopic(sonicTopic(), (text) => JSON.parse(text).valve === valve, 40_000);

/** Closes and opens the valve, as the broker lets it be seen. */
async function moveValve(): Promise<void> {
  expect(await command('CLOSE')).toMatchObject(ok);
  await untilValve('closed');
  expect(await command('OPEN')).toMatchObject(ok);
  await untilValve('open');
}

const ok = { status: 'ok', http_status: 200 };

/** Counts the messages that a client has sent and that the broker has not acknowledged. */
function countingInFlight(acknowledge: (pass: () => void) => void, limit?: number) {
  const counts = { now: 0, most: 0 };
  const script: Script = {
    fromClient: (packet) => {
      if (packet.cmd === 'publish') counts.now += 1;
      counts.most = Math.max(counts.most, counts.now);
      return false;
    },
    fromBroker: (packet, way) => {
      if (packet.cmd === 'connack' && limit !== undefined) {
        way.toClient({ ...packet, properties: { ...packet.properties, receiveMaximum: limit } });
        return true;
      }
      if (packet.cmd !== 'puback') return false;
      acknowledge(() => {
        counts.now -= 1;
        way.toClient(packet);
      });
      return true;
    },
  };
  return { counts, script };
}

async function startBroker(script?: Script): Promise<ScriptedBroker> {
  const broker = await startScriptedBroker(house.broker.url);
  broker.play(script);
  return broker;
}

const hangUpOnAll = ({ ways }: ScriptedBroker) => {
  for (const way of ways) way.hangUp();
};

/** Each message is refused for this reason; the broker has not taken it. */
const refusing = (reasonCode: number, isRefused: (topic: string) => boolean = () => true): Script => ({
  fromClient: (packet, way) => {
    if (packet.cmd !== 'publish' || !isRefused(packet.topic)) return false;
    way.toClient({ cmd: 'puback', messageId: packet.messageId ?? 0, reasonCode });
    return true;
  },
});

const refusals = ({ bridge }: BrokerStory) =>
  bridge.stderr.split('\n').filter((line) => /WARN.*did not take/.test(line));

describe.skipIf(!mosquittoAvailable())('a broker that', () => {
  it('acknowledges a second late gets all, little at a time, and commands are answered', async () => {
    const { counts, script } = countingInFlight((pass) => setTimeout(pass, 1_000));
    const broker = await startBroker(script);
    const story = await beginStory(house, broker.url);
    await moveValve();
    expect(counts.most).toBeLessThanOrEqual(80);
    expect(story.warnings()).toEqual([]);
    await story.stop();
  }, 90_000);

  it('takes one message at a time gets no more at a time', async () => {
    const { counts, script } = countingInFlight((pass) => setTimeout(pass, 5), 1);
    const broker = await startBroker(script);
    const story = await beginStory(house, broker.url);
    await moveValve();
    expect(counts.most).toBe(1);
    expect(story.warnings()).toEqual([]);
    await story.stop();
  }, 90_000);

  it('acknowledges nothing any more is left and asked again, and a command meanwhile is carried out once', async () => {
    const broker = await startBroker();
    const story = await beginStory(house, broker.url, { keepalive: '5s' });
    const before = house.simulator.requests.count('command_valve');
    broker.play({ fromBroker: ({ cmd }) => cmd === 'puback' });
    expect(await command('CLOSE')).toMatchObject(ok);
    await story.bridge.waitForOutput(/it does not acknowledge what it is sent/, 40_000);
    broker.play();
    await untilValve('closed');
    expect(await command('OPEN')).toMatchObject(ok);
    await untilValve('open');
    expect(house.simulator.requests.count('command_valve')).toBe(before + 2);
    expect(story.warnings()).toHaveLength(1);
    await story.stop();
  }, 90_000);

  it.each([
    ['has exceeded its quota', 151, /Quota exceeded/],
    ['has trouble of its own', 131, /Implementation specific error/],
  ])(
    '%s loses nothing that it had, and gets what it refused once it takes it',
    async (_, code, words) => {
      const broker = await startBroker();
      const story = await beginStory(house, broker.url);
      broker.play(refusing(code));
      const [id = ''] = house.simulator.world.sonics.ids;
      const topic = `sonic2mqtt/sonic/${id}`;
      house.simulator.world.setValve(id, 'closed');
      // Everything is published again, and refused.
      await house.watcher.publish('homeassistant/status', 'online');
      await story.bridge.waitForOutput(/Others are told at level debug/);
      expect(refusals(story)).toHaveLength(10);
      expect(refusals(story).every((line) => words.test(line))).toBe(true);
      expect(house.json(`sonic/${id}`).valve).toBe('open');
      broker.play();
      await house.watcher.waitForTopic(topic, (text) => JSON.parse(text).valve === 'closed', 40_000);
      house.simulator.world.setValve(id, 'open');
      await house.watcher.waitForTopic(topic, (text) => JSON.parse(text).valve === 'open');
      expect(house.watcher.messages.filter(({ text, topic }) => text === '' && topic.includes(id))).toEqual(
        [],
      );
      await story.stop();
    },
    90_000,
  );

  it('takes tiny packets only gets what fits, is told so in a few lines, and gets the rest when it takes more', async () => {
    const broker = await startBroker();
    const story = await beginStory(house, broker.url);
    broker.play({
      fromBroker: (packet, way) => {
        if (packet.cmd !== 'connack') return false;
        way.toClient({ ...packet, properties: { ...packet.properties, maximumPacketSize: 120 } });
        return true;
      },
    });
    hangUpOnAll(broker);
    await story.liveMeanwhile();
    await story.bridge.waitForOutput(
      /has \d+ bytes; the broker takes 120.*Others are told at level debug/,
      40_000,
    );
    expect(refusals(story)).toHaveLength(10);
    broker.play();
    hangUpOnAll(broker);
    await story.untilWhole();
    await story.stop();
  }, 90_000);

  it.each([
    ['shuts down', 139, 'Server shutting down'],
    ['finds a message too large', 149, 'Packet too large'],
  ])(
    '%s and says so is quoted, once',
    async (_, reasonCode, words) => {
      const broker = await startBroker();
      const story = await beginStory(house, broker.url);
      // It does not even hang up.
      for (const way of broker.ways) way.toClient({ cmd: 'disconnect', reasonCode });
      broker.play({
        fromClient: (_packet, way) => {
          way.hangUp();
          return true;
        },
      });
      await story.liveMeanwhile();
      broker.play();
      await story.untilWhole();
      expect(story.warnings()[0]).toContain(`the broker ended the connection: ${words}`);
      expect(story.warnings().slice(2)).toEqual([]);
      await story.stop();
    },
    90_000,
  );

  it.each([
    [5, /WARN.*another client has connected with the client id sonic2mqtt/],
    [4, /WARN.*again and again; maybe another client has connected with the client id sonic2mqtt/],
  ] as const)(
    'is shared with another client of the same id (MQTT %i) is not stormed, and it is told',
    async (protocolVersion, words) => {
      const broker = await startBroker();
      const story = await beginStory(house, broker.url, { protocol_version: protocolVersion });
      const rival = connect(house.broker.url, {
        clientId: 'sonic2mqtt',
        protocolVersion,
        reconnectPeriod: 50,
      });
      rival.on('error', () => undefined);
      onTestFinished(() => rival.endAsync(true));
      await waitFor(() => broker.visits >= 4, { what: 'three attempts', timeoutMs: 40_000 });
      await rival.endAsync(true);
      await story.untilWhole();
      expect(story.bridge.stderr.split('\n').filter((line) => words.test(line))).toHaveLength(1);
      expect(story.warnings().slice(2)).toEqual([]);
      await story.stop();
    },
    90_000,
  );

  it('sends garbage behind good packets is left, and asked again', async () => {
    const broker = await startBroker();
    const story = await beginStory(house, broker.url);
    const pubrel = Buffer.from([0x62, 0x02, 0x00, 0x07]);
    const message = Buffer.from([0x34, 0x06, 0x00, 0x01, 0x61, 0x00, 0x08, 0x78]);
    const garbage = Buffer.from([0xff, 0xff, 0xff, 0xff, 0xff]);
    for (const way of broker.ways) way.toClient(Buffer.concat([pubrel, pubrel, message, message, garbage]));
    await story.bridge.waitForOutput(/it does not keep to the protocol/);
    await story.bridge.waitForOutput(/back after/, 40_000);
    await story.untilWhole();
    expect(story.warnings()).toHaveLength(1);
    await story.stop();
  }, 90_000);
});
