import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { ValveAction } from '../../../src/model/valve.ts';
import { type AskedCommand, failureTexts, type Movement } from '../../../src/model/valveCommand.ts';
import { newKept } from '../../../src/state/sections.ts';
import { ValveRecords } from '../../../src/store/valveRecords.ts';
import { FakeClock } from '../../support/fakeClock.ts';
import { anIncident, aSonic } from '../../support/views.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const id = 'sonic-1';
const topic = 'sonic2mqtt/sonic/sonic-1/valve/set';

/** The records of one valve, and what a restart finds of them. */
function bench() {
  const clock = new FakeClock();
  clock.advance(10 * hourMs);
  const kept = newKept();
  let records = new ValveRecords(kept, clock);
  let readAt = clock.monotonic();
  let sonic = aSonic();
  const iso = () => new Date(clock.now()).toISOString();
  const ask = (action: ValveAction | null): AskedCommand => {
    const asked = { action, topic, askedAt: iso() };
    records.recordCommand(id, asked, 'sent', null);
    return asked;
  };
  return {
    clock,
    kept: kept.valves,
    known: kept.announced,
    iso,
    get: () => records.of(id),
    restart: () => {
      records = new ValveRecords(kept, clock);
    },
    /** Reads the valve, a minute after it was read last unless told otherwise. */
    read: (state: string, afterMs = minuteMs, sentAt?: number) => {
      const formerReadAt = readAt;
      clock.advance(afterMs);
      readAt = sentAt ?? clock.monotonic();
      sonic = aSonic({ valve_state: state });
      records.record(sonic, readAt, formerReadAt);
    },
    ask,
    /** Asks for it, and the cloud accepts it, which counts for so long. */
    accept: (action: ValveAction, forMs: number) => {
      const asked = ask(action);
      records.recordSent(id, asked);
      records.recordAccepted(sonic, asked, clock.monotonic() + forMs);
      return asked;
    },
    end: (asked: AskedCommand, status: 'confirmed' | 'not_confirmed' | 'error' | 'superseded') =>
      records.recordCommand(id, asked, status, null, {
        waitedMs: 90_000,
        movesUntil: clock.monotonic() + 90_000,
      }),
    refuse: () => records.recordCommand(id, { action: 'close', topic, askedAt: iso() }, 'refused', 'no'),
    fail: (asked: AskedCommand, mayHaveMoved: boolean) => {
      records.recordCommand(id, asked, 'sent', null);
      records.recordCommand(id, asked, 'error', 'why', {
        movesUntil: mayHaveMoved ? clock.monotonic() : null,
      });
    },
    inFlight: (asked: AskedCommand) => records.recordSent(id, asked),
    /** The command ends by an answer, or without one. */
    movesUntil: (asked: AskedCommand, until: number | null) => {
      if (until !== null) records.recordAccepted(sonic, asked, until);
      else records.recordCommand(id, asked, 'error', null);
    },
    open: (changes: object) => records.incidentOpened(id, anIncident({ detected_at: iso(), ...changes })),
    explain: (isShutOffOn: boolean | null = false) => {
      const before = records.of(id);
      records.explain(() => isShutOffOn);
      return !isDeepStrictEqual(records.of(id), before);
    },
    dismiss: () => records.dismissFailure(id),
    awaited: () => records.awaited,
  };
}

type Stage = ReturnType<typeof bench>;

