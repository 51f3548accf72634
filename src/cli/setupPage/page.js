// Sends the form, shows what the tests have found, and goes on to the status page.
const { texts } = await import(`./texts.js${location.search}`);

const form = document.querySelector('#form');
const findings = document.querySelector('#findings');
const message = document.querySelector('#message');
const keep = document.querySelector('#keep');
const button = form.querySelector('button');

/** The page asks this often whether the status page is there, and gives up after `maxAsked` requests. */
const askEveryMs = 500;
const maxAsked = 60;

function say(words, kind = '') {
  message.textContent = words;
  message.className = kind;
}

/** These texts say everything. With others, the program's English words follow. */
const isComplete = (text) => text.endsWith('_works') || text === 'result_sign_in_rejected';

/** The name of a field as the form shows it, with that of its group. */
function nameOf(field) {
  const input = form.elements[field];
  const group = input.closest('fieldset').querySelector('legend').textContent;
  return `${group}, ${input.labels[0].firstChild.textContent.trim()}`;
}

/** Lists the results in the language of this page. A finding without a text gets no line. */
function show(found) {
  // A part that works may have more than one finding.
  const isFirst = (each, index) => found.findIndex(({ text }) => text === each.text) === index;
  const lines = found.filter((each, index) => each.text && (each.outcome !== 'OK' || isFirst(each, index)));
  findings.replaceChildren(
    ...lines.map((finding) => {
      const line = document.createElement('li');
      const isGood = finding.outcome !== 'FAIL';
      line.className = isGood ? 'good' : 'bad';
      const words = texts[finding.text].replace('{field}', () => nameOf(finding.field));
      line.textContent = `${isGood ? '✓' : '✗'} ${words}`;
      if (!isComplete(finding.text)) {
        const details = document.createElement('small');
        details.lang = 'en';
        details.textContent = finding.words;
        line.append(details);
      }
      return line;
    }),
  );
}

async function send() {
  const { keepBroker, keepPage, watchOnly, ...answers } = Object.fromEntries(new FormData(form));
  const choices = {
    keepBroker: keepBroker === 'on',
    keepPage: keepPage === 'on',
    watchOnly: watchOnly === 'on',
  };
  const answer = await fetch('setup', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...answers, ...choices }),
  });
  const { problem, isSaved, isStarting, hasPage, canKeepBroker, findings: found = [] } = await answer.json();
  show(found);
  if (problem) return say(texts[`problem_${problem}`] ?? texts.problem, 'bad');
  keep.hidden = !canKeepBroker;
  if (!isSaved) return say(texts.correct, 'bad');
  form.replaceChildren(findings, message);
  const saved = isStarting ? texts.saved : texts.saved_only;
  say(hasPage ? saved : `${saved} ${texts.page_ends}`, 'good');
  if (hasPage) return openStatusPage();
  const start = document.querySelector('#start');
  if (start) start.hidden = false;
  document.querySelector('#next').hidden = false;
}

/** Waits until the bridge serves its status page, and opens it. */
async function openStatusPage() {
  for (let asked = 0; asked < maxAsked; asked++) {
    await new Promise((resolve) => setTimeout(resolve, askEveryMs));
    const answer = await fetch('status.json', { cache: 'no-store' }).catch(() => null);
    if (answer?.ok) return location.replace('./?setup=done');
  }
  say(texts.no_answer, 'bad');
}

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  button.disabled = true;
  show([]);
  say(texts.testing);
  try {
    await send();
  } catch {
    say(texts.no_answer, 'bad');
  } finally {
    button.disabled = false;
  }
});

const { language } = form.elements;
language.value = texts.language;
language.addEventListener('change', () => location.replace(`?language=${language.value}`));

fetch('broker')
  .then((answer) => answer.json())
  .then(({ broker, keepPage, set }) => {
    const { elements } = form;
    if (broker && elements.broker.value === '') elements.broker.value = broker;
    elements.keepPage.checked = keepPage;
    for (const [name, variable] of Object.entries(set)) {
      const field = elements[name];
      const words = texts.set_elsewhere.replace('{variable}', variable);
      if (field.type === 'checkbox') {
        field.disabled = true;
        field.parentElement.append(` (${words})`);
        continue;
      }
      const note = document.createElement('small');
      note.textContent = words;
      field.after(note);
      field.placeholder = '';
      // The language can still be chosen, because this page uses it too.
      field.readOnly = name !== 'language';
    }
  })
  .catch(() => {});
