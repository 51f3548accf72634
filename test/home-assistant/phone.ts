import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { request } from 'undici';
import { z } from 'zod';
import { waitFor } from '../support/waitFor.ts';
import type { HomeAssistant } from './homeAssistant.ts';

const pushed = z.object({
  // A message that clears another one has none.
  title: z.string().default(''),
  message: z.string(),
  data: z.object({
    tag: z.string().optional(),
    actions: z
      .array(
        z.object({
          action: z.string(),
          title: z.string(),
          authenticationRequired: z.boolean().optional(),
        }),
      )
      .optional(),
  }),
});
export type PhoneMessage = z.infer<typeof pushed>;

/** A phone with the Home Assistant app, as far as Home Assistant can tell. */
export interface Phone {
  /** The id of its device. */
  readonly deviceId: string;
  /** The messages that it received, oldest first. */
  readonly messages: readonly PhoneMessage[];
  /** Presses a button of a message. */
  press(action: string): Promise<void>;
  /** Reports where it is: home or not_home. */
  moveTo(place: string): Promise<void>;
  close(): void;
}

/** Signs a phone in at Home Assistant, and receives what is pushed to it. */
export async function addPhone(home: HomeAssistant, name: string): Promise<Phone> {
  const messages: PhoneMessage[] = [];
  const server = createServer(async (incoming, outgoing) => {
    let text = '';
    for await (const chunk of incoming) text += chunk;
    messages.push(pushed.parse(JSON.parse(text)));
    outgoing.writeHead(201, { 'content-type': 'application/json' }).end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const answer = await home.post('mobile_app/registrations', {
    ...{ app_id: 'test', app_name: 'Test', app_version: '1', device_id: name, device_name: name },
    ...{ manufacturer: 'Test', model: 'Test', os_name: 'Test', os_version: '1', supports_encryption: false },
    app_data: { push_token: 'token', push_url: `http://127.0.0.1:${port}/` },
  });
  const { webhook_id } = z.object({ webhook_id: z.string() }).parse(answer);
  const device = await waitFor(
    async () => (await home.devices()).find((each) => each.identifiers.flat().includes(name)),
    { what: `the device of ${name}` },
  );
  const report = async (type: string, data: object) => {
    await request(`${home.url}/api/webhook/${webhook_id}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ type, data }),
    });
  };
  return {
    deviceId: device.id,
    messages,
    press: (action) =>
      report('fire_event', { event_type: 'mobile_app_notification_action', event_data: { action } }),
    moveTo: (place) => report('update_location', { location_name: place, gps_accuracy: 10 }),
    close: () => void server.close(),
  };
}
