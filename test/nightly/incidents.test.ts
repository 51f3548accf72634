import { describe, expect, it } from 'vitest';
import type { IncidentType } from '../../src/model/records.ts';
import { fault, type House, hourly, startHouse } from '../support/house.ts';
import { waitFor } from '../support/waitFor.ts';

const seldom = { ...hourly, usage: '1h', pressure_tests: '1h' };

/** A house with two sonics on one signal, in which nothing is wrong yet. */
async function calmHouse(options: Parameters<typeof startHouse>[0] = {}) {
  const house = await startHouse({
    ...options,
    cloud: { properties: 1, signals: 1, sonics: 2, ...options.cloud },
    isStarted: false,
  });
  const { world } = house.simulator;
  for (const id of world.incidents.ids) world.closeIncident(id);
  const [property = ''] = world.properties.ids;
  const [signal = ''] = world.signals.ids;
  const [first = '', second = ''] = world.sonics.ids;
  /** Opens an incident that offers these actions. */
  const open = (type: IncidentType, sonicId: string | null, ...possible_actions: string[]): string => {
    const { id } = world.openIncident(sonicId === null ? { type, signalId: signal } : { type, sonicId });
    world.incidents.change(id, { possible_actions });
    return id;
  };
  return { house, world, property, signal, first, second, open };
}

async function started(house: House, ids: readonly string[]): Promise<void> {
  house.startBridge();
  for (const id of ids) await house.watcher.waitForTopic(`sonic2mqtt/incident/${id}`, () => true, 10_000);
  const [sonic = ''] = house.simulator.world.sonics.ids.toReversed();
  await house.watcher.waitForTopic(`sonic2mqtt/sonic/${sonic}/homeassistant`, () => true, 10_000);
}

/** Publishes a command and waits for its outcome. */
async function ask(
  house: House,
  path: string,
  payload: string,
): Promise<Record<string, unknown> | undefined> {
  const before = house.events('command').length;
  await house.watcher.publish(`sonic2mqtt/${path}`, payload);
  await waitFor(() => house.events('command').length > before, { what: `the outcome of ${path}` });
  return house.events('command').at(-1);
}

/** What the cloud was asked to do, as `ID: ACTION`. */
function acted(house: House): string[] {
  return house.simulator.requests.entries
    .filter(({ operation }) => operation === 'act_on_incident')
    .map(({ path, body }) => `${path.split('/').at(-2)}: ${(body as { action: string }).action}`);
}

describe('the button that resolves incidents', () => {
  it('resolves or dismisses those of its sonic, as each offers, and no others', async () => {
    const { house, world, first, second, open } = await calmHouse({ config: { schedules: seldom } });
    const leak = open('high_volume_alert', first, 'resolve', 'dismiss', 'snooze');
    const cold = open('low_temperature', first, 'dismiss');
    const moved = open('device_handle_moved', second, 'resolve');
    await started(house, [leak, cold, moved]);
    const { components } = house.watcher.json(`homeassistant/device/sonic2mqtt_${first}/config`) as {
      components: Record<string, Record<string, string>>;
    };
    const { command_topic: topic = '', payload_press: press = '' } =
      components['button_resolve_incidents'] ?? {};
    expect(await ask(house, topic.replace('sonic2mqtt/', ''), press)).toMatchObject({
      topic: `sonic2mqtt/sonic/${first}/incidents/action`,
      status: 'ok',
      http_status: 200,
    });
    expect(acted(house).toSorted()).toEqual([`${cold}: dismiss`, `${leak}: resolve`].toSorted());
    expect([leak, cold, moved].map((id) => world.incidents.get(id)?.open)).toEqual([false, false, true]);
    // By the cloud's answers, long before the next poll.
    for (const id of [leak, cold]) {
      await waitFor(() => !house.watcher.last.has(`sonic2mqtt/incident/${id}`), { what: `the end of ${id}` });
    }
    await house.watcher.waitForTopic(
      `sonic2mqtt/sonic/${first}/homeassistant`,
      (text) => JSON.parse(text).open_incidents === 0 && JSON.parse(text).incident_low_temperature === 'OFF',
    );
    expect(house.watcher.last.has(`sonic2mqtt/incident/${moved}`)).toBe(true);
    const closed = house.events('incident_closed').map(({ id }) => id);
    expect(closed.toSorted()).toEqual([leak, cold].toSorted());
  });

  it('of a property reaches all that hangs on it', async () => {
    const { house, property, first, second, open } = await calmHouse({ config: { schedules: seldom } });
    const ids = [
      open('high_volume_alert', first, 'resolve'),
      open('low_temperature', second, 'dismiss'),
      open('cloud_disconnection', null, 'resolve'),
    ];
    await started(house, ids);
    expect(await ask(house, `property/${property}/incidents/action`, 'resolve')).toMatchObject({
      status: 'ok',
    });
    await house.watcher.waitForTopic(
      `sonic2mqtt/property/${property}/homeassistant`,
      (text) => JSON.parse(text).problem === 'OFF',
    );
    expect(acted(house)).toHaveLength(3);
  });

  it('says that there is nothing to resolve', async () => {
    const { house, first, property } = await calmHouse();
    await started(house, []);
    for (const path of [`sonic/${first}`, `property/${property}`]) {
      expect(await ask(house, `${path}/incidents/action`, 'resolve')).toMatchObject({
        status: 'refused',
        reason: 'there is no open incident',
      });
    }
  });
});

