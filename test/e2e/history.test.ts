import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocketServer } from 'ws';
import { stringify } from 'yaml';
import { importInApp } from '../../src/cli/appHistory.ts';
import { readConfiguration } from '../../src/cli/configuration.ts';
import { dateAfter, dateAt, startOfDay } from '../../src/model/calendar.ts';
import { fault } from '../support/bridge.ts';
import { runProgram, startCallableCloud } from '../support/callProgram.ts';
import { logLines } from '../support/logLines.ts';
import { temporaryFolder } from '../support/program.ts';

/** By the calendar of the property, whose days have 23 to 25 hours. */
const timezone = 'Europe/London';
const today = dateAt(Date.now(), timezone);
const firstDay = dateAfter(today, -40);

const { simulator, config } = await startCallableCloud({
  properties: 1,
  signals: 1,
  sonics: 1,
  wifiSonics: 1,
});
const { world } = simulator;
const [sonic = '', wifi = ''] = world.thingIds;
world.changeSonic(sonic, {
  name: '=1+"a", b\n',
  created_at: new Date(startOfDay(firstDay, timezone)).toISOString(),
});

const run = (...args: string[]) => runProgram(['history', ...args], { config });
const rowsOf = (stdout: string, id: string) => stdout.split('\n').filter((line) => line.includes(id));

describe('sonic2mqtt history', () => {
  it('prints every day that the cloud has, for people and for programs', async () => {
    const { code, stdout, stderr } = await run('--csv');
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout.split('\n')[0]).toBe('date,litres,valve_id,valve,property');
    const rows = rowsOf(stdout, sonic);
    expect(rows).toHaveLength(41);
    expect(rows[0]).toMatch(new RegExp(`^${firstDay},\\d+(\\.\\d)?,${sonic},"'=1\\+""a"", b\\\\u000a",`));
    expect(rowsOf(stdout, wifi).length).toBeGreaterThan(400);
    const table = (await run()).stdout.split('\n');
    expect(table.slice(0, 2)).toEqual(['=1+"a", b\\u000a (Willow Cottage)', 'Date            Litres']);
    expect(table[43]).toMatch(/^41 days +[\d,]+\.\d$/);
  });

  it('begins with --from, and asks for no month before', async () => {
    const month = today.slice(0, 7);
    const { stdout } = await run('--csv', '--from', month);
    expect(rowsOf(stdout, wifi).length).toBe(Number(today.slice(8)));
  });

  it('prints nothing if a month cannot be read', async () => {
    simulator.setFaults([fault('error=500')]);
    const { code, stdout, stderr } = await run();
    simulator.setFaults([]);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr.trim().split('\n')).toHaveLength(1);
  });
});

/** A message that Home Assistant was sent. */
interface Asked {
  readonly id: number;
  readonly type: string;
  readonly access_token?: string;
  readonly period?: string;
  readonly start_time?: string;
  readonly statistic_ids?: readonly string[];
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly stats?: readonly { readonly start: string; readonly sum: number }[];
}

describe('sonic2mqtt history --home-assistant', () => {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0, path: '/ha/api/websocket' });
  const imports: Asked[] = [];
  const sums = new Map<string, number>();
  /** An old version that keeps gallons, and has no statistics yet. */
  const answers: Readonly<Record<string, (asked: Asked) => object>> = {
    'config/entity_registry/list': () => [
      { platform: 'mqtt', unique_id: `sonic2mqtt_${sonic}_water_total`, entity_id: 'sensor.own_name' },
      { platform: 'other', unique_id: `sonic2mqtt_${wifi}_water_total`, entity_id: 'sensor.wrong' },
    ],
    'recorder/get_statistics_metadata': () => [{ statistics_unit_of_measurement: 'gal' }],
    'recorder/statistics_during_period': ({ period, start_time = '' }) => {
      const sum = period === 'hour' ? sums.get(start_time) : undefined;
      return sum === undefined
        ? {}
        : { 'sensor.own_name': [{ start: Date.parse(start_time), sum: sum * 3.785411784, state: null }] };
    },
  };

  beforeAll(() => {
    server.on('connection', (socket) => {
      const send = (message: object) => socket.send(JSON.stringify(message));
      send({ type: 'auth_required' });
      socket.on('message', (data) => {
        const asked: Asked = JSON.parse(String(data));
        const { id, type, metadata, stats = [] } = asked;
        if (type === 'auth')
          return send({ type: asked.access_token === 'right' ? 'auth_ok' : 'auth_invalid' });
        if (metadata && 'mean_type' in metadata) {
          return send({
            id,
            type: 'result',
            success: false,
            error: { code: 'invalid_format', message: 'extra key' },
          });
        }
        if (metadata) imports.push(asked);
        for (const { start, sum } of stats) sums.set(start, sum);
        return send({ id, type: 'result', success: true, result: answers[type]?.(asked) ?? null });
      });
    });
  });
  afterAll(() => server.close());

  const importWith = (token: string) => {
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, 'token'), `${token}\n`);
    const { port } = server.address() as { port: number };
    const url = `http://127.0.0.1:${port}/ha/`;
    return runProgram(['history', '--home-assistant', url, '--token-file', 'token'], { config, cwd });
  };

  it('says that the token is wrong', async () => {
    const { code, stderr } = await importWith('wrong');
    expect([code, imports.length]).toEqual([1, 0]);
    expect(stderr).toMatch(/^sonic2mqtt: Home Assistant 127\.0\.0\.1:\d+: it rejects the token\./);
  });

  it('finds the entity by its unique id, keeps the unit, and says which valve it does not find', async () => {
    const { code, stdout, stderr } = await importWith('right');
    expect(code).toBe(1);
    expect(stderr).toContain('Home Assistant has no Water total of it');
    expect(stdout).toMatch(/: imported 40 days, /);
    expect(imports).toHaveLength(1);
    const [{ metadata, stats = [] } = { stats: [] }] = imports;
    expect(metadata).toEqual({
      ...{ statistic_id: 'sensor.own_name', source: 'recorder', unit_of_measurement: 'gal', name: null },
      ...{ has_mean: false, has_sum: true },
    });
    expect(stats[0]?.start).toBe('2000-01-01T00:00:00.000Z');
    const rows = rowsOf((await run('--csv')).stdout, sonic).slice(0, -1);
    const litres = rows.reduce((sum, row) => sum + Number(row.split(',')[1]), 0);
    expect((stats[0]?.sum ?? 0) * 3.785411784).toBeCloseTo(-litres, 3);
    expect(stats.at(-1)?.sum).toBe(0);
  });

  it('imports once from the app, and asks the cloud for nothing at the next start', async () => {
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, 'config.yaml'), stringify(config));
    const context = {
      ...{ env: {}, cwd, configFile: undefined, logLevel: undefined, print: () => {}, complain: () => {} },
      signal: new AbortController().signal,
    };
    const configuration = { ...(await readConfiguration(context)), log: logLines().log };
    const { port } = server.address() as { port: number };
    const access = { url: `ws://127.0.0.1:${port}/ha/api/websocket`, token: 'right' };
    const start = () => importInApp(configuration, access, context.signal, { firstMs: 1, nextMs: 1 });
    sums.clear();
    imports.length = 0;
    await start();
    expect(imports).toHaveLength(1);
    const requests = simulator.requests.count();
    await start();
    expect([imports.length, simulator.requests.count()]).toEqual([1, requests]);
  });
});
