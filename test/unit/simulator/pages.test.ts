import { describe, expect, it } from 'vitest';
import { demoCredentials, Simulator } from '../../../src/simulator/simulator.ts';

function simulatedCloud() {
  const simulator = new Simulator({ properties: 2, signals: 2, sonics: 23, quiet: true });
  const ask = (method: string, target: string, text = '', authorization?: string) =>
    simulator.answer({ method, target, authorization, contentType: 'application/json', text });
  const signedIn = ask('POST', '/user-service/auth/sign_in', JSON.stringify(demoCredentials));
  const bearer = `Bearer ${JSON.parse(signedIn.text).token_details}`;
  return { world: simulator.world, read: (target: string) => ask('GET', target, '', bearer).text };
}

describe('a page', () => {
  it('is the JSON of its records and of its place, to the byte, however often it is shown', () => {
    const { world, read } = simulatedCloud();
    const place = { page_number: 3, page_size: 10, total_entries: 23, total_pages: 3 };
    const data = world.sonics.ids.slice(20).map((id) => world.sonics.get(id));
    const expected = JSON.stringify({ data, ...place });
    expect(read('/ape/v1/sonics?page=3')).toBe(expected);
    expect(read('/ape/v1/sonics?page=3')).toBe(expected);
    expect(read('/ape/v1/sonics?page=4')).toBe(JSON.stringify({ data: [], ...place, page_number: 4 }));
  });

  it('shows a record that has changed since it was last shown', () => {
    const { world, read } = simulatedCloud();
    const [first = ''] = world.sonics.ids;
    const shown = () => JSON.parse(read('/ape/v1/sonics')).data[0];
    expect(shown()).toMatchObject({ id: first, valve_state: 'open', radio_rssi: expect.any(Number) });
    world.changeSonic(first, { radio_rssi: 7 });
    world.setValve(first, 'closed');
    expect(shown()).toMatchObject({ id: first, valve_state: 'closed', radio_rssi: 7 });
  });

  it('has null in the place of a record that is no more', () => {
    const { world, read } = simulatedCloud();
    const [signalId = ''] = world.signals.ids;
    const [sonicId = ''] = world.sonicIdsOf(signalId);
    world.sonics.delete(sonicId);
    expect(JSON.parse(read(`/ape/v1/signals/${signalId}/sonics`)).data[0]).toBeNull();
  });
});
