import { describe, expect, it } from 'vitest';
import { chromiumAvailable, openTab, waitInTab } from '../support/chromium.ts';
import { readEvents } from '../support/eventStream.ts';
import { fault } from '../support/house.ts';
import { ask, startHttpHouse } from '../support/httpHouse.ts';
import { ingressPath, startIngress } from '../support/ingress.ts';
import { waitFor } from '../support/waitFor.ts';

const small = { properties: 1, signals: 1, sonics: 1 };
const files = ['/', '/page.css', '/page.js', '/icon.svg'];
const paths = [...files, '/status.json', '/events'];

/** A house whose one valve is shown on the page. */
async function startShown(...options: Parameters<typeof startHttpHouse>) {
  const started = await startHttpHouse(options[0], { cloud: small, ...options[1] });
  const document = async () => JSON.parse((await ask(`${started.url}/status.json`)).text).status;
  const isShown = async () => (await document()).isWhole && (await document()).broker.status === 'up';
  await waitFor(isShown, { what: 'the house', timeoutMs: 15_000 });
  const [id = ''] = started.house.simulator.world.sonics.ids;
  return { ...started, id, document };
}

const valveIn = (document: { properties: { sonics: { valve: string }[] }[] }) =>
  document.properties[0]?.sonics[0];

describe('the page', () => {
  it('lets nothing be loaded from elsewhere, framed by others, or told to others', async () => {
    const { url } = await startShown();
    for (const path of paths.slice(0, -1)) {
      const { status, headers } = await ask(url + path);
      expect([path, status]).toEqual([path, 200]);
      expect(headers).toMatchObject({
        'content-security-policy':
          "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'",
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'cache-control': 'no-store',
        'cross-origin-resource-policy': 'same-origin',
      });
    }
    const types = await Promise.all(
      files.map(async (path) => (await ask(url + path)).headers['content-type']),
    );
    expect(types).toEqual(
      ['text/html', 'text/css', 'text/javascript', 'image/svg+xml'].map((type) => `${type}; charset=utf-8`),
    );
    for (const path of files) {
      const { text } = await ask(url + path);
      // It works below any prefix, and knows no other place.
      expect(text).not.toMatch(
        /(?:href|src)="(?:\/|https?:)|url\(|@import|https?:\/\/(?!www\.w3\.org\/2000\/svg)/,
      );
      expect(text).not.toMatch(
        /innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|\sstyle="|\son\w+="/,
      );
    }
  });

  it('takes no command: every other method is refused, on every path', async () => {
    const { url, house } = await startShown();
    const before = house.simulator.requests.count('command_valve');
    for (const path of paths) {
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
        const answer = await ask(url + path, {
          method,
          ...(method.startsWith('P') && { body: '{"action":"close"}' }),
        });
        expect([path, method, answer.status, answer.headers['allow']]).toEqual([
          path,
          method,
          405,
          'GET, HEAD',
        ]);
      }
      const head = await ask(url + path, { method: 'HEAD' });
      expect([path, head.status, head.text]).toEqual([path, 200, '']);
    }
    expect(house.simulator.requests.count('command_valve')).toBe(before);
  });

  it('has names, and nothing else that tells whose home it is', async () => {
    const { url, house } = await startShown();
    const { text } = await ask(`${url}/status.json`);
    const { world } = house.simulator;
    const records = [...world.sonics.values(), ...world.signals.values(), ...world.properties.values()];
    for (const record of records) expect(text).toContain(JSON.stringify(record.name));
    const telling = ['id', 'serial_no', 'signal_id', 'address', 'city', 'postcode', 'uprn'];
    const words = records.flatMap((record) =>
      Object.entries(record).flatMap(([field, word]) =>
        word && telling.includes(field) ? [String(word)] : [],
      ),
    );
    expect(words.length).toBeGreaterThan(6);
    for (const word of [...words, 'demo@example.com']) expect(text).not.toContain(word);
  });
});

const lists = ['list_properties', 'list_signals', 'list_sonics', 'list_wifi_sonics', 'list_incidents'];

