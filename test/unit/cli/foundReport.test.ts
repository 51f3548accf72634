import { describe, expect, it } from 'vitest';
import { foundReport } from '../../../src/cli/foundReport.ts';
import { CloudError } from '../../../src/cloud/errors.ts';
import { anIncident, aProperty, aSignal, aSonic } from '../../support/views.ts';

const account = {
  properties: [aProperty({ name: 'Oak Lodge', city: 'Exeter' })],
  signals: [aSignal({ version: '2.14.0', modem_version: '1.3' }), aSignal({ id: 'h2', version: '2.14.0' })],
  sonics: [aSonic({ name: 'Kitchen valve' })],
  wifiSonics: [],
  openIncidents: [anIncident({ type: 'long_flow_alert' }), anIncident({ id: 'i2', type: 'flooded_barn' })],
};

const sonicWith = (fields: object) => ({
  ...account,
  sonics: [{ ...aSonic({ name: 'Kitchen valve' }), ...fields }],
});

const reportOf = (seen: object = {}, own: string[] = []) =>
  foundReport({ ...account, ...seen }, [], own) as Readonly<Record<string, unknown>>;

describe('the report of what was found', () => {
  it('counts devices, versions and alerts', () => {
    expect(reportOf()).toMatchObject({
      counts: {
        properties: 1,
        hubs: 2,
        valves: 1,
        wifi_valves: 0,
        open_incidents: { long_flow_alert: 1, other: 1 },
      },
      hub_versions: { '2.14.0': 2 },
      unknown_fields: [],
      unknown_words: ['incident.type: flooded_barn'],
      withheld: 0,
    });
  });

  it('names each field and word that the program does not know, also of an answer to one operation', () => {
    const seen = sonicWith({ valve_model: 'SX', valve_state: 'half_open', battery: 'brand_new' });
    const answers = [
      { operation: 'read_telemetry' as const, sent: { water_flow: 1, humidity: 3 } },
      { operation: 'list_sonics' as const, sent: { data: [{ id: 's1', radio_connection: 'weak' }] } },
    ];
    expect(foundReport(seen, answers, [])).toMatchObject({
      unknown_fields: ['sonic.valve_model', 'telemetry.humidity'],
      unknown_words: expect.arrayContaining([
        'sonic.battery: brand_new',
        'sonic.radio_connection: weak',
        'sonic.valve_state: half_open',
      ]),
    });
  });

  it('shows how each operation ended, without the words of an error', () => {
    const error = new CloudError('notFound', 'read_hub', 'no hub Oak Lodge', { status: 404 });
    const answers = [
      { operation: 'read_hub' as const, error },
      { operation: 'read_sonic' as const, sent: {} },
      { operation: 'read_telemetry' as const, error: new Error('Oak Lodge') },
    ];
    expect(foundReport(account, answers, [])).toMatchObject({
      operations: {
        read_hub: { outcome: 'notFound', http_status: 404 },
        read_sonic: { outcome: 'ok' },
        read_telemetry: { outcome: 'failed' },
      },
    });
  });

  it.each([
    ['a name', { oak_lodge: true }],
    ['a part of a name', { kitchen: true }],
    ['a part of a name in a longer field', { kitchen_flow: 1 }],
    ['a word of the configuration', { ann: 1 }],
    ['an id', { 'a881cd42-4e42-4a85-9121-4aa1883c4ffd': 1 }],
    ['a serial number', { sn20481: 1 }],
    ['an address', { 'me@example.com': 1 }],
    ['a sentence', { 'whatever else': 1 }],
    ['a name as a word', { battery: 'exeter' }],
    ['a sentence as a word', { valve_state: 'Call +44 1632 960 123' }],
  ])('withholds %s, and says that it did', (_what, fields) => {
    const found = reportOf(sonicWith(fields), ['ann']);
    expect(found).toMatchObject({ unknown_fields: [], withheld: 1 });
    for (const text of Object.entries(fields).flat().map(String)) {
      if (text !== 'battery' && text !== 'valve_state' && text !== '1' && text !== 'true')
        expect(JSON.stringify(found)).not.toContain(text);
    }
  });

  it.each(['SN-20481', '192.168.1.10', '51.501', 'Exeter', '+441632960123'])(
    'shows no version %s',
    (version) => {
      const seen = { signals: [aSignal({ version })], properties: [aProperty({ lat: 51.501 })] };
      expect(reportOf(seen)).toMatchObject({ hub_versions: { other: 1 } });
    },
  );

  it('says null of what could not be read', () => {
    expect(foundReport({}, [], [])).toMatchObject({
      counts: { properties: null, hubs: null, open_incidents: null },
      hub_versions: null,
      operations: {},
    });
  });
});
