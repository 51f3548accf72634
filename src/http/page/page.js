// The status page: shows the document of status.json, and goes on showing it as events bring it anew. Words of the cloud
// become text and nothing else; nothing is sent but GET.

/** The bridge says something every 5 seconds; a longer silence is a lost connection. */
const silenceMs = 12_000;

/** A stream that a proxy keeps to itself says nothing: then the document is asked for so often. */
const askEveryMs = 5_000;

/** Where no stream has ever come through, it is tried so seldom; else soon. */
const seldomMs = 60_000;
const soonMs = 5_000;

const page = location.search;
const at = (id) => document.getElementById(id);

// ---- words ------------------------------------------------------------------------------------------------------

const figure = (value, digits) => value.toLocaleString(undefined, { maximumFractionDigits: digits });
const clock = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const timeOnly = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });
const some = (count, one, several = `${one}s`) => `${count} ${count === 1 ? one : several}`;

const named = (name) => name || 'without a name';

const statusWords = {
  ok: 'Everything works',
  degraded: 'Not all is well',
  cloud_unreachable: 'The cloud is unreachable',
  auth_failed: 'The cloud rejects the sign-in',
};

const pollWords = { pressure_tests: 'pressure tests' };

/** What the first reading brings, as a householder calls it. */
const firstReadWords = {
  signals: 'hubs',
  sonics: 'valves',
  incidents: 'open incidents',
  telemetry: 'measurements',
  usage: 'water usage',
  ...pollWords,
};

const sentence = (words) => `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;

/** How long ago, in the largest unit that fits. */
function ago(ms) {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < 60) return `${seconds} s ago`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3_600)} h ago`;
  return `${Math.floor(seconds / 86_400)} days ago`;
}

// ---- elements ---------------------------------------------------------------------------------------------------

