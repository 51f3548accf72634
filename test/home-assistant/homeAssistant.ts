import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { request, WebSocket } from 'undici';
import { z } from 'zod';
import { startProcess } from '../support/childProcess.ts';

const startFile = fileURLToPath(new URL('start', import.meta.url));

const startedLine = z.object({ url: z.string(), token: z.string(), version: z.string() });
const answer = z.object({
  id: z.number(),
  type: z.enum(['result', 'event']),
  success: z.boolean().optional(),
  result: z.unknown().optional(),
  error: z.unknown().optional(),
  event: z.unknown().optional(),
});

const registeredEntity = z.object({
  entity_id: z.string(),
  unique_id: z.string(),
  /** The name that a person gave it. */
  name: z.string().nullable(),
  original_name: z.string().nullable(),
  platform: z.string(),
  disabled_by: z.string().nullable(),
  hidden_by: z.string().nullable(),
});
const registeredDevice = z.object({
  id: z.string(),
  name: z.string().nullable(),
  identifiers: z.array(z.array(z.string())),
  via_device_id: z.string().nullable(),
});
const entityState = z.object({
  entity_id: z.string(),
  state: z.string(),
  attributes: z.record(z.string(), z.unknown()),
});
const logEntry = z.object({ name: z.string(), level: z.string(), message: z.array(z.string()) });
const stateChange = z.object({ data: z.object({ new_state: entityState.nullable() }) });

type RegisteredEntity = z.infer<typeof registeredEntity>;
type RegisteredDevice = z.infer<typeof registeredDevice>;
export type EntityState = z.infer<typeof entityState>;

/** A running Home Assistant, asked over its WebSocket. */
export interface HomeAssistant {
  readonly url: string;
  /** Lets in for 30 minutes. */
  readonly token: string;
  readonly version: string;
  /** What MQTT discovery has put into the entity registry. */
  entities(): Promise<RegisteredEntity[]>;
  devices(): Promise<RegisteredDevice[]>;
  /** The present states, by entity id. */
  states(): Promise<Map<string, EntityState>>;
  /** Every state that came since it was asked, of all entities. */
  readonly changes: readonly EntityState[];
  callService(domain: string, service: string, entityId: string, data?: object): Promise<void>;
  /** A command of its WebSocket; rejects with its error. */
  ask(type: string, fields?: object): Promise<unknown>;
  /** A POST to its REST interface, with the answer; rejects with what is wrong. */
  post(path: string, body: object): Promise<unknown>;
  /** Saves an automation as its editor does; rejects with what is wrong with it. */
  saveAutomation(id: string, automation: object): Promise<void>;
  /** Sets a state as *Tools → States* does, without the integration behind it. */
  setState(entityId: string, state: string, attributes?: object): Promise<void>;
  enable(entityId: string): Promise<void>;
  /** Runs an action as a user without administrator's rights would; rejects if that user may not. */
  actAsFamilyMember(action: string, data: object): Promise<void>;
  /** Warnings and errors since it started that are about what comes over MQTT, and about automations. */
  complaints(): Promise<string[]>;
  stop(): Promise<void>;
}

// Loggers whose warnings and errors are about entities and automations, not about Home Assistant's own surroundings.
const concerned =
  /^homeassistant\.(helpers|components\.(mqtt|sensor|binary_sensor|valve|event|text|select|switch|button|recorder|template|automation|script|blueprint|mobile_app|notify))\b/;

/**
 * What says nothing of the bridge: 2024.12 clears the topic of a device that is gone once more by itself, and then complains
 * of that. A busy machine is slow, and so is the broker on it: the acknowledgements are the broker's. On such a machine,
 * Home Assistant sometimes ends before its recorder has closed its database.
 */
const ownComplaints = [
  'No device components to cleanup',
  'No ACK from MQTT server',
  'Ended unfinished session',
  'The system could not validate that the sqlite3 database',
];

function isOfItself(message: string): boolean {
  return (
    ownComplaints.some((each) => message.startsWith(each)) ||
    /^Updating state for .* took [\d.]+ seconds/.test(message)
  );
}

/**
 * Starts Home Assistant on a port with its data in the folder, joined to the broker on this machine. In a folder
 * that has been used before, with the same ports, it goes on where it stopped.
 */
