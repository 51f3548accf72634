import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { request, WebSocket } from 'undici';
import { z } from 'zod';
import { startProcess } from '../support/childProcess.ts';
import { freePort } from '../support/ports.ts';
import { temporaryFolder } from '../support/program.ts';
import { waitFor } from '../support/waitFor.ts';

const root = process.env['NODE_RED_ROOT'] ?? join(homedir(), '.cache/sonic2mqtt-node-red');
const program = join(root, 'node_modules/node-red/red.js');
const folder = new URL('../../node-red/', import.meta.url);

/** A node of a flow; each type has fields of its own. */
type FlowNode = z.infer<typeof flowNode>;

const flowNode = z.looseObject({
  id: z.string(),
  type: z.string(),
  name: z.string().optional(),
  z: z.string().optional(),
  wires: z.array(z.array(z.string())).optional(),
  env: z.array(z.object({ name: z.string(), value: z.string(), type: z.string() })).optional(),
});
const heard = z.array(z.object({ topic: z.string(), data: z.unknown() }));
const debugged = z.object({ name: z.string().optional(), msg: z.string() });

/** The leak without a dashboard does the same as the one with it: nobody imports both. */
const usualFiles = readdirSync(folder).filter(
  (file) => file.endsWith('.json') && file !== 'leak-without-dashboard.json',
);

/** These flows of the project as its folder has them, what they share once, as the editor imports them. */
function flowsOf(files: readonly string[]): FlowNode[] {
  const nodes = files.flatMap((file) =>
    z.array(flowNode).parse(JSON.parse(readFileSync(new URL(file, folder), 'utf8'))),
  );
  return [...new Map(nodes.map((node) => [node.id, node])).values()];
}

/** What the user of a flow enters: the broker's place with its password, and the flows' own variables. */
export interface Entered {
  readonly brokerUrl: string;
  readonly user: string;
  readonly password: string;
  readonly variables?: Readonly<Record<string, string>>;
  /** The flows, all but one unless given. */
  readonly files?: readonly string[];
  /** Function nodes whose messages a debug node of their name is to show. */
  readonly taps?: readonly string[];
}

/** A running Node-RED with flows in it, as its editor sees it. */
export interface NodeRed {
  readonly url: string;
  /** What its debug window shows, by the name of the debug node. */
  readonly debug: readonly { readonly name: string; readonly text: string }[];
  readonly log: string;
  /** Presses the button of an inject node. */
  inject(name: string): Promise<void>;
  /** Stops it and starts it again; its flows are still there. */
  restart(meanwhile?: () => Promise<void>): Promise<void>;
  /** Waits until it has connected to the broker again. */
  connectedAgain(): Promise<void>;
}

/** Starts Node-RED, imports the flows into it and deploys them; it ends with the test. */
export async function startNodeRed(entered: Entered): Promise<NodeRed> {
  const [userFolder, port] = [temporaryFolder(), await freePort()];
  const url = `http://127.0.0.1:${port}`;
  const settings = {
    uiHost: '127.0.0.1',
    uiPort: port,
    userDir: userFolder,
    flowFile: 'flows.json',
    credentialSecret: 'of the test',
    // It asks nobody whether there is a newer one.
    telemetry: { enabled: false, updateNotification: false },
    editorTheme: { tours: false },
  };
  const settingsFile = join(userFolder, 'settings.cjs');
  writeFileSync(settingsFile, `module.exports = ${JSON.stringify(settings)};`);
  const flows = flowsOf(entered.files ?? usualFiles)
    .map((node) => withEntered(node, entered))
    .flatMap((node) => (entered.taps?.includes(node.name ?? '') ? tapped(node) : [node]));
  const debug: { name: string; text: string }[] = [];
  const start = () =>
    startProcess(process.execPath, [program, '--settings', settingsFile], { cwd: userFolder });
  let running = start();

  const ask = async (method: 'GET' | 'POST', path: string, content?: unknown) => {
    const { statusCode, body } = await request(url + path, {
      method,
      headers: { 'content-type': 'application/json', 'node-red-api-version': 'v2' },
      ...(content !== undefined && { body: JSON.stringify(content) }),
    });
    const text = await body.text();
    if (statusCode >= 400) throw new Error(`${method} ${path}: ${statusCode} ${text}`);
  };
  const listen = async () => {
    // It listens and starts its flows side by side: either may be first.
    await running.waitForOutput(/Started flows/, 60_000);
    await running.waitForOutput(/Server now running/, 60_000);
    const socket = new WebSocket(`${url.replace('http', 'ws')}/comms`);
    const refused = once(socket, 'error').then(() => {
      throw new Error(`its editor cannot be reached\n${running.output}`);
    });
    await Promise.race([once(socket, 'open'), refused]);
    socket.addEventListener('message', ({ data }) => {
      for (const { topic, data: said } of heard.parse([JSON.parse(String(data))].flat())) {
        if (topic !== 'debug') continue;
        const { name = '', msg } = debugged.parse(said);
        debug.push({ name, text: msg });
      }
    });
    socket.send(JSON.stringify({ subscribe: 'debug' }));
  };
  const connected = () => running.waitForOutput(/Connected to broker/, 60_000);

  await listen();
  await ask('POST', '/flows', { flows });
  await connected();
  return {
    url,
    debug,
    get log() {
      return running.output;
    },
    inject: async (name) => {
      const node = flows.find((each) => each.type === 'inject' && each.name === name);
      await ask('POST', `/inject/${node?.id}`);
    },
    connectedAgain: async () => {
      const count = () => running.output.match(/Connected to broker/g)?.length ?? 0;
      await waitFor(() => count() > 1, { what: 'Node-RED to connect again', timeoutMs: 60_000 });
    },
    restart: async (meanwhile) => {
      await running.stop();
      await meanwhile?.();
      running = start();
      await listen();
      await connected();
    },
  };
}

function withEntered(node: FlowNode, { brokerUrl, user, password, variables = {} }: Entered): FlowNode {
  const { hostname, port } = new URL(brokerUrl);
  const { env } = node;
  return {
    ...node,
    ...(env && { env: env.map((each) => ({ ...each, value: variables[each.name] ?? each.value })) }),
    ...(node.type === 'mqtt-broker' && { broker: hostname, port, credentials: { user, password } }),
  };
}

function tapped(node: FlowNode): FlowNode[] {
  const { name, z } = node;
  const id = `tap ${name}`;
  const [first = [], ...others] = node.wires ?? [];
  const debug = { type: 'debug', active: true, tosidebar: true, complete: 'payload', targetType: 'msg' };
  return [
    { ...node, wires: [[...first, id], ...others] },
    { ...debug, ...(z && { z }), ...(name && { name }), id, wires: [] },
  ];
}

/** Waits until the debug node of that name has shown a text like this. */
export function shownIn({ debug, log }: NodeRed, name: string, pattern: RegExp, timeoutMs = 15_000) {
  return waitFor(() => debug.find((each) => each.name === name && pattern.test(each.text)), {
    what: `${pattern} in ${name}`,
    timeoutMs,
  }).catch((error: Error) => {
    throw new Error(`${error.message}; there was ${JSON.stringify(debug)}\n${log}`);
  });
}
