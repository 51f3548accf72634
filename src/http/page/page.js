// The status page: asks for the document of status.json every two seconds, and shows it if it has changed. Words of the
// cloud only become text, and all requests are GET. All texts come from src/texts, in the language of the browser. Only the
// reasons of problems are English, as in the log.
import { texts } from './texts.js';

/** How often the page asks. A leak is shown within three seconds. */
const askEveryMs = 2_000;

/** If nothing comes for longer than this, for example because the computer slept, the connection is lost. */
const silenceMs = 12_000;

/** A request without an answer is given up after this time. */
const patienceMs = 8_000;

/** From this number on, a property's valves would be taller than the water chart beside them. */
const manyValves = 5;

const at = (id) => document.getElementById(id);

// ---- words ------------------------------------------------------------------------------------------------------

const { language } = texts;
// Dates and numbers as the reader's country writes them. Readers without a translation get British English.
const own = navigator.languages.find((each) => each.split('-')[0] === language);
const locale = own ?? (language === 'en' ? 'en-GB' : language);
const plurals = new Intl.PluralRules(language);
const day = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' });
const timeOnly = new Intl.DateTimeFormat(locale, { timeStyle: 'short' });
const moreExact = new Intl.DateTimeFormat(locale, { dateStyle: 'full', timeStyle: 'medium' });
const listed = new Intl.ListFormat(language, { type: 'unit' });
// The days of usage are dates at the property, even if the reader is in another time zone.
const dayName = new Intl.DateTimeFormat(locale, {
  weekday: 'short',
  day: 'numeric',
  month: 'short',
  timeZone: 'UTC',
});
const weekdayLetter = new Intl.DateTimeFormat(locale, { weekday: 'narrow', timeZone: 'UTC' });
const monthName = new Intl.DateTimeFormat(locale, { month: 'long', timeZone: 'UTC' });

const number = (value, digits = 0) => value.toLocaleString(locale, { maximumFractionDigits: digits });
const litres = (value) => number(value, value < 10 ? 1 : 0);

/** A text with its gaps filled. A name that somebody has given is put in as it is. */
function say(key, values = {}) {
  const row = texts[key];
  const text = typeof row === 'string' ? row : (row[plurals.select(values.count)] ?? row.other);
  return text.replace(/\{(\w+)\}/g, (_, gap) => inWords(gap, values));
}

function inWords(gap, values) {
  const value = values[gap];
  if (gap === 'name' && 'type' in values) return alertName(values);
  if (gap === 'at') return timeOrDate(value);
  if (gap === 'place' && values.property) return `${value || texts.unnamed} (${values.property})`;
  if (gap === 'litres') return litres(value);
  return typeof value === 'number' ? number(value, 2) : value || texts.unnamed;
}

const alertName = ({ type }) =>
  texts[`alert_${type}`] ?? (type === null ? texts.unknown_alert : `${texts.unknown_alert} (${type})`);

function timeOrDate(ms) {
  const isToday = new Date(ms).toDateString() === new Date(serverNow()).toDateString();
  return (isToday ? timeOnly : day).format(ms);
}

/** How long ago, in the largest unit that fits. */
function ago(ms) {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < 60) return say('seconds_ago', { count: seconds });
  if (seconds < 3_600) return say('minutes_ago', { count: Math.floor(seconds / 60) });
  if (seconds < 172_800) return say('hours_ago', { count: Math.floor(seconds / 3_600) });
  return say('days_ago', { count: Math.floor(seconds / 86_400) });
}

// ---- elements ---------------------------------------------------------------------------------------------------