export async function startHomeAssistant(options: {
  version: string;
  folder: string;
  port: number;
  brokerPort: number;
}): Promise<HomeAssistant> {
  const { version, folder, port, brokerPort } = options;
  const where = [
    '--version',
    version,
    '--folder',
    folder,
    '--broker-port',
    `${brokerPort}`,
    '--port',
    `${port}`,
  ];
  const running = startProcess(startFile, where, { outlivesTest: true });
  const [line] = await running.waitForOutput(/^\{.*\}$/m, 300_000);
  const started = startedLine.parse(JSON.parse(line));
  const { ask, subscribe, close } = await openWebSocket(started.url, started.token);
  const changes: EntityState[] = [];
  await subscribe('state_changed', (event) => {
    const state = stateChange.parse(event).data.new_state;
    if (state !== null) changes.push(state);
  });
  const post = async (path: string, body: object): Promise<unknown> => {
    const answer = await request(`${started.url}/api/${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${started.token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const said = await answer.body.text();
    if (answer.statusCode >= 300) throw new Error(`${path}: ${answer.statusCode} ${said}`);
    return JSON.parse(said);
  };
  return {
    url: started.url,
    token: started.token,
    version: started.version,
    changes,
    entities: async () =>
      z
        .array(registeredEntity)
        .parse(await ask('config/entity_registry/list'))
        .filter((entity) => entity.platform === 'mqtt'),
    devices: async () => z.array(registeredDevice).parse(await ask('config/device_registry/list')),
    states: async () => {
      const states = z.array(entityState).parse(await ask('get_states'));
      return new Map(states.map((state) => [state.entity_id, state]));
    },
    ask,
    callService: async (domain, service, entityId, data = {}) => {
      await ask('call_service', { domain, service, target: { entity_id: entityId }, service_data: data });
    },
    post,
    saveAutomation: async (id, automation) => {
      await post(`config/automation/config/${id}`, automation);
    },
    setState: async (entityId, state, attributes = {}) => {
      await post(`states/${entityId}`, { state, attributes });
    },
    enable: async (entityId) => {
      await ask('config/entity_registry/update', { entity_id: entityId, disabled_by: null });
    },
    actAsFamilyMember: async (action, service_data) => {
      const answer = await ask('config/auth/create', { name: 'Ann', group_ids: ['system-users'] });
      const { id } = z.object({ user: z.object({ id: z.string() }) }).parse(answer).user;
      const member = await openWebSocket(started.url, await signIn(started.url, id));
      const [domain, service] = action.split('.');
      try {
        await member.ask('call_service', { domain, service, service_data });
      } finally {
        member.close();
        // A browser is let in without a question only while there is one user.
        await ask('config/auth/delete', { user_id: id });
      }
    },
    complaints: async () =>
      z
        .array(logEntry)
        .parse(await ask('system_log/list'))
        .filter(({ name, message }) => concerned.test(name) && !isOfItself(message.join()))
        .map(({ level, name, message }) => `${level} ${name}: ${message.join(' | ')}`),
    stop: async () => {
      close();
      await running.stop('SIGTERM', 180_000);
    },
  };
}

/** Signs a user in as a trusted network may, without a password. Returns an access token. */
async function signIn(url: string, user: string): Promise<string> {
  const post = async (path: string, body: object | URLSearchParams) => {
    const isForm = body instanceof URLSearchParams;
    const answer = await request(`${url}/auth/${path}`, {
      method: 'POST',
      headers: { 'content-type': isForm ? 'application/x-www-form-urlencoded' : 'application/json' },
      body: isForm ? body.toString() : JSON.stringify(body),
    });
    return answer.body.json();
  };
  const client = { client_id: `${url}/` };
  const wanted = { ...client, handler: ['trusted_networks', null], redirect_uri: `${url}/` };
  const { flow_id } = z.object({ flow_id: z.string() }).parse(await post('login_flow', wanted));
  const done = await post(`login_flow/${flow_id}`, { ...client, user });
  const { result: code } = z.object({ result: z.string() }).parse(done);
  const grant = new URLSearchParams({ ...client, grant_type: 'authorization_code', code });
  return z.object({ access_token: z.string() }).parse(await post('token', grant)).access_token;
}

async function openWebSocket(url: string, token: string) {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/api/websocket`);
  const waiting = new Map<number, (reply: z.infer<typeof answer>) => void>();
  const listeners = new Map<number, (event: unknown) => void>();
  let lastId = 0;

  const next = async () => {
    const [message] = await once(socket, 'message');
    return z.object({ type: z.string() }).parse(JSON.parse(String(message.data)));
  };
  if ((await next()).type === 'auth_required') {
    socket.send(JSON.stringify({ type: 'auth', access_token: token }));
    if ((await next()).type !== 'auth_ok') throw new Error('Home Assistant does not take its own token');
  }
  socket.addEventListener('message', ({ data }) => {
    const reply = answer.parse(JSON.parse(String(data)));
    if (reply.type === 'event') listeners.get(reply.id)?.(reply.event);
    else waiting.get(reply.id)?.(reply);
  });

  function send(id: number, type: string, fields: object = {}): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const lose = () => reject(new Error(`${type}: Home Assistant has closed the connection`));
      if (socket.readyState !== WebSocket.OPEN) lose();
      socket.addEventListener('close', lose, { once: true });
      waiting.set(id, ({ success, result, error }) => {
        waiting.delete(id);
        socket.removeEventListener('close', lose);
        if (success) resolve(result);
        else reject(new Error(`${type}: ${JSON.stringify(error)}`));
      });
      socket.send(JSON.stringify({ id, type, ...fields }));
    });
  }
  return {
    ask: (type: string, fields?: object) => send(++lastId, type, fields),
    subscribe: (eventType: string, listener: (event: unknown) => void) => {
      const id = ++lastId;
      listeners.set(id, listener);
      return send(id, 'subscribe_events', { event_type: eventType });
    },
    close: () => socket.close(),
  };
}
