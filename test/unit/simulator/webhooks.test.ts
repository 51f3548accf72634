import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Simulator, type SimulatorOptions } from '../../../src/simulator/simulator.ts';
import { signatureProblem } from '../../../src/webhook/signature.ts';
import { CloudTestClient } from '../../support/cloudTestClient.ts';
import { waitFor } from '../../support/waitFor.ts';

/** A cloud with one property, and somebody who listens to its webhook. */
async function start(options: SimulatorOptions = {}) {
  const calls: { signature: string | undefined; body: string }[] = [];
  const server = createServer(async (request, response) => {
    const signature = request.headers['hl-signature'];
    calls.push({ signature: signature?.toString(), body: await text(request) });
    response.writeHead(202).end();
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  onTestFinished(() => void server.close());
  const simulator = new Simulator({ properties: 1, signals: 1, sonics: 1, quiet: true, ...options });
  await simulator.start();
  onTestFinished(() => simulator.stop());
  const { world } = simulator;
  const [propertyId = ''] = world.properties.ids;
  const webhook_url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
  const client = new CloudTestClient(simulator);
  await client.signIn();
  const register = (webhook_enabled = true) =>
    client.ask('PUT', `/ape/v1/properties/${propertyId}/settings`, {
      body: { webhook_enabled, webhook_url },
    });
  return { simulator, world, calls, register, propertyId };
}

describe('a webhook', () => {
  it('is called when an incident opens and closes, with a right signature', async () => {
    const { simulator, world, calls, register, propertyId } = await start({ signingSecret: 'hush' });
    await register();
    const { id, sonic_id } = world.openIncident({ type: 'high_humidity' });
    world.actOnIncident(id, 'snooze');
    world.actOnIncident(id, 'dismiss');
    world.actOnIncident(id, 'reopen');
    world.closeIncident(id);
    world.closeIncident(id);
    await waitFor(() => simulator.deliveries.length === 4, { what: 'four calls' });
    const told = calls.map(({ body }) => JSON.parse(body));
    expect(told.map(({ type }) => type).toSorted()).toEqual([
      'incident.closed',
      'incident.closed',
      'incident.created',
      'incident.created',
    ]);
    const data = { incident_id: id, incident_type: 'high_humidity', property_id: propertyId, sonic_id };
    expect(told[0].data).toEqual({ ...data, details: expect.any(String) });
    for (const { signature, body } of calls) {
      expect(signatureProblem(signature, Buffer.from(body), 'hush', Date.now())).toBeNull();
    }
  });

  it('is not signed without a secret, and not called while it is switched off', async () => {
    const { simulator, world, calls, register } = await start();
    world.openIncident({ type: 'high_humidity' });
    await register(false);
    world.openIncident({ type: 'low_temperature' });
    await register();
    world.openIncident({ type: 'high_temperature' });
    await waitFor(() => simulator.deliveries.length > 0, { what: 'the call' });
    expect(calls.map(({ body, signature }) => [JSON.parse(body).data.incident_type, signature])).toEqual([
      ['high_temperature', undefined],
    ]);
  });

  it('that does not answer harms nobody', async () => {
    const { simulator, world, propertyId } = await start();
    world.settings.change(propertyId, { webhook_enabled: true, webhook_url: 'http://127.0.0.1:1/' });
    world.openIncident({ type: 'high_humidity' });
    await waitFor(() => simulator.deliveries.length === 1, { what: 'the attempt' });
    expect(simulator.deliveries[0]).toMatchObject({ status: null, event: 'incident.created' });
  });
});
