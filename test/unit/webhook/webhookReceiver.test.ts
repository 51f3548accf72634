import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { findRoute, type Question } from '../../../src/http/routes.ts';
import type { EarlyPoll } from '../../../src/webhook/earlyPoll.ts';
import { WebhookReceiver } from '../../../src/webhook/webhookReceiver.ts';
import { FakeClock } from '../../support/fakeClock.ts';
import { logLines } from '../../support/logLines.ts';

const query = new URLSearchParams();

/** A webhook, and what it was told and says. */
function start(signingSecret?: string, secret = 'one two/ü') {
  const clock = new FakeClock();
  const lines = logLines();
  let delivered = 0;
  const earlyPoll = { ask: () => void delivered++ } as unknown as EarlyPoll;
  const options = { secret, signingSecret, earlyPoll };
  const webhook = new WebhookReceiver(options, clock, lines.log);
  const deliver = (
    rest: string,
    body: Buffer | null = Buffer.from('{}'),
    headers: Question['headers'] = {},
  ) => webhook.route.answer({ rest, query, headers, readBody: async () => body });
  return { webhook, clock, lines, deliver, delivered: () => delivered };
}

describe('a delivery', () => {
  it.each(['one%20two%2F%C3%BC', 'one two/ü', 'one%20two/%c3%bc'])(
    'finds the webhook at %s',
    async (rest) => {
      const { deliver, delivered } = start();
      expect(await deliver(rest)).toMatchObject({ status: 202 });
      expect(delivered()).toBe(1);
    },
  );

  it.each(['', 'one', 'one%20two%2F%C3%BC/', 'ONE%20two%2F%C3%BC', '%', '%E0%A4%A'])(
    'to %j finds nothing, and its body is not read',
    async (rest) => {
      const { webhook, delivered } = start();
      const readBody = () => Promise.reject(new Error('it was read'));
      const reply = await webhook.route.answer({ rest, query, headers: {}, readBody });
      expect(reply).toMatchObject({ status: 404, text: '{"status":"not_found"}' });
      expect(delivered()).toBe(0);
    },
  );

  it('finds nothing by another method, as nobody is to know where the webhook is', () => {
    const { route } = start().webhook;
    for (const method of ['GET', 'HEAD', 'DELETE', 'OPTIONS', 'PATCH']) {
      expect(findRoute([route], method, '/webhook/x')).toEqual({ kind: 'nowhere' });
    }
    expect(findRoute([route], 'PUT', '/webhook/x?y')).toMatchObject({ kind: 'route', rest: 'x' });
  });

  it('must be signed where a signing secret is set', async () => {
    const { webhook, clock, deliver, delivered } = start('hush', 'x');
    const at = Math.floor(clock.now() / 1_000);
    const signature = createHmac('sha256', 'hush').update(`${at}.{}`).digest('hex');
    const header = { 'hl-signature': `t=${at},v1=${signature}` };
    expect(await deliver('x')).toMatchObject({ status: 401 });
    expect(await deliver('x', Buffer.from('{ }'), header)).toMatchObject({ status: 401 });
    expect(delivered()).toBe(0);
    expect(await deliver('x', Buffer.from('{}'), header)).toMatchObject({ status: 202 });
    clock.advance(601_000);
    expect(await deliver('x', Buffer.from('{}'), header)).toMatchObject({ status: 401 });
    expect(delivered()).toBe(1);
    expect(webhook.counts).toEqual({ accepted: 1, not_found: 0, unauthorized: 3, too_large: 0 });
  });

  it('that is too large is refused', async () => {
    const { webhook, deliver, delivered } = start();
    expect(await deliver('one two/ü', null)).toMatchObject({ status: 413 });
    expect([delivered(), webhook.counts.too_large]).toEqual([0, 1]);
  });

  it('with an earlier secret is counted and said, once an hour, without any of the two', async () => {
    const { webhook, clock, lines, deliver } = start(undefined, 'the-new-one');
    for (let each = 0; each < 5; each++) await deliver('the-old-one');
    expect(webhook.counts).toMatchObject({ accepted: 0, not_found: 5 });
    const words =
      'warn: A delivery to the webhook was refused: its address does not end with http.webhook.secret';
    expect(lines.messages.filter((line) => line.startsWith('warn: '))).toEqual([words]);
    clock.advance(3_600_000);
    await deliver('the-old-one');
    expect(lines.messages.filter((line) => line === words)).toHaveLength(2);
    expect(lines.text).not.toMatch(/the-(old|new)-one/);
  });

  it('that is refused is said once an hour', async () => {
    const { clock, lines, deliver } = start('hush', 'x');
    const warnings = () => lines.messages.filter((line) => line.startsWith('warn: '));
    for (let each = 0; each < 5; each++) await deliver('x');
    expect(warnings()).toEqual(['warn: A delivery to the webhook was refused: it is not signed']);
    await deliver('x', null);
    expect(warnings()).toHaveLength(2);
    clock.advance(3_600_000);
    await deliver('x');
    expect(warnings()).toHaveLength(3);
  });
});
