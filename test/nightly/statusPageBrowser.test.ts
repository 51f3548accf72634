import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import type { Snapshots, StatusSnapshot } from '../../src/health/snapshots.ts';
import { createRoutes } from '../../src/http/routes.ts';
import { languages } from '../../src/model/language.ts';
import { fault, quick, startBridge } from '../support/bridge.ts';
import { chromiumAvailable, openTab, type Tab, waitInTab } from '../support/chromium.ts';
import { httpRequest } from '../support/httpRequest.ts';
import { startHttpServer } from '../support/httpServer.ts';
import { ingressPath, startIngress } from '../support/ingress.ts';
import { logLines } from '../support/logLines.ts';
import { freePort } from '../support/ports.ts';
import { temporaryFolder } from '../support/program.ts';
import { anIncident, aSignal, propertyView, sonicView } from '../support/views.ts';
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
    const { properties } = await document();
    return JSON.stringify(properties).includes('"valve":"closed"') && properties[0].usage.length > 0;
  };
  await waitFor(isKnown, { what: 'all valves' });
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
  document.querySelector('#connections').open = true;
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
  `[...document.querySelectorAll('${selector}')].some((each) => each.innerText.includes(${JSON.stringify(words)}))`;

/** A home with a valve, of which everything is known but for this usage. */
function calmHome(usage = sonicView().usage) {
  const half = { isReady: true, status: 'up', reason: null, workedAt: null } as const;
  let overview: StatusSnapshot = {
    ...{ startedAt: 0, status: 'ok', reason: null, readiness: { cloud: half, broker: half }, polls: [] },
    ...{
      emptiness: null,
      progress: [],
      isComplete: true,
      isWatchOnly: false,
      properties: [propertyView()],
      signals: [],
    },
    ...{ sonics: [sonicView({ usage })], incidents: [] },
    ...{ areIncidentsFresh: true, unconfirmedSince: null, readAt: () => null },
  };
  return {
    snapshots: { status: () => overview } as unknown as Snapshots,
    change: (changes: Partial<StatusSnapshot>) => {
      overview = { ...overview, ...changes };
    },
  };
}

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

  it('speaks the language of the browser, and fits a small phone in each, also when the connection is lost', async () => {
    const { bridge, url } = await startShown();
    const tabs = [];
    for (const language of languages) {
      const tab = await openTab(`${url}/`, { ...phone, width: 320, language });
      await waitInTab(tab, `${isLive} && document.querySelector('.chart')`);
      expect(await tab.evaluate('document.documentElement.lang')).toBe(language);
      tabs.push({ tab, language });
    }
    await bridge.program.stop();
    for (const { tab, language } of tabs) {
      await waitInTab(tab, `document.querySelector('#link').dataset.state === 'lost'`);
      const picture = process.env['PICTURES'];
      if (picture) await tab.takePicture(join(picture, `${language}.png`), true);
      expect(await tab.evaluate('document.documentElement.scrollWidth <= innerWidth'), language).toBe(true);
      expect(await tab.evaluate(brokenNames), language).toEqual([]);
      const isEnglish = (await text(tab)).includes('Connection lost.');
      expect([language, isEnglish]).toEqual([language, language === 'en']);
      expect(await text(tab)).not.toContain('undefined');
      await tab.close();
    }
  });

  it('shows names as the text that they are, and never a position that nobody knows', async () => {
    const { url } = await startShown();
    const tab = await openTab(`${url}/`, { ...desktop, timezone: 'Asia/Tokyo' });
    await waitInTab(tab, `${isLive} && document.querySelector('.chart')`);
    const said = await text(tab);
    expect(said).toContain(hostile);
    expect(said).toMatch(
      /Water running too long since .*\s+Check for an open tap, a garden hose or a running toilet\./,
    );
    expect(await tab.evaluate('document.title')).toMatch(
      /^Water running too long at .* since \d.*\. Its valve is .* – sonic2mqtt$/,
    );
    expect(await tab.evaluate('document.querySelectorAll("main img, main script").length')).toBe(0);
    const pills = `[...document.querySelectorAll('.valve')].map((each) => each.innerText)`;
    const shown = Object(await tab.evaluate(pills));
    expect(shown.toSorted()).toEqual(['Closed', 'Fault', 'Open', 'Open', 'Open', 'Was open']);
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
    await waitInTab(tab, `${isLive} && ${has('.is-closed', 'Closed')}`);
    world.setValve(closed, 'opening');
    await waitInTab(tab, has('.is-moving', 'Opening'));
    world.setValve(closed, 'pressure_test');
    await waitInTab(tab, has('.is-moving', 'Pressure test'));
    world.setValve(closed, 'closed');
    await waitInTab(tab, has('.is-closed', 'Closed'));

    bridge.cloud.setFaults([fault('error=503')]);
    await waitInTab(
      tab,
      `${has('#hero', 'No connection to the cloud.')} && ${has('.is-unsure', 'Was closed')}`,
    );
    expect(await tab.evaluate(has('.is-closed', ''))).toBe(false);
    const details = await tab.evaluate(`document.querySelector('#details').innerText`);
    expect(details).toMatch(
      /The data is from \d+:\d+\. It is not known whether the water is on\. Valves can only be closed by hand\. The battery of/,
    );
    expect(await text(tab)).toMatch(/No update since \d+:\d+, \d+ s ago/);
    expect(await text(tab)).toContain('Not all alerts could be read.');
    const todays = `[...document.querySelectorAll('.today, .chosen')].map((each) => each.innerText)`;
    const figures = Object(await tab.evaluate(todays));
    expect(figures.filter((each: string) => !/[Aa]t least/.test(each))).toEqual([]);
    expect(figures.length).toBeGreaterThan(1);
    expect(await text(tab)).not.toMatch(/No flow|L\/min|(?<!At least )\b[\d,.]+ L today/);
    bridge.cloud.setFaults([]);
    await waitInTab(tab, `!${has('#hero', 'cloud')} && ${has('.is-closed', 'Closed')}`);

    await bridge.program.stop();
    await waitInTab(tab, has('#link', 'Connection lost. This page shows data from'), 4_000);
    expect(await tab.evaluate(`document.querySelectorAll('.valve:not(.is-unsure)').length`)).toBe(0);
    expect(await tab.evaluate(has('.is-unsure', 'Was closed'))).toBe(true);
    await tab.evaluate(`document.querySelector('#connections').open = true`);
    expect(await text(tab)).not.toMatch(/Everything works|Connected|No flow|L\/min|bar\b|°C/);
    expect(await text(tab)).toContain('Not all alerts could be read.');
    expect(Object(await tab.evaluate(todays)).filter((each: string) => !/[Aa]t least/.test(each))).toEqual(
      [],
    );
    expect(await tab.evaluate(`document.querySelector('#hero').dataset.tone`)).toBe('unknown');
    expect(await tab.evaluate('document.title')).toBe('Connection to sonic2mqtt lost. – sonic2mqtt');
    expect(await tab.evaluate(`document.querySelector('#icon').getAttribute('href')`)).toBe(
      'icon-unknown.svg',
    );
    expect(await tab.evaluate(`document.querySelector('#details').innerText`)).toMatch(/^At \d+:\d+: .*\.$/);
    const colours = `new Set([...document.querySelectorAll('.card :is(h2, h3, strong, .alert), .chart rect:not(.incomplete)')].map((each) =>
      getComputedStyle(each)[each.matches('rect') ? 'fill' : 'color'])).size`;
    expect(await tab.evaluate(colours)).toBe(1);
    await waitInTab(tab, has('#link-age', 's ago'));
    bridge.start();
    await waitInTab(tab, `${isLive} && ${has('#link', 'Live')}`, 30_000);
  });

  it('shows the worst first with its place, also among twins', async () => {
    const cloud = { properties: 2, signals: 2, sonics: 4 };
    const { bridge, url } = await startWithHttp({}, { cloud });
    const { world } = bridge.cloud;
    const ids = world.sonics.ids;
    for (const [index, name] of ['Kitchen', 'Kitchen', 'Bath', 'Bath'].entries())
      world.changeSonic(ids[index] ?? '', { name });
    const [here = '', there = ''] = ids;
    const homeOf = (id: string) => String(world.properties.get(world.propertyOf(id) ?? '')?.name);
    for (const id of world.incidents.ids) world.closeIncident(id);
    world.openIncident({ type: 'long_flow_alert', sonicId: here, severity: 'high' });
    const tab = await openTab(`${url}/`, { ...phone, width: 700 });
    const firstOnPage = (words: string) =>
      `[document.querySelector('#headline').innerText.startsWith(${JSON.stringify(words)}),
        document.querySelector('.alert').innerText.startsWith(${JSON.stringify(words.split(' at ')[0])})].every(Boolean)`;
    await waitInTab(tab, firstOnPage(`Water running too long at Kitchen (${homeOf(here)}), since`));
    expect(await tab.evaluate('document.title')).toContain(`Kitchen (${homeOf(here)})`);
    world.openIncident({ type: 'water_presence_detected', sonicId: there, severity: 'low' });
    await waitInTab(tab, firstOnPage(`Leak at Kitchen (${homeOf(there)}), since`));
    expect(await tab.evaluate(`document.querySelector('h2').innerText`)).toBe(homeOf(there));
    // A headline breaks between its sentences, and not within one that has the room.
    const lines = `[...document.querySelectorAll('#headline span')].map((each) => each.offsetTop)`;
    expect(new Set(Object(await tab.evaluate(lines))).size).toBe(2);
    expect(await text(tab)).toMatch(/Close the valve, and find the leak/);
    world.setValve(there, 'closed');
    await waitInTab(tab, `${has('.alert', 'Find the leak.')} && !(${has('.alert', 'Close the valve')})`);
    world.setValve(there, 'faulty');
    await waitInTab(tab, has('.alert', 'Close the valve by hand, and find the leak.'));

    const hubsFirst = `document.querySelector('.devices > :is(.valves, .hubs)').className === 'hubs'`;
    expect(await tab.evaluate(hubsFirst)).toBe(false);
    for (const id of world.incidents.ids) world.closeIncident(id);
    const [signalId = ''] = world.signals.ids;
    world.openIncident({ type: 'cloud_disconnection', signalId, severity: 'high' });
    await waitInTab(tab, `${hubsFirst} && ${has('#headline', 'lost at')}`);
    for (const id of world.incidents.ids) world.closeIncident(id);
    await waitInTab(tab, `!(${hubsFirst})`);
  });

  it('has no hole beside a property, however many valves another one has', async () => {
    const { bridge, url } = await startWithHttp({}, { cloud: { properties: 3, signals: 3, sonics: 8 } });
    const { world } = bridge.cloud;
    const [first] = world.signals.ids;
    for (let count = 0; count < 6; count++) world.addSonic(first);
    const tab = await openTab(`${url}/`, desktop);
    await waitInTab(tab, `${isLive} && document.querySelectorAll('.valves > li').length === 14`);
    const widths = `[...document.querySelectorAll('#hero, .card')].map((each) => each.getBoundingClientRect().width)`;
    expect(new Set(Object(await tab.evaluate(widths))).size).toBe(1);
    // The valves of the long one stand side by side, those of the others above each other.
    const columns = `[...document.querySelectorAll('.card')].map((card) =>
      new Set([...card.querySelectorAll('.valves > li')].map((each) => each.offsetLeft)).size)`;
    expect(Object(await tab.evaluate(columns)).toSorted()).toEqual([1, 1, 2]);
  });

  it('shows alerts without a place before the properties, unless a property has a worse one', async () => {
    const nowhere = anIncident({ id: 'nowhere', sonic_id: 'gone', type: 'high_volume_alert' });
    const leak = anIncident({ id: 'leak', type: 'water_presence_detected' });
    const order = `[...document.querySelectorAll('h2')].map((each) => each.innerText)`;
    const unplaced = 'Alerts without a known place';
    const home = propertyView().property.name;
    const changing = calmHome();
    const { url } = await startHttpServer(
      createRoutes(changing.snapshots, null, systemClock, logLines().secrets),
    );
    const tab = await openTab(`${url}/`, desktop);
    for (const [alerts, titles] of [
      [[], [unplaced, home]],
      [[leak], [home, unplaced]],
      [[], [unplaced, home]],
    ] as const) {
      changing.change({
        sonics: [sonicView({ incidents: [...alerts] })],
        incidents: [...alerts, nowhere],
      });
      await waitInTab(tab, `JSON.stringify(${order}) === ${JSON.stringify(JSON.stringify(titles))}`);
    }
  });

  it('says while it loads how far that is, and takes nothing for missing that was not read', async () => {
    const cloud = { properties: 2, signals: 3, sonics: 6, faults: [fault('hang@list_sonics')] };
    const { url } = await startWithHttp({}, { cloud, config: { cloud: { request_timeout: '60s' } } });
    const tab = await openTab(`${url}/`, phone);
    await waitInTab(tab, has('#loading-words', 'Still to read: Valves'));
    const document = async () => JSON.parse((await httpRequest(`${url}/status.json`)).text).status;
    await waitFor(async () => (await document()).health.status !== null, { what: 'the first judgement' });
    await waitInTab(tab, `document.querySelector('#progress').value >= 2 / 7`);
    expect(await tab.evaluate(`document.querySelector('#progress').value < 1`)).toBe(true);
    const said = await text(tab);
    expect(said).toContain('Valves: not read yet.');
    // An alert is told before the valves are read; of the water nobody knows.
    expect(said).toMatch(/Reading your account|Water running too long/);
    expect(said).not.toMatch(
      /No valve|[Nn]ever|down|[Uu]nreachable|All good|No leaks|Live|problem|[Ww]ater is/,
    );
    expect(await tab.evaluate(`document.querySelector('#link').dataset.state`)).toBe('loading');
    expect(await tab.evaluate(faintTexts)).toEqual([]);
    expect(await tab.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
  });

  it('has a skeleton until there is something to show', async () => {
    const cloud = {
      properties: 1,
      signals: 1,
      sonics: 1,
      faults: [fault('hang@list_properties'), fault('hang@list_sonics'), fault('hang@list_signals')],
    };
    const { url } = await startWithHttp({}, { cloud, config: { cloud: { request_timeout: '60s' } } });
    const tab = await openTab(`${url}/`, phone);
    const skeleton = `document.querySelector('#skeleton').checkVisibility()`;
    await waitInTab(tab, `${has('#loading-words', 'Properties')} && ${skeleton}`);
    const full = await startWithHttp({}, { cloud: { properties: 1, signals: 1, sonics: 1 } });
    const other = await openTab(`${full.url}/`, phone);
    await waitInTab(
      other,
      `${isLive} && !${skeleton} && !document.querySelector('#loading').checkVisibility()`,
    );
  });

  it('counts the valves of a long first reading', async () => {
    const faults = [fault('latency=1500@list_sonics')];
    const cloud = { properties: 1, signals: 3, sonics: 30, pageSize: 2, faults };
    const { url } = await startWithHttp({}, { cloud, config: { cloud: { request_timeout: '60s' } } });
    const tab = await openTab(`${url}/`, desktop);
    await waitInTab(
      tab,
      `/Still to read: (.*, )?Valves \\(\\d+ of 30\\)/.test(document.querySelector('#loading-words').innerText)`,
    );
  });

  it('does not say that valves are in no property while the properties are not read', async () => {
    const faults = [fault('hang@list_properties')];
    const cloud = { properties: 1, signals: 1, sonics: 1, faults };
    const { url } = await startWithHttp({}, { cloud, config: { cloud: { request_timeout: '60s' } } });
    const tab = await openTab(`${url}/`, desktop);
    await waitInTab(tab, has('.valve', 'Open'));
    expect(await tab.evaluate(`document.querySelector('h2').innerText`)).toBe('Property not read yet');
    expect(await text(tab)).toContain('Still to read: Properties');
    expect(await text(tab)).not.toMatch(/Possibly offline|Unassigned|No update/);
  });

  it('names the hub that takes a valve offline', async () => {
    const changing = calmHome();
    const { url } = await startHttpServer(
      createRoutes(changing.snapshots, null, systemClock, logLines().secrets),
    );
    const tab = await openTab(`${url}/`, desktop);
    await waitInTab(tab, `${isLive} && document.querySelector('.valve')`);
    expect(await text(tab)).not.toContain('Offline');
    const signal = aSignal({ name: 'Attic', cloud_connection: 'disconnected' });
    changing.change({ sonics: [sonicView({ signal })] });
    await waitInTab(tab, has('.figures', 'Offline, because hub Attic is offline'));
  });

  it('is not live while cloud and broker are away: says which and since when, and what was known', async () => {
    const { bridge, url } = await startShown();
    const tab = await openTab(`${url}/`, desktop);
    await waitInTab(tab, `${isLive} && document.querySelector('.alert')`);
    const alerts = await tab.evaluate(`document.querySelectorAll('.alert').length`);
    await bridge.broker.stop();
    await waitInTab(tab, `${isAway} && ${has('#connections-line', 'MQTT broker: Offline since ')}`);
    expect(await text(tab)).toContain('No connection to the MQTT broker: Home Assistant gets no updates.');
    bridge.cloud.setFaults([fault('error=503')]);
    await waitInTab(tab, has('#connections-line', 'Cloud: Unreachable since '));
    await waitInTab(tab, `document.querySelectorAll('.valve:not(.is-unsure)').length === 0`);
    const said = await text(tab);
    expect(said).toMatch(/Water running too long at .* since .*\. No connection to the cloud\./);
    expect(said).toMatch(/The data is from \d+:\d+\. It is not known whether the water is on/);
    expect(await tab.evaluate(`document.querySelectorAll('.alert').length`)).toBe(alerts);
    expect(said).not.toMatch(/\bLive\b|All good|No leaks|(?<!whether the )[Ww]ater is o|is closed|connected/);
    const dot = `getComputedStyle(document.querySelector('.dot')).backgroundColor`;
    expect(await tab.evaluate(dot)).toBe('rgba(0, 0, 0, 0)');
    expect(await tab.evaluate(faintTexts)).toEqual([]);
    bridge.cloud.setFaults([]);
    await bridge.broker.restart();
    await waitInTab(
      tab,
      `${isLive} && ${has('#connections-line', 'Cloud and MQTT broker connected')}`,
      30_000,
    );
    expect(await text(tab)).not.toMatch(/shows data from|No connection|Was closed/);
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
    expect(await text(tab)).toContain('There is no valve to show.');
    expect(await text(tab)).not.toMatch(/[Nn]ot read yet|Loading|All good/);
    expect((await text(tab)).includes('No valve.')).toBe(cloud.properties === 1);
  });

  it('leaves what somebody has unfolded or chosen, and where the keyboard is, while what is around it changes', async () => {
    const { url, world, closed } = await startShown();
    const tab = await openTab(`${url}/`, { ...desktop, timezone: 'America/Los_Angeles' });
    await waitInTab(tab, `${isLive} && ${has('.is-closed', 'Closed')} && document.querySelector('.chart')`);
    await tab.evaluate(`document.querySelector('#connections').open = true`);
    const chosen = `document.querySelector('.chosen').innerText`;
    // The date is that of the property, wherever the reader is.
    const [weekday, dayOfMonth] = new Date().toUTCString().split(/,? /);
    expect(await tab.evaluate(chosen)).toMatch(new RegExp(`^${weekday},? ${Number(dayOfMonth)} `));
    await tab.evaluate(`document.querySelector('.days').focus()`);
    await tab.command('Input.dispatchKeyEvent', { type: 'keyDown', key: 'ArrowLeft', code: 'ArrowLeft' });
    const yesterday = String(await tab.evaluate(chosen));
    expect(yesterday).toMatch(new RegExp(`^(?!${weekday}).*: .* L$`));
    const slider = `document.activeElement.getAttribute('aria-valuetext')`;
    expect(await tab.evaluate(slider)).toBe(yesterday);
    for (const id of world.sonics.ids) world.setValve(id, id === closed ? 'open' : 'closed');
    await waitInTab(tab, `document.querySelectorAll('.is-open').length === 1`);
    expect(
      await tab.evaluate(
        [chosen, slider].map((each) => `${each} === ${JSON.stringify(yesterday)}`).join(' && '),
      ),
    ).toBe(true);
    expect(await tab.evaluate(`document.querySelector('#connections').open`)).toBe(true);
  });

  it('tells the figure of a day that is tapped', async () => {
    const { url } = await startShown();
    const tab = await openTab(`${url}/`, phone);
    await waitInTab(tab, `${isLive} && document.querySelector('.chart')`);
    const box = `(() => {
      const days = document.querySelector('.days');
      days.scrollIntoView({ block: 'center' });
      const { left, top, width, height } = days.getBoundingClientRect();
      return [left + (width / 31) * 28.5, top + height / 2];
    })()`;
    const [x, y] = Object(await tab.evaluate(box));
    await tab.command('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: [{ x, y }] });
    await tab.command('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] });
    const twoDaysAgo = new Date(Date.now() - 2 * 86_400_000).toUTCString().slice(0, 3);
    await waitInTab(tab, `document.querySelector('.chosen').innerText.startsWith('${twoDaysAgo}')`);
  });

  it('works in the frame of Home Assistant', async () => {
    const { url, world, closed } = await startShown();
    const home = await startIngress(url);
    const tab = await openTab(`${home.url}/`, desktop);
    const page = `document.querySelector('iframe').contentDocument`;
    await waitInTab(
      tab,
      `${page}.querySelector('.is-closed') && ${page}.querySelector('#link').innerText.includes('Live')`,
    );
    world.setValve(closed, 'open');
    await waitInTab(tab, `${page}.querySelectorAll('.is-closed').length === 0`);
    const below = tab.requests.filter((address) => new URL(address).pathname.length > 1);
    expect(below.filter((address) => !address.startsWith(`${home.url}${ingressPath}/`))).toEqual([
      ...below.filter((address) => address.endsWith('/favicon.ico')),
    ]);
  });

  it('shows a leak within three seconds of its reading, and receives nothing while nothing changes', async () => {
    const changing = calmHome();
    const statuses: number[] = [];
    const routes = createRoutes(changing.snapshots, null, systemClock, logLines().secrets).map((route) => ({
      ...route,
      answer: async (...of: Parameters<typeof route.answer>) => {
        await route.answer(...of);
        if (route.path === '/status.json') statuses.push(of[0].statusCode);
      },
    }));
    const { url } = await startHttpServer(routes);
    const tab = await openTab(`${url}/`, desktop);
    await waitFor(() => statuses.length >= 3, { what: 'some answers' });
    expect(statuses).toEqual([200, ...statuses.slice(1).map(() => 304)]);
    changing.change({
      sonics: [sonicView({ incidents: [anIncident({ type: 'water_presence_detected' })] })],
      incidents: [anIncident({ type: 'water_presence_detected' })],
    });
    await waitInTab(tab, has('#headline', 'Leak'), 3_000);
  });

  it('does not take the silence of a bridge that hangs for good news', async () => {
    const { bridge, url } = await startWithHttp({}, { cloud: { properties: 1, signals: 1, sonics: 1 } });
    const tab = await openTab(`${url}/`, desktop);
    await waitInTab(tab, `${isLive} && ${has('.valve', 'Open')}`);
    bridge.program.signal('SIGSTOP');
    await waitInTab(tab, has('#link', 'Connection lost. This page shows data from'), 16_000);
    bridge.program.signal('SIGCONT');
    await waitInTab(tab, `${isLive} && ${has('.valve', 'Open')}`);
  });

  it('shows a thousand valves and their hubs a page at a time, and says how many pages there are', async () => {
    const cloud = { properties: 100, signals: 200, sonics: 1_000, quiet: true };
    const { url } = await startWithHttp({}, { cloud, config: { schedules: {} } });
    const isThere = async () => JSON.parse((await httpRequest(`${url}/status.json`)).text).status.isComplete;
    await waitFor(isThere, { what: 'the fleet' });
    const tab = await openTab(`${url}/`, phone);
    const devices = `document.querySelectorAll('.valves > li, .hubs > li').length`;
    await waitInTab(tab, `${isLive} && ${devices} === 100`);
    expect(await text(tab)).toContain('Page 1 of 12');
    expect(await text(tab)).toMatch(/Water running too long at .*\. Water is on\./);
    expect(await tab.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    const first = await tab.evaluate(`document.querySelector('h2').innerText`);
    await tab.evaluate(
      `[...document.querySelectorAll('a')].find((each) => each.innerText === 'Next page').click()`,
    );
    await waitInTab(tab, `${has('.pages', 'Page 2 of 12')} && ${devices} === 100`);
    expect(await tab.evaluate(`document.querySelector('h2').innerText`)).not.toBe(first);
    expect(tab.complaints).toEqual([]);
  });

  it('tells a rejected password as what it is, and has no place for properties that nobody has read', async () => {
    const { url } = await startWithHttp({}, { config: { cloud: { password: 'not this one' } } });
    const tab = await openTab(`${url}/`, desktop);
    await waitInTab(tab, `${isAway} && ${has('#headline', 'The cloud rejects the sign-in.')}`);
    await waitInTab(tab, has('#details', 'Nothing was read yet.'));
    await waitInTab(tab, has('#connections-line', 'Cloud: Sign-in rejected since '));
    expect(await tab.evaluate(`document.querySelector('#skeleton').checkVisibility()`)).toBe(false);
    expect(await tab.evaluate(`document.querySelector('#properties').innerText`)).toBe('');
  });

  it('does not call water of which nobody knows none', async () => {
    const { snapshots } = calmHome({
      ...{ todayL: null, yesterdayL: null, monthL: null, totalL: null, days: {} },
      ...{ lastReset: '2026-11-02T00:00:00Z', updatedAt: '2026-11-02T00:00:00Z' },
    });
    const { url } = await startHttpServer(createRoutes(snapshots, null, systemClock, logLines().secrets));
    const tab = await openTab(`${url}/`, desktop);
    await waitInTab(tab, `${isLive} && document.querySelector('.chart')`);
    const water = `[document.querySelector('figure').innerText, document.querySelector('.days').getAttribute('aria-valuetext')]`;
    const [said, read] = Object(await tab.evaluate(water));
    expect(said).toMatch(/^Not known today/);
    expect(said).not.toMatch(/\b0 L|[Aa]verage/);
    expect(read).toMatch(/^Mon,? 2 Nov: no figure$/);
    expect(await text(tab)).toContain('No leaks, water on.');
  });

  it.each(['a clipboard', 'the older way'])('copies the dashboard with %s', async (way) => {
    const { bridge, url } = await startShown();
    await bridge.untilShown();
    const tab = await openTab(url, phone);
    await waitInTab(tab, `!document.querySelector('#copy-dashboard').hidden`);
    const fake = `(() => {
      const isNew = ${way === 'a clipboard'};
      const clipboard = isNew ? { writeText: async (text) => { window.copied = text; } } : undefined;
      Object.defineProperty(navigator, 'clipboard', { value: clipboard });
      document.execCommand = () => { window.copied = document.activeElement.value; return true; };
      document.querySelector('#copy-dashboard').click();
      return document.querySelector('#copy-dashboard').innerText;
    })()`;
    expect(await tab.evaluate(fake)).toBe('Copying …');
    await waitInTab(tab, `document.querySelector('#copy-dashboard').innerText.startsWith('Copied.')`);
    expect(await tab.evaluate('window.copied')).toBe((await httpRequest(`${url}/dashboard.yaml`)).text);
    await tab.close();
  });

  it('says without its script where the same can be read', async () => {
    const { url } = await startWithHttp({}, { cloud: { properties: 1, signals: 1, sonics: 1 } });
    const tab = await openTab(`${url}/`, { ...desktop, isScriptOff: true });
    // The words are there before the style is.
    await waitInTab(tab, `document.readyState === 'complete' && document.querySelector('noscript a')`);
    expect(await text(tab)).toContain('This page needs JavaScript');
    expect(await text(tab)).not.toContain('Connecting');
    expect(await tab.evaluate(`document.querySelector('.dot').checkVisibility()`)).toBe(false);
  });
});

const startShownAt = (port: number) => startShown({ listen: `127.0.0.1:${port}` });
