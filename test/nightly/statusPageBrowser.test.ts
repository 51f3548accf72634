import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import type { Snapshots, StatusSnapshot } from '../../src/health/snapshots.ts';
import { createRoutes } from '../../src/http/routes.ts';
import { fault, quick, startBridge } from '../support/bridge.ts';
import { chromiumAvailable, openTab, type Tab, waitInTab } from '../support/chromium.ts';
import { readEvents } from '../support/eventStream.ts';
import { httpRequest } from '../support/httpRequest.ts';
import { startHttpServer } from '../support/httpServer.ts';
import { ingressPath, startIngress } from '../support/ingress.ts';
import { logLines } from '../support/logLines.ts';
import { freePort } from '../support/ports.ts';
import { temporaryFolder } from '../support/program.ts';
import { propertyView, sonicView } from '../support/views.ts';
import { waitFor } from '../support/waitFor.ts';

const desktop = { width: 1280, height: 900 };
const phone = { width: 390, height: 844, isPhone: true };
const looks = {
  'a desktop in light': { ...desktop, scheme: 'light' },
  'a desktop in dark': { ...desktop, scheme: 'dark' },
  'a phone in light': { ...phone, scheme: 'light' },
  'a phone in dark': { ...phone, scheme: 'dark' },
} as const;

const hostile = `<img src=x onerror="document.title='broken into'"><script>document.title='broken into'</script>`;

/** A bridge that serves the page. */
async function startWithHttp(http: object = {}, options: Parameters<typeof startBridge>[0] = {}) {
  const config = { http: { listen: '127.0.0.1:0', ...http }, ...options.config };
  const bridge = await startBridge({ ...options, config, isAwaited: false });
  const [, url = ''] = await bridge.program.waitForOutput(/HTTP: listening on (http:\/\/127\.0\.0\.1:\d+)/);
  return { bridge, port: Number(new URL(url).port), url };
}

/** A bridge whose valves are all that they can be, with names that want to be more than names. */
async function startShown(http: object = {}) {
  const cloud = { properties: 2, signals: 3, sonics: 6 };
  const config = { schedules: { ...quick, usage: '1s' }, stale_after: '2s' };
  const started = await startWithHttp(http, { cloud, config });
  const { world } = started.bridge.cloud;
  const ids = world.sonics.ids;
  const [closed = '', named = '', silent = '', faulty = ''] = ids;
  world.setValve(closed, 'closed');
  world.changeSonic(named, { name: hostile, battery: 'low' });
  world.dropRadio(silent);
  world.setValve(faulty, 'faulty');
  const document = async () => JSON.parse((await httpRequest(`${started.url}/status.json`)).text).status;
  const isKnown = async () => {
    const { valves, properties } = await document();
    return valves.closed === 1 && properties[0].usage.length > 0;
  };
  await waitFor(isKnown, { what: 'all valves', timeoutMs: 15_000 });
  return { ...started, world, closed };
}

/** Pairs of colours that are told apart too badly (WCAG AA), of each text that is to be seen. */
const faintTexts = `(() => {
  const channels = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const luminance = (colour) => {
    const [r, g, b] = channels(colour).slice(0, 3).map((each) => each / 255)
      .map((each) => each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const { backgroundColor } = getComputedStyle(each);
      if ((channels(backgroundColor)[3] ?? 1) > 0) return backgroundColor;
    }
    return 'rgb(255, 255, 255)';
  };
  const texts = [...document.querySelectorAll('body *')].filter((each) =>
    [...each.childNodes].some((child) => child.nodeType === 3 && child.data.trim()) && each.checkVisibility());
  return texts.flatMap((each) => {
    const [light, dark] = [luminance(getComputedStyle(each).color), luminance(ground(each))].sort((a, b) => b - a);
    const contrast = (light + 0.05) / (dark + 0.05);
    return contrast < 4.5 ? [each.textContent.slice(0, 40) + ': ' + contrast.toFixed(2)] : [];
  });
})()`;

/** Names of polls that are broken within a word where beside them is told at length what went wrong. */
const brokenNames = `(() => {
  const rows = [...document.querySelectorAll('#polls tbody tr')];
  for (const row of rows) row.lastChild.textContent = 'it went wrong '.repeat(20);
  const words = document.createRange();
  return rows.map(({ firstChild: name }) => {
    words.selectNodeContents(name);
    return words.getClientRects().length > name.textContent.split(' ').length ? name.textContent : '';
  }).filter(Boolean);
})()`;

