import { expect, it } from 'vitest';
import { startBridge } from '../support/bridge.ts';
import { chromiumAvailable, openTab, waitInTab } from '../support/chromium.ts';

// How the page looks is tested nightly.
it.runIf(chromiumAvailable())(
  'a browser shows the names of the cloud as text and never as HTML',
  async () => {
    const bridge = await startBridge({
      cloud: { properties: 1, signals: 1, sonics: 1 },
      config: { http: { listen: '127.0.0.1:0' } },
    });
    const hostile = `<img src=x onerror="document.title='broken into'">`;
    bridge.cloud.world.changeSonic(bridge.cloud.world.sonics.ids[0] ?? '', { name: hostile });
    const tab = await openTab(`${await bridge.httpUrl()}/`, { width: 1280, height: 900 });
    await waitInTab(tab, `document.querySelector('main').innerText.includes(${JSON.stringify(hostile)})`);
    expect(await tab.evaluate('document.querySelectorAll("main img").length')).toBe(0);
    expect(await tab.evaluate('document.title')).toMatch(/ – sonic2mqtt$/);
    expect(tab.complaints).toEqual([]);
  },
);
