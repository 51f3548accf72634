// The raw loop: the same requests with undici and the same publishes with mqtt as the bridge makes, and nothing else.
//   node scripts/bench/raw.mjs [FOLDER ORDER]    does what is written in the folder at once
// Plain JavaScript, so that it starts as quickly as what is measured against it. It imports the same packages.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { connect as connectTo } from 'mqtt';
import * as cron from 'node-cron';
import { destination, pino } from 'pino';
import { Pool } from 'undici';
import { parseDocument } from 'yaml';
import { z } from 'zod';
import { answerParent } from './answerParent.mjs';

// Kept, so that a bundler does not leave out what is only imported.
globalThis.imported = [cron.schedule, destination, pino, parseDocument, z];

const concurrency = 4;
const mostInFlight = 64;

let script;
let pool;
let client;
/** What the broker takes at a time. */
let receiveMaximum;
let headers;
let loadedMs = 0;

/** The requests and messages that were written down; a payload is a part of one large buffer. */
function load(folder) {
  const { lengths, ...rest } = JSON.parse(readFileSync(join(folder, 'script.json'), 'utf8'));
  const payloads = readFileSync(join(folder, 'payloads'));
  let at = 0;
  const messages = lengths.map(([topic, length]) => {
    at += length;
    return { topic, payload: payloads.subarray(at - length, at) };
  });
  script = { ...rest, messages };
}

async function signIn() {
  const { base_url, email, password } = script.account;
  // One more connection, so that a command need not wait for a list.
  pool = new Pool(base_url, { connections: script.connections });
  const { body } = await pool.request({
    method: 'POST',
    path: '/user-service/auth/sign_in',
    headers: { accept: 'application/json', 'content-type': 'application/json' },
    body: JSON.stringify({ email, password }),
  });
  const { token_details: token } = JSON.parse(await body.text());
  headers = { accept: 'application/json', authorization: `Bearer ${token}` };
}

async function connect() {
  const { hostname, port } = new URL(script.brokerUrl);
  const { protocolVersion } = script;
  await client?.endAsync(true);
  const address = { protocol: 'mqtt', host: hostname, port: Number(port) };
  client = connectTo({ ...address, protocolVersion, reconnectPeriod: 0 });
  const [{ properties }] = await once(client, 'connect');
  ({ receiveMaximum = mostInFlight } = properties ?? {});
  // A broker that is restarted cuts the connection; what is then not acknowledged is not measured either.
  client.on('error', () => {});
  // Else the end of a message waits up to 40 ms for the acknowledgement of its beginning.
  client.stream.setNoDelay(true);
}

async function request(path) {
  const { body } = await pool.request({ method: 'GET', path, headers });
  return JSON.parse(await body.text());
}

/** So many at a time. */
async function requestAll(paths) {
  let next = 0;
  const work = async () => {
    while (next < paths.length) await request(paths[next++]);
  };
  await Promise.all(Array.from({ length: concurrency }, work));
}

/** Retained, with as many unacknowledged at a time as the broker takes, and no more than the bridge has. */
function publishAll(messages) {
  return new Promise((resolve, reject) => {
    let next = 0;
    let acknowledged = 0;
    const publish = () => {
      const { topic, payload } = messages[next++];
      client.publish(topic, payload, { qos: 1, retain: true }, (error) => {
        acknowledged += 1;
        if (error) reject(error);
        else if (next < messages.length) publish();
        else if (acknowledged === messages.length) resolve();
      });
    };
    const atOnce = Math.min(mostInFlight, receiveMaximum, messages.length);
    for (let count = atOnce; count > 0; count--) publish();
    if (messages.length === 0) resolve();
  });
}

/** A handler of commands: the request that moves the valve, and after a while a look at it that is published. */
async function command(topic, payload) {
  const [, , id] = topic.split('/');
  const path = `/ape/v1/sonics/${id}`;
  const action = payload.toString().toLowerCase();
  const { body } = await pool.request({
    method: 'PUT',
    path: `${path}/valve`,
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ action }),
  });
  await body.text();
  await pause(script.confirmMs);
  client.publish(`raw/sonic/${id}`, JSON.stringify(await request(path)), { qos: 1, retain: true });
}

const answers = {
  load,
  /** How long it took to load what it was started with. */
  loadedMs: () => loadedMs,
  signIn,
  connect,
  /** Everything, the messages after the requests or while they are under way. */
  async refresh(order) {
    await Promise.all([signIn(), connect()]);
    if (order === 'overlapping') {
      await Promise.all([requestAll(script.paths), publishAll(script.messages)]);
    } else {
      await requestAll(script.paths);
      await publishAll(script.messages);
    }
  },
  request: requestAll,
  publishAll: () => publishAll(script.messages),
  publish: (messages) => publishAll(messages),
  async serveCommands() {
    client.on('message', (topic, payload) => void command(topic, payload));
    await client.subscribeAsync('raw/sonic/+/valve/set', { qos: 1 });
  },
  /** Does each thing at its time, in ms from now. */
  async replay(requests, messages) {
    await Promise.all([
      ...requests.map(async ({ inMs, path }) => {
        await pause(inMs);
        await request(path);
      }),
      ...messages.map(async ({ inMs, topic, payload }) => {
        await pause(inMs);
        await publishAll([{ topic, payload }]);
      }),
    ]);
  },
};

answerParent({ ...globalThis.gauge, ...answers });
process.on('disconnect', () => process.exit());

const [folder, order] = process.argv.slice(2);
if (folder !== undefined) {
  const begun = performance.now();
  load(folder);
  loadedMs = performance.now() - begun;
  await answers.refresh(order);
}
