import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { Deadline, GivenUp } from '../../../src/cloud/deadline.ts';
import { Limiter, type Priority } from '../../../src/cloud/requestQueue.ts';
import { FakeClock } from '../../support/fakeClock.ts';
import { passTime, settle } from '../../support/passTime.ts';

/** Short names are those of lists. */
const isForList = (lane: string) => lane.length === 1 || lane.startsWith('list_');

/** A limiter whose tasks take as long as the test likes. */
function bench(maxConcurrency: number, maxRequestsPerMinute = 60) {
  const clock = new FakeClock();
  const timers = new Set<() => void>();
  const after: FakeClock['after'] = clock.after.bind(clock);
  clock.after = (delayMs, callback) => {
    const cancel = after(delayMs, () => {
      timers.delete(cancelAndForget);
      callback();
    });
    const cancelAndForget = () => {
      timers.delete(cancelAndForget);
      cancel();
    };
    timers.add(cancelAndForget);
    return cancelAndForget;
  };
  const limiter = new Limiter({ clock, maxConcurrency, maxRequestsPerMinute, requestTimeoutMs: 10_000 });
  const started: string[] = [];
  const running: (() => void)[] = [];
  const never = new Deadline(clock);
  const ask = (name: string, priority: Priority = 'poll', lane = 'a', ending = never) =>
    limiter.run({ priority, lane, isForList: isForList(lane), ending }, () => {
      started.push(name);
      return new Promise<string>((resolve) => running.push(() => resolve(name)));
    });
  const finishOne = async () => {
    running.shift()?.();
    await settle();
  };
  /** Asks with tasks that end at once. */
  const askBriefly = (count: number, priority: Priority = 'poll', lane = 'a', ending = never) =>
    Array.from({ length: count }, (_, index) =>
      limiter.run({ priority, lane, isForList: isForList(lane), ending }, async () => {
        started.push(`${lane}${index}`);
      }),
    );
  return { clock, timers, limiter, started, ask, finishOne, askBriefly };
}

describe('the slots', () => {
  it('polls leave one free, commands fill them all, and nobody exceeds them', async () => {
    const { started, ask } = bench(3);
    for (const name of ['p1', 'p2', 'p3']) void ask(name);
    for (const name of ['c1', 'c2']) void ask(name, 'command');
    await settle();
    expect(started).toEqual(['p1', 'p2', 'c1']);
  });

  it('commands alone leave one to what is urgent, which goes first', async () => {
    const { started, ask, finishOne } = bench(3);
    for (const name of ['c1', 'c2', 'c3']) void ask(name, 'command');
    void ask('p1');
    await settle();
    expect(started).toEqual(['c1', 'c2']);
    for (const name of ['u1', 'u2']) void ask(name, 'urgent');
    await settle();
    expect(started).toEqual(['c1', 'c2', 'u1']);
    await finishOne();
    expect(started).toEqual(['c1', 'c2', 'u1', 'u2']);
  });

  it('a command that waits goes before all polls that wait', async () => {
    const { started, ask, finishOne } = bench(1);
    for (const name of ['p1', 'p2']) void ask(name);
    void ask('c1', 'command');
    await settle();
    await finishOne();
    await finishOne();
    expect(started).toEqual(['p1', 'c1', 'p2']);
  });

  it('a task that fails gives its slot back', async () => {
    const { limiter, started, ask } = bench(1);
    const turn = {
      priority: 'poll',
      lane: 'list_sonics',
      isForList: true,
      ending: new Deadline(systemClock),
    } as const;
    await expect(limiter.run(turn, () => Promise.reject(new Error('it failed')))).rejects.toThrow(
      'it failed',
    );
    void ask('next');
    await settle();
    expect(started).toEqual(['next']);
  });

  it('a task whose turn has come and that is no longer wanted does not begin, and gives its slot back', async () => {
    const { clock, started, ask } = bench(1);
    const ending = new Deadline(clock);
    const asked = ask('given up', 'poll', 'a', ending);
    ending.stop(new GivenUp('too late', false));
    await expect(asked).rejects.toThrow('too late');
    void ask('next');
    await settle();
    expect(started).toEqual(['next']);
  });

  it('lanes take turns, so that a long crawl lets others through', async () => {
    const { started, ask, finishOne } = bench(1);
    for (const name of ['a1', 'a2', 'a3']) void ask(name, 'poll', 'a');
    for (const name of ['b1', 'b2']) void ask(name, 'poll', 'b');
    for (let count = 0; count < 5; count++) await finishOne();
    expect(started).toEqual(['a1', 'a2', 'b1', 'a3', 'b2']);
  });
});

