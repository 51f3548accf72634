import { describe, expect, it } from 'vitest';
import { Home, minuteMs, secondMs } from './home.ts';

const type = 'water_presence_detected';

/** How often the opening of an incident was told, and announced at these devices. */
function announced(home: Home, id: string, ...paths: readonly string[]): readonly number[] {
  const isOfIt = ({ payload }: { readonly payload: string }) => JSON.parse(payload).id === id;
  const told = home.events('incident_opened').filter((event) => event['id'] === id);
  return [told.length, ...paths.map((path) => home.published(`${path}/incident`).filter(isOfIt).length)];
}

describe('an incident is announced once at its device', () => {
  it('that becomes known only after a restart, and not again after the next', async () => {
    const home = new Home();
    await home.start();
    home.strike = ({ operation }) =>
      operation === 'list_signals' || operation === 'list_sonics' ? 'error-500' : null;
    const sonic = home.world.addSonic(home.world.addSignal().id);
    const { id } = home.world.openIncident({ type, sonicId: sonic.id });
    await home.pass(2 * minuteMs);
    expect(announced(home, id, `sonic/${sonic.id}`)).toEqual([1, 0]);
    home.machine.kill();
    await home.start();
    expect(announced(home, id, `sonic/${sonic.id}`)).toEqual([1, 0]);
    home.machine.kill();
    home.strike = () => null;
    for (let run = 0; run < 2; run++) {
      await home.start();
      expect(announced(home, id, `sonic/${sonic.id}`)).toEqual([1, 1]);
      home.machine.kill();
    }
  });

  it('although its sonic becomes known after a restart, and its hub is known before', async () => {
    const home = new Home();
    await home.start();
    const sonic = home.world.addSonic(home.signalId);
    home.strike = ({ operation }) => (operation === 'list_sonics' ? 'hang-before' : null);
    const { id } = home.world.openIncident({ type, sonicId: sonic.id });
    home.world.incidents.change(id, { signal_id: home.signalId });
    const devices = [`sonic/${sonic.id}`, `signal/${home.signalId}`];
    while (home.events('incident_opened').every((event) => event['id'] !== id)) await home.pass(secondMs);
    expect(announced(home, id, ...devices)).toEqual([1, 0, 0]);
    home.machine.kill();
    home.strike = () => null;
    for (let run = 0; run < 2; run++) {
      await home.start();
      expect(announced(home, id, ...devices)).toEqual([1, 1, 0]);
      home.machine.kill();
    }
  });

  it('although the first list after a restart misses it', async () => {
    const home = new Home();
    await home.start();
    const { id } = home.world.openIncident({ type, sonicId: home.sonicId });
    await home.pass(2 * minuteMs);
    home.machine.kill();
    home.world.incidents.change(id, { open: false });
    const read = home.asked('list_incidents').length;
    home.machine.start();
    await home.pass(10 * secondMs);
    expect(home.asked('list_incidents').slice(read)).toMatchObject([{ status: 200 }]);
    home.world.incidents.change(id, { open: true });
    await home.pass(2 * minuteMs);
    expect(home.json(`incident/${id}`).open).toBe(true);
    expect(announced(home, id, `sonic/${home.sonicId}`)).toEqual([1, 1]);
    home.machine.kill();
  });

  it('and once more if it opens again, also if it closed while the bridge did not run', async () => {
    const home = new Home();
    await home.start();
    const { id } = home.world.openIncident({ type, sonicId: home.sonicId });
    await home.pass(2 * minuteMs);
    home.machine.kill();
    home.world.incidents.change(id, { open: false });
    await home.start();
    await home.pass(2 * minuteMs);
    home.world.incidents.change(id, { open: true });
    await home.pass(2 * minuteMs);
    expect(announced(home, id, `sonic/${home.sonicId}`)).toEqual([2, 2]);
    home.machine.kill();
  });
});
