import { describe, expect, it } from 'vitest';
import type { IncidentType } from '../../src/model/records.ts';
import { Home, type HomeOptions, minuteMs, type Sections, secondMs } from './home.ts';

/** A home with two sonics on one signal, in which nothing is wrong yet. No list is read again within the hour. */
class CalmHome extends Home {
  readonly first: string;
  readonly second: string;

  constructor({ config, ...options }: HomeOptions = {}) {
    const seldom = { incidents: '1h', sonics: '1h', signals: '1h', usage: '1h', telemetry: '1h' };
    super({ cloud: { sonics: 2 }, config: { schedules: seldom, stale_after: '24h', ...config }, ...options });
    for (const id of this.world.incidents.ids) this.world.closeIncident(id);
    [this.first = '', this.second = ''] = this.world.sonics.ids;
  }

  /** Opens an incident that offers these actions, at the signal if at no sonic. */
  open(type: IncidentType, sonicId: string | null, ...possible_actions: string[]): string {
    const place = sonicId === null ? { signalId: this.signalId } : { sonicId };
    const { id } = this.world.openIncident({ type, ...place });
    this.world.incidents.change(id, { possible_actions });
    return id;
  }

  /** Publishes a command and lets it be carried out: how it ended. */
  async ask(path: string, payload: string): Promise<Record<string, unknown> | undefined> {
    const before = this.events('command').length;
    this.broker.publish(`sonic2mqtt/${path}`, payload, false);
    await this.until(() => this.events('command').length > before, `the outcome of ${path}`);
    await this.pass(secondMs);
    return this.events('command').at(-1);
  }

  /** What the cloud was asked to do, as `ID: ACTION`. */
  get acted(): readonly string[] {
    const asked = this.asked('act_on_incident');
    return asked.map(({ params, body }) => `${params['incident_id']}: ${JSON.parse(body).action}`);
  }

  /** The ids of the incidents of which this event was told. */
  told(event: string): readonly unknown[] {
    return this.events(event).map(({ id }) => id);
  }
}

describe('the button that resolves incidents', () => {
  it('resolves or dismisses those of its sonic, as each offers, and no others', async () => {
    const home = new CalmHome();
    const { world, first, second } = home;
    const leak = home.open('high_volume_alert', first, 'resolve', 'dismiss', 'snooze');
    const cold = home.open('low_temperature', first, 'dismiss');
    const moved = home.open('device_handle_moved', second, 'resolve');
    await home.start();
    home.strike = ({ operation }) => (operation === 'list_incidents' ? 'hang-before' : null);
    const { command_topic: topic, payload_press: press } =
      home.discovery(first).components.button_resolve_incidents;
    expect(topic).toBe(`sonic2mqtt/sonic/${first}/incidents/action`);
    expect(await home.ask(`sonic/${first}/incidents/action`, press)).toMatchObject({
      topic,
      status: 'ok',
      http_status: 200,
    });
    expect(home.acted.toSorted()).toEqual([`${cold}: dismiss`, `${leak}: resolve`].toSorted());
    expect([leak, cold, moved].map((id) => world.incidents.get(id)?.open)).toEqual([false, false, true]);
    // By the cloud's answers alone.
    expect([leak, cold, moved].map((id) => home.text(`incident/${id}`) !== undefined)).toEqual([
      false,
      false,
      true,
    ]);
    expect(home.json(`sonic/${first}/homeassistant`)).toMatchObject({
      open_incidents: 0,
      incident_low_temperature: 'OFF',
    });
    expect(home.told('incident_closed').toSorted()).toEqual([leak, cold].toSorted());
  });

  it('of a property reaches all that hangs on it, and says if there is nothing to resolve', async () => {
    const home = new CalmHome();
    const { first, second, propertyId } = home;
    home.open('high_volume_alert', first, 'resolve');
    home.open('low_temperature', second, 'dismiss');
    home.open('cloud_disconnection', null, 'resolve');
    await home.start();
    const path = `property/${propertyId}/incidents/action`;
    expect(await home.ask(path, 'resolve')).toMatchObject({ status: 'ok' });
    expect(home.acted).toHaveLength(3);
    expect(home.entity(propertyId, 'binary_sensor_problem').state).toBe('OFF');
    for (const each of [path, `sonic/${first}/incidents/action`]) {
      expect(await home.ask(each, 'resolve')).toMatchObject({
        status: 'refused',
        reason: 'there is no open alert',
      });
    }
  });
});

