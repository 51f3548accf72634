import { type Mutation, mistakesIn } from './mutation.ts';

/** The broker, the session and the disk. */
export const surroundingMutations: readonly Mutation[] = [
  ...mistakesIn('broker/clientOptions.ts', ['unit/broker/wired'], {
    'the broker keeps no commands for a bridge that is away': ['clean: true,', 'clean: false,'],
  }),
  ...mistakesIn('broker/mqttSession.ts', ['unit/broker/endings'], {
    'no empty WebSocket frame is sent': [
      '!(client.stream instanceof Socket)) joinPieces',
      '!client) joinPieces',
    ],
  }),
  ...mistakesIn('broker/clientOptions.ts', ['unit/broker/connection'], {
    'the certificate of the broker is verified': [
      'rejectUnauthorized: tls.rejectUnauthorized }',
      'rejectUnauthorized: false }',
    ],
  }),
  ...mistakesIn('broker/connection.ts', ['unit/broker/wired'], {
    'a restart does not take the bridge from MQTT 5 to 3.1.1': [
      '(isUnanswered && !this.#usedV5.has(url))',
      'isUnanswered',
    ],
  }),
  ...mistakesIn('broker/embedded.ts', ['unit/broker/embedded'], {
    'a client of the embedded broker that does not read holds up nobody else': ['concurrency: 0,', ''],
    'a client of the embedded broker that does not read is disconnected': [
      'drainTimeout: unreadMs,',
      'drainTimeout: 0,',
    ],
  }),
  ...mistakesIn('broker/mqttSession.ts', ['unit/broker/wired'], {
    'one refused subscription does not end the connection': [
      'subscriptions.every((filter) => refused.filters.includes(filter))',
      'subscriptions.some((filter) => refused.filters.includes(filter))',
    ],
    'a refused subscription is tried again within seconds': [
      'const retry = { firstMs: 1_000,',
      'const retry = { firstMs: 600_000,',
    ],
  }),
  ...mistakesIn('cloud/connections.ts', ['e2e/lateHandshake'], {
    'a connection is handed over in a turn of its own': [
      'void setImmediate(callback, ...outcome)',
      'callback(...outcome)',
    ],
  }),
  ...mistakesIn('cloud/connections.ts', ['e2e/givenUp'], {
    'an exit resets what was sent and not delivered': ["process.on('exit', () => reset(allSockets));", ''],
  }),
  ...mistakesIn('cloud/connections.ts', ['unit/cloud/http'], {
    'the certificate of the cloud is verified': [
      'timeout: connectTimeoutMs, rejectUnauthorized: true',
      'timeout: connectTimeoutMs, rejectUnauthorized: false',
    ],
  }),
  ...mistakesIn('cloud/lookUp.ts', ['unit/cloud/lookUp'], {
    'a host is looked up once at a time': ['if (others) return;', ''],
    'a host is looked up again after its look-up has ended': ['waitingFor.delete(host);', ''],
  }),
  ...mistakesIn('cloud/requestQueue.ts', ['unit/cloud/requestQueue'], {
    'valve commands have slots of their own': ["if (lane === 'valve') return valve < valveSlots;", ''],
    'valve commands use up no slot of others': [
      'command + polls < maxConcurrency;',
      'valve + command + polls < maxConcurrency;',
    ],
  }),
  ...mistakesIn('cloud/session.ts', ['unit/cloud/session'], {
    'one session is renewed at a time': [
      '#renew = singleFlight(() => this.#renewWhenAllowed());',
      '#renew = () => this.#renewWhenAllowed();',
    ],
    'all who sign in keep to one back-off': [
      'if (this.#wait.failure !== null && retryAfterMs > 0)',
      'if (false)',
    ],
    'a token that was refused is dead, however its renewal fails': [
      'this.#keep(null);\n      this.#refused = refused;',
      'this.#refused = refused;',
    ],
    'an operation that is always refused renews the session once': [
      'if (isOwnFault || isJustRenewed) return false;',
      '',
    ],
    'a sign-in keeps to the limits': [
      'if (this.#rejections && this.#attemptInMs(this.#rejections) > 0) throw this.#authError(this.#rejections);',
      '',
    ],
  }),
  ...mistakesIn('cloud/signInLimits.ts', ['unit/cloud/signInLimits'], {
    'a rejected password is tried at most three times a minute': [
      'if (count < 3) return lastAt;',
      'if (count < 6) return lastAt;',
    ],
  }),
  ...mistakesIn('config/schema.ts', ['contract/configuration'], {
    'the certificate of the broker is verified by default': [
      'reject_unauthorized: flag\n      .prefault(true)',
      'reject_unauthorized: flag\n      .prefault(false)',
    ],
  }),
  ...mistakesIn('daemon.ts', ['stories/announcements'], {
    'the last words say offline': [
      "await connection.stop([{ topic: topics.bridge('state'), payload: 'offline' }]);",
      "await connection.stop([{ topic: topics.bridge('state'), payload: 'online' }]);",
    ],
  }),
  ...mistakesIn('homeassistant/discovery.ts', ['unit/homeassistant/discovery'], {
    'no discovery message depends on an earlier one': [
      'JSON.stringify(Object.fromEntries(components))',
      'JSON.stringify(Object.fromEntries(components.filter(([, { qos }]) => qos !== undefined)))',
    ],
  }),
  ...mistakesIn('publishing/discoveryMessages.ts', ['stories/homeAssistant'], {
    'Home Assistant loses no part of a second message': ['const spacingMs = 2_500;', 'const spacingMs = 0;'],
    'what Home Assistant lost while it was busy heals': ['if (isAgain || !isTaken ||', 'if (true ||'],
  }),
  ...mistakesIn('partOptions.ts', ['stories/announcements'], {
    'the last will says offline': [
      "will: { topic: state, payload: 'offline' },",
      "will: { topic: state, payload: 'online' },",
    ],
  }),
  ...mistakesIn('publishing/incidentEvents.ts', ['stories/announcements'], {
    'an incident is noted before it is announced': [
      'await this.#record(opened);',
      'void this.#record(opened);',
    ],
    'no incident is announced again after a restart': [
      '!store.incidents.get(id) || announced.has(id)',
      '!store.incidents.get(id)',
    ],
  }),
  ...mistakesIn('publishing/presence.ts', ['stories/homeAssistant'], {
    'a stored birth message is no start of Home Assistant': [
      "payload === 'online' && !isRetained) born.ask();",
      "payload === 'online') born.ask();",
    ],
  }),
  ...mistakesIn('publishing/keptDocuments.ts', ['stories/uncertain'], {
    'a Wi-Fi valve that only the broker knows of is not deleted after a refusal': [
      'if (signal_id === null) kept.wifiSonics.adopt([[id, true]], isNewer);',
      '',
    ],
  }),
  ...mistakesIn('state/disk.ts', ['unit/state/stateFile'], {
    'what is kept on disk is for its owner only': ["'wx', 0o600", "'wx', 0o644"],
  }),
  ...mistakesIn('state/stateFile.ts', ['stories/water'], {
    'a total is not shown from a file that cannot be written before the months are read again': [
      'if (!this.#hasWritten) this.#markBehind();',
      '',
    ],
  }),
];
