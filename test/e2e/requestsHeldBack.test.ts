import { describe, expect, it } from 'vitest';
import { fault, hourly } from '../support/house.ts';
import { answersTo, asked, outcomes, request, shownHouse, sonicId } from '../support/requester.ts';
import { waitFor } from '../support/waitFor.ts';

describe('the budget', () => {
  const frugal = { max_requests_per_minute: 40 };

  it('holds a flood of a thousand changes back, and every one of them is answered', async () => {
    const house = await shownHouse({ config: { schedules: hourly, cloud: frugal } });
    const from = house.simulator.requests.count();
    const publishing = Array.from({ length: 1_000 }, (_, number) =>
      house.watcher.publish(
        'sonic2mqtt/bridge/request/update_sonic',
        JSON.stringify({
          params: { sonic_id: sonicId(house) },
          body: { name: `n${number}` },
          transaction: number,
        }),
      ),
    );
    await Promise.all(publishing);
    const dropped = () => Number(/answers; dropped: (\d+)/.exec(house.bridge.output)?.[1] ?? 0);
    await waitFor(() => answersTo(house, 'update_sonic').length + dropped() >= 1_000, {
      what: 'all answers',
      timeoutMs: 15_000,
    });
    const answers = answersTo(house, 'update_sonic');
    const codes = answers.map(({ status, error }) => error?.code ?? status);
    expect(new Set(codes)).toEqual(new Set(['ok', 'rate_limited']));
    const carriedOut = codes.filter((code) => code === 'ok').length;
    expect(asked(house, 'update_sonic')).toHaveLength(carriedOut);
    // A minute's budget, a quarter of it beyond, and what was earned meanwhile.
    expect(house.simulator.requests.count() - from).toBeLessThan(60);
    const words = 'cloud.max_requests_per_minute is used up; try again in a while';
    expect(answers.map(({ error }) => error?.message)).toContain(words);
    expect(new Set(answers.map(({ transaction }) => transaction)).size).toBe(answers.length);
    expect((await request(house, 'sign_out')).error?.code).toBe('not_permitted');
    // The valve's own topic is exempt.
    await house.watcher.publish(`sonic2mqtt/sonic/${sonicId(house)}/valve/set`, 'CLOSE');
    await house.watcher.waitForTopic(
      `sonic2mqtt/sonic/${sonicId(house)}`,
      (text) => JSON.parse(text).valve !== 'open',
    );
    expect(asked(house, 'command_valve')).toHaveLength(1);
  });

  it('lets reads wait for their turn, and those in vain are told that it was the budget', async () => {
    const hasty = { ...frugal, request_timeout: '1500ms' };
    const house = await shownHouse({ config: { schedules: hourly, cloud: hasty } });
    const sent = Array.from({ length: 60 }, (_, transaction) =>
      house.watcher.publish('sonic2mqtt/bridge/request/list_signals', JSON.stringify({ transaction })),
    );
    await Promise.all(sent);
    await waitFor(() => answersTo(house, 'list_signals').length === 60, { what: 'all answers' });
    const codes = new Set(answersTo(house, 'list_signals').map(({ status, error }) => error?.code ?? status));
    expect(codes).toEqual(new Set(['ok', 'rate_limited']));
    const words = 'cloud.max_requests_per_minute left no room for it in its time';
    const held = answersTo(house, 'list_signals').filter(({ error }) => error?.message === words);
    expect(held.length).toBeGreaterThan(4);
    expect(outcomes(house, 'list_signals').filter(({ reason }) => reason === words)).toMatchObject(
      held.map(() => ({ status: 'refused', http_status: null })),
    );
  });

  it('and the wish of the cloud to wait are told apart', async () => {
    const house = await shownHouse({ config: { schedules: hourly, cloud: { request_timeout: '800ms' } } });
    house.simulator.setFaults([fault('rate-limit=60@read_signal')]);
    const first = await request(house, 'read_signal', { params: { signal_id: 'x' } });
    expect(first.error).toMatchObject({ code: 'rate_limited', http_status: 429 });
    const second = await request(house, 'read_sonic', { params: { sonic_id: sonicId(house) } });
    expect(second.error).toMatchObject({ code: 'rate_limited', http_status: null });
    expect(second.error?.message).toMatch(/^the cloud asks to wait another \d+/);
    expect(outcomes(house, 'read_signal').at(-1)?.status).toBe('error');
    expect(outcomes(house, 'read_sonic').at(-1)?.status).toBe('refused');
  });
});

describe('requests that the cloud keeps waiting', () => {
  it('are four at a time with fifty behind them; more are turned away, and those that wait in vain are not sent', async () => {
    const house = await shownHouse({ config: { schedules: hourly, cloud: { request_timeout: '1s' } } });
    house.simulator.setFaults([fault('hang@read_signal')]);
    const body = { params: { signal_id: house.simulator.world.signals.ids[0] } };
    const before = asked(house, 'read_signal').length;
    const sent = Array.from({ length: 60 }, (_, transaction) =>
      house.watcher.publish(
        'sonic2mqtt/bridge/request/read_signal',
        JSON.stringify({ ...body, transaction }),
      ),
    );
    await Promise.all(sent);
    await waitFor(() => answersTo(house, 'read_signal').length === 60, { what: 'all answers' });
    const answers = answersTo(house, 'read_signal');
    const turnedAway = answers.filter(({ error }) => error?.code === 'rate_limited');
    expect(turnedAway).toHaveLength(6);
    expect(turnedAway[0]?.error?.message).toBe('4 requests are under way and 50 wait already');
    expect(answers.filter(({ error }) => error?.code === 'timeout')).toHaveLength(54);
    expect(asked(house, 'read_signal').length - before).toBeLessThanOrEqual(4);
    house.simulator.setFaults([]);
    expect((await request(house, 'read_signal', body)).status).toBe('ok');
  });

  it('do not keep the bridge from stopping, and are answered', async () => {
    const house = await shownHouse({ config: { schedules: hourly, cloud: { request_timeout: '60s' } } });
    house.simulator.setFaults([fault('hang@update_signal')]);
    const [signal_id = ''] = house.simulator.world.signals.ids;
    for (let transaction = 0; transaction < 6; transaction++) {
      await house.watcher.publish(
        'sonic2mqtt/bridge/request/update_signal',
        JSON.stringify({ params: { signal_id }, body: { name: 'late' }, transaction }),
      );
    }
    await waitFor(
      () => asked(house, 'update_signal').length === 3 || asked(house, 'update_signal').length === 4,
      {
        what: 'the requests to hang',
      },
    );
    const { code, durationMs } = await house.bridge.stop();
    expect(code).toBe(0);
    expect(durationMs).toBeLessThan(5_000);
    await waitFor(() => answersTo(house, 'update_signal').length === 6, { what: 'the answers' });
    const answers = answersTo(house, 'update_signal');
    for (const { error } of answers) expect(error?.code).toBe('cloud_unavailable');
    const underWay = 'the bridge was stopped before the cloud answered; it may still be carried out';
    expect(answers.map(({ error }) => error?.message).toSorted()).toEqual([
      'the bridge was stopped',
      'the bridge was stopped',
      ...Array(4).fill(underWay),
    ]);
    await house.watcher.settle();
    expect(house.watcher.last.get('sonic2mqtt/bridge/state')).toBe('offline');
  });
});
