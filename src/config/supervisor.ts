import { get, type IncomingMessage } from 'node:http';
import { isTree } from './tree.ts';

/** How to ask Home Assistant's Supervisor. */
export interface SupervisorOptions {
  /** Without a slash at its end. */
  readonly url: string;
  readonly token: string;
  /** Leaves out the credentials that it knows, since others are given. */
  readonly hasOwnUser: boolean;
  /** Hears each password, so that it can be hidden. */
  readonly learned: (password: string) => void;
}

/** The Supervisor's name in the network of the apps. */
export const supervisorUrl = 'http://supervisor';

const answerTimeoutMs = 10_000;
const mostBytes = 65_536;

const noBroker =
  'Home Assistant has no MQTT broker: install and start the app Mosquitto broker, or give the address of another one in mqtt_url';

/**
 * Asks where Home Assistant's broker is, which may be another one after each loss; resolves to its URL with the
 * credentials in it. Rejects in words.
 */
export async function askForBroker(options: SupervisorOptions, signal: AbortSignal): Promise<string> {
  const { status, body } = await ask(options, signal);
  if (status === 401 || status === 403) {
    throw new Error(`the Supervisor does not let the app ask for the MQTT broker (HTTP ${status})`);
  }
  // It says 400 while no app offers one.
  if (status === 400 || status === 404) throw new Error(noBroker);
  if (status !== 200) throw new Error(`the Supervisor does not tell of the MQTT broker (HTTP ${status})`);
  const url = urlOf(body, options);
  if (url === null) throw new Error('the Supervisor’s answer about the MQTT broker cannot be read');
  return url;
}

function urlOf(body: string, { hasOwnUser, learned }: SupervisorOptions): string | null {
  const service = dataOf(body);
  const { host, port, ssl, username, password } = service;
  const number = Number(port);
  if (!isText(host) || !Number.isInteger(number) || number < 1 || number > 65_535) return null;
  if (isText(password)) learned(password);
  const user = isText(username) ? encodeURIComponent(username) : '';
  const credentials =
    user && isText(password) ? `${user}:${encodeURIComponent(password)}@` : user && `${user}@`;
  const place = `${host.includes(':') ? `[${host}]` : host}:${number}`;
  const url = `mqtt${ssl === true ? 's' : ''}://${hasOwnUser ? '' : credentials}${place}`;
  return URL.canParse(url) ? url : null;
}

/** What it says of the service; empty where it says nothing that can be read. */
function dataOf(body: string): { readonly [key: string]: unknown } {
  try {
    const answer: unknown = JSON.parse(body);
    const data = isTree(answer) ? answer['data'] : undefined;
    return isTree(data) ? data : {};
  } catch {
    return {};
  }
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';

function ask(
  { url, token }: SupervisorOptions,
  signal: AbortSignal,
): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const fail = (words: string) => reject(new Error(`the Supervisor does not answer: ${words}`));
    if (!URL.canParse(url) || !url.startsWith('http:')) {
      fail('SUPERVISOR_URL must begin with http://');
      return;
    }
    const onError = (error: Error) => fail(wordsOf(error));
    const options = { headers: { authorization: `Bearer ${token}` }, signal, agent: false as const };
    const request = get(`${url}/services/mqtt`, options, (response) => {
      read(response).then((body) => resolve({ status: response.statusCode ?? 0, body }), onError);
    });
    const silent = new Error(`nothing within ${answerTimeoutMs / 1_000} s`);
    const timer = setTimeout(() => request.destroy(silent), answerTimeoutMs);
    request.on('error', onError);
    request.on('close', () => clearTimeout(timer));
  });
}

async function read(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response) {
    bytes += chunk.length;
    if (bytes > mostBytes) throw new Error('it says too much');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

const words: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ENOTFOUND: 'no such host',
  EAI_AGAIN: 'no such host',
};

const wordsOf = (error: NodeJS.ErrnoException) => words[error.code ?? ''] ?? error.message;
