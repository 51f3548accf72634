import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { rolldown } from 'rolldown';
import { describe, expect, it } from 'vitest';
import { startProcess } from '../support/childProcess.ts';
import { startDiskBridge } from '../support/diskBridge.ts';
import { temporaryFolder } from '../support/program.ts';
import { waitFor } from '../support/waitFor.ts';

const stateFile = fileURLToPath(new URL('../../src/state/stateFile.ts', import.meta.url));

/** The state file's code by itself, as a file that Node can run. */
async function bundledStateFile(): Promise<string> {
  const file = join(temporaryFolder(), 'stateFile.mjs');
  const bundle = await rolldown({ input: stateFile, platform: 'node' });
  await bundle.write({ file });
  return pathToFileURL(file).href;
}

/**
 * A state file that is written all the time, of a thousand sonics, so that a write takes a while. It tells what it has found,
 * and each number as soon as that is kept.
 */
const busyStateFile = (module: string) => `
const { StateFile } = await import('${module}');
const { writeSync } = await import('node:fs');
const say = (line) => writeSync(2, line + '\\n');
const log = { debug: say, info() {}, warn: say };
const state = new StateFile(process.argv[1], log);
await state.open();
const { announced, usage } = state.kept;
const tell = (text) => writeSync(1, text + '\\n');
const count = () => Math.max(-1, ...[...announced.keys()].map(Number));
const litres = () => usage.get('sonic-999')?.frozenMl ?? -1;
tell('found ' + count() + ' ' + litres() + ' ' + usage.size);
const days = Object.fromEntries(Array.from({ length: 31 }, (_, index) => ['2025-01-' + String(index + 1).padStart(2, '0'), 123456]));
const record = { frozenThrough: '2024-12', days, months: ['2025-01'], isWhole: true, changedAt: '2025-01-31T00:00:00.000Z', readAt: 0 };
for (let number = count() + 1; ; number++) {
  for (let index = 0; index < 1000; index++) usage.set('sonic-' + index, { ...record, frozenMl: number });
  await announced.set(String(number), true).saved();
  tell('kept ' + number);
  announced.delete(String(number - 5));
}
`;

const kills = 40;

describe('a process that is killed while it writes', () => {
  it(`loses nothing that was kept, ${kills} times over`, { timeout: 120_000 }, async () => {
    const folder = temporaryFolder();
    const file = join(folder, 'sonic2mqtt.json');
    const script = busyStateFile(await bundledStateFile());
    let kept = -1;
    const isHalfWritten = () => existsSync(`${file}.tmp`);
    let halfWritten = 0;
    for (let round = 0; round < kills; round++) {
      const child = startProcess(process.execPath, ['--input-type=module', '-e', script, folder]);
      const [, number, ml, sonics] = await child.waitForOutput(/found (-?\d+) (-?\d+) (\d+)/);
      // One more may have been kept than there was time to tell.
      expect(Number(number)).toBeGreaterThanOrEqual(kept);
      expect(Number(ml)).toBe(Number(number));
      if (round > 0) expect(Number(sonics)).toBe(1_000);
      await child.waitForOutput(/kept \d+/);
      if (round % 2 === 0) await pause(((round * 7) % kills) * 0.7);
      else await waitFor(isHalfWritten, { what: 'a write', intervalMs: 0 });
      await child.stop('SIGKILL');
      if (isHalfWritten()) halfWritten += 1;
      kept = Number(child.stdout.match(/kept (\d+)(?!.*kept)/s)?.[1] ?? kept);
      expect(child.stderr).toBe('');
      const { announced, usage } = JSON.parse(readFileSync(file, 'utf8'));
      expect(announced).toContain(String(usage['sonic-999'].frozenMl));
    }
    // Else they were all killed at the wrong moment, and this has shown nothing.
    expect(halfWritten).toBeGreaterThan(0);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('announces nothing twice, loses no litre and keeps its session, as a whole bridge', {
    timeout: 60_000,
  }, async () => {
    const disk = await startDiskBridge();
    const folder = join(temporaryFolder(), 'data');
    const ids: string[] = [];
    for (let round = 0; round < 4; round++) {
      const bridge = disk.start(folder);
      await bridge.waitForOutput(/Found properties/);
      ids.push(await disk.announceNew());
      // The next one is killed in the middle of noting it, before or after.
      disk.bridge.cloud.world.openIncident({ type: 'low_temperature', sonicId: disk.sonicId });
      await pause(round * 60);
      await bridge.stop('SIGKILL');
      expect(bridge.output).not.toMatch(/put aside|not readable|cannot be used|missing/);
    }
    disk.start(folder);
    await disk.untilHealth(null);
    ids.push(await disk.announceNew());
    expect(ids.map((id) => disk.announcements(id))).toEqual(ids.map(() => 1));
    const announced = disk.bridge.mqtt.messages
      .filter(({ topic, text }) => topic === 'sonic2mqtt/bridge/event' && text.includes('"incident_opened"'))
      .map(({ text }) => JSON.parse(text).id);
    expect(new Set(announced).size).toBe(announced.length);
    expect(disk.bridge.cloud.requests.count('sign_in')).toBe(1);
    const totals = disk.totals();
    expect(totals).toEqual(totals.toSorted((left, right) => left - right));
  });
});
