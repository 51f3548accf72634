import { describe, expect, it } from 'vitest';
import {
  evaluateHealth,
  type HealthInputs,
  healthFingerprint,
  healthPayload,
} from '../../../src/health/health.ts';
import {
  agesUntil,
  freshUntil,
  neverPolled,
  type PollStatus,
  pollNames,
} from '../../../src/polling/pollStatus.ts';

const good: PollStatus = {
  lastSuccessAt: 1_000,
  freshUntil: 5_000,
  answeredAt: 900,
  failure: null,
  consecutiveFailures: 0,
};
const bad = (kind: NonNullable<PollStatus['failure']>['kind'], message = `${kind} in words`): PollStatus => ({
  ...good,
  failure: { kind, message, key: message },
  consecutiveFailures: 1,
});
const well: HealthInputs = {
  slices: {
    properties: good,
    signals: good,
    sonics: good,
    incidents: good,
    telemetry: good,
    usage: good,
    pressure_tests: good,
  },
  rejectedUntil: null,
  limitedUntil: null,
  dataProblems: [],
  stateProblem: null,
  brokerProblem: null,
  emptiness: null,
  notes: [],
};
const withSlices = (slices: Partial<HealthInputs['slices']>): HealthInputs => ({
  ...well,
  slices: { ...well.slices, ...slices },
});

describe('health', () => {
  it('is ok when everything was read', () => {
    expect(evaluateHealth(well)).toEqual({
      status: 'ok',
      reason: null,
      cloudReason: null,
      problems: [],
      notes: [],
    });
  });

  it('is degraded by a broker that is away, unless the cloud is away too', () => {
    const brokerProblem = 'no connection to the MQTT broker: refused';
    expect(evaluateHealth({ ...well, brokerProblem })).toMatchObject({
      status: 'degraded',
      reason: brokerProblem,
      cloudReason: null,
    });
    const away = { sonics: bad('unavailable', '503'), incidents: bad('unavailable', '503') };
    expect(evaluateHealth({ ...withSlices(away), brokerProblem })).toMatchObject({
      status: 'cloud_unreachable',
      reason: '503',
    });
  });

  it('is degraded by one failing schedule, and names it', () => {
    expect(evaluateHealth(withSlices({ signals: bad('unavailable') }))).toMatchObject({
      status: 'degraded',
      reason: 'signals: unavailable in words',
    });
  });

  it('says words that befell several schedules once', () => {
    const symptoms = withSlices({ signals: bad('forbidden', 'no'), telemetry: bad('forbidden', 'no') });
    expect(evaluateHealth(symptoms)).toMatchObject({ reason: 'signals, telemetry: no', problems: ['no'] });
  });

  it('is cloud_unreachable only when neither valves nor incidents can be read', () => {
    expect(evaluateHealth(withSlices({ sonics: bad('unavailable') })).status).toBe('degraded');
    const both = withSlices({ sonics: bad('unavailable'), incidents: bad('unavailable') });
    expect(evaluateHealth(both)).toMatchObject({
      status: 'cloud_unreachable',
      reason: 'unavailable in words',
    });
    const refused = withSlices({ sonics: bad('unavailable'), incidents: bad('forbidden') });
    expect(evaluateHealth(refused).status).toBe('degraded');
  });

  it('is cloud_unreachable from the first poll on that finds nobody', () => {
    const nothing = { ...well.slices };
    for (const slice of pollNames) nothing[slice] = neverPolled;
    const first = { ...bad('unavailable'), lastSuccessAt: null };
    expect(evaluateHealth(withSlices({ ...nothing, properties: first })).status).toBe('cloud_unreachable');
    expect(evaluateHealth(withSlices({ ...nothing, properties: good, sonics: first })).status).toBe(
      'cloud_unreachable',
    );
  });

  it('says that it waits before there was any answer', () => {
    const nothing = { ...well.slices };
    for (const slice of pollNames) nothing[slice] = neverPolled;
    expect(evaluateHealth(withSlices(nothing))).toEqual({
      status: 'degraded',
      reason: 'waiting for the cloud to answer',
      cloudReason: 'waiting for the cloud to answer',
      problems: [],
      notes: [],
    });
  });

  it('is degraded, not auth_failed, by one list that the cloud refuses although the session is good', () => {
    expect(evaluateHealth(withSlices({ incidents: bad('auth') })).status).toBe('degraded');
  });

  it('is auth_failed when the credentials are rejected, whatever else is wrong, and says when it is tried again', () => {
    const symptoms = {
      ...withSlices({ sonics: bad('unavailable'), incidents: bad('unavailable') }),
      rejectedUntil: 0,
    };
    expect(evaluateHealth(symptoms)).toMatchObject({ status: 'auth_failed' });
    expect(evaluateHealth(symptoms).reason).toContain('1970-01-01T00:00:00.000Z');
    expect(evaluateHealth(withSlices({ sonics: bad('auth'), incidents: bad('auth') })).status).toBe(
      'auth_failed',
    );
  });

  it.each([
    ['dataProblems', ['a record could not be read']],
    ['stateProblem', 'disk full'],
    ['emptiness', 'the account has no property'],
  ] as const)('is degraded by %s', (symptom, words) => {
    expect(evaluateHealth({ ...well, [symptom]: words })).toMatchObject({
      status: 'degraded',
      reason: Array.isArray(words) ? words[0] : words,
    });
  });

  it('names what is missing altogether before oddities, of which there may be many', () => {
    const dataProblems = Array.from({ length: 20 }, (_, index) => `oddity ${index}`);
    const { reason } = evaluateHealth({
      ...well,
      dataProblems,
      stateProblem: 'disk full',
      emptiness: 'no sonic',
    });
    expect(reason).toMatch(/^disk full; no sonic; oddity 0/);
  });

  it('is ok with a note of what is no fault', () => {
    expect(evaluateHealth({ ...well, notes: ['no hub (signal) in Shop'] })).toMatchObject({
      status: 'ok',
      reason: 'no hub (signal) in Shop',
    });
  });

  it('tells each schedule by its own outcome', () => {
    expect(healthPayload(withSlices({ telemetry: bad('rateLimited'), signals: neverPolled }))).toMatchObject({
      schedules: {
        sonics: { last_success: '1970-01-01T00:00:01.000Z', last_error: null, consecutive_failures: 0 },
        telemetry: { last_error: 'rateLimited in words', consecutive_failures: 1 },
        signals: { last_success: null },
      },
      limited_until: null,
    });
  });

  it('is not published again for another success or another failure of the same kind', () => {
    const later = withSlices({ sonics: { ...good, lastSuccessAt: 99_000, freshUntil: 99_000 } });
    expect(healthFingerprint(later)).toBe(healthFingerprint(well));
    const failing = withSlices({ sonics: bad('unavailable') });
    const stillFailing = withSlices({ sonics: { ...bad('unavailable'), consecutiveFailures: 7 } });
    expect(healthFingerprint(stillFailing)).toBe(healthFingerprint(failing));
    expect(healthFingerprint(failing)).not.toBe(healthFingerprint(well));
    const otherWords = withSlices({
      sonics: {
        ...good,
        failure: { kind: 'unavailable', message: 'request 7', key: 'unavailable in words' },
      },
    });
    expect(healthFingerprint(otherWords)).toBe(healthFingerprint(failing));
    expect(healthFingerprint(withSlices({ sonics: bad('unreadable') }))).not.toBe(healthFingerprint(failing));
  });
});

