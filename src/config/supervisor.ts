import { errorMessage } from '../base/errorMessage.ts';
import { fieldsIn } from '../base/json.ts';
import { connectionMessage } from '../base/systemErrors.ts';
import { type Language, languages } from '../model/language.ts';

interface SupervisorAccess {
  /** The URL without a slash at its end. */
  readonly url: string;
  readonly token: string;
}

interface SupervisorOptions extends SupervisorAccess {
  /** If true, the Supervisor's credentials are left out, because the user gave others. */
  readonly hasOwnUser: boolean;
  /** Called with each password, so that it can be hidden in logs. */
  readonly learned: (password: string) => void;
}

const supervisorUrl = 'http://supervisor';

export function supervisorAccess(env: NodeJS.ProcessEnv): SupervisorAccess {
  const url = (env['SUPERVISOR_URL'] || supervisorUrl).replace(/\/+$/, '');
  return { url, token: env['SUPERVISOR_TOKEN'] ?? '' };
}

const answerTimeoutMs = 10_000;

const noBroker =
  'Home Assistant has no MQTT broker. Install and start the app Mosquitto broker, or set mqtt_url';

/**
 * Asks the Supervisor for Home Assistant's broker. It may be another one after each lost connection. Resolves to its
 * URL with the credentials. Rejects with a message for people.
 */
export async function askForBroker(options: SupervisorOptions, stopping: AbortSignal): Promise<string> {
  const { status, body } = await get('/services/mqtt', options, stopping);
  if (status === 401 || status === 403) {
    throw new Error(`the Supervisor rejects the request for the MQTT broker (HTTP ${status})`);
  }
  // The Supervisor answers 400 if no app offers a broker.
  if (status === 400 || status === 404) throw new Error(noBroker);
  if (status !== 200) throw new Error(`the Supervisor does not report the MQTT broker (HTTP ${status})`);
  const url = brokerUrlIn(body, options);
  if (url === null) throw new Error('the Supervisor’s answer about the MQTT broker cannot be read');
  return url;
}

/**
 * Asks for the language of Home Assistant. Resolves to null if the Supervisor does not report it, or if entities have
 * no names in that language. Names are not important enough to retry or to wait.
 */
export async function askForLanguage(
  access: SupervisorAccess,
  stopping: AbortSignal,
): Promise<Language | null> {
  try {
    const { status, body } = await get('/core/api/config', access, stopping);
    const { language } = fieldsIn(status === 200 ? body : '');
    // Some languages have a region, for example en-GB.
    const [word] = String(language).toLowerCase().split(/[-_]/);
    return languages.find((each) => each === word) ?? null;
  } catch {
    return null;
  }
}

async function get(path: string, { url, token }: SupervisorAccess, stopping: AbortSignal) {
  try {
    const response = await fetch(`${url}${path}`, {
      headers: { authorization: `Bearer ${token}` },
      redirect: 'manual',
      signal: AbortSignal.any([stopping, AbortSignal.timeout(answerTimeoutMs)]),
    });
    return { status: response.status, body: await response.text() };
  } catch (error) {
    throw new Error(`the Supervisor does not answer: ${reasonOf(error)}`);
  }
}

/** The reason of a failed `fetch`. Its own error only says that it failed, and its cause has the reason. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === 'TimeoutError') return `no answer within ${answerTimeoutMs / 1_000} s`;
  const cause = error.cause ?? error;
  return connectionMessage(cause) ?? errorMessage(cause);
}

/** The address in the Supervisor's answer; null if there is none in it. */
function brokerUrlIn(body: string, { hasOwnUser, learned }: SupervisorOptions): string | null {
  const { host, port, ssl, username, password } = Object(fieldsIn(body)['data']);
  const number = Number(port);
  if (!isText(host) || !Number.isInteger(number) || number < 1 || number > 65_535) return null;
  if (isText(password)) learned(password);
  const secret = isText(password) ? `:${encodeURIComponent(password)}` : '';
  const credentials = isText(username) && !hasOwnUser ? `${encodeURIComponent(username)}${secret}@` : '';
  const place = `${host.includes(':') ? `[${host}]` : host}:${number}`;
  const url = `mqtt${ssl === true ? 's' : ''}://${credentials}${place}`;
  return URL.canParse(url) ? url : null;
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
