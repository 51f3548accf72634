import { describe, expect, it } from 'vitest';
import { configSchema } from '../../src/config/schema.ts';
import { Simulator } from '../../src/simulator/simulator.ts';
import { boundsOf } from '../oracle/bounds.ts';
import { Oracle } from '../oracle/oracle.ts';
import { bridgeConfig } from './bridgeProcess.ts';
import { VirtualBroker } from './virtualBroker.ts';
import type { SeenRequest } from './virtualCloud.ts';
import { VirtualTime } from './virtualTime.ts';

const secondMs = 1_000;
const minuteMs = 60 * secondMs;

/** A broker and a cloud, on which lies are told as a bridge would tell them. */
class Stage {
  readonly time = new VirtualTime();
  readonly simulator = new Simulator({
    clock: {
      now: () => this.time.now,
      monotonic: () => this.time.now,
      after: this.time.after.bind(this.time),
    },
    quiet: true,
    properties: 1,
    signals: 1,
    sonics: 1,
  });
  readonly oracle: Oracle;
  readonly broker: VirtualBroker;
  readonly sonicId = this.simulator.world.thingIds[0] ?? '';
  #numbers = 0;

  constructor() {
    const taps = { current: null as Oracle['broker'] | null };
    this.broker = new VirtualBroker(this.time, Math.random, {
      handedOver: () => {},
      taken: (...message) => taps.current?.taken(...message),
      delivered: (...message) => taps.current?.delivered(...message),
      linked: () => {},
    });
    this.oracle = new Oracle({
      ...{ time: this.time, epochMs: 0, simulator: this.simulator },
      retained: this.broker.retained,
      bounds: boundsOf(configSchema.parse(bridgeConfig({}))),
    });
    taps.current = this.oracle.broker;
    // A simulator begins with one that is open.
    for (const id of this.simulator.world.incidents.ids) this.simulator.world.closeIncident(id);
    this.oracle.broker.linked(true);
    this.oracle.runBegan();
  }

  say(path: string, content: string | object): void {
    const payload = typeof content === 'string' ? content : JSON.stringify(content);
    this.broker.take(path.startsWith('homeassistant/') ? path : `sonic2mqtt/${path}`, payload, true);
  }

  /** Announces the valve with these sensors, all of it available. */
  announce(...componentIds: readonly string[]): void {
    const components = componentIds.map((id) => {
      const [, platform, key] = /^(binary_sensor|sensor|valve)_(.+)$/.exec(id) ?? [];
      return [id, { platform, unique_id: id, value_template: `{{ value_json.${key} }}` }];
    });
    for (const path of ['bridge/state', 'bridge/cloud', `sonic/${this.sonicId}/availability`])
      this.say(path, 'online');
    this.say(`homeassistant/device/sonic2mqtt_${this.sonicId}/config`, {
      availability: [{ topic: 'sonic2mqtt/bridge/state' }, { topic: 'sonic2mqtt/bridge/cloud' }],
      state_topic: `sonic2mqtt/sonic/${this.sonicId}/homeassistant`,
      components: Object.fromEntries(components),
    });
  }

  show(states: object): void {
    this.say(`sonic/${this.sonicId}/homeassistant`, states);
  }

