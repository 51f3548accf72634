import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { startBridge } from '../support/bridge.ts';
import { chromiumAvailable, openTab, waitInTab } from '../support/chromium.ts';
import { freePort } from '../support/ports.ts';
import { startProgram } from '../support/program.ts';

it.runIf(chromiumAvailable())(
  'from no configuration to a closed valve in a browser, without an editor',
  { timeout: 60_000 },
  async () => {
    const { cloud, broker, mqtt, config } = await startBridge({ isStarted: false });
    const { email, password } = Object(config['cloud']);
    const port = await freePort();
    const env = { SONIC2MQTT_SETUP: `127.0.0.1:${port}`, SONIC2MQTT_CLOUD__BASE_URL: cloud.url };
    const program = startProgram(['run'], { env });
    const [, code] = await program.waitForOutput(/enter the code (\d{3} \d{3})$/m);
    const tab = await openTab(`http://127.0.0.1:${port}`, {
      width: 390,
      height: 844,
      isPhone: true,
      scheme: 'light',
    });
    const fill = (fields: object) =>
      tab.evaluate(`for (const [name, value] of Object.entries(${JSON.stringify(fields)})) {
        document.querySelector('[name=' + name + ']').value = value;
      }
      document.querySelector('button').click();`);
    const said = (words: string) =>
      waitInTab(tab, `document.body.innerText.includes(${JSON.stringify(words)})`);
    await waitInTab(tab, `document.readyState === 'complete' && document.forms.length === 1`);
    await fill({ code: '000', email, password: 'wrong', broker: broker.url });
    await said('This code is wrong.');
    await fill({ code });
    await said('✗ The cloud rejects the e-mail or the password.');
    expect(await tab.evaluate('document.documentElement.scrollWidth')).toBe(390);
    if (process.env['PICTURE']) await tab.takePicture(process.env['PICTURE'], true);
    // In another language, with the status page, and without valves that can be moved.
    await tab.evaluate(`(() => {
      const { language } = document.forms[0].elements;
      language.value = 'de';
      language.dispatchEvent(new Event('change'));
    })()`);
    await said('sonic2mqtt einrichten');
    await waitInTab(tab, `document.forms[0].elements.keepPage.checked`);
    await tab.evaluate(`document.forms[0].elements.watchOnly.checked = true`);
    await fill({ code, email, password: 'wrong', broker: broker.url });
    await said('✗ Die Cloud lehnt E-Mail oder Passwort ab.');
    await said('✓ Der MQTT-Broker funktioniert.');
    await fill({ broker: 'localhost:1' });
    await said('✗ Die Verbindung zum Broker wird abgelehnt.');
    await fill({ broker: 'http://broker' });
    await said('✗ Bitte dieses Feld korrigieren: MQTT-Broker, Adresse.');
    if (process.env['PICTURE']) await tab.takePicture(`${process.env['PICTURE']}.de.png`, true);
    await fill({ password, broker: broker.url });
    await waitInTab(tab, `location.search === '?setup=done' && document.body.innerText.includes('Kitchen')`);
    // The browser is English, and so is this page.
    await said('Next:');
    await said('Watch only: nobody can move a valve');
    if (process.env['PICTURE']) await tab.takePicture(`${process.env['PICTURE']}.saved.png`, true);
    await tab.command('Page.reload');
    await said('Next:');
    const odd = tab.complaints.filter((each) => !each.includes('Failed to load resource'));
    expect(odd).toEqual([]);
    expect(tab.requests.filter((each) => each.includes('favicon'))).toEqual([]);
    await tab.close();
    await program.waitForOutput(
      /Watch only: nobody can move a valve\. To end this, set control\.valves in \S+config\.yaml/,
    );
    const file = join(program.cwd, 'config.yaml');
    expect(parse(readFileSync(file, 'utf8'))).toMatchObject({
      homeassistant: { language: 'de' },
      control: { valves: false },
      http: { listen: `127.0.0.1:${port}` },
    });
    expect(await program.stop()).toMatchObject({ code: 0 });
    writeFileSync(file, readFileSync(file, 'utf8').replace('valves: false', 'valves: true'));
    const from = mqtt.messages.length;
    const again = startProgram(['run'], { cwd: program.cwd, env });
    await mqtt.waitForMessage(({ topic, text }) => topic === 'sonic2mqtt/bridge/cloud' && text === 'online', {
      what: 'the bridge',
      from,
    });
    const [sonicId = ''] = cloud.world.sonics.ids;
    const topic = `sonic2mqtt/sonic/${sonicId}`;
    await mqtt.waitForTopic(topic, (text) => JSON.parse(text).valve === 'open');
    await mqtt.publish(`${topic}/valve/set`, 'CLOSE');
    await mqtt.waitForTopic(topic, (text) => JSON.parse(text).valve === 'closed');
    expect(await again.stop()).toMatchObject({ code: 0 });
  },
);
