import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Snapshots } from '../../../src/health/snapshots.ts';
import { createRoutes } from '../../../src/http/routes.ts';
import { webhookReceiver } from '../../../src/webhook/webhookReceiver.ts';
import { FakeClock } from '../../support/fakeClock.ts';
import { httpRequest } from '../../support/httpRequest.ts';
import { openSocket, startHttpServer } from '../../support/httpServer.ts';
import { logLines } from '../../support/logLines.ts';

/** A webhook that is served, how often it says that something was delivered, and its log. */
async function start(signingSecret?: string, secret = 'one two/ü') {
  const clock = new FakeClock();
  const lines = logLines();
  let deliveries = 0;
  const onDelivery = () => {
    deliveries += 1;
  };
  const webhook = webhookReceiver(secret, signingSecret, onDelivery, clock, lines.log);
  const routes = createRoutes({} as Snapshots, webhook, clock, lines.secrets);
  const { url, port, lines: served } = await startHttpServer(routes);
  const deliver = async (ending: string, body = '{}', headers = {}, method = 'POST') =>
    (await httpRequest(`${url}/webhook/${ending}`, { method, body, headers })).status;
  const warnings = () =>
    [...lines.messages, ...served.messages].filter((line) => /^(warn|error): /.test(line));
  return { webhook, clock, lines, warnings, port, deliver, deliveries: () => deliveries };
}

describe('a delivery', () => {
  it.each(['one%20two%2F%C3%BC', 'one%20two/%c3%bc'])('finds the webhook at %s', async (ending) => {
    const { deliver, deliveries } = await start();
    expect(await deliver(ending)).toBe(202);
    expect(await deliver(ending, 'whatever', {}, 'PUT')).toBe(202);
    expect(deliveries()).toBe(2);
  });

  it.each(['', 'one', 'one%20two%2F%C3%BC/', 'ONE%20two%2F%C3%BC', '%', '%E0%A4%A'])(
    'to %j finds nothing, and its body is not waited for',
    async (ending) => {
      const { port, deliveries } = await start();
      const headers = 'Host: x\r\nContent-Length: 1000000';
      const client = await openSocket(port, `POST /webhook/${ending} HTTP/1.1\r\n${headers}\r\n\r\n`);
      await client.until(/^HTTP\/1\.1 404 [\s\S]*\{"status":"not_found"\}$/);
      expect(deliveries()).toBe(0);
    },
  );

  it('finds nothing by another method, as nobody is to know where the webhook is', async () => {
    const { deliver } = await start(undefined, 'x');
    for (const method of ['GET', 'DELETE', 'OPTIONS', 'PATCH']) {
      expect(await deliver('x', '', {}, method)).toBe(404);
    }
  });

  it('must be signed if there is a signing secret', async () => {
    const { webhook, clock, deliver, deliveries } = await start('hush', 'x');
    const at = Math.floor(clock.now() / 1_000);
    const signature = createHmac('sha256', 'hush').update(`${at}.{}`).digest('hex');
    const header = { 'HL-Signature': `t=${at},v1=${signature}` };
    expect(await deliver('x')).toBe(401);
    expect(await deliver('x', '{ }', header)).toBe(401);
    expect(deliveries()).toBe(0);
    expect(await deliver('x', '{}', header)).toBe(202);
    clock.advance(601_000);
    expect(await deliver('x', '{}', header)).toBe(401);
    expect(deliveries()).toBe(1);
    expect(webhook.counts).toEqual({ accepted: 1, not_found: 0, unauthorized: 3, too_large: 0 });
  });

  it('may have 64 KiB and no more: a longer one is rejected with 413, whatever it contains', async () => {
    const { webhook, port, deliver, deliveries } = await start(undefined, 'x');
    expect(await deliver('x', 'x'.repeat(65_536))).toBe(202);
    expect(await deliver('x', 'x'.repeat(65_537))).toBe(413);
    expect(await deliver('x', 'x'.repeat(20_000_000))).toBe(413);
    const chunk = `4000\r\n${'x'.repeat(0x4000)}\r\n`;
    const chunked = 'POST /webhook/x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n';
    for (const [chunks, status] of [
      [4, 202],
      [5, 413],
      [500, 413],
    ] as const) {
      const client = await openSocket(port, `${chunked}${chunk.repeat(chunks)}0\r\n\r\n`);
      await client.until(/\}$/);
      expect([client.text.slice(9, 12), client.error]).toEqual([String(status), null]);
    }
    const headers = 'POST /webhook/x HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: ';
    const asking = await openSocket(port, `${headers}2\r\n\r\n`);
    await asking.until('HTTP/1.1 100 ');
    asking.socket.write('ok');
    await asking.until('HTTP/1.1 202 ');
    const warned = await openSocket(port, `${headers}65537\r\n\r\n`);
    await warned.until('HTTP/1.1 413 ');
    expect([deliveries(), webhook.counts.too_large]).toEqual([3, 5]);
  });

  it('that is too large is not kept in memory', async () => {
    const { port, deliveries } = await start(undefined, 'x');
    const headers = 'Host: x\r\nTransfer-Encoding: chunked';
    const client = await openSocket(port, `POST /webhook/x HTTP/1.1\r\n${headers}\r\n\r\n`);
    const chunk = Buffer.from(`f4240\r\n${'x'.repeat(1_000_000)}\r\n`);
    const before = process.memoryUsage().arrayBuffers;
    for (let sent = 0; sent < 400; sent++) {
      if (!client.socket.write(chunk)) await new Promise((resolve) => client.socket.once('drain', resolve));
    }
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(200_000_000);
    client.socket.write('0\r\n\r\n');
    await client.until('HTTP/1.1 413 ');
    expect(deliveries()).toBe(0);
  });

  it('with an earlier secret is counted and logged, once an hour, without any of the two', async () => {
    const { webhook, clock, lines, warnings, deliver } = await start(undefined, 'the-new-one');
    for (let each = 0; each < 5; each++) await deliver('the-old-one');
    expect(webhook.counts).toMatchObject({ accepted: 0, not_found: 5 });
    const words = 'warn: Webhook call rejected: the address does not end with http.webhook.secret';
    expect(warnings()).toEqual([words]);
    clock.advance(3_600_000);
    await deliver('the-old-one');
    expect(warnings()).toEqual([words, words]);
    expect(lines.text).not.toMatch(/the-(old|new)-one/);
  });
});
