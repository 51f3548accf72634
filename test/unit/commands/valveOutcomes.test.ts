import { describe, expect, it } from 'vitest';
import { ValveOutcomes } from '../../../src/commands/valveOutcomes.ts';
import { topicsUnder } from '../../../src/homeassistant/topics.ts';

describe('the outcomes of commands to valves', () => {
  it('are counted whichever way they came, and no others are', () => {
    const outcomes = new ValveOutcomes(topicsUnder('sonic2mqtt', 'homeassistant'));
    const note = (
      path: string,
      status: 'ok' | 'error' | 'refused' | 'superseded',
      reason: string | null = null,
    ) => outcomes.note({ topic: `sonic2mqtt/${path}`, status, reason, http_status: null });
    note('sonic/a/valve/set', 'ok');
    note('sonic/a/valve/set', 'error', 'not_confirmed');
    note('sonic/a/valve/set', 'error', 'timeout');
    note('sonic/b/valve/set', 'superseded', 'a newer command');
    note('bridge/request/command_valve', 'refused', 'no');
    note('bridge/request/change_thing_state', 'ok');
    note('bridge/request/read_sonic', 'ok');
    note('sonic/a/name/set', 'ok');
    note('signal/a/valve/set', 'refused');
    note('bridge/refresh', 'ok');
    expect(outcomes.counts).toEqual({ ok: 2, error: 1, refused: 1, superseded: 1, not_confirmed: 1 });
  });
});
