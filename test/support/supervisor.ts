import { createServer } from 'node:http';
import { atTestEnd } from './childProcess.ts';

/** The broker, as the Supervisor describes it. */
export interface MqttService {
  host: string;
  port: number | string;
  ssl?: boolean;
  username?: string;
  password?: string;
}

/** How it answers: normally, with this status, with this text, or not at all. */
type Behaviour = 'normal' | 'silent' | { readonly status: number } | { readonly text: string };

/**
 * A stand-in for Home Assistant's Supervisor, for the requests by which apps learn of the broker and the
 * language.
 */
export interface Supervisor {
  readonly url: string;
  readonly token: string;
  /** Null while no app offers a broker. */
  service: MqttService | null;
  behaviour: Behaviour;
  /** The language of Home Assistant. */
  language: string;
  /** The number of requests. */
  readonly asked: number;
  start(): Promise<void>;
}

/** Creates a stand-in on this port. The test starts it, and it ends with the test. */
export function supervisorAt(port: number, service: MqttService | null): Supervisor {
  let asked = 0;
  const supervisor: Supervisor = {
    url: `http://127.0.0.1:${port}`,
    token: 'token of the supervisor',
    service,
    behaviour: 'normal',
    language: 'en',
    get asked() {
      return asked;
    },
    start: () =>
      new Promise((resolve, reject) => {
        server.once('error', reject).listen(port, '127.0.0.1', () => resolve());
      }),
  };
  const server = createServer((request, response) => {
    asked += 1;
    const { behaviour } = supervisor;
    if (behaviour === 'silent') return;
    const [status, body] = answer(request.url, request.headers.authorization, supervisor);
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  });
  atTestEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  return supervisor;
}

/** The Supervisor's description of a broker of the tests. */
export function serviceOf(
  url: string,
  credentials: { username?: string; password?: string } = {},
): MqttService {
  const { hostname, port, protocol } = new URL(url);
  return { host: hostname, port: Number(port), ssl: protocol === 'mqtts:', ...credentials };
}

function answer(
  path: string | undefined,
  authorization: string | undefined,
  supervisor: Supervisor,
): [number, unknown] {
  const { behaviour, service, token, language } = supervisor;
  const refused = (status: number, message: string): [number, unknown] => [
    status,
    { result: 'error', message },
  ];
  if (typeof behaviour === 'object')
    return 'text' in behaviour ? [200, behaviour.text] : refused(behaviour.status, 'no');
  if (authorization !== `Bearer ${token}`) return [401, '401: Unauthorized'];
  if (path === '/core/api/config') return [200, { language, time_zone: 'Europe/London' }];
  if (path !== '/services/mqtt') return refused(404, 'Service does not exist');
  if (!service) return refused(400, 'Service not enabled');
  return [
    200,
    { result: 'ok', data: { ssl: false, protocol: '3.1.1', addon: 'core_mosquitto', ...service } },
  ];
}