describe('an action', () => {
  it('acts only on incidents that offer it, and is refused with what is offered where none does', async () => {
    const home = new CalmHome();
    const { world, first, signalId } = home;
    const leak = home.open('high_volume_alert', first, 'resolve', 'snooze');
    const cold = home.open('low_temperature', first, 'dismiss');
    const link = home.open('cloud_disconnection', null, 'resolve');
    await home.start();
    expect(await home.ask(`sonic/${first}/incidents/action`, 'snooze')).toMatchObject({ status: 'ok' });
    expect(world.incidents.get(leak)).toMatchObject({ open: true, snoozed_until: expect.any(String) });
    expect(home.json(`incident/${leak}`)).toHaveProperty('snoozed_until');
    const refused: readonly (readonly [path: string, action: string, reason: RegExp])[] = [
      [
        `sonic/${first}/incidents`,
        'snooze',
        /^no open alert offers this action. Possible actions: (resolve, dismiss|dismiss, resolve)$/,
      ],
      [
        `signal/${signalId}/incidents`,
        'dismiss',
        /^no open alert offers this action. Possible actions: resolve$/,
      ],
      [`incident/${cold}`, 'resolve', /^must be one of dismiss. Got "resolve"$/],
      ['incident/a b', 'reopen', /^there is no incident a b$/],
    ];
    for (const [path, action, reason] of refused) {
      expect(await home.ask(`${path}/action`, action)).toMatchObject({
        status: 'refused',
        reason: expect.stringMatching(reason),
        http_status: null,
      });
    }
    expect(await home.ask('incident/nobody/action', 'reopen')).toMatchObject({
      status: 'refused',
      reason: 'there is no incident nobody',
      http_status: 404,
    });
    expect(await home.ask(`incident/${cold}/action`, 'dismiss')).toMatchObject({ status: 'ok' });
    expect(await home.ask(`incident/${link}/action`, 'resolve')).toMatchObject({ status: 'ok' });
    expect(home.acted).toEqual([`${leak}: snooze`, `${cold}: dismiss`, `${link}: resolve`]);
  });

  it('of one that is closed is what it offers then: it can be reopened, and is announced again', async () => {
    const home = new CalmHome();
    const id = home.open('low_temperature', home.first, 'dismiss');
    const act = (action: string) => home.ask(`incident/${id}/action`, action);
    await home.start();
    expect(home.told('incident_opened')).toEqual([id]);
    expect(await act('dismiss')).toMatchObject({ status: 'ok' });
    expect(home.text(`incident/${id}`)).toBeUndefined();
    expect(await act('dismiss')).toMatchObject({
      status: 'refused',
      reason: 'must be one of reopen. Got "dismiss"',
    });
    expect(await act('reopen')).toMatchObject({ status: 'ok', http_status: 200 });
    expect(home.acted).toEqual([`${id}: dismiss`, `${id}: reopen`]);
    expect(home.json(`incident/${id}`).open).toBe(true);
    await home.pass(10 * secondMs);
    expect(home.told('incident_opened')).toEqual([id, id]);
  });

  it('of one that is closed is carried out also while the account is read for the first time', async () => {
    const home = new CalmHome({ cloud: { properties: 2, signals: 2, sonics: 2 } });
    const id = home.open('low_temperature', home.first, 'dismiss');
    home.world.closeIncident(id);
    home.strike = ({ operation }) => (operation === 'list_property_signals' ? 'hang-before' : null);
    home.bridge.start();
    await home.pass(secondMs);
    expect(await home.ask(`incident/${id}/action`, 'reopen')).toMatchObject({ status: 'ok' });
    expect(home.json('bridge/health').reason).toMatch(/^Connected, reading the account/);
  });

  it('that only some incidents take is an error that counts them, and what is true is read again', async () => {
    const home = new CalmHome();
    const { world, first, second } = home;
    const alone = home.open('low_temperature', second, 'dismiss');
    const types = ['high_volume_alert', 'low_temperature', 'high_humidity'] as const;
    const [gone = ''] = types.map((type) => home.open(type, first, 'dismiss'));
    await home.start();
    world.closeIncident(gone);
    expect(await home.ask(`sonic/${first}/incidents/action`, 'resolve')).toMatchObject({
      status: 'error',
      http_status: 422,
      reason: expect.stringMatching(/^1 of 3 failed: .*action dismiss is not possible, only reopen/),
    });
    expect(home.acted).toHaveLength(3);
    await home.pass(minuteMs);
    expect(home.entity(first, 'sensor_open_incidents').state).toBe(0);
    world.closeIncident(alone);
    expect(await home.ask(`incident/${alone}/action`, 'dismiss')).toMatchObject({ status: 'error' });
    await home.pass(minuteMs);
    expect(home.entity(second, 'sensor_open_incidents').state).toBe(0);
  });

  it('ends an incident once: a list that was asked for before does not bring it back', async () => {
    const home = new CalmHome({ config: { schedules: { incidents: '10s' } } });
    const leak = home.open('high_volume_alert', home.first, 'resolve');
    await home.start();
    expect(await home.ask(`incident/${leak}/action`, 'resolve')).toMatchObject({ status: 'ok' });
    await home.pass(5 * minuteMs);
    expect([home.told('incident_opened'), home.told('incident_closed')]).toEqual([[leak], [leak]]);
    const words = `High water use at "${home.world.sonics.get(home.first)?.name}", severity high`;
    expect(home.linesFrom(0).filter((line) => line.includes('Alert '))).toEqual([
      `info: Alert opened: ${words}`,
      `info: Alert closed: ${words}`,
    ]);
    const kept = home.published(`incident/${leak}`).map(({ payload }) => payload);
    expect(kept.filter((payload) => payload === '')).toHaveLength(1);
    expect(kept.at(-1)).toBe('');
  });

  it('is refused, and has no button, where control.incidents is off', async () => {
    const home = new CalmHome({ config: { control: { incidents: false } } });
    const { first, propertyId } = home;
    const leak = home.open('high_volume_alert', first, 'resolve');
    await home.start();
    for (const path of [`incident/${leak}/action`, `sonic/${first}/incidents/action`]) {
      expect(await home.ask(path, 'resolve')).toMatchObject({
        status: 'refused',
        reason: 'not permitted: control.incidents is off in the configuration',
      });
    }
    for (const id of [first, propertyId]) {
      expect(Object.keys(home.discovery(id).components)).not.toContain('button_resolve_incidents');
    }
    expect(home.acted).toEqual([]);
  });
});