/** An element with its attributes and what is in it: texts and elements; what is null is left out. */
function make(name, attributes, ...children) {
  const isDrawn = ['svg', 'rect', 'path', 'circle', 'title'].includes(name);
  const element = isDrawn
    ? document.createElementNS('http://www.w3.org/2000/svg', name)
    : document.createElement(name);
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (value !== null && value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** What each place was drawn from: one that is as it was is left alone, with what is selected in it. */
const drawn = new WeakMap();

function draw(place, data, render) {
  const text = JSON.stringify(data);
  if (drawn.get(place) === text) return;
  drawn.set(place, text);
  place.replaceChildren(...render(data));
}

/** As many children as there are data, each drawn from its own: what can be unfolded stays as it is. */
function drawEach(place, data, create, drawOne) {
  while (place.children.length > data.length) place.lastChild.remove();
  while (place.children.length < data.length) place.append(create());
  for (const [index, each] of data.entries()) drawOne(place.children[index], each);
}

/** A moment, and how long ago it was; `refresh` keeps that true. */
function moment(ms, isAgeOnly = false) {
  const words = make('span', { 'data-at': ms });
  const element = make('time', { datetime: new Date(ms).toISOString(), title: clock.format(ms) });
  element.append(...(isAgeOnly ? [words] : [timeOrDate(ms), ', ', words]));
  return element;
}

function timeOrDate(ms) {
  const isToday = new Date(ms).toDateString() === new Date(serverNow()).toDateString();
  return (isToday ? timeOnly : clock).format(ms);
}

// ---- the parts --------------------------------------------------------------------------------------------------

/** The two sides that are down: what each is called, how it is, and since when. */
function sidesDown({ health, cloud, broker, startedAt }) {
  const cloudWords = { cloud_unreachable: 'unreachable', auth_failed: 'sign-in rejected' };
  return [
    ['Cloud', cloud, cloudWords[health.status] ?? 'no fresh data'],
    ['MQTT broker', broker, 'offline'],
  ]
    .filter(([, { status }]) => status === 'down')
    .map(([name, { workedAt }, words]) => ({ name, words, since: workedAt ?? startedAt }));
}

function noticeText(status) {
  const { health, cloud } = status;
  return sidesDown(status)
    .map(({ name, since }) => {
      if (name !== 'Cloud') {
        return `No connection to the MQTT broker since ${timeOrDate(since)}. Home Assistant gets no updates.`;
      }
      const words = {
        cloud_unreachable: 'No connection to the cloud.',
        auth_failed: 'The cloud rejects the sign-in.',
      };
      const data =
        cloud.workedAt === null
          ? 'Valves and incidents were not read yet.'
          : `Showing data from ${timeOrDate(since)}.`;
      return `${words[health.status] ?? 'No fresh data from the cloud.'} ${data}`;
    })
    .join(' ');
}

function loadingParts({ polls, progress }) {
  const words = ({ slice, records, isPending }) => {
    const name = firstReadWords[slice] ?? slice;
    if (!isPending) return records === null ? name : `${name} (${figure(records, 0)})`;
    const { read, total } = progress.find((each) => each.slice === slice) ?? { read: 0, total: null };
    if (read === 0) return name;
    const of = total === null ? '' : ` of ${figure(Math.max(read, total), 0)}`;
    return `${name} (${figure(read, 0)}${of})`;
  };
  const done = polls.filter(({ isPending }) => !isPending).map(words);
  const open = polls.filter(({ isPending }) => isPending).map(words);
  return [
    make('strong', null, 'Loading: reading your account for the first time.'),
    done.length > 0 ? ` Read: ${done.join(', ')}.` : ' Nothing is complete yet.',
    ` To be read: ${open.join(', ')}.`,
  ];
}

function overview(status) {
  const { health, cloud, broker, valves, incidents, isWhole, isLoading } = status;
  const down = sidesDown(status);
  const half = (name, { status: stage, reason }) => {
    const side = down.find((each) => each.name === name);
    if (side) return tile(name, sentence(side.words).slice(0, -1), sinceWords(side, reason), true);
    // The reason says that it is connected too.
    const isConnected = stage !== 'connecting';
    return tile(name, isConnected ? 'Connected' : 'Connecting …', reason?.replace('Connected, ', ''), false);
  };
  const isStarting = isLoading || health.status === null || cloud.status !== 'up' || broker.status !== 'up';
  const isWell = health.status === 'ok' && !isStarting;
  const isBad = down.length > 0 || (!isWell && !isStarting);
  const bridgeWords = isBad
    ? health.status === 'ok'
      ? statusWords.degraded
      : (statusWords[health.status] ?? statusWords.degraded)
    : 'Loading …';
  const known = ['open', 'opening', 'closing', 'closed'].filter((valve) => valves[valve] > 0);
  const positions = known.flatMap((valve, index) => [
    index === 0 ? '' : ' · ',
    make('span', { class: 'whole' }, `${valves[valve]} ${valve}`),
  ]);
  const isUnsure = valves.unknown > 0;
  const unknown = isUnsure ? `${valves.unknown} not known at present` : null;
  return [
    tile('Bridge', isWell ? statusWords.ok : bridgeWords, health.reason, isBad),
    half('Cloud', cloud),
    half('MQTT broker', broker),
    tile(
      'Valves',
      known.length > 0 ? positions : isUnsure ? 'Unknown' : isWhole ? 'None' : notYet(status),
      unknown,
      isUnsure && known.length === 0,
    ),
    tile(
      'Open incidents',
      incidents.inAll > 0 ? String(incidents.inAll) : incidents.areKnown ? 'None' : notYet(status),
      incidents.areKnown ? null : incidentDoubt(status),
      incidents.inAll > 0 || !(incidents.areKnown || isLoading),
    ),
  ];
}

/** What is missing is not read yet, or unknown. */
const notYet = ({ isLoading }) => (isLoading ? 'Not read yet' : 'Unknown');

function sinceWords({ since }, reason) {
  return [...(reason === null ? [] : [reason, make('br')]), 'Since ', moment(since)];
}

/** Why there may be other incidents than those shown; null where it goes without saying. */
function incidentDoubt({ incidents: { readAt, inAll }, cloud, isLoading }) {
  if (readAt === null) return isLoading ? null : 'They were not read yet';
  if (cloud.status !== 'down') return 'There may be more: not all of them could be read';
  return [inAll > 0 ? 'Last read ' : 'There was none when last read, ', moment(readAt)];
}

function tile(name, value, reason, isBad) {
  const detail = reason ? make('dd', { class: 'faint' }, ...[reason].flat()) : null;
  return make(
    'div',
    { class: isBad ? 'bad' : null },
    make('dt', null, name),
    make('dd', { class: 'value' }, ...[value].flat()),
    detail,
  );
}

function incidentList(status) {
  const { areKnown, inAll, newest } = status.incidents;
  if (inAll === 0) {
    const doubt = incidentDoubt(status);
    const unknown = [`${notYet(status)}. `, ...(doubt === null ? [] : [doubt].flat())];
    return [make('p', { class: 'faint' }, ...(areKnown ? ['None.'] : unknown))];
  }
  const rows = newest.map(({ name, type, severity, property, device, since }) => {
    const sinceMs = Date.parse(since ?? '');
    const where = [property, device]
      .filter((each) => each !== null)
      .map(named)
      .join(' · ');
    return make(
      'li',
      { class: 'incident' },
      make('strong', null, name ?? `Unknown incident${type === null ? '' : ` (${type})`}`),
      severity ? `, severity ${severity}` : null,
      make('p', null, where || 'where is not known'),
      make('p', { class: 'faint' }, Number.isNaN(sinceMs) ? 'since when is not known' : moment(sinceMs)),
    );
  });
  const rest = inAll - newest.length;
  return [
    make('ul', { class: 'incidents' }, ...rows),
    rest > 0 ? make('p', { class: 'faint' }, `… and ${rest} older, which are not shown here`) : '',
  ];
}

const emptyCard = () => make('article', { class: 'card' }, make('div'), make('div'));

function drawCard(card, { usage, ...home }) {
  draw(card.firstChild, home, propertyParts);
  drawEach(card.lastChild, usage, emptyWater, drawWater);
}

/** What is known of the whole, for a property of which something may not be read yet. */
function cardData(home, { isWhole, isLoading, polls }) {
  const isPending = (list) => polls.some(({ slice, isPending: isOpen }) => slice === list && isOpen);
  const arePlacesPending = isPending('properties');
  return { ...home, isWhole, isLoading, arePlacesPending, areHubsPending: isPending('signals') };
}

function propertyParts(home) {
  const { name, hubs, sonics, hubsInAll, sonicsInAll, isWhole, isLoading, arePlacesPending } = home;
  const noValveWords = isWhole ? 'No valve.' : isLoading ? 'Valves: not read yet.' : 'Valves: unknown.';
  const elsewhere = [
    ['hub', hubsInAll - hubs.length],
    ['valve', sonicsInAll - sonics.length],
  ].flatMap(([what, count]) => (count > 0 ? some(count, what) : []));
  return [
    make(
      'h3',
      null,
      name === null ? (arePlacesPending ? 'Property not read yet' : 'Unassigned devices') : named(name),
    ),
    incidentCount(home),
    ...hubs.map(({ name: hub, isConnected }) => {
      const words = isConnected === null ? 'unknown' : isConnected ? 'connected' : 'disconnected';
      return make('p', { class: isConnected === false ? 'low' : 'faint' }, `Hub ${named(hub)}: ${words}`);
    }),
    sonics.length > 0
      ? make('ul', { class: 'valves' }, ...sonics.map((sonic) => sonicRow(sonic, home)))
      : null,
    sonicsInAll === 0 ? make('p', { class: 'faint' }, noValveWords) : null,
    elsewhere.length > 0
      ? make('p', { class: 'faint' }, `${elsewhere.join(' and ')} of it on other pages`)
      : null,
  ].filter(Boolean);
}

/** How many incidents are open in a property, and when that was, if it is not the present. */
function incidentCount({ openIncidents, areIncidentsKnown, incidentsReadAt }) {
  if (!openIncidents) return null;
  const count = some(openIncidents, 'open incident');
  if (incidentsReadAt !== null) {
    return make('p', { class: 'low' }, `${count} (last read `, moment(incidentsReadAt), ')');
  }
  return make('p', { class: 'low' }, areIncidentsKnown ? count : `At least ${count}`);
}

function sonicRow(sonic, { areHubsPending }) {
  const { name, battery, flowLMin, pressureBar, temperatureC, readAt, doubt, word } = sonic;
  const readings = [
    flowLMin === null ? null : `${figure(flowLMin, 1)} L/min`,
    pressureBar === null ? null : `${figure(pressureBar, 2)} bar`,
    temperatureC === null ? null : `${figure(temperatureC, 1)} °C`,
  ];
  const power = battery === 'external_power_supply' ? 'external power' : battery && `battery ${battery}`;
  const unsure = areHubsPending ? 'Hub not read yet' : 'Possibly offline';
  const doubts = { old: readAt === null ? 'No update' : 'No update since ', unreachable: 'Offline', unsure };
  const details = [
    word === null ? null : word.replaceAll('_', ' '),
    doubt === null ? null : make('span', null, doubts[doubt], readAt === null ? null : moment(readAt)),
    ...readings,
    power ? make('span', { class: battery === 'low' ? 'low' : null }, power) : null,
  ].filter((detail) => detail !== null);
  const separated = details.flatMap((detail, index) => (index === 0 ? [detail] : [' · ', detail]));
  return make(
    'li',
    null,
    make('span', null, named(name)),
    valvePill(sonic),
    details.length > 0 ? make('p', { class: 'faint' }, ...separated) : null,
  );
}

const strokes = {
  open: 'M1 8h14M11 4l4 4-4 4',
  closed: 'M8 2a6 6 0 1 0 0 12a6 6 0 0 0 0-12M5 8h6',
  opening: 'M8 2a6 6 0 1 1-6 6',
  closing: 'M8 2a6 6 0 1 1-6 6',
  unknown: 'M5 5.5a3 3 0 1 1 4.5 2.6Q8 9 8 10.5M8 14v0',
};

/** What the valve is; and of what nobody knows at present, what it was. */
function valvePill({ valve, doubt }) {
  const isKnown = valve !== null && doubt === null;
  const looks = { open: 'is-open', closed: 'is-closed', opening: 'is-moving', closing: 'is-moving' };
  const words = valve === null ? 'unknown' : isKnown ? valve : `was ${valve}`;
  const shape = make('path', { d: strokes[valve ?? 'unknown'] });
  return make(
    'span',
    { class: `valve ${isKnown ? looks[valve] : 'is-unsure'}` },
    make('svg', { viewBox: '0 0 16 16', 'aria-hidden': 'true' }, shape),
    make('span', { class: isKnown ? 'position' : null }, words),
  );
}

const emptyWater = () =>
  make(
    'div',
    null,
    make('figure'),
    make('details', null, make('summary', null, 'Figures by day'), make('ul', { class: 'figures' })),
  );

function drawWater(place, usage) {
  draw(place.firstChild, usage, chartParts);
  draw(place.querySelector('.figures'), usage, figureRows);
}

const dayOf = (month, index) => `${month}-${String(index + 1).padStart(2, '0')}`;

function dayWords({ days, incompleteDays }, index) {
  if (days[index] === null) return 'no figure';
  return `${incompleteDays.includes(index + 1) ? 'at least ' : ''}${figure(days[index], 1)} L`;
}

function figureRows(usage) {
  return usage.days.map((_, index) =>
    make(
      'li',
      null,
      make('span', null, dayOf(usage.month, index).slice(5)),
      make('span', null, dayWords(usage, index)),
    ),
  );
}

function chartParts(usage) {
  const { sonic, month, days, incompleteDays, litres, isFresh } = usage;
  const [year, number] = month.split('-').map(Number);
  const length = new Date(Date.UTC(year, number, 0)).getUTCDate();
  const name = new Date(year, number - 1, 1).toLocaleDateString(undefined, {
    month: 'long',
    year: 'numeric',
  });
  const most = Math.max(...days.map((day) => day ?? 0));
  const isWhole = !days.includes(null) && incompleteDays.length === 0;
  const total = litres === null ? 'not known' : `${isWhole ? '' : 'at least '}${figure(litres, 0)} L`;
  const tallest = litres === null ? '' : `peak ${figure(most, 1)} L`;
  const bars = days.map((value, index) => {
    const height = value === null ? 100 : most === 0 ? 0 : (value / most) * 100;
    const kind = value === null ? 'nobody-knows' : incompleteDays.includes(index + 1) ? 'incomplete' : null;
    // A day without water has a line of its own; one that nobody knows is an empty frame.
    const shown = Math.max(height, 2);
    const shape = { class: kind, x: index * 10 + 1.5, width: 7, y: 100 - shown, height: shown };
    return make('rect', shape, make('title', null, `${dayOf(month, index)}: ${dayWords(usage, index)}`));
  });
  const label = `Water in ${name}: ${[total, tallest].filter(Boolean).join(', ')}`;
  return [
    make(
      'figcaption',
      null,
      make('span', null, `Water in ${name}${sonic === null ? '' : `, ${named(sonic)}`}`),
      make('strong', null, total),
    ),
    make(
      'svg',
      {
        class: 'chart',
        role: 'img',
        'aria-label': label,
        viewBox: `0 0 ${length * 10} 100`,
        preserveAspectRatio: 'none',
      },
      ...bars,
    ),
    make(
      'div',
      { class: 'days', 'aria-hidden': 'true' },
      make('span', null, '1'),
      make('span', null, tallest),
      make('span', null, String(length)),
    ),
    isFresh ? '' : make('p', { class: 'faint' }, 'Today is not complete: usage could not be read lately'),
  ];
}

function pollTable(polls) {
  const rows = polls.map(({ slice, lastSuccessAt, failure, failures, isPending }) => {
    const again = failures > 1 ? ` (${failures} times in a row)` : '';
    return make(
      'tr',
      null,
      make('th', { scope: 'row' }, pollWords[slice] ?? slice),
      make('td', null, lastSuccessAt === null ? (isPending ? 'not yet' : 'never') : moment(lastSuccessAt)),
      make('td', { class: failure === null ? 'faint' : 'low' }, failure === null ? '–' : failure + again),
    );
  });
  const headings = ['What', 'Last success', 'What went wrong since'];
  const head = headings.map((heading) => make('th', { scope: 'col' }, heading));
  return [make('table', null, make('thead', null, make('tr', null, ...head)), make('tbody', null, ...rows))];
}

function pageLinks({ number, of }) {
  if (of === 1) return [];
  const link = (to, words) => (to < 1 || to > of ? '' : make('a', { href: `?page=${to}` }, words));
  return [
    make('span', null, `Page ${number} of ${of}`),
    link(number - 1, 'Previous page'),
    link(number + 1, 'Next page'),
  ];
}

function show(status) {
  shown = status;
  at('main').hidden = false;
  const { health, cloud, broker, valves, incidents, isWhole, isLoading, startedAt } = status;
  draw(at('overview'), { health, cloud, broker, valves, incidents, isWhole, isLoading, startedAt }, overview);
  draw(at('incidents'), { incidents, cloud, isLoading }, incidentList);
  const cards = status.properties.map((home) => cardData(home, status));
  drawEach(at('properties'), cards, emptyCard, drawCard);
  const isEmpty = isWhole && cards.length === 0;
  const emptiness = status.emptiness ?? (isEmpty ? 'there is no property to show' : null);
  at('empty').hidden = emptiness === null;
  say(at('empty'), emptiness === null ? '' : sentence(emptiness));
  for (const links of document.querySelectorAll('.pages')) draw(links, status.page, pageLinks);
  draw(at('polls'), status.polls, pollTable);
  const notice = noticeText(status);
  at('notice').hidden = notice === '';
  say(at('notice'), notice);
  at('loading').hidden = !isLoading;
  draw(at('loading'), { polls: status.polls, progress: status.progress }, loadingParts);
  draw(at('about'), [status.version, status.startedAt], () => [
    `Version ${status.version}, running since `,
    moment(status.startedAt),
    '. Read-only.',
  ]);
}

// ---- the connection ---------------------------------------------------------------------------------------------

/** A moment by both clocks: the steady one may stand still while the machine sleeps, the other may be set. */
const momentNow = () => ({ steady: performance.now(), wall: Date.now() });
const msSince = ({ steady, wall }) => Math.max(performance.now() - steady, Date.now() - wall);

/** The document that is shown; null before the first. */
let shown = null;
let clockAheadMs = 0;
/** When the bridge last said anything, here and by its own clock; null before. */
let heard = null;
let isLost = false;
let isStreaming = false;
let hasStreamed = false;
let stream = null;
let streamed = momentNow();
let asked = { steady: Number.NEGATIVE_INFINITY, wall: Number.NEGATIVE_INFINITY };

/** The time by the clock of the bridge; this one may be wrong. */
function serverNow() {
  return Date.now() - clockAheadMs;
}

/** Nothing counts as heard before it is to be seen. */
function take({ now, status }) {
  clockAheadMs = Date.now() - now;
  if (status) show(status);
  heard = { ...momentNow(), server: now };
  isLost = false;
}

function lose() {
  isLost = true;
  isStreaming = false;
  refresh();
}

/** What changes while nothing comes: how old everything is. */
function refresh() {
  const now = serverNow();
  for (const words of document.querySelectorAll('[data-at]')) {
    say(words, ago(now - Number(words.dataset.at)));
  }
  document.body.classList.toggle('is-lost', isLost);
  at('link').dataset.state = linkState();
  say(at('link-words'), linkWords());
  say(at('link-age'), isLost && heard !== null ? `(${ago(msSince(heard))})` : '');
}

/** What is said again is read out again. */
function say(place, words) {
  if (place.textContent !== words) place.textContent = words;
}

/** Live is what comes through from the cloud to this page and goes on to the broker. */
function linkState() {
  if (isLost) return 'lost';
  if (shown === null || heard === null) return 'waiting';
  const sides = [shown.cloud.status, shown.broker.status];
  if (sides.includes('down')) return 'away';
  return sides.every((status) => status === 'up') ? 'live' : 'loading';
}

function linkWords() {
  if (isLost && heard === null) return 'No connection to the bridge';
  if (isLost) return `Connection lost. What you see is from ${timeOrDate(heard.server)}`;
  if (heard === null) return 'Connecting …';
  const state = linkState();
  if (state === 'loading') return 'Loading …';
  if (state === 'away') {
    const sides = sidesDown(shown).map(
      ({ name, words, since }) => `${name}: ${words} since ${timeOrDate(since)}`,
    );
    return sides.join(' · ');
  }
  return isStreaming ? 'Live' : `Updates every ${askEveryMs / 1_000} s`;
}

function listen() {
  stream?.close();
  streamed = momentNow();
  stream = new EventSource(`events${page}`);
  const hear = ({ data }) => {
    take(JSON.parse(data));
    isStreaming = true;
    hasStreamed = true;
    streamed = momentNow();
    refresh();
  };
  stream.addEventListener('status', hear);
  stream.addEventListener('beat', hear);
  stream.addEventListener('error', () => {
    if (isStreaming) lose();
    // A bridge that has readers enough refuses one more, and answers who asks.
    else if (heard === null) void ask();
  });
}

async function ask() {
  asked = momentNow();
  try {
    const answer = await fetch(`status.json${page}`, {
      cache: 'no-store',
      signal: AbortSignal.timeout(8_000),
    });
    if (!answer.ok) throw new Error(String(answer.status));
    take(await answer.json());
    refresh();
  } catch {
    if (!isStreaming) lose();
  }
}

function look() {
  const silentMs = msSince(streamed);
  if (isStreaming && silentMs > silenceMs) lose();
  const isOver = stream.readyState === EventSource.CLOSED || silentMs > silenceMs;
  if (isOver && silentMs > (hasStreamed ? soonMs : seldomMs)) listen();
  if (!isStreaming && silentMs > 2_000 && msSince(asked) >= askEveryMs) void ask();
  refresh();
}

listen();
refresh();
setInterval(look, 1_000);
document.addEventListener('visibilitychange', look);