describe('an action', () => {
  it('acts only on incidents that offer it, and is refused with what is offered where none does', async () => {
    const { house, world, first, signal, open } = await calmHouse({ config: { schedules: seldom } });
    const ids = [
      open('high_volume_alert', first, 'resolve', 'snooze'),
      open('low_temperature', first, 'dismiss'),
      open('cloud_disconnection', null, 'resolve'),
    ];
    await started(house, ids);
    const [leak = '', cold = '', link = ''] = ids;
    expect(await ask(house, `sonic/${first}/incidents/action`, 'snooze')).toMatchObject({ status: 'ok' });
    expect(acted(house)).toEqual([`${leak}: snooze`]);
    expect(world.incidents.get(leak)).toMatchObject({ open: true, snoozed_until: expect.any(String) });
    await house.watcher.waitForTopic(
      `sonic2mqtt/incident/${leak}`,
      (text) => 'snoozed_until' in JSON.parse(text),
    );
    expect(await ask(house, `sonic/${first}/incidents/action`, 'snooze')).toMatchObject({
      status: 'refused',
      reason: expect.stringMatching(
        /^no open incident offers that; offered are (resolve, dismiss|dismiss, resolve)$/,
      ),
    });
    expect(await ask(house, `signal/${signal}/incidents/action`, 'dismiss')).toMatchObject({
      status: 'refused',
      reason: 'no open incident offers that; offered are resolve',
    });
    expect(await ask(house, `incident/${cold}/action`, 'resolve')).toMatchObject({
      status: 'refused',
      reason: 'must be one of dismiss; got "resolve"',
    });
    expect(await ask(house, `incident/${cold}/action`, 'dismiss')).toMatchObject({ status: 'ok' });
    expect(await ask(house, `incident/${link}/action`, 'resolve')).toMatchObject({ status: 'ok' });
    expect(acted(house).slice(1)).toEqual([`${cold}: dismiss`, `${link}: resolve`]);
    expect(acted(house)).toHaveLength(3);
  });

  it('of one that is closed is what it offers then: it can be reopened, and is announced again', async () => {
    const { house, world, first, open } = await calmHouse({ config: { schedules: seldom } });
    const id = open('low_temperature', first, 'dismiss');
    await started(house, [id]);
    const topic = `sonic2mqtt/incident/${id}`;
    const told = () => house.events('incident_opened').filter((event) => event['id'] === id).length;
    await waitFor(() => told() === 1, { what: 'the announcement' });
    expect(await ask(house, `incident/${id}/action`, 'dismiss')).toMatchObject({ status: 'ok' });
    await waitFor(() => !house.watcher.last.has(topic), { what: 'its record to go' });
    expect(await ask(house, `incident/${id}/action`, 'dismiss')).toMatchObject({
      status: 'refused',
      reason: 'must be one of reopen; got "dismiss"',
    });
    expect(await ask(house, `incident/${id}/action`, 'reopen')).toMatchObject({
      status: 'ok',
      http_status: 200,
    });
    expect(acted(house)).toEqual([`${id}: dismiss`, `${id}: reopen`]);
    expect(world.incidents.get(id)?.open).toBe(true);
    await house.watcher.waitForTopic(topic, (text) => JSON.parse(text).open === true);
    await waitFor(() => told() === 2, { what: 'the announcement of it again' });
    expect(await ask(house, 'incident/nobody/action', 'reopen')).toMatchObject({
      status: 'refused',
      reason: 'there is no incident nobody',
      http_status: 404,
    });
    expect(await ask(house, 'incident/a b/action', 'reopen')).toMatchObject({
      status: 'refused',
      reason: 'there is no incident a b',
      http_status: null,
    });
  });

  it('that only some incidents take is an error that counts them, and what is true is read again', async () => {
    const { house, world, first, open } = await calmHouse({ config: { schedules: seldom } });
    const ids = ['high_volume_alert', 'low_temperature', 'high_humidity'] as const;
    const [gone = '', ...others] = ids.map((type) => open(type, first, 'dismiss'));
    await started(house, [gone, ...others]);
    world.closeIncident(gone);
    expect(await ask(house, `sonic/${first}/incidents/action`, 'resolve')).toMatchObject({
      status: 'error',
      http_status: 422,
      reason: expect.stringMatching(/^1 of 3 failed: .*action dismiss is not possible, only reopen/),
    });
    expect(acted(house)).toHaveLength(3);
    await house.watcher.waitForTopic(
      `sonic2mqtt/sonic/${first}/homeassistant`,
      (text) => JSON.parse(text).open_incidents === 0,
    );
  });

  it('ends an incident once: a list that was asked for before does not bring it back', async () => {
    const { house, first, open } = await calmHouse();
    const leak = open('high_volume_alert', first, 'resolve');
    await started(house, [leak]);
    await waitFor(() => house.events('incident_opened').length === 1, {
      what: 'the news',
      timeoutMs: 10_000,
    });
    expect(await ask(house, `incident/${leak}/action`, 'resolve')).toMatchObject({ status: 'ok' });
    const polled = house.simulator.requests.count('list_incidents');
    await waitFor(() => house.simulator.requests.count('list_incidents') > polled + 3, {
      what: 'some polls',
    });
    expect(
      house
        .events()
        .filter(({ id }) => id === leak)
        .map(({ event }) => event),
    ).toEqual(['incident_opened', 'incident_closed']);
    const name = house.simulator.world.sonics.get(first)?.name;
    const words = `High water use at "${name}", severity high`;
    const lines = house.bridge.output.split('\n').filter((line) => line.includes('Incident '));
    expect(lines.map((line) => line.replace(/^\[.*?\] /, ''))).toEqual([
      `INFO: Incident opened: ${words}`,
      `INFO: Incident closed: ${words}`,
    ]);
    const kept = house.watcher.messages.filter(({ topic }) => topic === `sonic2mqtt/incident/${leak}`);
    expect(kept.at(-1)?.text).toBe('');
    expect(kept.filter(({ text }) => text === '')).toHaveLength(1);
  });

  it('is refused, and has no button, where control.incidents is off', async () => {
    const { house, first, property, open } = await calmHouse({ config: { control: { incidents: false } } });
    const leak = open('high_volume_alert', first, 'resolve');
    await started(house, [leak]);
    for (const path of [`incident/${leak}/action`, `sonic/${first}/incidents/action`]) {
      expect(await ask(house, path, 'resolve')).toMatchObject({
        status: 'refused',
        reason: 'not permitted: control.incidents is off in the configuration',
      });
    }
    for (const id of [first, property]) {
      const message = house.watcher.json(`homeassistant/device/sonic2mqtt_${id}/config`);
      expect(JSON.stringify(message)).not.toContain('resolve_incidents');
    }
    expect(acted(house)).toEqual([]);
  });
});

