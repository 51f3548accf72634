import { setMaxListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { type Priority, RequestQueue } from '../../../src/cloud/requestQueue.ts';
import { FakeClock } from '../../support/fakeClock.ts';
import { passTime, settle } from '../../support/passTime.ts';

/** A queue whose tasks take as long as the test likes. */
function bench(maxConcurrency: number, maxRequestsPerMinute = 60) {
  const clock = new FakeClock();
  const queue = new RequestQueue({ clock, maxConcurrency, maxRequestsPerMinute });
  const started: string[] = [];
  const running: { readonly name: string; readonly end: () => void }[] = [];
  const never = new AbortController().signal;
  setMaxListeners(0, never);
  const ask = (
    name: string,
    priority: Priority,
    { signal = never, maxWaitMs = undefined as number | undefined } = {},
  ) =>
    queue.run(
      priority,
      signal,
      () => {
        started.push(name);
        return new Promise<string>((resolve) => running.push({ name, end: () => resolve(name) }));
      },
      maxWaitMs,
    );
  /** Ends the oldest task, or the oldest of that name. */
  const finishOne = async (name = running[0]?.name) => {
    const [ended] = running.splice(
      running.findIndex((each) => each.name === name),
      1,
    );
    ended?.end();
    await settle();
  };
  /** Asks with tasks that end at once. */
  const askBriefly = (count: number, priority: Priority, signal = never) =>
    Array.from({ length: count }, (_, index) =>
      queue.run(priority, signal, async () => {
        started.push(`${priority}${index}`);
      }),
    );
  return { clock, queue, started, ask, finishOne, askBriefly };
}

describe('the slots', () => {
  it.each<[Priority, number]>([
    ['valve', 64],
    ['command', 3],
    ['list', 3],
    ['device', 3],
  ])('are left to others, or not, by a %s', async (priority, count) => {
    const { started, ask } = bench(4);
    for (let asked = 0; asked < 100; asked++) void ask(priority, priority);
    await settle();
    expect(started).toHaveLength(count);
  });

  const [device, list, command]: readonly Priority[] = ['device', 'list', 'command'];
  it.each(
    [1, 2, 3, 4, 32].flatMap((slots) => [
      { slots, hanging: [device, list, command] },
      { slots, hanging: [command, list, device] },
    ]),
  )('are $slots, and no valve waits for others: $hanging', async ({ slots, hanging }) => {
    const { started, ask } = bench(slots);
    for (const priority of hanging) {
      for (let asked = 0; asked < 40; asked++) void ask(priority ?? 'list', priority ?? 'list');
      await settle();
    }
    expect(started).toHaveLength(slots);
    for (let asked = 0; asked < 40; asked++) void ask('valve', 'valve');
    await settle();
    expect(started.slice(slots)).toEqual(new Array(40).fill('valve'));
  });

  it('are not used up by valves, however many hang', async () => {
    const { started, ask } = bench(2);
    for (let asked = 0; asked < 200; asked++) void ask('valve', 'valve');
    await settle();
    started.length = 0;
    for (const priority of ['device', 'list', 'command'] as const) void ask(priority, priority);
    await settle();
    expect(started).toEqual(['device', 'command']);
  });

  it('are there for everybody where there is but one', async () => {
    const { started, ask, finishOne } = bench(1);
    void ask('d1', 'device');
    void ask('d2', 'device');
    void ask('l1', 'list');
    void ask('c1', 'command');
    void ask('v1', 'valve');
    await settle();
    for (let count = 0; count < 5; count++) await finishOne();
    expect(started).toEqual(['d1', 'v1', 'c1', 'l1', 'd2']);
  });
});

describe('the budget', () => {
  it("allows one minute's requests at once, and never more of them within a minute", async () => {
    const { clock, started, askBriefly } = bench(4);
    void askBriefly(40, 'list');
    await passTime(clock, 20_000, 1_000);
    void askBriefly(60, 'list');
    await passTime(clock, 39_999, 39_999);
    expect(started).toHaveLength(60);
    await passTime(clock, 1);
    expect(started).toHaveLength(100);
    void askBriefly(30, 'list');
    await passTime(clock, 19_999, 19_999);
    expect(started).toHaveLength(100);
    await passTime(clock, 1);
    expect(started).toHaveLength(120);
  });

  it('leaves a tenth to the lists, whatever is read device by device', async () => {
    const { clock, started, askBriefly } = bench(4);
    void askBriefly(200, 'device');
    await settle();
    expect(started).toHaveLength(54);
    void askBriefly(10, 'list');
    await settle();
    expect(started.slice(54)).toEqual(['list0', 'list1', 'list2', 'list3', 'list4', 'list5']);
    await passTime(clock, 60_000);
    expect(started).toHaveLength(60 + 54);
  });

  it('does not hold up valves', async () => {
    const { started, askBriefly } = bench(4);
    void askBriefly(60, 'list');
    await settle();
    void askBriefly(160, 'valve');
    await settle();
    expect(started).toHaveLength(220);
  });

  it('goes to the lists first, but for a tenth', async () => {
    const { started, ask, askBriefly, finishOne } = bench(1, 10);
    void ask('first', 'list');
    void askBriefly(5, 'device');
    void askBriefly(20, 'list');
    await finishOne();
    expect(started.slice(1)).toEqual([...Array.from({ length: 8 }, (_, index) => `list${index}`), 'device0']);
  });

  it.each([
    [60, 30],
    [10, 5],
    [1, 1],
  ])('of %i leaves %i to commands', async (budget, count) => {
    const { clock, queue } = bench(100, budget);
    const taken = () => Array.from({ length: 100 }, () => queue.takeCommand()).filter(Boolean);
    expect(taken()).toHaveLength(count);
    await passTime(clock, 59_999);
    expect(taken()).toHaveLength(0);
    await passTime(clock, 1);
    expect(taken()).toHaveLength(count);
  });

  it('that commands have used leaves the rest to polls, and the other way round', async () => {
    const { clock, started, queue, askBriefly } = bench(100);
    while (queue.takeCommand());
    void askBriefly(60, 'list');
    await settle();
    expect(started).toHaveLength(30);
    expect(queue.pollWaitMs()).toBe(60_000);
    await passTime(clock, 60_000);
    expect(started).toHaveLength(60);
    void askBriefly(60, 'list');
    await settle();
    expect(started).toHaveLength(90);
    // Commands have a tenth in addition.
    expect(Array.from({ length: 100 }, () => queue.takeCommand()).filter(Boolean)).toHaveLength(6);
  });
});

describe('a list with a limit to its waiting', () => {
  it.each([1, 4])('waits no longer, whatever the budget (%i slots)', async (slots) => {
    const { clock, started, ask, askBriefly } = bench(slots, 1);
    await Promise.all(askBriefly(1, 'list'));
    started.length = 0;
    void ask('leaks', 'list', { maxWaitMs: 10_000 });
    void ask('hubs', 'list');
    await passTime(clock, 9_999, 3_333);
    expect(started).toEqual([]);
    await passTime(clock, 1);
    expect(started).toEqual(['leaks']);
  });

  it.each([1, 2, 4])('goes before a flood of valves and commands then (%i slots)', async (slots) => {
    const { clock, started, ask, finishOne } = bench(slots, 1_000_000);
    for (let count = 0; count < 200; count++) {
      void ask('valve', 'valve');
      void ask('command', 'command');
    }
    void ask('leaks', 'list', { maxWaitMs: 10_000 });
    for (let second = 0; second < 9; second++) {
      await passTime(clock, 1_000);
      await finishOne('command');
    }
    await passTime(clock, 1_000);
    await finishOne('command');
    expect(started).toContain('leaks');
  });

  it('takes a slot that is kept for commands then, if what is read hangs', async () => {
    const { clock, started, ask } = bench(4);
    for (const name of ['d1', 'd2', 'd3', 'd4']) void ask(name, 'device');
    void ask('leaks', 'list', { maxWaitMs: 10_000 });
    await passTime(clock, 9_999);
    expect(started).toEqual(['d1', 'd2', 'd3']);
    await passTime(clock, 1);
    expect(started).toEqual(['d1', 'd2', 'd3', 'leaks']);
    void ask('valve', 'valve');
    await settle();
    expect(started.at(-1)).toBe('valve');
  });
});

describe('a request that is given up', () => {
  it('leaves the queue at once, with the reason', async () => {
    const { started, ask, finishOne } = bench(1);
    const stop = new AbortController();
    void ask('first', 'list');
    const waiting = ask('second', 'list', { signal: stop.signal });
    void ask('third', 'list');
    stop.abort(new Error('no longer wanted'));
    await expect(waiting).rejects.toThrow('no longer wanted');
    await finishOne();
    expect(started).toEqual(['first', 'third']);
  });
});