describe('what is asked thing by thing', () => {
  /** Each of these is asked for by ten. */
  async function busy(maxConcurrency: number, lanes: readonly string[]) {
    const made = bench(maxConcurrency, 1_000);
    const { clock, started, ask, finishOne } = made;
    for (const lane of lanes) for (let count = 0; count < 10; count++) void ask(lane, 'poll', lane);
    await settle();
    /** Lets those under way end after so long; they are told, and not those that follow them. */
    const finish = async (tookMs: number) => {
      const underWay = started.splice(0);
      await passTime(clock, tookMs, tookMs);
      for (const _ of underWay) await finishOne();
      return underWay;
    };
    return { ...made, finish };
  }

  it('leaves a slot to the lists, from the first moment on, whatever becomes of it', async () => {
    const { started, askBriefly, finish } = await busy(4, ['settings', 'hubs', 'usage']);
    for (const tookMs of [10, 10, 8_000, 10_000, 10_000, 10_000, 10]) {
      await Promise.all(askBriefly(20, 'poll', 'list_incidents'));
      expect(started.splice(-20)).toHaveLength(20);
      expect((await finish(tookMs)).length).toBeLessThanOrEqual(2);
    }
  });

  it('leaves a slot to what is answered, once it has taken all of its time', async () => {
    const { started, askBriefly, finish } = await busy(4, ['settings', 'hubs', 'usage']);
    for (let round = 0; round < 3; round++) await finish(9_990);
    expect(started).toHaveLength(1);
    await Promise.all(askBriefly(20, 'poll', 'telemetry'));
  });

  it('has what it had as soon as it is answered again, however slowly', async () => {
    const { finish } = await busy(4, ['settings']);
    expect(await finish(10_000)).toHaveLength(2);
    expect(await finish(10_000)).toHaveLength(1);
    expect(await finish(8_000)).toHaveLength(1);
    expect(await finish(8_000)).toHaveLength(2);
  });

  it('has its turn all the same where there is one slot for everything', async () => {
    const { started, ask, finish } = await busy(1, ['settings']);
    void ask('list_incidents', 'poll', 'list_incidents');
    const seen: string[] = [];
    for (let round = 0; round < 4; round++) seen.push(...(await finish(10_000)));
    expect(seen).toEqual(['settings', 'settings', 'list_incidents', 'settings']);
    expect(started).toEqual(['settings']);
  });

  it('has all slots but those of the others where there are many', async () => {
    const { started } = await busy(10, ['settings', 'hubs']);
    expect(started).toHaveLength(8);
  });
});

it('a list that takes all of its time leaves a slot to one that is answered', async () => {
  const { clock, started, ask, askBriefly, finishOne } = bench(4, 1_000);
  const hanging = ['list_sonics', 'list_signals', 'list_properties'];
  for (let round = 0; round < 4; round++) for (const lane of hanging) void ask(lane, 'poll', lane);
  await settle();
  for (let round = 0; round < 3; round++) {
    const underWay = started.splice(0);
    await passTime(clock, 10_000, 10_000);
    for (const _ of underWay) await finishOne();
    expect(started).toHaveLength(2);
    await Promise.all(askBriefly(20, 'poll', 'list_incidents'));
    started.splice(-20);
  }
});