/** An element with its attributes, and the texts and elements in it. Null is left out. */
function make(name, attributes, ...children) {
  const isDrawn = ['svg', 'rect', 'path', 'title'].includes(name);
  const element = isDrawn
    ? document.createElementNS('http://www.w3.org/2000/svg', name)
    : document.createElement(name);
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (value !== null && value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/** What each place was drawn from. If it has not changed, the place stays as it is, with any selected text in it. */
const drawn = new WeakMap();

function draw(place, data, render) {
  const text = JSON.stringify([data, isLost]);
  if (drawn.get(place) === text) return;
  drawn.set(place, text);
  place.replaceChildren(...render(data, place).filter((child) => child !== null));
}

/** One child for each item of the data. Only children whose item has changed are drawn again. */
function drawEach(place, data, create, drawOne) {
  while (place.children.length > data.length) place.lastChild.remove();
  while (place.children.length < data.length) place.append(create());
  for (const [index, each] of data.entries()) drawOne(place.children[index], each);
}

/** A moment as text that says how long ago it was. `refresh` updates the text. */
function moment(ms) {
  const words = make('span', { 'data-at': ms }, ago(serverNow() - ms));
  return make('time', { datetime: new Date(ms).toISOString(), title: moreExact.format(ms) }, words);
}

/** Screen readers read out a text that is written again, so it is only written if it has changed. */
function write(place, words) {
  if (place.textContent !== words) place.textContent = words;
}

// ---- the headline -----------------------------------------------------------------------------------------------

const marks = {
  good: 'M23 39l7 7 12-13',
  moving: 'M22 40h0M32 40h0M42 40h0',
  unknown: 'M26 35a6 6 0 1 1 9 5q-3 2-3 4M32 50v0',
};

/** While the bridge is unreachable, the page shows nothing as current. */
function headline() {
  if (shown === null) {
    return { tone: 'unknown', lead: isLost ? [say('no_bridge')] : [], details: '' };
  }
  const { tone, sentences, details } = shown.headline;
  const inText = (parts) => parts.map(({ text, values }) => say(text, values));
  const lead = inText(sentences);
  if (!isLost) return { tone, lead, details: inText(details).join(' ') };
  const before = say('lost_before', { at: heard.server, sentences: lead.join(' ') });
  return { tone: 'unknown', lead: [say('lost_headline')], details: before };
}

function showHeadline() {
  const { tone, lead, details } = headline();
  at('hero').dataset.tone = tone;
  at('mark').setAttribute('d', marks[tone] ?? 'M32 26v14M32 48v0');
  // Each sentence has its own element, and stays on one line if it can.
  draw(at('headline'), lead, () => lead.flatMap((words) => [make('span', null, words), ' ']));
  write(at('details'), details);
  document.title = lead.length === 0 ? 'sonic2mqtt' : `${lead.join(' ')} – sonic2mqtt`;
  const icon = shown === null ? 'icon.svg' : `icon-${tone}.svg`;
  if (at('icon').getAttribute('href') !== icon) at('icon').setAttribute('href', icon);
}

// ---- loading ----------------------------------------------------------------------------------------------------

function showLoading() {
  const isLoading = shown?.isLoading === true && !isLost;
  at('loading').hidden = !isLoading;
  const isBare = shown === null ? !isLost : isLoading && shown.properties.length === 0;
  at('skeleton').hidden = !isBare;
  if (!isLoading) return;
  const { polls, progress } = shown;
  const parts = polls.map(({ poll, isPending }) => {
    const { read = 0, total = null } = progress.find((each) => each.poll === poll) ?? {};
    const share = isPending ? (total ? Math.min(1, read / total) : 0) : 1;
    return { name: texts[`data_${poll}`] ?? poll, isPending, read, total, share };
  });
  at('progress').value = parts.reduce((sum, { share }) => sum + share, 0) / parts.length;
  const open = parts
    .filter(({ isPending }) => isPending)
    .map(({ name, read, total }) => {
      if (read === 0) return name;
      const values = { name, count: read, of: Math.max(read, total) };
      return say(total === null ? 'read_count' : 'read_of', values);
    });
  write(at('loading-words'), say('still_to_read', { list: listed.format(open) }));
}

// ---- alerts -----------------------------------------------------------------------------------------------------

function alertItems({ alerts, alertsInAll }) {
  if (alerts.length === 0) return null;
  const items = alerts.map(({ type, urgency, time, at: since, advice }) =>
    make(
      'li',
      { class: 'alert', 'data-tone': urgency },
      make('strong', null, alertName({ type })),
      since === null ? null : [' ', say(time, { at: since })],
      // While the bridge is unreachable, no valve can be closed from here.
      make('p', null, texts[isLost && type === 'water_presence_detected' ? 'advice_leak_by_hand' : advice]),
    ),
  );
  const rest = alertsInAll - alerts.length;
  const more = rest > 0 ? make('li', { class: 'faint' }, say('more_alerts', { count: rest })) : null;
  return make('ul', { class: 'alerts' }, items, more);
}

/** A command that failed, as an alert. */
function failedItem({ name, failed }) {
  if (failed === null) return null;
  const words = make('strong', null, say(failed.text, { place: name || texts.unnamed }));
  const more = make('p', null, failed.about.map(({ text, values }) => say(text, values)).join(' '));
  return make('ul', { class: 'alerts' }, make('li', { class: 'alert', 'data-tone': 'warning' }, words, more));
}

function unplacedParts(unplaced) {
  const items = alertItems(unplaced);
  return items === null
    ? []
    : [make('article', { class: 'card' }, make('h2', null, texts.unplaced_alerts), items)];
}

// ---- valves -----------------------------------------------------------------------------------------------------

const strokes = {
  closed: 'M3 13L13 3',
  moving: 'M8 4v4l3 2',
  unknown: 'M6 6.5a2 2 0 1 1 2.6 2Q8 9 8 10M8 12.4v0',
};

/** How a valve is shown. If its position is unknown at present, the page shows the last known one as such. */
function positionOf({ valve, doubt, word }) {
  const isUnsure = doubt !== null || isLost;
  if (!isUnsure && word === 'pressure_test') return { look: 'moving', words: texts.valve_state_testing };
  if (!isUnsure && word === 'faulty') return { look: 'faulty', words: texts.valve_state_faulty };
  if (valve === null) return { look: 'unsure', words: texts.valve_state_unknown };
  if (isUnsure) return { look: 'unsure', words: texts[`was_${valve}`] };
  const isMoving = valve === 'opening' || valve === 'closing';
  return {
    look: isMoving ? 'moving' : valve,
    words: texts[isMoving ? `valve_${valve}_now` : `valve_${valve}`],
  };
}

function valveState(sonic) {
  const { valve } = sonic;
  const { look, words } = positionOf(sonic);
  const mark = valve === null ? strokes.unknown : strokes[look];
  return make(
    'span',
    { class: `valve is-${look}` },
    make(
      'svg',
      { viewBox: '0 0 16 16', 'aria-hidden': 'true' },
      make('path', { class: 'body', d: 'M8 1c3 3.7 5 6.2 5 9a5 5 0 0 1-10 0c0-2.800 2-5.300 5-9z' }),
      mark === undefined ? null : make('path', { class: 'mark', d: mark }),
    ),
    words,
  );
}

function doubtWords({ doubt, offlineHub, readAt }) {
  if (doubt === null) return null;
  if (doubt === 'unreachable')
    return offlineHub === null ? texts.offline : say('offline_by_hub', { place: offlineHub });
  if (doubt !== 'old') return doubt === 'hub_unread' ? texts.hub_unread : texts.maybe_offline;
  return readAt === null ? texts.no_update : [say('no_update_since', { at: readAt }), ', ', moment(readAt)];
}

function flowWords(flowLMin) {
  if (flowLMin === null) return null;
  if (flowLMin === 0) return texts.no_flow;
  return make(
    'span',
    { class: 'flowing' },
    make(
      'svg',
      { viewBox: '0 0 24 12', 'aria-hidden': 'true' },
      make('path', { d: 'M-12 6q3-5 6 0t6 0t6 0t6 0t6 0t6 0t6 0t6 0' }),
    ),
    say('flow', { figure: number(flowLMin, 1) }),
  );
}

/** Parts with dots between them. */
const dotted = (parts) =>
  parts
    .filter((part) => part !== null && part !== undefined)
    .flatMap((part, index) => (index === 0 ? [part] : [' · ', part]))
    .flat();

function valveParts(sonic, row) {
  const { name, battery, word, moved } = sonic;
  // Without a connection to the bridge nothing is known of the present.
  const { flowLMin = null, pressureBar = null, temperatureC = null, todayL = null } = isLost ? {} : sonic;
  const isWord = word !== null && !['pressure_test', 'faulty'].includes(word);
  const lines = [
    [
      doubtWords(sonic),
      isWord ? say('cloud_word', { word }) : null,
      flowWords(flowLMin),
      todayL === null ? null : say('litres_today', { litres: todayL }),
    ],
    [
      moved === null || isLost
        ? null
        : say('last_moved', { at: moved.at, by: texts[`moved_by_${moved.by}`] }),
    ],
    [
      pressureBar === null ? null : say('bar', { figure: number(pressureBar, 1) }),
      temperatureC === null ? null : say('degrees', { figure: number(temperatureC, 1) }),
      battery === null
        ? null
        : make('span', { class: battery === 'low' ? 'low' : null }, texts[`battery_${battery}`] ?? battery),
    ],
  ].map(dotted);
  row.classList.toggle('has-alert', sonic.alerts.length > 0 || sonic.failed !== null);
  return [
    make('h3', null, name || texts.unnamed),
    valveState(sonic),
    make('p', { class: 'figures' }, lines[0]),
    ...lines.slice(1).map((line) => (line.length === 0 ? null : make('p', { class: 'faint' }, line))),
    alertItems(sonic),
    failedItem(sonic),
  ];
}

function hubParts(hub) {
  const { name, link } = hub;
  const words = say(`hub_${isLost ? 'unknown' : link}`, { place: name });
  return [make('p', { class: link === 'disconnected' && !isLost ? 'low' : 'faint' }, words), alertItems(hub)];
}

// ---- properties -------------------------------------------------------------------------------------------------

const emptyCard = () =>
  make(
    'article',
    { class: 'card' },
    make(
      'div',
      { class: 'devices' },
      make('div'),
      make('div', { class: 'own' }),
      make('ul', { class: 'valves' }),
      make('ul', { class: 'hubs' }),
    ),
    make('div', { class: 'waters' }),
  );

function drawCard(card, { property, status }) {
  const { name, sonics, hubs, usage, sections, alerts, alertsInAll, hubsInAll, sonicsInAll } = property;
  const isPending = (list) => status.polls.some(({ poll, isPending: isOpen }) => poll === list && isOpen);
  const [devices, waters] = card.children;
  const [head] = devices.children;
  const [own, valves, hubList] = ['own', 'valves', 'hubs'].map((kind) => devices.querySelector(`.${kind}`));
  const places = { alerts: own, sonics: valves, hubs: hubList };
  // The worst section comes first. Moving an element ends its animations, so only misplaced sections move.
  for (const [index, section] of sections.entries()) {
    const there = devices.children[index + 1];
    if (there !== places[section]) there.before(places[section]);
  }
  const { isComplete, isLoading } = status;
  // The alerts that a valve can report are known once its hub was read too.
  const areAlertsPending = ['incidents', 'sonics', 'signals'].some(isPending);
  const areAlertsFresh = (property.areAlertsFresh && !isLost) || areAlertsPending;
  const isCut = hubs.length < hubsInAll || sonics.length < sonicsInAll;
  card.classList.toggle('is-long', sonics.length >= manyValves);
  const arePlacesPending = isPending('properties');
  const shutOff = isLost ? null : property.shutOff;
  const about = {
    name,
    sonicsInAll,
    isCut,
    isComplete,
    isLoading,
    arePlacesPending,
    areAlertsFresh,
    shutOff,
  };
  draw(head, about, headParts);
  draw(own, { alerts, alertsInAll }, (data) => [alertItems(data)]);
  drawEach(
    valves,
    sonics,
    () => make('li'),
    (row, sonic) => draw(row, sonic, valveParts),
  );
  drawEach(
    hubList,
    hubs,
    () => make('li'),
    (row, hub) => draw(row, hub, hubParts),
  );
  drawEach(waters, usage, emptyWater, drawWater);
}

function headParts(property) {
  const { name, sonicsInAll, isCut, isComplete, isLoading, arePlacesPending, areAlertsFresh, shutOff } =
    property;
  const nameless = arePlacesPending ? texts.property_unread : texts.unassigned;
  const noValve = isComplete ? texts.no_valve_here : isLoading ? texts.valves_unread : texts.valves_not_known;
  return [
    make('h2', null, name === null ? nameless : name || texts.unnamed),
    isCut ? make('p', { class: 'faint' }, texts.on_other_pages) : null,
    sonicsInAll === 0 ? make('p', { class: 'faint' }, noValve) : null,
    areAlertsFresh ? null : make('p', { class: 'faint' }, texts.alerts_unknown),
    shutOff && make('p', { class: 'faint' }, say(shutOff.text, shutOff.values)),
  ];
}

// ---- water ------------------------------------------------------------------------------------------------------

const emptyWater = () =>
  make('figure', { class: 'water' }, make('figcaption'), make('div', { class: 'month' }));

function drawWater(place, usage) {
  const isFresh = usage.isFresh && !isLost;
  // Old figures lack the water that has run since they were read, so the last day is incomplete.
  const incompleteDays = isFresh ? usage.incompleteDays : [...usage.incompleteDays, usage.days.length - 1];
  draw(place.firstChild, { ...usage, isFresh, incompleteDays }, waterParts);
  draw(place.lastChild, { ...usage, incompleteDays }, monthParts);
}

const dateOf = ({ today, days }, index) => Date.parse(today) - (days.length - 1 - index) * 86_400_000;

function waterParts({
  sonic,
  today,
  days,
  averageL,
  averageDays,
  monthL,
  isMonthWhole,
  isFresh,
  incompleteDays,
}) {
  const last = days.at(-1);
  const isPartial = incompleteDays.includes(days.length - 1);
  const words =
    last === null ? texts.not_known : say(isPartial ? 'at_least_litres' : 'litres', { litres: last });
  const average =
    averageL === null
      ? null
      : say(averageDays === 7 ? 'average_of_week' : 'average', { litres: averageL, count: averageDays });
  const month = monthL === null ? null : { month: monthName.format(Date.parse(today)), litres: monthL };
  return [
    sonic === null ? null : make('p', { class: 'faint' }, say('water_of', { place: sonic })),
    make('p', { class: 'today' }, make('strong', null, words), ` ${texts.today}`),
    averageL === null || last === null ? null : gauge(last, averageL),
    average === null ? null : make('p', { class: 'faint' }, average),
    month === null
      ? null
      : make('p', { class: 'faint' }, say(isMonthWhole ? 'month_so_far' : 'month_at_least', month)),
    isFresh ? null : make('p', { class: 'low' }, texts.today_missing),
  ];
}

/** Today's water on a track as long as the average. If today is more, a mark shows the average. */
function gauge(today, average) {
  const most = Math.max(today, average, 1);
  return make(
    'svg',
    { class: 'gauge', viewBox: '0 0 100 8', preserveAspectRatio: 'none', 'aria-hidden': 'true' },
    make('rect', { class: 'track', width: (average / most) * 100, height: 8 }),
    make('rect', { width: (today / most) * 100, height: 8 }),
    today > average ? make('rect', { class: 'end', x: (average / most) * 100, width: 0.7, height: 8 }) : null,
  );
}

/** A month of days. A tap, the mouse or the arrow keys choose the day whose figure is shown as text; at first it is today. */
function monthParts(usage, place) {
  const { days, incompleteDays, averageL } = usage;
  const length = days.length;
  const most = Math.max(1, ...days.map((litresOfDay) => litresOfDay ?? 0), averageL ?? 0);
  const words = (index) => {
    const name = dayName.format(dateOf(usage, index));
    const value = days[index];
    const isPartial = incompleteDays.includes(index);
    const water =
      value === null ? texts.no_figure : say(isPartial ? 'at_least_litres' : 'litres', { litres: value });
    return say('day_figure', { day: name, water });
  };
  const bars = days.map((value, index) => {
    const height = value === null ? 3 : Math.max(2, (value / most) * 96);
    const kind = value === null ? 'no-data' : incompleteDays.includes(index) ? 'incomplete' : null;
    return make('rect', { class: kind, x: index * 10 + 1.5, width: 7, y: 100 - height, height, rx: 1.5 });
  });
  const line = averageL === null ? null : 100 - (averageL / most) * 96;
  const average = line === null ? null : make('path', { class: 'average', d: `M0 ${line}H${length * 10}` });
  const chart = make(
    'svg',
    { class: 'chart', viewBox: `0 0 ${length * 10} 100`, preserveAspectRatio: 'none', 'aria-hidden': 'true' },
    bars,
    average,
  );
  const letters = days.map((_, index) => {
    const date = new Date(dateOf(usage, index));
    const isWeekend = [0, 6].includes(date.getUTCDay());
    return make('span', { class: isWeekend ? 'weekend' : null }, weekdayLetter.format(date));
  });
  const week = make('div', { class: 'weekdays', 'aria-hidden': 'true' }, letters);
  const chosen = make('p', { class: 'chosen' });
  const slider = make(
    'div',
    {
      ...{ class: 'days', tabindex: 0, role: 'slider', 'aria-label': texts.litres_by_day },
      ...{ 'aria-valuemin': 1, 'aria-valuemax': length },
    },
    chart,
    week,
  );
  const choose = (index) => {
    place.dataset.chosen = length - 1 - index;
    for (const parts of [bars, letters])
      for (const [each, part] of parts.entries()) part.classList.toggle('is-chosen', each === index);
    write(chosen, words(index));
    slider.setAttribute('aria-valuenow', index + 1);
    slider.setAttribute('aria-valuetext', words(index));
  };
  const clamp = (index) => Math.max(0, Math.min(length - 1, index));
  const point = ({ clientX }) => {
    const { left, width } = slider.getBoundingClientRect();
    choose(clamp(Math.floor(((clientX - left) / width) * length)));
  };
  slider.addEventListener('pointerdown', point);
  slider.addEventListener('pointermove', (event) => {
    if (event.pointerType === 'mouse' || event.buttons > 0) point(event);
  });
  slider.addEventListener('keydown', (event) => {
    const now = Number(slider.getAttribute('aria-valuenow')) - 1;
    const next = {
      ArrowLeft: now - 1,
      ArrowDown: now - 1,
      ArrowRight: now + 1,
      ArrowUp: now + 1,
      Home: 0,
      End: length - 1,
    };
    if (!(event.key in next)) return;
    event.preventDefault();
    choose(clamp(next[event.key]));
  });
  // A chosen day stays chosen while figures change.
  choose(clamp(length - 1 - Number(place.dataset.chosen ?? 0)));
  // If the slider that is being replaced has the keyboard's focus, the new one takes it over.
  if (place.contains(document.activeElement)) queueMicrotask(() => slider.focus());
  return [chosen, slider];
}

// ---- connections ------------------------------------------------------------------------------------------------

/** Which of the connections to the cloud and the broker are down, as text. */
function sidesDown({ health, cloud, broker, startedAt }) {
  const cloudWords = { cloud_unreachable: 'unreachable', auth_failed: 'sign_in_rejected_since' };
  return [
    [texts.cloud, cloud, cloudWords[health.status] ?? 'no_fresh_data'],
    [texts.broker, broker, 'offline_since'],
  ]
    .filter(([, { status }]) => status === 'down')
    .map(([name, { workedAt }, key]) => ({ name, words: say(key, { at: workedAt ?? startedAt }) }));
}

function connectionsLine(status) {
  const down = sidesDown(status);
  if (down.length > 0) return down.map(({ name, words }) => `${name}: ${words}`).join(' · ');
  if (!areSidesUp(status) || status.health.status === null || status.isLoading) return texts.loading;
  return status.health.status === 'ok' ? texts.all_connected : `${texts.bridge}: ${texts.has_problem}`;
}

const areSidesUp = ({ cloud, broker }) => cloud.status === 'up' && broker.status === 'up';

function sides(status) {
  const down = sidesDown(status);
  const side = (name, { status: stage, reason }) => {
    const words = down.find((each) => each.name === name)?.words;
    const well = stage === 'connecting' ? texts.connecting : texts.connected;
    // The reason already says that it is connected.
    return [name, words ?? well, reason?.replace('Connected, ', '')];
  };
  const { health, isLoading } = status;
  const isWell = health.status === 'ok' && areSidesUp(status) && !isLoading;
  const isStarting = health.status === null || isLoading;
  const own = isWell ? texts.everything_works : isStarting ? texts.loading : texts.has_problem;
  return [
    [texts.bridge, own, health.reason],
    side(texts.cloud, status.cloud),
    side(texts.broker, status.broker),
  ].flatMap(([name, words, reason]) => [
    make('dt', null, name),
    make('dd', null, words, reason ? [' ', make('span', { class: 'faint', lang: 'en' }, reason)] : null),
  ]);
}

function pollTable(polls) {
  const rows = polls.map(({ poll, lastSuccessAt, failure, failures, isPending }) => {
    const times = failures > 1 ? [' ', say('times_in_a_row', { count: failures })] : null;
    const error = failure === null ? '–' : make('span', { lang: 'en' }, failure);
    const updated = lastSuccessAt === null ? texts[isPending ? 'not_yet' : 'never'] : moment(lastSuccessAt);
    return make(
      'tr',
      null,
      make('th', { scope: 'row' }, texts[`data_${poll}`] ?? poll),
      make('td', null, updated),
      make('td', { class: failure === null ? 'faint' : 'low' }, error, times),
    );
  });
  const head = ['data', 'last_updated', 'error'].map((key) => make('th', { scope: 'col' }, texts[key]));
  return [make('table', null, make('thead', null, make('tr', null, head)), make('tbody', null, rows))];
}

// ---- pages ------------------------------------------------------------------------------------------------------

// The setup page leads here.
at('next').hidden = new URLSearchParams(location.search).get('setup') !== 'done';

function pageLinks({ number: page, of }) {
  if (of === 1) return [];
  const link = (to, text) => (to < 1 || to > of ? null : make('a', { href: `?page=${to}` }, text));
  return [
    make('span', null, say('page_of', { number: page, of })),
    link(page - 1, texts.previous_page),
    link(page + 1, texts.next_page),
  ];
}

// ---- the dashboard ----------------------------------------------------------------------------------------------

async function copyDashboard({ target }) {
  write(target, texts.dashboard_copying);
  try {
    const answer = await fetch('dashboard.yaml', { cache: 'no-store', signal: AbortSignal.timeout(30_000) });
    if (!answer.ok) throw new Error(String(answer.status));
    await copy(await answer.text());
    write(target, texts.dashboard_copied);
  } catch {
    write(target, texts.dashboard_failed);
  }
}

/** The clipboard of the browser only works over https. Over http, an older way to copy is used. */
async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = make('textarea', { class: 'copied' });
  area.value = text;
  document.body.append(area);
  area.select();
  const isCopied = document.execCommand('copy');
  area.remove();
  if (!isCopied) throw new Error('the browser does not copy');
}

at('copy-dashboard').hidden = false;
at('copy-dashboard').addEventListener('click', copyDashboard);

// ---- the whole --------------------------------------------------------------------------------------------------

function show(status) {
  shown = status;
  const unplaced = at('unplaced');
  draw(unplaced, status.unplaced, unplacedParts);
  const { isFirst } = status.unplaced;
  if (isFirst !== (unplaced.compareDocumentPosition(at('properties')) === Node.DOCUMENT_POSITION_FOLLOWING)) {
    if (isFirst) document.querySelector('.pages').before(unplaced);
    else at('properties').after(unplaced);
  }
  const { properties, isComplete, isWatchOnly, emptiness, page } = status;
  at('watch-only').hidden = !isWatchOnly;
  drawEach(
    at('properties'),
    properties.map((property) => ({ property, status })),
    emptyCard,
    drawCard,
  );
  const isFlowing = properties.some(({ sonics }) => sonics.some(({ flowLMin }) => flowLMin > 0));
  document.body.classList.toggle('is-flowing', isFlowing);
  const isEmpty = isComplete && properties.length === 0;
  const sentence = emptiness && `${emptiness.charAt(0).toUpperCase()}${emptiness.slice(1)}.`;
  const empty = sentence ?? (isEmpty ? texts.no_property : '');
  at('empty').hidden = empty === '';
  at('empty').lang = empty === sentence ? 'en' : language;
  write(at('empty'), empty);
  for (const links of document.querySelectorAll('.pages')) draw(links, page, pageLinks);
  const { health, cloud, broker, startedAt, version, isLoading } = status;
  draw(at('sides'), { health, cloud, broker, startedAt, isLoading }, sides);
  draw(at('polls'), status.polls, pollTable);
  write(at('about'), say('about', { version, at: startedAt }));
}

// ---- the connection ---------------------------------------------------------------------------------------------

/** A moment by both clocks. The steady one may stop while the machine sleeps, and somebody may set the other. */
const momentNow = () => ({ steady: performance.now(), wall: Date.now() });
const msSince = ({ steady, wall }) => Math.max(performance.now() - steady, Date.now() - wall);

/** The document that the page shows; null before the first one has come. */
let shown = null;
let clockAheadMs = 0;
/** When the bridge last sent anything, by the clock here and by the bridge's clock; null if it has sent nothing yet. */
let heard = null;
let isLost = false;
let isAsking = false;
let asked = { steady: Number.NEGATIVE_INFINITY, wall: Number.NEGATIVE_INFINITY };
/** The tag of the shown document, with which the bridge answers that nothing has changed. */
let tag = null;

/** The time by the bridge's clock, because the clock here may be wrong. */
function serverNow() {
  return Date.now() - clockAheadMs;
}

/** Shows a document of the bridge, or that the shown one is still true, and then records when it came. */
function take(document) {
  const wasLost = isLost;
  isLost = false;
  if (document !== null) clockAheadMs = Date.now() - document.now;
  if (document !== null || wasLost) show(document?.status ?? shown);
  heard = { ...momentNow(), server: serverNow() };
}

function lose() {
  const wasLost = isLost;
  isLost = true;
  // The shown document is old now, and each valve has to say so.
  if (!wasLost && shown !== null) show(shown);
  refresh();
}

/** Updates what changes without new data: how old everything is. */
function refresh() {
  const now = serverNow();
  for (const words of document.querySelectorAll('[data-at]')) {
    write(words, ago(now - Number(words.dataset.at)));
  }
  document.body.classList.toggle('is-lost', isLost);
  showHeadline();
  showLoading();
  at('link').dataset.state = linkState();
  write(at('link-words'), linkWords());
  write(at('link-age'), isLost && heard !== null ? `(${ago(msSince(heard))})` : '');
  at('connections').hidden = shown === null;
  if (shown === null) return;
  const line = isLost ? texts.no_bridge : connectionsLine(shown);
  at('connections-line').dataset.state = isLost ? 'lost' : lineState();
  write(at('connections-line'), line);
}

/** The page is live if the cloud, the broker and the bridge all work. */
function linkState() {
  if (isLost) return 'lost';
  if (shown === null || heard === null) return 'waiting';
  const stages = [shown.cloud.status, shown.broker.status];
  if (stages.includes('down')) return 'away';
  return stages.every((status) => status === 'up') ? 'live' : 'loading';
}

function lineState() {
  const state = linkState();
  return state === 'live' && shown.health.status === 'degraded' && !shown.isLoading ? 'away' : state;
}

function linkWords() {
  if (isLost && heard === null) return texts.no_bridge;
  if (isLost) return say('connection_lost', { at: heard.server });
  if (heard === null) return texts.connecting;
  const state = linkState();
  if (state === 'loading') return texts.loading;
  if (state === 'away') return texts.not_live;
  return texts.live;
}

async function ask() {
  isAsking = true;
  asked = momentNow();
  try {
    const answer = await fetch(`status.json${location.search}`, {
      cache: 'no-store',
      headers: tag === null ? {} : { 'if-none-match': tag },
      signal: AbortSignal.timeout(patienceMs),
    });
    if (!answer.ok && answer.status !== 304) throw new Error(String(answer.status));
    take(answer.status === 304 ? null : await answer.json());
    tag = answer.headers.get('etag');
  } catch {
    lose();
  }
  isAsking = false;
  refresh();
}

function look() {
  if (heard !== null && !isLost && msSince(heard) > silenceMs) lose();
  if (!isAsking && msSince(asked) >= askEveryMs) void ask();
  refresh();
}

look();
setInterval(look, 500);
document.addEventListener('visibilitychange', look);
