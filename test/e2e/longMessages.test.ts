import { describe, expect, it } from 'vitest';
import {
  changesAt,
  fence,
  houseForCommands,
  outcomes,
  outcomesOf,
  shown,
  slow,
} from '../support/commandTable.ts';
import { hourly } from '../support/house.ts';
import { mosquittoAvailable } from '../support/mosquitto.ts';

describe.skipIf(!mosquittoAvailable())(
  'a message of 20 MB that the broker keeps at a command topic',
  slow,
  () => {
    it.each([
      // This broker is told what the bridge takes.
      { version: 5, refusals: 0 },
      { version: 4, refusals: 1 },
    ])(
      'does not keep the bridge from its work, with MQTT version $version',
      async ({ version, refusals }) => {
        const house = await houseForCommands({ isStarted: false, config: { schedules: hourly } });
        const [id = ''] = house.simulator.world.sonics.ids;
        const topic = `sonic2mqtt/sonic/${id}/valve/set`;
        await house.watcher.publish(topic, `CLOSE${' '.repeat(20_000_000)}`, { retain: true });
        const bridge = house.startBridge({ mqtt: { protocol_version: version } });
        await shown(house);
        await fence(house);
        expect(outcomes(house).map(({ status }) => status)).toEqual(Array(refusals).fill('refused'));
        const told = bridge.output.match(
          /sent a message of 20 MB\. Only its beginning is read\. Limit messages/g,
        );
        expect(told ?? []).toHaveLength(refusals);
        // A live one says nothing more, and what comes after it is carried out.
        await house.watcher.publish(topic, `CLOSE${' '.repeat(20_000_000)}`);
        await fence(house);
        expect(outcomes(house).slice(refusals)).toMatchObject(
          Array(refusals).fill({ status: 'refused', reason: 'the payload is larger than 64 KiB' }),
        );
        expect(changesAt(house)).toEqual([]);
        expect(await outcomesOf(house, [{ topic, payload: 'CLOSE' }])).toMatchObject([{ status: 'ok' }]);
        expect(bridge.output.match(/Connected to the MQTT broker/g)).toHaveLength(1);
      },
    );
  },
);
