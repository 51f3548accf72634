// The raw loop makes the same requests with undici and publishes the same messages with mqtt.js, and nothing else:
//   node scripts/bench/raw.mjs FOLDER ORDER
// With the order `idle` it is connected, has a timer that goes off once a second, and makes a request every 30 seconds.
// It imports the same packages as the bridge. It is plain JavaScript, to start as quickly as the bridge.
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
import { serveParent } from '../measure/serveParent.mjs';

// Otherwise the bundler would leave out what is only imported.
globalThis.imported = [cron.schedule, destination, pino, parseDocument, z];

const concurrency = 4;
const mostInFlight = 64;

let script;
let pool;
let client;
/** The broker accepts this many unacknowledged messages. */
let receiveMaximum;
let headers;

/** The payloads are parts of one large buffer. */
function load(folder) {
  const { messages, ...rest } = JSON.parse(readFileSync(join(folder, 'script.json'), 'utf8'));
  const payloads = readFileSync(join(folder, 'payloads'));
  let at = 0;
  script = {
    ...rest,
    messages: messages.map(({ length, ...message }) => {
      at += length;
      return { ...message, payload: payloads.subarray(at - length, at) };
    }),
  };
}

async function signIn() {
  const { base_url, email, password } = script.account;
  // One more connection, so that a command does not wait for a list.
  pool = new Pool(base_url, { connections: concurrency + 1 });
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
  await client?.endAsync(true);
  const address = { protocol: 'mqtt', host: hostname, port: Number(port) };
  client = connectTo({ ...address, protocolVersion: 5, reconnectPeriod: 0 });
  const [{ properties }] = await once(client, 'connect');
  ({ receiveMaximum = mostInFlight } = properties ?? {});
  // A broker that restarts closes the connection.
  client.on('error', () => {});
  // Otherwise the end of a message waits up to 40 ms for the acknowledgement of its beginning.
  client.stream.setNoDelay(true);
}

async function request(path) {
  const { body } = await pool.request({ method: 'GET', path, headers });
  return JSON.parse(await body.text());
}

/** Makes as many requests at a time as the bridge. */
async function requestAll() {
  const { paths } = script;
  let next = 0;
  const work = async () => {
    while (next < paths.length) await request(paths[next++]);
  };
  await Promise.all(Array.from({ length: concurrency }, work));
}

/** Publishes with as many unacknowledged messages as the broker accepts, and not more than the bridge has. */
function publishAll(messages) {
  return new Promise((resolve, reject) => {
    let next = 0;
    let acknowledged = 0;
    const publish = () => {
      const { topic, payload, retain } = messages[next++];
      client.publish(topic, payload, { qos: 1, retain }, (error) => {
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

/** Requests and publishes everything, one after the other or at the same time. */
async function run(order) {
  if (order === 'overlapping') await Promise.all([requestAll(), publishAll(script.messages)]);
  else {
    await requestAll();
    await publishAll(script.messages);
  }
}

/** Moves the valve, later reads it, and publishes each time as many messages as the bridge does. */
async function command(topic, payload) {
  const { confirmMs, accepted, confirmed } = script.command;
  const [, , id] = topic.split('/');
  const path = `/ape/v1/sonics/${id}`;
  const { body } = await pool.request({
    method: 'PUT',
    path: `${path}/valve`,
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ action: payload.toString().toLowerCase() }),
  });
  await body.text();
  await publishAll(accepted);
  await pause(confirmMs);
  await request(path);
  await publishAll(confirmed);
}

const functions = {
  load,
  signIn,
  connect,
  run,
  async refresh(order) {
    await Promise.all([signIn(), connect()]);
    await run(order);
  },
  async serveCommands() {
    client.on('message', (topic, payload) => void command(topic, payload));
    await client.subscribeAsync('sonic2mqtt/sonic/+/valve/set', { qos: 0 });
  },
};

// This also keeps it running.
serveParent({ ...globalThis.gauge, ...functions });

const [folder, order] = process.argv.slice(2);
if (order !== undefined) {
  load(folder);
  await functions.refresh(order);
  if (order === 'idle') {
    setInterval(() => {}, 1_000);
    setInterval(() => void request(script.paths[0]), 30_000);
  }
}
