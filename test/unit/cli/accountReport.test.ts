import { describe, expect, it } from 'vitest';
import { accountReport } from '../../../src/cli/accountReport.ts';
import { CloudError } from '../../../src/cloud/errors.ts';
import { anIncident, aProperty, aSignal, aSonic } from '../../support/views.ts';

const account = {
  properties: [aProperty({ name: 'Oak Lodge', city: 'Exeter' })],
  signals: [
    aSignal({ version: '2.14.0', modem_version: '1.3' }),
    aSignal({ id: 'h2', version: '2.14.0', modem_version: null }),
  ],
  sonics: [aSonic({ name: 'Kitchen valve' })],
  wifiSonics: [],
  openIncidents: [anIncident({ type: 'long_flow_alert' }), anIncident({ id: 'i2', type: 'flooded_barn' })],
};

const sonicWith = (fields: object) => ({
  operation: 'list_sonics' as const,
  sent: { data: [{ ...aSonic({ name: 'Kitchen valve' }), ...fields }] },
});

type Answers = Parameters<typeof accountReport>[1];
const reportOf = (seen: object = {}, answers: Answers = []) =>
  accountReport({ ...account, ...seen }, answers) as Readonly<Record<string, unknown>>;

describe('the report of an account', () => {
  it('counts versions', () => {
    expect(reportOf()).toMatchObject({
      hub_versions: { '2.14.0': 2 },
      modem_versions: { '1.3': 1, other: 1 },
      unknown_fields: [],
      withheld: 0,
    });
  });

  it('names each field that the program does not know, also of an answer to one operation', () => {
    const answers = [
      { operation: 'read_telemetry' as const, sent: { water_flow: 1, humidity: 3 } },
      sonicWith({ valve_model: 'SX', radio_band: 868 }),
    ];
    expect(accountReport(account, answers)).toMatchObject({
      unknown_fields: ['sonic.radio_band', 'sonic.valve_model', 'telemetry.humidity'],
    });
  });

  it('shows how each operation ended, without the words of an error', () => {
    const error = new CloudError('notFound', 'read_hub', 'no hub Oak Lodge', { status: 404 });
    const answers = [
      { operation: 'read_hub' as const, error },
      { operation: 'read_sonic' as const, sent: {} },
      { operation: 'read_telemetry' as const, error: new Error('Oak Lodge') },
    ];
    expect(accountReport(account, answers)).toMatchObject({
      operations: {
        read_hub: { outcome: 'notFound', http_status: 404 },
        read_sonic: { outcome: 'ok' },
        read_telemetry: { outcome: 'failed' },
      },
    });
  });

  it('contains no value of a record', () => {
    const words = { battery: 'exeter', valve_state: 'Call +44 1632 960 123', radio_connection: 'oak lodge' };
    const text = JSON.stringify(reportOf({}, [sonicWith(words)])).toLowerCase();
    for (const value of [...Object.values(words), 'flooded_barn', 'kitchen']) {
      expect(text).not.toContain(value.toLowerCase());
    }
  });

  it.each([
    ['a name', { 'Oak Lodge': true }],
    ['an id', { 'a881cd42-4e42-4a85-9121-4aa1883c4ffd': 1 }],
    ['a serial number', { sn20481: 1 }],
    ['an address', { 'me@example.com': 1 }],
    ['a sentence', { 'whatever else': 1 }],
  ])('withholds %s as a field, and says that it did', (_what, fields) => {
    const found = reportOf({}, [sonicWith(fields)]);
    expect(found).toMatchObject({ unknown_fields: [], withheld: 1 });
    for (const field of Object.keys(fields)) expect(JSON.stringify(found)).not.toContain(field);
  });

  it.each(['SN-20481', '192.168.1.10', '51.501', 'Exeter', '+441632960123'])(
    'shows no version %s',
    (version) => {
      expect(reportOf({ signals: [aSignal({ version })] })).toMatchObject({ hub_versions: { other: 1 } });
    },
  );

  it('says null of versions that could not be read', () => {
    expect(accountReport({}, [])).toMatchObject({ hub_versions: null, operations: {} });
  });
});
