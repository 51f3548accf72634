// Sends the form, and shows what the checks have found.
import { texts } from './texts.js';

const form = document.querySelector('#form');
const findings = document.querySelector('#findings');
const message = document.querySelector('#message');
const keep = document.querySelector('#keep');
const button = form.querySelector('button');

function say(words, kind = '') {
  message.textContent = words;
  message.className = kind;
}

function show(found) {
  findings.replaceChildren(
    ...found.map(({ check, outcome, words }) => {
      const line = document.createElement('li');
      line.lang = 'en';
      line.className = outcome === 'FAIL' ? 'bad' : 'good';
      line.textContent = `${outcome === 'FAIL' ? '✗' : '✓'} ${check}: ${words}`;
      return line;
    }),
  );
}

async function send() {
  const { keepBroker, ...answers } = Object.fromEntries(new FormData(form));
  const answer = await fetch('setup', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...answers, keepBroker: keepBroker === 'on' }),
  });
  const { problem, isSaved, canKeepBroker, findings: found = [] } = await answer.json();
  show(found);
  if (problem) return say(texts[`problem_${problem}`] ?? texts.problem, 'bad');
  keep.hidden = !canKeepBroker;
  if (!isSaved) return say(texts.correct, 'bad');
  for (const field of form.elements) field.disabled = true;
  button.hidden = true;
  keep.hidden = true;
  say(texts.saved, 'good');
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

fetch('broker')
  .then((answer) => answer.json())
  .then(({ broker }) => {
    const { broker: field } = form.elements;
    if (broker && field.value === '') field.value = broker;
  })
  .catch(() => {});
