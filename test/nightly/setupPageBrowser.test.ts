import { expect, it } from 'vitest';
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
    await said('✗ sign-in');
    expect(await tab.evaluate('document.documentElement.scrollWidth')).toBe(390);
    if (process.env['PICTURE']) await tab.takePicture(process.env['PICTURE'], true);
    await fill({ password });
    await said('Saved.');
    await tab.close();
    const [sonicId = ''] = cloud.world.sonics.ids;
    const topic = `sonic2mqtt/sonic/${sonicId}`;
    await mqtt.waitForTopic(topic, (text) => JSON.parse(text).valve === 'open');
    await mqtt.publish(`${topic}/valve/set`, 'CLOSE');
    await mqtt.waitForTopic(topic, (text) => JSON.parse(text).valve === 'closed');
    expect(await program.stop()).toMatchObject({ code: 0 });
  },
);
