import { describe, expect, it } from 'vitest';
import { askForBroker, askForLanguage } from '../../../src/config/supervisor.ts';
import { freePort } from '../../support/ports.ts';
import { type MqttService, supervisorAt } from '../../support/supervisor.ts';
import { waitFor } from '../../support/waitFor.ts';

const core = { host: 'core-mosquitto', port: 1883 };

async function standIn(service: MqttService | null) {
  const supervisor = supervisorAt(await freePort(), service);
  await supervisor.start();
  const learned: string[] = [];
  const { url, token } = supervisor;
  const options = { url, token, hasOwnUser: false, learned: (password: string) => learned.push(password) };
  const never = new AbortController().signal;
  const ask = (changes: Partial<typeof options> = {}, signal = never) =>
    askForBroker({ ...options, ...changes }, signal);
  return { supervisor, learned, ask };
}

describe('the address of Home Assistant’s broker', () => {
  it.each<[MqttService, string]>([
    [core, 'mqtt://core-mosquitto:1883'],
    [{ ...core, port: '1884' }, 'mqtt://core-mosquitto:1884'],
    [{ ...core, port: 8883, ssl: true }, 'mqtts://core-mosquitto:8883'],
    [{ ...core, host: 'fd00::7' }, 'mqtt://[fd00::7]:1883'],
    [{ ...core, username: 'addons' }, 'mqtt://addons@core-mosquitto:1883'],
    [{ ...core, username: '', password: '' }, 'mqtt://core-mosquitto:1883'],
    [{ ...core, username: 'a:b', password: 'c@/d%' }, 'mqtt://a%3Ab:c%40%2Fd%25@core-mosquitto:1883'],
  ])('of %o is %s', async (service, url) => {
    const { ask } = await standIn(service);
    expect(await ask()).toBe(url);
  });

  it('is found with its password, which is hidden from then on', async () => {
    const { ask, learned } = await standIn({ ...core, username: 'addons', password: 'hush' });
    expect(await ask()).toContain('addons:hush@');
    expect(learned).toEqual(['hush']);
  });

  it('is found without credentials if the configuration has its own', async () => {
    const { ask } = await standIn({ ...core, username: 'addons', password: 'hush' });
    expect(await ask({ hasOwnUser: true })).toBe('mqtt://core-mosquitto:1883');
  });

  it.each<MqttService>([
    { ...core, host: 'two words' },
    { ...core, port: 0 },
    { ...core, port: 65_536 },
    { ...core, port: 18.5 },
  ])('is none: %o', async (service) => {
    const { ask } = await standIn(service);
    await expect(ask()).rejects.toThrow('cannot be read');
  });
});

describe('the Supervisor', () => {
  it('cannot be asked at an address that is none', async () => {
    const { ask } = await standIn(core);
    await expect(ask({ url: 'nonsense' })).rejects.toThrow('the Supervisor does not answer: ');
  });

  it('is waited for no longer than the program runs', async () => {
    const { supervisor, ask } = await standIn(core);
    supervisor.behaviour = 'silent';
    const stopping = new AbortController();
    const answer = ask({}, stopping.signal).catch((error) => String(error));
    await waitFor(() => supervisor.asked > 0, { what: 'the question' });
    stopping.abort();
    expect(await answer).toMatch(/the Supervisor does not answer: .*abort/);
  });
});

describe('the language of Home Assistant', () => {
  const never = new AbortController().signal;

  it.each([
    ['de', 'de'],
    ['en-GB', 'en'],
    ['pt-BR', null],
    ['', null],
  ])('%s is %s', async (language, expected) => {
    const { supervisor } = await standIn(core);
    supervisor.language = language;
    expect(await askForLanguage(supervisor, never)).toBe(expected);
  });

  it.each([{ status: 403 }, { status: 502 }, { text: '<html>' }, { text: 'null' }])(
    'is not known after %o',
    async (behaviour) => {
      const { supervisor } = await standIn(core);
      supervisor.behaviour = behaviour;
      expect(await askForLanguage(supervisor, never)).toBeNull();
    },
  );
});
