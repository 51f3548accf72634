import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { temporaryFolder } from '../support/program.ts';
import { waitFor } from '../support/waitFor.ts';
import { Home, minuteMs, prompt, secondMs, startedHome } from './home.ts';

const health = (home: Home) => home.json('bridge/health');

describe('health is judged', () => {
  it('while the broker rejects the states of valves, and once it takes them', async () => {
    const home = new Home({ isWired: true });
    home.wire.play({
      fromBridge: (packet, way) => {
        if (packet.cmd !== 'publish' || !packet.topic.startsWith('sonic2mqtt/sonic/')) return false;
        way.toBridge({ cmd: 'puback', messageId: packet.messageId ?? 0, reasonCode: 135 });
        return true;
      },
    });
    await home.start();
    expect(health(home)).toMatchObject({
      status: 'degraded',
      reason: expect.stringMatching(
        /^The MQTT broker rejects messages, for example sonic2mqtt\/sonic\/\S+: .*Not authorized.*access list/,
      ),
    });
    home.wire.play();
    await home.pass(11 * minuteMs);
    expect(health(home)).toMatchObject({ status: 'ok', reason: null });
  });

  it('while the cloud lets a vital list wait, and until when is shown', async () => {
    const home = await startedHome({ config: { schedules: prompt } });
    expect(health(home)).toMatchObject({ status: 'ok', limited_until: null });
    const wait = { status: 503, headers: { 'retry-after': '300' }, text: '{}' };
    home.strike = ({ operation }) => (operation === 'list_incidents' ? wait : null);
    const from = home.time.now;
    await home.until(() => health(home).status === 'degraded', 'the end of good health', 90 * secondMs);
    expect(health(home)).toMatchObject({
      reason: expect.stringMatching(/incidents/),
      limited_until: expect.any(String),
    });
    await home.pass(2 * minuteMs);
    expect(health(home).status).toBe('degraded');
    home.strike = () => null;
    await home.pass(4 * minuteMs);
    expect(health(home)).toMatchObject({ status: 'ok', limited_until: null });
    // Published when something changes, and not every ten seconds.
    expect(home.published('bridge/health').filter(({ at }) => at > from).length).toBeLessThan(6);
  });

  it('while the budget is too small for the schedules: which option to set, and to what', async () => {
    const home = await startedHome({
      cloud: { sonics: 20 },
      config: { cloud: { max_requests_per_minute: 10 }, schedules: {} },
    });
    await home.pass(40 * minuteMs);
    const reason = expect.stringMatching(
      /^The measurements cannot be read as often as planned\. Set schedules\.telemetry to (?:[5-9]|1\d)m, or increase cloud\.max_requests_per_minute/,
    );
    expect(health(home)).toMatchObject({ status: 'degraded', reason });
    expect(home.linesFrom(0).filter((line) => /^warn: The measurements cannot/.test(line))).toHaveLength(1);
  });

  it.each(['list_signals', 'list_properties', 'list_property_signals'])(
    'after the start, until the pages of %s fit together for once: what is not listed may have an incident',
    async (list) => {
      const home = new Home();
      const records = JSON.stringify({ data: [], page: 1, page_size: 10, total_entries: 1, total_pages: 1 });
      let isTorn = true;
      home.strike = ({ operation }) =>
        isTorn && operation === list
          ? { status: 200, headers: { 'content-type': 'application/json' }, text: records }
          : null;
      await home.start();
      expect(health(home)).toMatchObject({
        status: 'degraded',
        reason: expect.stringMatching(/^Connected, reading the account for the first time/),
      });
      isTorn = false;
      await home.pass(6 * minuteMs);
      expect(health(home)).toMatchObject({ status: 'ok', reason: null });
    },
  );
});

describe('the first sign of life', () => {
  /** A home whose bridge has just begun to start, and whether it has given a sign of life. */
  function startingHome() {
    const file = join(temporaryFolder(), 'beat');
    vi.stubEnv('HEARTBEAT_FILE', file);
    onTestFinished(() => void vi.unstubAllEnvs());
    return { home: new Home(), hasStarted: () => existsSync(file) };
  }

  it('comes once the devices are shown', async () => {
    const { home, hasStarted } = startingHome();
    const isShown = () => home.published(`sonic/${home.sonicId}`).length > 0;
    home.onTaken = () => expect(hasStarted() && !isShown()).toBe(false);
    home.bridge.start();
    await home.pass(9 * secondMs);
    expect(isShown()).toBe(true);
    await waitFor(hasStarted, { what: 'the sign of life' });
  });

  it('comes after ten seconds if the cloud is unreachable', async () => {
    const { home, hasStarted } = startingHome();
    home.strike = () => 'refused';
    home.bridge.start();
    await home.pass(9 * secondMs);
    expect(hasStarted()).toBe(false);
    await home.pass(2 * secondMs);
    await waitFor(hasStarted, { what: 'the sign of life' });
  });
});