describe('a failed command', () => {
  it.each(['not_confirmed', 'error'] as const)('is shown until a newer one is confirmed: %s', (status) => {
    const stage = bench();
    stage.end(stage.ask('close'), status);
    expect(stage.get()).toMatchObject({ command: { status }, failed: { action: 'close', status } });
    const newer = stage.ask('open');
    expect(stage.get()).toMatchObject({ command: { status: 'sent' }, failed: { action: 'close' } });
    stage.end(newer, 'confirmed');
    expect(stage.get()).toMatchObject({ command: { status: 'confirmed' }, failed: null });
  });

  it('is none where a newer one was sent, and is not ended by an older one', () => {
    const stage = bench();
    const [older, newer] = [stage.ask('close'), stage.ask('open')];
    stage.end(older, 'error');
    expect(stage.get()).toMatchObject({ command: { action: 'open', status: 'sent' }, failed: null });
    stage.end(newer, 'error');
    stage.end(older, 'confirmed');
    expect(stage.get()).toMatchObject({ command: { status: 'error' }, failed: { action: 'open' } });
  });

  it.each([
    ['closed', true],
    ['open', false],
  ])('ends when the valve is read where it was to go, whoever has moved it: %s', (state, isOver) => {
    const stage = bench();
    stage.read('open');
    stage.refuse();
    stage.read('closed', 0, stage.clock.monotonic() - 1);
    expect(stage.get().failed).not.toBe(null);
    expect(stage.awaited()).toEqual([id]);
    stage.read(state);
    expect(stage.get().failed === null).toBe(isOver);
    expect(stage.kept.get(id)?.failed === null).toBe(isOver);
  });

  it.each([
    [true, 'command_unsure'],
    [false, 'command_unmoved'],
  ])('that may have moved the valve (%s) has other words than one that has not', (mayHaveMoved, advice) => {
    const stage = bench();
    const asked = { action: 'close', topic, askedAt: stage.iso() } as const;
    stage.fail(asked, mayHaveMoved);
    const { failed } = stage.get();
    expect(failed && failureTexts(failed)).toEqual({ text: 'failed_close', advice, reason: 'why' });
    stage.restart();
    expect(stage.get().failed?.may_have_moved).toBe(mayHaveMoved);
  });

  it.each([
    [90, 'not_confirmed_open', 'command_advice'],
    [null, 'unconfirmed_open', 'command_unsure'],
  ])('that was not confirmed has other words if the valve was not read (%s s)', (waited_s, text, advice) => {
    const record = { action: 'open', status: 'not_confirmed', waited_s, may_have_moved: true } as const;
    const reasons = ['no word.', 'why?', null].map((reason) =>
      failureTexts({ ...record, asked_at: '2026-03-02T09:00:00Z', reason }),
    );
    expect(reasons).toEqual(['no word', 'why?', null].map((reason) => ({ text, advice, reason })));
  });

  it('is one that was refused', () => {
    const stage = bench();
    stage.refuse();
    expect(stage.get()).toMatchObject({ command: { status: 'refused' }, failed: { action: 'close' } });
  });

  it.each([
    ['in one run', 0],
    ['over a restart', 0],
    ['with a clock that was a year ahead', 365 * 24 * hourMs],
  ])('is shown for a day, %s', (words, aheadMs) => {
    const stage = bench();
    stage.end(stage.ask('close'), 'error');
    const record = stage.kept.get(id);
    if (record?.failed)
      stage.kept.set(id, { ...record, failed: { ...record.failed, at: record.failed.at + aheadMs } });
    if (words !== 'in one run') stage.restart();
    stage.clock.advance(24 * hourMs - 1_000);
    expect(stage.get().failed?.action).toBe('close');
    stage.clock.advance(25 * hourMs);
    expect(stage.get().failed).toBe(null);
    stage.read('open');
    expect(stage.kept.get(id)?.failed).toBe(null);
  });

  it.each(['not_confirmed', 'error'] as const)('is none after its owner has dismissed it: %s', (status) => {
    const stage = bench();
    stage.read('open');
    stage.end(stage.ask('open'), status);
    const newer = stage.ask('close');
    stage.dismiss();
    expect(stage.get()).toMatchObject({ command: { action: 'close', status: 'sent' }, failed: null });
    stage.end(newer, status);
    expect(stage.get().failed).toMatchObject({ action: 'close', status });
    stage.dismiss();
    for (const isRestarted of [false, true]) {
      if (isRestarted) stage.restart();
      expect(stage.get()).toMatchObject({ command: { status }, failed: null });
    }
    stage.read('open');
    expect(stage.get().failed).toBe(null);
    stage.end(stage.ask('open'), status);
    expect(stage.get().failed).toMatchObject({ action: 'open', status });
  });

  it.each<[string, (stage: Stage) => void]>([
    ['was dismissed', (stage) => stage.dismiss()],
    ['is a day old', (stage) => stage.clock.advance(25 * hourMs)],
    ['was followed by one that was refused', (stage) => stage.refuse()],
    ['was followed by one that the cloud did not get', (stage) => stage.fail(stage.ask('close'), false)],
  ])('leaves its movement ended until the valve is read in a position, also if it %s', (_, happen) => {
    const stage = bench();
    stage.read('open');
    stage.end(stage.accept('close', 90_000), 'not_confirmed');
    happen(stage);
    for (const isRestarted of [false, true]) {
      if (isRestarted) stage.restart();
      stage.read('closing');
      expect(stage.get().stopped).toBe('close');
    }
    stage.read('open');
    stage.read('closing');
    expect(stage.get().stopped).toBe(null);
  });

  it('leaves no movement ended once the cloud has accepted a newer one', () => {
    const stage = bench();
    stage.end(stage.accept('close', 90_000), 'not_confirmed');
    stage.accept('close', 90_000);
    expect(stage.get().stopped).toBe(null);
    stage.restart();
    expect(stage.get().stopped).toBe('close');
  });

  it('is one that was sent when the process died, until the valve is read where it was to be', () => {
    const stage = bench();
    stage.read('open');
    stage.ask('close');
    stage.restart();
    expect(stage.get()).toMatchObject({
      command: { status: 'not_confirmed', reason: expect.stringContaining('restarted') },
      failed: { action: 'close', waited_s: null },
    });
    stage.read('closed');
    expect(stage.get()).toMatchObject({
      command: { status: 'confirmed', reason: expect.stringContaining('closed') },
      failed: null,
      movement: { valve: 'closed', by: 'command', topic },
    });
  });

  it.each([
    ['open', 'elsewhere'],
    ['close', 'command'],
  ] as const)('to %s is not one to close that was refused since, which stays the newest', (action, by) => {
    const stage = bench();
    stage.read('open');
    stage.ask(action);
    stage.restart();
    stage.refuse();
    stage.read('closed');
    expect(stage.get()).toMatchObject({
      command: { action: 'close', status: 'refused' },
      failed: null,
      movement: { valve: 'closed', by },
    });
  });

  it('that was refused is not ended by an older one that is confirmed, but by a newer one', () => {
    const stage = bench();
    const older = stage.ask('open');
    stage.refuse();
    stage.end(older, 'confirmed');
    expect(stage.get()).toMatchObject({ command: { status: 'refused' }, failed: { action: 'close' } });
    stage.end(stage.ask('close'), 'confirmed');
    expect(stage.get()).toMatchObject({ command: { status: 'confirmed' }, failed: null });
  });

  it.each(['not_confirmed', 'error'] as const)('is none once the valve obeys late: %s', (status) => {
    const stage = bench();
    stage.read('open');
    const asked = stage.accept('close', 90_000);
    stage.read('closing');
    stage.end(asked, status);
    stage.read('closed');
    expect(stage.get()).toMatchObject({ command: { status: 'confirmed', reason: null }, failed: null });
    expect(stage.kept.get(id)).toEqual(stage.get());
  });

  it('that obeys late leaves a newer one as it is', () => {
    const stage = bench();
    stage.read('open');
    const asked = stage.accept('close', 90_000);
    stage.read('closing');
    stage.end(asked, 'not_confirmed');
    stage.ask('open');
    stage.read('closed');
    expect(stage.get()).toMatchObject({ command: { action: 'open', status: 'sent' }, failed: null });
  });

  it('that found the valve there is awaited until that is read', () => {
    const stage = bench();
    stage.read('closed');
    const asked = stage.accept('close', 90_000);
    stage.end(asked, 'not_confirmed');
    expect(stage.awaited()).toEqual([id]);
    stage.read('closed', hourMs);
    expect(stage.get()).toMatchObject({ command: { status: 'confirmed' }, failed: null });
    expect(stage.awaited()).toEqual([]);
  });

  it('is known by a newer one that was sent', () => {
    const stage = bench();
    stage.read('open');
    stage.ask('close');
    stage.restart();
    stage.ask('open');
    stage.read('closed');
    expect(stage.get()).toMatchObject({
      command: { action: 'open', status: 'sent' },
      failed: null,
    });
  });

  it('is a newer one whose valve moves back, since one of an earlier run may still arrive for three minutes', () => {
    const story = (lateMs: number) => {
      const stage = bench();
      stage.read('closed');
      stage.ask('open');
      stage.restart();
      stage.read('closed', 10_000);
      const close = stage.ask('close');
      stage.read('closed', 1_000);
      stage.end(close, 'confirmed');
      expect(stage.get().failed).toBe(null);
      stage.read('open', lateMs);
      return stage;
    };
    const late = story(160_000);
    const reason = expect.stringMatching(/read as open again.*before the restart/);
    expect(late.get()).toMatchObject({
      command: { action: 'close', status: 'not_confirmed', reason },
      failed: { action: 'close', status: 'error', reason },
      movement: { valve: 'open', by: 'command' },
    });
    late.read('closed');
    expect(late.get().failed).toBe(null);
    expect(story(15 * minuteMs).get()).toMatchObject({ command: { status: 'confirmed' }, failed: null });
  });

  it.each([
    ['within three minutes', minuteMs, 'confirmed', 'command'],
    ['later', 3 * minuteMs, 'not_confirmed', 'elsewhere'],
  ])('stays one after a restart until the valve is there: %s', (_words, openMs, status, by) => {
    const stage = bench();
    stage.read('open');
    stage.ask('close');
    stage.restart();
    stage.read('open', openMs);
    expect(stage.get()).toMatchObject({ failed: { action: 'close' } });
    stage.read('closed');
    expect(stage.get()).toMatchObject({ command: { status }, failed: null, movement: { by } });
  });
});