const text = (tab: Tab) => tab.evaluate('document.body.innerText').then(String);
const isLive = `document.querySelector('#link').dataset.state === 'live'`;
const isAway = `document.querySelector('#link').dataset.state === 'away'`;
const has = (selector: string, words: string) =>
  `[...document.querySelectorAll('${selector}')].some((each) => each.innerText.includes('${words}'))`;

describe.runIf(chromiumAvailable())('the status page in a browser', { timeout: 60_000 }, () => {
  it('is readable on a phone and a desktop, in light and dark, and asks nobody else for anything', async () => {
    const { url } = await startShown();
    const folder = temporaryFolder();
    for (const [name, look] of Object.entries(looks)) {
      const tab = await openTab(`${url}/`, look);
      await waitInTab(tab, `${isLive} && document.querySelector('.chart')`);
      await tab.takePicture(join(folder, `${name}.png`), true);
      expect(await tab.evaluate('document.documentElement.scrollWidth <= innerWidth'), name).toBe(true);
      expect(await tab.evaluate(brokenNames), name).toEqual([]);
      expect(await tab.evaluate('matchMedia("(prefers-color-scheme: dark)").matches')).toBe(
        look.scheme === 'dark',
      );
      expect(await tab.evaluate(faintTexts), name).toEqual([]);
      await tab.evaluate(`document.body.classList.add('is-lost')`);
      expect(await tab.evaluate(faintTexts), `${name}, lost`).toEqual([]);
      expect(tab.complaints, name).toEqual([]);
      expect(tab.requests.filter((address) => !address.startsWith(`${url}/`))).toEqual([]);
      await tab.close();
    }
  });

  it('shows names as the text that they are, and never a position that nobody knows', async () => {
    const { url } = await startShown();
    const tab = await openTab(`${url}/`, { ...desktop, timezone: 'Asia/Tokyo' });
    await waitInTab(tab, `${isLive} && document.querySelector('.chart')`);
    const said = await text(tab);
    expect(said).toContain(hostile);
    expect(said).toContain('Water running too long, severity high');
    expect(await tab.evaluate('document.title')).toBe('sonic2mqtt');
    expect(await tab.evaluate('document.querySelectorAll("main img, main script").length')).toBe(0);
    const pills = `[...document.querySelectorAll('.valve')].map((each) => each.innerText)`;
    const shown = Object(await tab.evaluate(pills));
    expect(shown.toSorted()).toEqual(['closed', 'open', 'open', 'open', 'unknown', 'was open']);
    expect(said).toContain('2 not known at present');
    // In the reader's time zone.
    const times = `[...document.querySelectorAll('time')].map((each) => [each.dateTime, each.title])`;
    const [[iso = '', title = ''] = []] = Object(await tab.evaluate(times));
    const local = new Date(iso).toLocaleTimeString('en-GB', { timeZone: 'Asia/Tokyo' });
    expect(title).toContain(local);
    expect(tab.complaints).toEqual([]);
  });

  it('shows a valve that moves, a cloud that is away, and a bridge that is gone, without being asked', async () => {
    const port = await freePort();
    const { bridge, world, closed } = await startShownAt(port);
    const tab = await openTab(`http://127.0.0.1:${port}/`, desktop);
    await waitInTab(tab, `${isLive} && ${has('.is-closed', 'closed')}`);
    world.setValve(closed, 'opening');
    await waitInTab(tab, has('.is-moving', 'opening'));
    world.setValve(closed, 'closed');
    await waitInTab(tab, has('.is-closed', 'closed'));

    bridge.cloud.setFaults([fault('error=503')]);
    await waitInTab(
      tab,
      `${has('#notice', 'No connection to the cloud. Showing data from')} && ${has('.is-unsure', 'was closed')}`,
    );
    expect(await tab.evaluate(has('.is-closed', ''))).toBe(false);
    expect(await text(tab)).toMatch(/No update since \d+:\d+:\d+, \d+ s ago/);
    bridge.cloud.setFaults([]);
    await waitInTab(tab, `document.querySelector('#notice').hidden && ${has('.is-closed', 'closed')}`);

    await bridge.program.stop();
    await waitInTab(tab, has('#link', 'Connection lost. What you see is from'), 4_000);
    const before = `getComputedStyle(document.querySelector('.is-closed .position'), '::before').content`;
    expect(await tab.evaluate(before)).toBe('"was "');
    expect(await tab.evaluate(`getComputedStyle(document.querySelector('.is-closed')).borderStyle`)).toBe(
      'dashed',
    );
    const colours = `new Set([...document.querySelectorAll('main h3, main strong, main td, .chart rect')].map((each) =>
      getComputedStyle(each)[each.matches('rect') ? 'fill' : 'color'])).size`;
    expect(await tab.evaluate(colours)).toBe(1);
    await waitInTab(tab, has('#link-age', 's ago'));
    bridge.start();
    await waitInTab(tab, `${isLive} && ${has('#link', 'Live')}`, 30_000);
  });

  it('says while it loads how far that is, and takes nothing for missing that was not read', async () => {
    const cloud = { properties: 2, signals: 3, sonics: 6, faults: [fault('hang@list_sonics')] };
    const { url } = await startWithHttp({}, { cloud, config: { cloud: { request_timeout: '60s' } } });
    const tab = await openTab(`${url}/`, phone);
    await waitInTab(tab, has('#loading', 'Read: properties (2), hubs (3), open incidents'));
    await waitInTab(tab, has('#overview', 'waiting for data from the cloud'));
    const document = async () => JSON.parse((await httpRequest(`${url}/status.json`)).text).status;
    await waitFor(async () => (await document()).health.status !== null, { what: 'the first judgement' });
    const said = await text(tab);
    expect(said).toContain('To be read: valves');
    expect(said).toContain('Valves: not read yet.');
    expect(said).not.toMatch(/No valve|[Nn]ever|down|Unreachable|Everything works|Live|Not all is well/);
    expect(await tab.evaluate(`document.querySelector('#notice').checkVisibility()`)).toBe(false);
    expect(await tab.evaluate(`document.querySelector('.bad .value')?.innerText ?? ''`)).toMatch(/^\d*$/);
    expect(await tab.evaluate(`document.querySelector('#link').dataset.state`)).toBe('loading');
    expect(await tab.evaluate(faintTexts)).toEqual([]);
    expect(await tab.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
  });

  it('counts the valves of a long first reading', async () => {
    const faults = [fault('latency=1500@list_sonics')];
    const cloud = { properties: 1, signals: 3, sonics: 30, pageSize: 2, faults };
    const { url } = await startWithHttp({}, { cloud, config: { cloud: { request_timeout: '60s' } } });
    const tab = await openTab(`${url}/`, desktop);
    await waitInTab(
      tab,
      `/To be read: (.*, )?valves \\(\\d+ of 30\\)/.test(document.querySelector('#loading').innerText)`,
    );
  });

  it('does not say that valves are in no property while the properties are not read', async () => {
    const faults = [fault('hang@list_properties')];
    const cloud = { properties: 1, signals: 1, sonics: 1, faults };
    const { url } = await startWithHttp({}, { cloud, config: { cloud: { request_timeout: '60s' } } });
    const tab = await openTab(`${url}/`, desktop);
    await waitInTab(tab, has('.valve', 'open'));
    expect(await tab.evaluate(`document.querySelector('h3').innerText`)).toBe('Property not read yet');
    expect(await text(tab)).toContain('To be read: properties');
    expect(await text(tab)).not.toMatch(/Possibly offline|Unassigned|No update/);
  });

  it('is not live while cloud and broker are away: says which and since when, and what was known', async () => {
    const { bridge, url } = await startShown();
    const tab = await openTab(`${url}/`, desktop);
    await waitInTab(tab, `${isLive} && ${has('.card .low', '2 open incidents')}`);
    await bridge.broker.stop();
    await waitInTab(tab, `${isAway} && ${has('#link', 'MQTT broker: offline since ')}`);
    bridge.cloud.setFaults([fault('error=503')]);
    await waitInTab(tab, has('#link', 'Cloud: unreachable since '));
    await waitInTab(tab, `!(${has('#overview', 'open ·')}) && ${has('.is-unsure', 'was closed')}`);
    const said = await text(tab);
    expect(said).toMatch(/No connection to the cloud\. Showing data from \d/);
    expect(said).toMatch(/No connection to the MQTT broker since \d/);
    expect(said).toMatch(/2 open incidents \(last read \d+:\d+:\d+, \d+ s ago\)/);
    expect(said).not.toMatch(/\bLive\b|Everything works|Connected/);
    const dot = `getComputedStyle(document.querySelector('.dot')).backgroundColor`;
    expect(await tab.evaluate(dot)).toBe('rgba(0, 0, 0, 0)');
    expect(await tab.evaluate(faintTexts)).toEqual([]);
    bridge.cloud.setFaults([]);
    await bridge.broker.restart();
    await waitInTab(tab, `${isLive} && ${has('#overview', 'Everything works')}`, 30_000);
    expect(await text(tab)).not.toMatch(/last read|No connection/);
  });

  it.each([
    [{ properties: 0, signals: 0, sonics: 0 }, 'The account has no property.'],
    [
      { properties: 1, signals: 1, sonics: 0 },
      "The account has a hub, but no valve. Add your devices in the vendor's app.",
    ],
  ])('says of an account with %j that there is nothing', async (cloud, words) => {
    const { url } = await startWithHttp({}, { cloud });
    const tab = await openTab(`${url}/`, desktop);
    await waitInTab(tab, `${isLive} && ${has('#empty', words)}`);
    await waitInTab(tab, `!document.querySelector('#loading').checkVisibility()`);
    expect(await text(tab)).not.toMatch(/[Nn]ot read yet|Loading/);
    expect((await text(tab)).includes('No valve.')).toBe(cloud.properties === 1);
  });

  it('leaves what somebody has unfolded, and where the keyboard is, while what is around it changes', async () => {
    const { url, world, closed } = await startShown();
    const tab = await openTab(`${url}/`, desktop);
    await waitInTab(tab, `${isLive} && ${has('.is-closed', 'closed')} && document.querySelector('.chart')`);
    await tab.evaluate(
      `document.querySelectorAll('summary').forEach((each) => { each.click(); each.focus(); })`,
    );
    const unfolded = `document.querySelectorAll('details[open]').length === 2
      && document.activeElement === [...document.querySelectorAll('summary')].at(-1)`;
    expect(await tab.evaluate(unfolded)).toBe(true);
    for (const id of world.sonics.ids) world.setValve(id, id === closed ? 'open' : 'closed');
    await waitInTab(tab, `document.querySelectorAll('.is-open').length === 1`);
    expect(await tab.evaluate(unfolded)).toBe(true);
    expect(await tab.evaluate(`document.querySelector('.figures').innerText`)).toMatch(/-01\s+[\d.,]+ L/);
  });

  it('works in the frame of Home Assistant, also where that holds streams back', async () => {
    const { url, world, closed } = await startShown();
    for (const [isHoldingBack, words] of [
      [false, 'Live'],
      [true, 'Updates every 5 s'],
    ] as const) {
      world.setValve(closed, 'closed');
      const home = await startIngress(url, isHoldingBack);
      const tab = await openTab(`${home.url}/`, desktop);
      const page = `document.querySelector('iframe').contentDocument`;
      await waitInTab(
        tab,
        `${page}.querySelector('.is-closed') && ${page}.querySelector('#link').innerText.includes('${words}')`,
      );
      const position = `${page}.querySelectorAll('.is-closed').length`;
      world.setValve(closed, 'open');
      await waitInTab(tab, `${position} === 0`);
      const below = tab.requests.filter((address) => new URL(address).pathname.length > 1);
      expect(below.filter((address) => !address.startsWith(`${home.url}${ingressPath}/`))).toEqual([
        ...below.filter((address) => address.endsWith('/favicon.ico')),
      ]);
      await tab.close();
    }
  });

  it('does not take the silence of a bridge that hangs for good news', async () => {
    const { bridge, url } = await startWithHttp({}, { cloud: { properties: 1, signals: 1, sonics: 1 } });
    const tab = await openTab(`${url}/`, desktop);
    await waitInTab(tab, `${isLive} && ${has('.valve', 'open')}`);
    bridge.program.signal('SIGSTOP');
    await waitInTab(tab, has('#link', 'Connection lost. What you see is from'), 16_000);
    bridge.program.signal('SIGCONT');
    await waitInTab(tab, `${isLive} && ${has('.valve', 'open')}`);
  });

  it('asks, where as many look as can be told', async () => {
    const { url } = await startWithHttp({}, { cloud: { properties: 1, signals: 1, sonics: 1 } });
    await Promise.all(Array.from({ length: 16 }, () => readEvents(`${url}/events`)));
    const tab = await openTab(`${url}/`, desktop);
    await waitInTab(tab, `${isLive} && ${has('#link', 'Updates every 5 s')} && ${has('.valve', 'open')}`);
  });

  it('shows a thousand valves and their hubs a page at a time, and says how many pages there are', async () => {
    const cloud = { properties: 100, signals: 200, sonics: 1_000, quiet: true };
    const { url } = await startWithHttp({}, { cloud, config: { schedules: {} } });
    const isThere = async () => JSON.parse((await httpRequest(`${url}/status.json`)).text).status.isWhole;
    await waitFor(isThere, { what: 'the fleet', timeoutMs: 30_000 });
    const tab = await openTab(`${url}/`, phone);
    const devices = `[...document.querySelectorAll('.card p, .valve')]
      .filter((each) => each.matches('.valve') || each.innerText.startsWith('Hub ')).length`;
    await waitInTab(tab, `${isLive} && ${devices} === 100`);
    expect(await text(tab)).toContain('Page 1 of 12');
    expect(await text(tab)).toContain('1000 open');
    expect(await tab.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    const first = await tab.evaluate(`document.querySelector('h3').innerText`);
    await tab.evaluate(
      `[...document.querySelectorAll('a')].find((each) => each.innerText === 'Next page').click()`,
    );
    await waitInTab(tab, `${has('.pages', 'Page 2 of 12')} && ${devices} === 100`);
    expect(await tab.evaluate(`document.querySelector('h3').innerText`)).not.toBe(first);
    expect(tab.complaints).toEqual([]);
  });

  it('tells a rejected password as what it is, and has no place for properties that nobody has read', async () => {
    const { url } = await startWithHttp({}, { config: { cloud: { password: 'not this one' } } });
    const tab = await openTab(`${url}/`, desktop);
    await waitInTab(tab, `${isAway} && ${has('#overview', 'The cloud rejects the sign-in')}`);
    await waitInTab(tab, has('#overview', 'waiting for data from the cloud'));
    const headings = `[...document.querySelectorAll('h2')].filter((each) => each.checkVisibility()).map((each) => each.innerText)`;
    expect(await tab.evaluate(headings)).toEqual(['Overview', 'Open incidents', 'Last polls']);
  });

  it('does not call water of which nobody knows none', async () => {
    const usage = { todayL: null, yesterdayL: null, monthL: null, totalL: null, days: {} };
    const lastReset = '2026-11-02T00:00:00Z';
    const sonic = sonicView({ usage: { ...usage, lastReset, updatedAt: lastReset } });
    const half = { isWorking: true, status: 'up', reason: null, workedAt: null } as const;
    const overview: StatusSnapshot = {
      ...{ startedAt: 0, status: 'ok', reason: null, readiness: { cloud: half, broker: half }, polls: [] },
      ...{
        emptiness: null,
        progress: [],
        isWhole: true,
        properties: [propertyView()],
        signals: [],
        sonics: [sonic],
        incidents: [],
      },
      ...{ areIncidentsKnown: true, incidentsReadAt: 0, readAt: () => null },
    };
    const snapshots = { status: () => overview } as unknown as Snapshots;
    const { url } = await startHttpServer(createRoutes(snapshots, null, systemClock, logLines().secrets));
    const tab = await openTab(`${url}/`, desktop);
    await waitInTab(tab, `${isLive} && document.querySelector('.chart')`);
    const water = `[document.querySelector('figure').innerText, document.querySelector('.chart').ariaLabel]`;
    const [said, read] = Object(await tab.evaluate(water));
    expect(said).toContain('not known');
    expect(said).not.toMatch(/\b0 L/);
    expect(read).toBe('Water in November 2026: not known');
  });

  it('says without its script where the same can be read', async () => {
    const { url } = await startWithHttp({}, { cloud: { properties: 1, signals: 1, sonics: 1 } });
    const tab = await openTab(`${url}/`, { ...desktop, isScriptOff: true });
    // The words are there before the style is.
    await waitInTab(tab, `document.readyState === 'complete' && document.querySelector('noscript a')`);
    expect(await text(tab)).toContain('This page needs its script');
    expect(await text(tab)).not.toContain('Connecting');
    expect(await tab.evaluate(`document.querySelector('.dot').checkVisibility()`)).toBe(false);
  });
});

const startShownAt = (port: number) => startShown({ listen: `127.0.0.1:${port}` });