describe('the start of a pressure test', () => {
  it('starts one, and once only although the cloud breaks off', async () => {
    const { house, world, first } = await calmHouse();
    await started(house, []);
    house.simulator.setFaults([fault('reset@start_pressure_test')]);
    expect(await ask(house, `sonic/${first}/pressure_test/start`, '')).toMatchObject({ status: 'error' });
    expect(house.simulator.requests.count('start_pressure_test')).toBe(1);
    house.simulator.setFaults([]);
    expect(world.valve(first)?.testing).toBe(false);
    expect(await ask(house, `sonic/${first}/pressure_test/start`, 'PRESS')).toMatchObject({ status: 'ok' });
    const sent = house.simulator.requests.entries.filter(
      ({ operation }) => operation === 'start_pressure_test',
    );
    expect(sent.map(({ body }) => body)).toEqual([{ source: 'sonic2mqtt' }, { source: 'sonic2mqtt' }]);
    await house.watcher.waitForTopic(
      `sonic2mqtt/sonic/${first}/homeassistant`,
      (text) => JSON.parse(text).pressure_test_running === 'ON',
    );
    expect(house.json(`sonic/${first}`)).toMatchObject({ valve: 'open', valve_state: 'pressure_test' });
    expect(await ask(house, `sonic/${first}/pressure_test/start`, '')).toMatchObject({
      status: 'error',
      http_status: 409,
      reason: expect.stringContaining('a pressure test is running'),
    });
    await house.watcher.waitForTopic(
      `sonic2mqtt/sonic/${first}/pressure_tests`,
      (text) => typeof JSON.parse(text).job_id === 'string',
    );
  });
});