describe('who moved a valve', () => {
  it('is unknown at the first reading, and nobody in a pressure test', () => {
    const stage = bench();
    stage.read('open');
    for (const state of ['pressure_test', 'open', 'faulty', 'open']) stage.read(state);
    expect(stage.get().movement).toEqual({
      valve: 'open',
      at: null,
      by: null,
      topic: null,
      incident_id: null,
    });
  });

  it.each<[string, number | null, 'command' | 'elsewhere']>([
    ['that was accepted', 2 * minuteMs, 'command'],
    ['that has had its time before the valve was last read open', -minuteMs, 'elsewhere'],
    ['that the cloud has not received', null, 'elsewhere'],
  ])('is a command %s', (_words, untilMs, by) => {
    const stage = bench();
    stage.read('open');
    const asked = stage.ask('close');
    stage.inFlight(asked);
    stage.movesUntil(asked, untilMs === null ? null : stage.clock.monotonic() + untilMs);
    stage.read('closing');
    stage.read('closed');
    const movement = { valve: 'closed', at: stage.iso(), by, topic: by === 'command' ? topic : null };
    expect(stage.get().movement).toMatchObject(movement);
    stage.read('open');
    expect(stage.get().movement).toMatchObject({ valve: 'open', by: 'elsewhere', topic: null });
  });

  const sendBoth = (stage: Stage, ...actions: ValveAction[]) => {
    const asked = actions.map((action) => stage.ask(action));
    for (const each of asked) stage.inFlight(each);
    return asked;
  };
  const inTenMinutes = (stage: Stage) => stage.clock.monotonic() + 10 * minuteMs;

  it.each<[string, (stage: Stage) => void, Partial<Movement>]>([
    [
      'is no command that found the valve where it wanted it',
      (stage) => {
        stage.accept('open', 10 * minuteMs);
        for (const state of ['open', 'closed', 'open']) stage.read(state);
      },
      { valve: 'open', by: 'elsewhere', topic: null },
    ],
    [
      'is the first of two opposite commands',
      (stage) => {
        for (const asked of sendBoth(stage, 'close', 'open')) stage.movesUntil(asked, inTenMinutes(stage));
        for (const state of ['open', 'closed']) stage.read(state);
      },
      { valve: 'closed', by: 'command' },
    ],
    [
      'is the second of two opposite commands, although the valve was where it wants it',
      (stage) => {
        for (const asked of sendBoth(stage, 'close', 'open')) stage.movesUntil(asked, inTenMinutes(stage));
        for (const state of ['open', 'closed', 'open']) stage.read(state);
      },
      { valve: 'open', by: 'command' },
    ],
    [
      'is a command although the cloud did not receive it a second time',
      (stage) => {
        const [first, second] = sendBoth(stage, 'close', 'close') as [AskedCommand, AskedCommand];
        stage.movesUntil(first, inTenMinutes(stage));
        stage.movesUntil(second, null);
        stage.read('closed');
      },
      { valve: 'closed', by: 'command', topic },
    ],
    [
      'is no command that was sent after the reading that shows the movement',
      (stage) => {
        const sentAt = stage.clock.monotonic() + 1;
        stage.clock.advance(minuteMs);
        stage.inFlight(stage.ask('close'));
        stage.read('closed', 0, sentAt);
      },
      { valve: 'closed', by: 'elsewhere', topic: null },
    ],
    [
      'is nobody that is known where a command had failed long before the valve could be read again',
      (stage) => {
        stage.accept('close', 2 * minuteMs);
        stage.read('faulty');
        stage.read('closed', hourMs);
      },
      { valve: 'closed', by: 'elsewhere', topic: null },
    ],
    [
      'is told by an incident that comes before an opening is noticed',
      (stage) => {
        stage.read('closed');
        // Somebody opens the valve, and a leak is read before the valve.
        stage.clock.advance(minuteMs / 2);
        stage.open({ type: 'water_presence_detected' });
        stage.read('open', minuteMs / 2);
        stage.explain(true);
        stage.read('closed');
        stage.explain(true);
      },
      { valve: 'closed', by: 'automatic_shut_off' },
    ],
  ])('%s', (_words, happen, movement) => {
    const stage = bench();
    stage.read('open');
    happen(stage);
    expect(stage.get().movement).toMatchObject(movement);
  });

  it.each([
    ['before the command', -minuteMs, 'command'],
    ['between the command and the reading', minuteMs / 2, 'by_hand'],
    ['after the reading', 2 * minuteMs, 'command'],
  ])('is a hand although a command was under way, if the incident is of a time %s', (_words, afterMs, by) => {
    const stage = bench();
    stage.read('open');
    stage.read('open', 2 * minuteMs);
    stage.accept('close', 10 * minuteMs);
    const detected_at = new Date(stage.clock.now() + afterMs).toISOString();
    stage.read('closed');
    stage.clock.advance(2 * minuteMs);
    stage.open({ type: 'device_handle_moved', detected_at });
    stage.explain(true);
    expect(stage.get().movement).toMatchObject({ by, topic: by === 'command' ? topic : null });
  });

  it.each([
    ['device_handle_moved', false, 'closed', 'by_hand'],
    ['device_handle_moved', true, 'open', 'by_hand'],
    ['long_flow_alert', true, 'closed', 'automatic_shut_off'],
    ['high_volume_alert', true, 'closed', 'automatic_shut_off'],
    ['water_presence_detected', true, 'closed', 'automatic_shut_off'],
    ['water_presence_detected', false, 'closed', 'elsewhere'],
    ['water_presence_detected', true, 'open', 'elsewhere'],
    ['low_battery_level', true, 'closed', 'elsewhere'],
  ])('is told by an incident that comes later: %s, shut-off %s, %s', (type, isOn, state, by) => {
    const stage = bench();
    stage.read(state === 'open' ? 'closed' : 'open');
    stage.read(state);
    // The store asks after every reading.
    stage.explain(isOn);
    expect(stage.get().movement?.by).toBe('elsewhere');
    stage.clock.advance(minuteMs);
    stage.open({ id: 'incident-9', type });
    expect(stage.explain(isOn)).toBe(by !== 'elsewhere');
    expect(stage.get().movement).toMatchObject({
      by,
      incident_id: by === 'elsewhere' ? null : 'incident-9',
    });
  });

  it.each([
    [false, 'elsewhere'],
    [true, 'automatic_shut_off'],
    [null, 'automatic_shut_off'],
  ])('is the shut-off if that was on when the movement was noticed: %s', (isOn, by) => {
    const stage = bench();
    stage.read('open');
    stage.open({ type: 'long_flow_alert' });
    stage.read('closed');
    stage.explain(isOn);
    stage.explain(true);
    expect(stage.get().movement?.by).toBe(by);
  });

  it.each<[string, (stage: Stage) => void]>([
    ['is long open', (stage) => stage.read('open', 10 * minuteMs)],
    ['an earlier run knew', (stage) => stage.restart()],
  ])('is not told by an incident that %s', (_words, meanwhile) => {
    const stage = bench();
    stage.read('open');
    stage.open({ id: 'incident-9', type: 'device_handle_moved' });
    stage.known.set('incident-9', true);
    meanwhile(stage);
    stage.open({ id: 'incident-9', type: 'device_handle_moved' });
    stage.read('closed');
    stage.explain();
    expect(stage.get().movement?.by).toBe('elsewhere');
  });

  it('is not told by an incident from before the movement before', () => {
    const stage = bench();
    stage.read('open');
    stage.open({ type: 'long_flow_alert' });
    stage.read('closed');
    stage.explain(false);
    for (const state of ['open', 'closed']) {
      stage.read(state);
      stage.explain(true);
      expect(stage.get().movement).toMatchObject({ valve: state, by: 'elsewhere', incident_id: null });
    }
  });

  it('has no time at which the valve was still read in its former position', () => {
    const stage = bench();
    stage.read('open');
    stage.open({ type: 'long_flow_alert' });
    stage.read('open');
    stage.read('closed');
    stage.explain(true);
    expect(stage.get().movement).toMatchObject({ by: 'automatic_shut_off', at: stage.iso() });
  });

  it.each([
    [60, true],
    [61, false],
  ])('has a time if the valve was read within an hour before: %s minutes', (minutes, isKnown) => {
    const stage = bench();
    stage.read('open');
    stage.read('closed', minutes * minuteMs);
    expect(stage.get().movement).toMatchObject({ by: 'elsewhere', at: isKnown ? stage.iso() : null });
  });

  it('is somebody elsewhere while the bridge was down, unless a new incident tells', () => {
    const stage = bench();
    stage.read('open');
    stage.restart();
    stage.read('closed', 2 * hourMs);
    expect(stage.get().movement).toMatchObject({ by: 'elsewhere', at: null });
    stage.open({ id: 'incident-9', type: 'device_handle_moved' });
    expect(stage.explain()).toBe(true);
    expect(stage.get().movement).toMatchObject({ by: 'by_hand', at: stage.iso(), incident_id: 'incident-9' });
  });
});