it('the start of a pressure test starts one, and once only although the cloud breaks off', async () => {
  const home = new CalmHome();
  const { world, first } = home;
  const start = (payload: string) => home.ask(`sonic/${first}/pressure_test/start`, payload);
  await home.start();
  home.strike = ({ operation }) => (operation === 'start_pressure_test' ? 'reset-before' : null);
  expect(await start('PRESS')).toMatchObject({ status: 'error' });
  expect(home.asked('start_pressure_test')).toHaveLength(1);
  home.strike = () => null;
  expect(world.valve(first)?.testing).toBe(false);
  expect(await start('PRESS')).toMatchObject({ status: 'ok' });
  const bodies = home.asked('start_pressure_test').map(({ body }) => JSON.parse(body));
  expect(bodies).toEqual([{ source: 'sonic2mqtt' }, { source: 'sonic2mqtt' }]);
  expect(home.entity(first, 'binary_sensor_pressure_test_running').state).toBe('ON');
  expect(home.json(`sonic/${first}`)).toMatchObject({ valve: 'open', valve_state: 'pressure_test' });
  expect(home.json(`sonic/${first}/pressure_tests`).job_id).toEqual(expect.any(String));
  expect(await start('PRESS')).toMatchObject({
    status: 'error',
    http_status: 409,
    reason: expect.stringContaining('a pressure test is running'),
  });
  await home.pass(2 * minuteMs);
  expect(home.entity(first, 'sensor_pressure_tests_today').state).toBe(1);
});

describe('the opening of an incident', () => {
  async function calmHome(cloud: Sections = {}): Promise<CalmHome> {
    const schedules = { incidents: '10s', sonics: '1h', signals: '1h' };
    const home = new CalmHome({ config: { schedules, cloud } });
    await home.start();
    return home;
  }

  it('at a sonic that was just added is announced once', async () => {
    const home = await calmHome();
    const sonic = home.world.addSonic(home.signalId);
    const leak = home.open('high_volume_alert', sonic.id, 'resolve');
    home.world.incidents.change(leak, { signal_id: home.signalId });
    await home.pass(minuteMs);
    expect(home.told('incident_opened')).toEqual([leak]);
  });
});
