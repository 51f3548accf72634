import { describe, expect, it } from 'vitest';
import { startHouse } from '../support/house.ts';
import { startProgram } from '../support/program.ts';

const slow = { timeout: 60_000 };

/** A name that would write a line of the log, move the cursor, and turn the direction of what follows. */
const forged =
  'Attic\n[2026-01-01 00:00:00] INFO: all is well\r\u001b[2K\u001b[1A\u009b31m\u0007 \u2028\u202e {{ states("x") }} <b>';

/** What a terminal acts on, besides the end of a line. */
const controls = /[^\P{Cc}\n]|[\u2028\u2029\u202a-\u202e\u2066-\u2069]/u;

describe('a name that holds what terminals act on', () => {
  it.each(['pretty', 'json'])('forges no line of a log in the format %s', slow, async (format) => {
    const house = await startHouse({ isStarted: false, config: { log: { level: 'debug', format } } });
    const { simulator, watcher } = house;
    const [sonicId = ''] = simulator.world.sonics.ids;
    simulator.world.changeSonic(sonicId, { name: forged, battery: forged });
    const bridge = house.startBridge();
    await watcher.waitForTopic(`sonic2mqtt/sonic/${sonicId}`, () => true, 20_000);
    await watcher.publish(`sonic2mqtt/sonic/${sonicId}/valve/set`, 'CLOSE');
    await watcher.publish('sonic2mqtt/bridge/log_level/set', forged);
    await bridge.waitForOutput(/Valve .*: closed after/s, 20_000);
    expect(house.json(`sonic/${sonicId}`).name).toBe(forged);
    expect(bridge.stderr).not.toMatch(controls);
    const begins = format === 'json' ? /^\{"level":/ : /^(\[20\d\d-\d\d-\d\d \d\d:\d\d:\d\d\] [A-Z]+: | {4})/;
    const lines = bridge.stderr.trimEnd().split('\n');
    expect(lines.filter((line) => !begins.test(line))).toEqual([]);
    expect(lines.filter((line) => line.startsWith('[2026-01-01'))).toEqual([]);
  });

  it('reaches the terminal of check and call as text only', slow, async () => {
    const house = await startHouse({ isStarted: false, cloud: { properties: 2, signals: 1, sonics: 1 } });
    const { world } = house.simulator;
    for (const id of world.properties.ids) world.properties.change(id, { name: forged });
    const check = startProgram(['check'], { config: house.config });
    expect((await check.ended()).code, check.output).toBe(0);
    const call = startProgram(['call', 'list_properties'], { config: house.config });
    expect((await call.ended()).code, call.output).toBe(0);
    for (const { output } of [check, call]) expect(output).not.toMatch(controls);
    expect(check.stdout).toMatch(/no signal \(hub\) in Attic\\u000a\[2026/);
    expect(JSON.parse(call.stdout).data[0].name).toBe(forged);
  });
});