describe('the opening of an incident', () => {
  it('at a sonic that was just added is announced there, and not at its signal', async () => {
    const schedules = { ...seldom, incidents: '300ms' };
    const { house, world, signal, second, open } = await calmHouse({ config: { schedules } });
    await started(house, []);
    await house.watcher.waitForTopic(`sonic2mqtt/sonic/${second}/homeassistant`, () => true, 10_000);
    const sonic = world.addSonic(signal);
    const leak = open('high_volume_alert', sonic.id, 'resolve');
    const announced = () =>
      house.watcher.messages
        .filter(({ topic, text }) => topic.endsWith('/incident') && text.includes(leak))
        .map(({ topic }) => topic.replace('sonic2mqtt/', ''));
    await waitFor(() => announced().length > 0, { what: 'the announcement', timeoutMs: 15_000 });
    expect(announced()).toEqual([`sonic/${sonic.id}/incident`]);
    expect(house.events('incident_opened').map(({ id }) => id)).toEqual([leak]);
  });

  it('at a sonic that was just added waits for no more than to hear of it', async () => {
    const schedules = { ...seldom, incidents: '300ms' };
    const cloud = { request_timeout: '40s' };
    const { house, world, signal, open } = await calmHouse({ config: { schedules, cloud } });
    await started(house, []);
    house.simulator.setFaults([fault('hang@list_wifi_sonics')]);
    const sonic = world.addSonic(signal);
    const leak = open('high_volume_alert', sonic.id, 'resolve');
    const topic = `sonic2mqtt/sonic/${sonic.id}/incident`;
    await house.watcher.waitForTopic(topic, (text) => text.includes(leak), 15_000);
  });

  it('at a sonic that the cloud does not list is announced at its signal', async () => {
    const schedules = { ...seldom, incidents: '300ms' };
    const { house, world, signal, open } = await calmHouse({ config: { schedules } });
    await started(house, []);
    const leak = open('high_volume_alert', null);
    world.incidents.change(leak, { sonic_id: '5e1f0000-0000-4000-8000-000000000000' });
    const topic = `sonic2mqtt/signal/${signal}/incident`;
    await house.watcher.waitForTopic(topic, (text) => text.includes(leak), 15_000);
  });
});