describe('freshness', () => {
  it('ends with that of the valves: the other lists grow old by themselves', () => {
    expect(freshUntil(withSlices({ sonics: { ...good, freshUntil: 4_000 } }).slices)).toBe(4_000);
    expect(freshUntil(withSlices({ incidents: { ...good, freshUntil: 1 } }).slices)).toBe(5_000);
    expect(freshUntil(withSlices({ telemetry: { ...good, freshUntil: 1 } }).slices)).toBe(5_000);
    expect(freshUntil(withSlices({ usage: { ...good, freshUntil: 1 } }).slices)).toBe(5_000);
  });

  it('does not hang on what the cloud refuses for good', () => {
    expect(freshUntil(withSlices({ sonics: { ...bad('forbidden'), freshUntil: 1 } }).slices)).toBe(5_000);
    expect(freshUntil(withSlices({ sonics: bad('forbidden'), incidents: bad('unsupported') }).slices)).toBe(
      Number.NEGATIVE_INFINITY,
    );
  });

  const never = Number.NEGATIVE_INFINITY;
  const always = Number.POSITIVE_INFINITY;
  it.each([
    [{}, 900],
    [{ sonics: bad('incomplete') }, 900],
    [{ sonics: bad('unavailable') }, never],
    [{ sonics: bad('auth') }, never],
    [{ sonics: bad('forbidden') }, 900],
    [{ sonics: bad('forbidden'), incidents: bad('unavailable') }, never],
    [{ sonics: bad('forbidden'), incidents: bad('forbidden') }, always],
  ] as const)('is lost only as long as the cloud was there: %j, %s', (changes, expected) => {
    expect(agesUntil(withSlices(changes).slices)).toBe(expected);
  });

  it('has not begun before the first poll', () => {
    expect(freshUntil(withSlices({ sonics: neverPolled }).slices)).toBe(Number.NEGATIVE_INFINITY);
  });
});