describe('the budget', () => {
  it("allows one minute's requests at once, then a steady trickle", async () => {
    const { clock, started, askBriefly } = bench(4, 60);
    void askBriefly(70);
    await passTime(clock, 999, 999);
    expect(started).toHaveLength(60);
    await passTime(clock, 1, 1);
    expect(started).toHaveLength(61);
    await passTime(clock, 9_000, 100);
    expect(started).toHaveLength(70);
  });

  it('does not hold commands up, and polls pay for them', async () => {
    const { clock, started, askBriefly } = bench(4, 60);
    void askBriefly(60);
    await settle();
    void askBriefly(2, 'command', 'c');
    await settle();
    expect(started).toHaveLength(62);
    void askBriefly(1, 'poll', 'late');
    await passTime(clock, 2_900, 100);
    expect(started).toHaveLength(62);
    await passTime(clock, 100, 100);
    expect(started).toHaveLength(63);
  });

  it('does not pile up beyond one minute', async () => {
    const { clock, started, askBriefly } = bench(4, 60);
    await passTime(clock, 3_600_000);
    void askBriefly(100);
    await settle();
    expect(started).toHaveLength(60);
  });

  it('survives a flood of commands: polls go on within two minutes', async () => {
    const { clock, started, askBriefly } = bench(4, 60);
    await Promise.all(askBriefly(10_000, 'command', 'c'));
    started.length = 0;
    void askBriefly(1);
    await passTime(clock, 61_000, 1_000);
    expect(started).toHaveLength(1);
  });
});

describe('a pause', () => {
  it('holds polls back and lets commands through', async () => {
    const { clock, limiter, started, askBriefly } = bench(4);
    limiter.pausePolls(30_000);
    limiter.pausePolls(10_000);
    expect(limiter.pausedMs()).toBe(30_000);
    void askBriefly(1, 'poll', 'p');
    void askBriefly(1, 'command', 'c');
    await passTime(clock, 29_000, 1_000);
    expect(started).toEqual(['c0']);
    await passTime(clock, 1_000, 1_000);
    expect(started).toEqual(['c0', 'p0']);
    expect(limiter.pausedMs()).toBe(0);
  });
});

describe('whoever gives up', () => {
  it('leaves the queue at once, with the reason', async () => {
    const { started, ask, finishOne } = bench(1);
    const stop = new Deadline(systemClock);
    void ask('first');
    const waiting = ask('second', 'poll', 'a', stop);
    void ask('third');
    stop.stop(new GivenUp('no longer wanted', false));
    await expect(waiting).rejects.toThrow('no longer wanted');
    await finishOne();
    expect(started).toEqual(['first', 'third']);
  });

  it.each(['command', 'urgent'] as const)(
    'takes nothing from the polls of the same operation (%s)',
    async (priority) => {
      const { started, ask, finishOne } = bench(1);
      const stop = new Deadline(systemClock);
      void ask('first');
      void ask('poll', 'poll', 'read_sonic');
      const command = ask('command', priority, 'read_sonic', stop);
      stop.stop(new GivenUp('no longer wanted', false));
      await expect(command).rejects.toThrow('no longer wanted');
      await finishOne();
      expect(started).toEqual(['first', 'poll']);
    },
  );

  it('is turned away if it had given up before', async () => {
    const { started, ask } = bench(1);
    const tooLate = new Deadline(systemClock);
    tooLate.stop(new GivenUp('too late', false));
    await expect(ask('late', 'command', 'a', tooLate)).rejects.toThrow('too late');
    expect(started).toEqual([]);
  });

  it('leaves no timer behind', async () => {
    const { timers, limiter, askBriefly } = bench(4);
    const stop = new Deadline(systemClock);
    limiter.pausePolls(30_000);
    const [waiting] = askBriefly(1, 'poll', 'a', stop);
    expect(timers.size).toBe(1);
    stop.stop(new GivenUp('enough', false));
    await expect(waiting).rejects.toThrow('enough');
    expect(timers.size).toBe(0);
  });
});

it('ten thousand waiting polls all get their turn', async () => {
  const { clock, started, askBriefly } = bench(4, 1_000_000);
  void askBriefly(10_000);
  await passTime(clock, 1_000, 1_000);
  expect(started).toHaveLength(10_000);
});