  /** Asks the cloud, whose answer arrives at once. */
  ask(operation: 'list_incidents' | 'list_sonics' | 'command_valve' | 'sign_in', body = ''): void {
    const paths = {
      list_incidents: '/ape/v1/incidents',
      list_sonics: '/ape/v1/sonics',
      command_valve: '/valve',
      sign_in: '/',
    };
    const request: SeenRequest = {
      ...{ origin: '', method: operation === 'command_valve' ? 'PUT' : 'GET', target: paths[operation] },
      ...{ operation, params: { sonic_id: this.sonicId }, body, number: ++this.#numbers },
    };
    const { world } = this.simulator;
    const records =
      operation === 'list_incidents' ? [...world.incidents.values()] : [...world.sonics.values()];
    const text = JSON.stringify({ data: records, total_pages: 1, total_entries: records.length });
    const answer = { status: 200, headers: {}, text };
    this.oracle.asked(request);
    this.oracle.cloud.sent(request);
    this.oracle.cloud.judged(request, answer);
    this.oracle.cloud.answered(request, answer);
    this.oracle.cloud.ended?.(request);
  }

  move(action: string): void {
    this.ask('command_valve', JSON.stringify({ action }));
  }

  deliver(payload: string, { isFlagged = false, ageMs = 0 as number | null } = {}): void {
    const publishedAt = ageMs === null ? null : this.time.now - ageMs;
    this.oracle.broker.delivered(
      `sonic2mqtt/sonic/${this.sonicId}/valve/set`,
      payload,
      isFlagged,
      publishedAt,
    );
  }

  async pass(ms: number): Promise<void> {
    await this.time.runUntil(this.time.now + ms);
  }

  get violations(): readonly string[] {
    return this.oracle.violations;
  }
}

describe('shown is true', () => {
  it('takes what is so, and what was so a short time ago', async () => {
    const stage = new Stage();
    stage.announce('valve_valve');
    stage.show({ valve: 'open' });
    stage.simulator.world.setValve(stage.sonicId, 'closed');
    await stage.pass(4 * minuteMs);
    stage.show({ valve: 'closed' });
    await stage.pass(60 * minuteMs);
    expect(stage.violations).toEqual([]);
  });

  it('finds what never was so, at once', () => {
    const stage = new Stage();
    stage.announce('valve_valve', 'sensor_battery');
    stage.show({ valve: 'closed', battery: 'low' });
    expect(stage.violations).toHaveLength(2);
  });

  it('finds what has not been so for too long, without any message', async () => {
    const stage = new Stage();
    stage.announce('valve_valve');
    stage.show({ valve: 'open' });
    stage.simulator.world.setValve(stage.sonicId, 'closed');
    await stage.pass(8 * minuteMs);
    expect(stage.violations).toHaveLength(1);
  });

  it('takes what is unknown or unavailable, and looks again when it is available', async () => {
    const stage = new Stage();
    stage.announce('valve_valve', 'sensor_battery');
    stage.say('bridge/cloud', 'offline');
    stage.show({ valve: 'closed', battery: null });
    expect(stage.violations).toEqual([]);
    stage.say('bridge/cloud', 'online');
    expect(stage.violations).toHaveLength(1);
  });

  it('finds an offline valve whose leak sensor says that it is dry', async () => {
    const stage = new Stage();
    stage.announce('binary_sensor_incident_water_presence_detected');
    stage.simulator.world.dropRadio(stage.sonicId);
    await stage.pass(9 * minuteMs);
    stage.show({ incident_water_presence_detected: 'OFF' });
    expect(stage.violations).toHaveLength(1);
  });

  it('finds the same on raw topics', () => {
    const stage = new Stage();
    stage.announce();
    stage.say(`sonic/${stage.sonicId}`, {
      valve: 'closed',
      name: stage.simulator.world.things.get(stage.sonicId)?.name,
    });
    expect(stage.violations).toHaveLength(1);
  });
});

describe('a leak is heard', () => {
  const sensors = ['binary_sensor_incident_water_presence_detected', 'sensor_open_incidents'] as const;

  it.each([
    ['ON', 'ok', 0],
    ['OFF', 'degraded', 1],
    [null, 'degraded', 0],
    [null, 'ok', 1],
  ])('where the list was read: leak %s, health %s', async (word, status, count) => {
    const stage = new Stage();
    stage.announce(...sensors);
    stage.say('bridge/health', { status });
    stage.show({ incident_water_presence_detected: word, open_incidents: null });
    await stage.pass(40 * secondMs);
    stage.simulator.world.openIncident({ type: 'water_presence_detected', sonicId: stage.sonicId });
    await stage.pass(secondMs);
    stage.ask('list_incidents');
    const before = stage.violations.length;
    await stage.pass(61 * secondMs);
    expect(stage.violations.slice(before)).toHaveLength(count);
  });
});

describe('moved is wanted', () => {
  it('takes a request with a message of its own', () => {
    const stage = new Stage();
    stage.deliver('CLOSE');
    stage.move('close');
    expect(stage.violations).toEqual([]);
  });

  it.each<[string, (stage: Stage) => void | Promise<void>]>([
    ['nobody asked for', () => {}],
    ['an empty message asked for', (stage) => stage.deliver('')],
    ['a retained message asked for', (stage) => stage.deliver('CLOSE', { isFlagged: true })],
    ['the memory of the broker asked for', (stage) => stage.deliver('CLOSE', { ageMs: null })],
    ['was asked for the other way', (stage) => stage.deliver('OPEN')],
    ['was asked for too long ago', (stage) => stage.deliver('CLOSE', { ageMs: 11 * secondMs })],
    [
      'a newer wish has overtaken',
      async (stage) => {
        stage.deliver('CLOSE');
        await stage.pass(secondMs);
        stage.deliver('OPEN');
        await stage.pass(secondMs);
      },
    ],
    [
      'was sent before',
      (stage) => {
        stage.deliver('CLOSE');
        stage.move('close');
      },
    ],
  ])('finds one that %s', async (_, prepare) => {
    const stage = new Stage();
    await prepare(stage);
    stage.move('close');
    expect(stage.violations).toHaveLength(1);
  });
});

describe('health is true', () => {
  const listsEvery = async (
    stage: Stage,
    ms: number,
    lists: readonly ('list_incidents' | 'list_sonics')[],
  ) => {
    for (let passed = 0; passed < ms; passed += 30 * secondMs) {
      for (const list of lists) stage.ask(list);
      await stage.pass(30 * secondMs);
    }
  };

  it('may be ok while the lists are read and the broker takes everything', async () => {
    const stage = new Stage();
    stage.announce();
    stage.say('bridge/health', { status: 'ok' });
    await listsEvery(stage, 20 * minuteMs, ['list_incidents', 'list_sonics']);
    expect(stage.violations).toEqual([]);
  });

  it('is not ok while a list is not read', async () => {
    const stage = new Stage();
    stage.announce();
    stage.say('bridge/health', { status: 'ok' });
    await listsEvery(stage, 20 * minuteMs, ['list_sonics']);
    expect(stage.violations.some((words) => words.startsWith('health is ok although list_incidents'))).toBe(
      true,
    );
    expect(stage.violations.some((words) => words.startsWith('list_incidents was not asked for'))).toBe(true);
  });

  it('is not ok while the broker refuses a message', async () => {
    const stage = new Stage();
    stage.announce();
    stage.say('bridge/health', { status: 'ok' });
    stage.oracle.broker.refused?.(`sonic2mqtt/sonic/${stage.sonicId}`, true);
    await listsEvery(stage, 4 * minuteMs, ['list_incidents', 'list_sonics']);
    expect(stage.violations).toHaveLength(1);
  });

  it('is not ok while another bridge announces a device', async () => {
    const stage = new Stage();
    stage.announce();
    stage.say('bridge/health', { status: 'ok' });
    stage.say(`sonic/${stage.sonicId}`, {});
    stage.say(`homeassistant/device/sonic2mqtt_${stage.sonicId}/config`, {
      availability: [{ topic: 'trial/bridge/state' }],
      state_topic: `trial/sonic/${stage.sonicId}/homeassistant`,
      components: { valve_valve: { platform: 'valve', value_template: '{{ value_json.valve }}' } },
    });
    await listsEvery(stage, 5 * minuteMs, ['list_incidents', 'list_sonics']);
    expect(stage.violations).toHaveLength(1);
  });
});