/** The document of a bridge that waits for these answers of the cloud, once it is connected to the broker. */
async function startHanging(operations: readonly string[]) {
  const faults = operations.map((operation) => fault(`hang@${operation}`));
  const { url, house } = await startHttpHouse(
    {},
    { cloud: { ...small, faults }, config: { cloud: { request_timeout: '60s' } } },
  );
  const document = async () => JSON.parse((await ask(`${url}/status.json`)).text).status;
  const waitForDocument = (isReached: (document: Document) => boolean) =>
    waitFor(
      async () => {
        const present = await document();
        return isReached(present) && present;
      },
      { what: 'the state of the first reading', timeoutMs: 15_000 },
    );
  return { house, waitForDocument };
}

type Document = Awaited<ReturnType<Awaited<ReturnType<typeof startShown>>['document']>>;

const pollOf = (document: Document, slice: string) =>
  document.polls.find((poll: { slice: string }) => poll.slice === slice);

describe('before the first reading is complete', () => {
  it('nothing has failed, and nothing is missing, while the cloud hangs at the first list', async () => {
    const { waitForDocument } = await startHanging(lists);
    // The bridge judges how it does two seconds after the start without an answer.
    const waiting = await waitForDocument(
      ({ health, broker }) => health.status !== null && broker.status === 'loading',
    );
    expect(waiting).toMatchObject({
      health: { status: 'degraded' },
      cloud: { status: 'connecting', workedAt: null },
      broker: { reason: 'Connected, waiting for data from the cloud' },
      isLoading: true,
      isWhole: false,
      emptiness: null,
      incidents: { areKnown: false, readAt: null },
    });
    expect(waiting.polls.every(({ isPending }: { isPending: boolean }) => isPending)).toBe(true);
  });

  it('what was read is counted, and fresh, while the cloud hangs at the sonics without a hub', async () => {
    const { waitForDocument } = await startHanging(['list_wifi_sonics']);
    const loading = await waitForDocument(
      (document) => pollOf(document, 'incidents').lastSuccessAt !== null && document.valves.open === 1,
    );
    expect(loading).toMatchObject({ cloud: { status: 'loading' }, isLoading: true, isWhole: false });
    expect(pollOf(loading, 'properties')).toMatchObject({ isPending: false, records: 1 });
    expect(pollOf(loading, 'sonics')).toMatchObject({ isPending: true, records: 1, lastSuccessAt: null });
    expect(valveIn(loading)).toMatchObject({ valve: 'open', doubt: null });
  });

  it('is over with an account in which there is nothing, and that is said', async () => {
    const { url } = await startHttpHouse({}, { cloud: { properties: 0, signals: 0, sonics: 0 } });
    const document = async () => JSON.parse((await ask(`${url}/status.json`)).text).status;
    const empty = await waitFor(
      async () => {
        const present = await document();
        return !present.isLoading && present.isWhole && present;
      },
      { what: 'the end of the first reading', timeoutMs: 15_000 },
    );
    expect(empty).toMatchObject({
      emptiness: 'the account has no property',
      properties: [],
      cloud: { status: 'up' },
    });
  });
});

