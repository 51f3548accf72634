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
  cloud_unreachable: 'The cloud is away',
  auth_failed: 'The cloud rejects the sign-in',
};

const pollWords = { pressure_tests: 'pressure tests' };

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

function overview({ health, cloud, broker, valves, incidents, isWhole }) {
  const half = (name, { isUp, reason }) => tile(name, isUp ? 'up' : 'down', reason, !isUp);
  const isWell = health.status === 'ok' && cloud.isUp && broker.isUp;
  const bridgeWords =
    health.status === 'ok' ? statusWords.degraded : (statusWords[health.status] ?? 'Starting');
  const known = ['open', 'opening', 'closing', 'closed'].filter((valve) => valves[valve] > 0);
  const positions = known.flatMap((valve, index) => [
    index === 0 ? '' : ' · ',
    make('span', { class: 'whole' }, `${valves[valve]} ${valve}`),
  ]);
  const isUnsure = valves.unknown > 0;
  const unknown = isUnsure ? `${valves.unknown} not known at present` : null;
  return [
    tile('Bridge', isWell ? statusWords.ok : bridgeWords, health.reason, !isWell),
    half('Cloud', cloud),
    half('MQTT broker', broker),
    tile(
      'Valves',
      known.length > 0 ? positions : isUnsure ? 'unknown' : isWhole ? 'none' : 'not read yet',
      unknown,
      isUnsure && known.length === 0,
    ),
    tile(
      'Open incidents',
      incidents.inAll > 0 ? String(incidents.inAll) : incidents.areKnown ? 'none' : 'unknown',
      incidents.areKnown ? null : 'There may be more: the cloud could not be read',
      incidents.inAll > 0 || !incidents.areKnown,
    ),
  ];
}

function tile(name, value, reason, isBad) {
  const detail = reason ? make('dd', { class: 'faint' }, reason) : null;
  return make(
    'div',
    { class: isBad ? 'bad' : null },
    make('dt', null, name),
    make('dd', { class: 'value' }, ...[value].flat()),
    detail,
  );
}

function incidentList({ areKnown, inAll, newest }) {
  if (inAll === 0) {
    return [make('p', { class: 'faint' }, areKnown ? 'None.' : 'Unknown: the cloud could not be read.')];
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

function propertyParts({ name, openIncidents, hubs, sonics, hubsInAll, sonicsInAll }) {
  const count = openIncidents === null ? null : some(openIncidents, 'open incident');
  const elsewhere = [
    ['hub', hubsInAll - hubs.length],
    ['valve', sonicsInAll - sonics.length],
  ].flatMap(([what, count]) => (count > 0 ? some(count, what) : []));
  return [
    make('h3', null, name === null ? 'In no property that is known' : named(name)),
    count && openIncidents > 0 ? make('p', { class: 'low' }, count) : null,
    ...hubs.map(({ name: hub, isConnected }) => {
      const words = isConnected === null ? 'unknown' : isConnected ? 'connected' : 'disconnected';
      return make('p', { class: isConnected === false ? 'low' : 'faint' }, `Hub ${named(hub)}: ${words}`);
    }),
    sonics.length > 0 ? make('ul', { class: 'valves' }, ...sonics.map(sonicRow)) : null,
    sonicsInAll === 0 ? make('p', { class: 'faint' }, 'No valve.') : null,
    elsewhere.length > 0
      ? make('p', { class: 'faint' }, `${elsewhere.join(' and ')} of it on other pages`)
      : null,
  ].filter(Boolean);
}

function sonicRow(sonic) {
  const { name, battery, flowLMin, pressureBar, temperatureC, readAt, doubt, word } = sonic;
  const readings = [
    flowLMin === null ? null : `${figure(flowLMin, 1)} L/min`,
    pressureBar === null ? null : `${figure(pressureBar, 2)} bar`,
    temperatureC === null ? null : `${figure(temperatureC, 1)} °C`,
  ];
  const power = battery === 'external_power_supply' ? 'external power' : battery && `battery ${battery}`;
  const doubts = { old: 'not read any more', unreachable: 'not reachable', unsure: 'perhaps not reachable' };
  const details = [
    word === null ? null : word.replaceAll('_', ' '),
    doubt === null ? null : doubts[doubt],
    readAt === null ? null : moment(readAt, true),
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
  const tallest = litres === null ? '' : `tallest: ${figure(most, 1)} L`;
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
  const rows = polls.map(({ slice, lastSuccessAt, failure, failures }) => {
    const again = failures > 1 ? ` (${failures} times in a row)` : '';
    return make(
      'tr',
      null,
      make('th', { scope: 'row' }, pollWords[slice] ?? slice),
      make('td', null, lastSuccessAt === null ? 'never' : moment(lastSuccessAt)),
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
  at('main').hidden = false;
  draw(
    at('overview'),
    [status.health, status.cloud, status.broker, status.valves, status.incidents, status.isWhole],
    () => overview(status),
  );
  draw(at('incidents'), status.incidents, incidentList);
  drawEach(at('properties'), status.properties, emptyCard, drawCard);
  for (const links of document.querySelectorAll('.pages')) draw(links, status.page, pageLinks);
  draw(at('polls'), status.polls, pollTable);
  at('notice').hidden = status.cloud.isUp;
  draw(at('about'), [status.version, status.startedAt], () => [
    `Version ${status.version}, running since `,
    moment(status.startedAt),
    '. This page only shows: nothing can be changed here.',
  ]);
}

// ---- the connection ---------------------------------------------------------------------------------------------

/** A moment by both clocks: the steady one may stand still while the machine sleeps, the other may be set. */
const momentNow = () => ({ steady: performance.now(), wall: Date.now() });
const msSince = ({ steady, wall }) => Math.max(performance.now() - steady, Date.now() - wall);

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
  at('link').dataset.state = isLost ? 'lost' : heard === null ? 'waiting' : 'live';
  say(at('link-words'), linkWords());
  say(at('link-age'), isLost && heard !== null ? `(${ago(msSince(heard))})` : '');
}

/** What is said again is read out again. */
function say(place, words) {
  if (place.textContent !== words) place.textContent = words;
}

function linkWords() {
  if (isLost && heard === null) return 'No connection to the bridge';
  if (isLost) return `Connection lost. What you see is from ${timeOrDate(heard.server)}`;
  if (heard === null) return 'Connecting …';
  return isStreaming ? 'Live' : `Asked for every ${askEveryMs / 1_000} s`;
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
