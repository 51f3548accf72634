// Sends the form, and shows what the checks have found.
const form = document.querySelector('#form');
const findings = document.querySelector('#findings');
const message = document.querySelector('#message');
const keep = document.querySelector('#keep');
const button = form.querySelector('button');

const problems = {
  code: 'This code is wrong. The log of sonic2mqtt shows the right one.',
  closed: 'There were five wrong codes. Restart sonic2mqtt for a new one.',
  form: 'Please fill in the form.',
};

function say(words, kind = '') {
  message.textContent = words;
  message.className = kind;
}

function show(found) {
  findings.replaceChildren(
    ...found.map(({ check, outcome, words }) => {
      const line = document.createElement('li');
      line.className = outcome === 'FAIL' ? 'bad' : 'good';
      line.textContent = `${outcome === 'FAIL' ? '✗' : '✓'} ${check}: ${words}`;
      return line;
    }),
  );
}

async function send() {
  const { keepBroker, ...texts } = Object.fromEntries(new FormData(form));
  const answer = await fetch('setup', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...texts, keepBroker: keepBroker === 'on' }),
  });
  const { problem, isSaved, canKeepBroker, findings: found = [] } = await answer.json();
  show(found);
  if (problem) return say(problems[problem] ?? 'That did not work. See the log of sonic2mqtt.', 'bad');
  keep.hidden = !canKeepBroker;
  if (!isSaved) return say('Please correct the line with ✗, and test again.', 'bad');
  for (const field of form.elements) field.disabled = true;
  button.hidden = true;
  keep.hidden = true;
  say('Saved. sonic2mqtt starts now. Your valves appear in Home Assistant within a minute.', 'good');
}

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  button.disabled = true;
  show([]);
  say('Testing …');
  try {
    await send();
  } catch {
    say('sonic2mqtt does not answer. Does it still run?', 'bad');
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
