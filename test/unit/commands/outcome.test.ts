import { describe, expect, it } from 'vitest';
import { type Outcome, Outcomes } from '../../../src/commands/outcome.ts';
import { Store } from '../../../src/store/store.ts';
import { FakeClock } from '../../support/fakeClock.ts';
import { logLines } from '../../support/logLines.ts';
import { passTime } from '../../support/passTime.ts';
import { aProperty, topics } from '../../support/views.ts';

function startOutcomes() {
  const clock = new FakeClock();
  const store = new Store({ selection: [], clock });
  store.replaceProperties({ records: [aProperty()], isComplete: true, startedAt: 0 });
  const lines = logLines();
  const shownAgain: string[] = [];
  const outcomes = new Outcomes(topics, store, clock, lines.log);
  outcomes.on('showAgain', (kind, id) => void shownAgain.push(`${kind}/${id}`));
  const record = (
    path: string,
    status: Outcome['status'],
    reason: string | null = null,
    action: 'close' | null = null,
  ) => outcomes.record(`sonic2mqtt/${path}`, status, reason, null, action);
  return { clock, outcomes, record, lines, shownAgain };
}

describe('the outcomes of commands', () => {
  it('to valves are counted, and no others are', () => {
    const { outcomes, record } = startOutcomes();
    record('sonic/a/valve/set', 'ok');
    record('sonic/a/valve/set', 'error', 'not_confirmed');
    record('sonic/a/valve/set', 'error', 'timeout');
    record('sonic/b/valve/set', 'superseded', 'a newer command');
    record('sonic/b/valve/set', 'refused', 'no');
    record('sonic/b/valve/set', 'ok');
    record('bridge/request/read_sonic', 'ok');
    record('sonic/a/name/set', 'ok');
    record('signal/a/valve/set', 'refused');
    record('bridge/refresh', 'ok');
    expect(outcomes.valveCounts).toEqual({ ok: 2, error: 1, refused: 1, superseded: 1, not_confirmed: 1 });
  });

  it('that failed show again what is known, and are logged unless somebody was answered', () => {
    const { record, lines, shownAgain } = startOutcomes();
    record('property/property-1/name/set', 'ok');
    record('property/property-1/name/set', 'superseded', 'a newer command');
    record('bridge/request/patch_property', 'error', 'answered');
    record('property/property-1/name/set', 'error', 'why');
    record('property/stranger/name/set', 'refused', 'nobody');
    record('sonic/stranger/valve/set', 'error', 'frozen', 'close');
    // The valve queue says so in words.
    record('sonic/a/valve/set', 'error', 'not_confirmed');
    expect(shownAgain).toEqual(['property/property-1']);
    expect(lines.messages.filter((line) => line.startsWith('warn'))).toEqual([
      `warn: Command name/set for ${JSON.stringify(aProperty().name)} failed: why`,
      'warn: Command name/set for "stranger" refused: nobody',
      'warn: Command to close "stranger" failed: frozen',
    ]);
  });

  it('are one line a minute for each topic and reason, with their number', async () => {
    const { clock, record, lines } = startOutcomes();
    let seen = 0;
    const warnings = () => {
      const found = lines.messages.filter((line) => line.startsWith('warn')).slice(seen);
      seen += found.length;
      return found;
    };
    for (let count = 0; count < 1_000; count++) record('bridge/log_level/set', 'refused', 'why');
    record('bridge/log_level/set', 'refused', 'another');
    const line = 'warn: Command sonic2mqtt/bridge/log_level/set refused: ';
    expect(warnings()).toEqual([`${line}why`, `${line}another`]);
    await passTime(clock, 60_000);
    expect(warnings()).toEqual([`${line}why (again in the last minute: 999)`]);
    record('bridge/log_level/set', 'refused', 'why');
    expect(warnings()).toEqual([]);
    await passTime(clock, 120_000);
    expect(warnings()).toEqual([`${line}why (again in the last minute: 1)`]);
    for (let count = 0; count < 1_000; count++) record(`incident/i-${count}/action`, 'refused', 'why');
    expect(warnings()).toHaveLength(101);
  });
});