describe('the stream', () => {
  it('says all at first, and then what has changed: a valve, a cloud that is away, a broker that is away', async () => {
    const { house, id, url } = await startShown({}, { config: { stale_after: '1s' } });
    const startedAt = Date.now();
    const stream = await readEvents(`${url}/events`);
    expect(stream.response.headers['content-type']).toBe('text/event-stream; charset=utf-8');
    expect(stream.response.headers['x-accel-buffering']).toBe('no');
    const last = () => stream.documents.at(-1);
    await waitFor(() => stream.documents.length > 0, { what: 'the first document' });
    expect(valveIn(stream.documents[0])).toMatchObject({ valve: 'open', doubt: null });
    const isIncidentThere = () => last().properties[0].openIncidents === 1;
    await waitFor(isIncidentThere, { what: 'the open incident' });
    expect(last().properties[0]).toMatchObject({ areIncidentsKnown: true, incidentsReadAt: null });

    house.simulator.world.setValve(id, 'closed');
    await waitFor(() => valveIn(last())?.valve === 'closed', { what: 'the closed valve' });
    expect(last().valves).toMatchObject({ open: 0, closed: 1, unknown: 0 });

    await house.broker.stop();
    await waitFor(() => last().broker.status === 'down', { what: 'the missing broker' });

    house.simulator.setFaults([fault('error=503')]);
    await waitFor(() => last().cloud.status === 'down', { what: 'the missing cloud', timeoutMs: 10_000 });
    expect(last().cloud.reason).toContain('503');
    await waitFor(() => last().valves.unknown === 1, { what: 'the valve that is old', timeoutMs: 10_000 });
    expect(valveIn(last())).toMatchObject({ valve: 'closed', doubt: 'old', readAt: expect.any(Number) });
    expect(last().valves).toMatchObject({ closed: 0, unknown: 1 });
    expect(last().cloud.workedAt).toBeGreaterThan(startedAt);
    expect(last().broker.workedAt).toBeGreaterThan(startedAt);
    // What was known before is not taken back.
    expect(last().properties[0]).toMatchObject({
      openIncidents: 1,
      areIncidentsKnown: false,
      incidentsReadAt: expect.any(Number),
    });
  });

  it('is for so many at a time, and leaves room for those who ask whether the bridge is well', async () => {
    const { url } = await startShown();
    const streams = await Promise.all(Array.from({ length: 16 }, () => readEvents(`${url}/events`)));
    expect(streams.map(({ response }) => response.statusCode)).toEqual(streams.map(() => 200));
    const refused = await Promise.all(Array.from({ length: 40 }, () => ask(`${url}/events`)));
    expect(new Set(refused.map(({ status }) => status))).toEqual(new Set([503]));
    for (const path of ['/healthz', '/status.json']) expect((await ask(url + path)).status).toBe(200);
    streams[0]?.request.destroy();
    await waitFor(
      async () => {
        const stream = await readEvents(`${url}/events`);
        return stream.response.statusCode === 200;
      },
      { what: 'a free stream' },
    );
  });

  it('ends with the bridge, which is gone in time', async () => {
    const { house, url } = await startShown();
    const stream = await readEvents(`${url}/events`);
    const { code, durationMs } = await house.bridge.stop();
    expect(code).toBe(0);
    expect(durationMs).toBeLessThan(5_000);
    await waitFor(() => stream.isOver, { what: 'the end of the stream' });
  });
});

// What else it looks like in a browser is tested nightly.
it.runIf(chromiumAvailable())(
  'a browser shows the names of the cloud as text and never as HTML',
  async () => {
    const { url, house, id } = await startShown();
    const hostile = `<img src=x onerror="document.title='broken into'">`;
    house.simulator.world.changeSonic(id, { name: hostile });
    const tab = await openTab(`${url}/`, { width: 1280, height: 900 });
    await waitInTab(tab, `document.querySelector('main').innerText.includes(${JSON.stringify(hostile)})`);
    expect(await tab.evaluate('document.querySelectorAll("main img").length')).toBe(0);
    expect(await tab.evaluate('document.title')).toBe('sonic2mqtt');
    expect(tab.complaints).toEqual([]);
  },
);

describe('behind the ingress of Home Assistant', () => {
  it('all is found below its prefix, and the stream comes through', async () => {
    const { url } = await startShown();
    const below = (await startIngress(url)).url + ingressPath;
    const page = await ask(`${below}/`);
    const named = [...page.text.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, name = '']) => name);
    expect(named.length).toBeGreaterThan(3);
    for (const name of named)
      expect([name, (await ask(new URL(name, `${below}/`).href)).status]).toEqual([name, 200]);
    const stream = await readEvents(`${below}/events`);
    await waitFor(() => stream.documents.length > 0, { what: 'the first document' });
  });
});

describe('http.only_from', () => {
  it.each([
    [['192.0.2.1', '192.168.0.0/16'], false],
    [['192.0.2.1', '127.0.0.0/8'], true],
  ])('of %j answers this machine: %s', async (only_from, isAnswered) => {
    const { url } = await startHttpHouse({ only_from }, { cloud: small });
    for (const path of ['/', '/healthz', '/metrics', '/nowhere']) {
      const status = await ask(url + path).then(
        (answer) => answer.status,
        ({ code }) => code,
      );
      expect([path, status]).toEqual([path, isAnswered ? (path === '/nowhere' ? 404 : 200) : 'ECONNRESET']);
    }
  });
});
