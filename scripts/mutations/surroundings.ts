import type { Mutation } from './mutation.ts';

const httpTests = ['test/unit/cloud/http.test.ts'];
const connectionTests = ['test/unit/broker/connection.test.ts'];
const announcementTests = ['test/stories/announcements.test.ts'];
const otherInstallationTests = ['test/stories/otherInstallations.test.ts'];

/** The broker, the session and the disk. */
export const surroundingMutations: readonly Mutation[] = [
  {
    promise: 'the last will says offline',
    file: 'src/partOptions.ts',
    text: "will: { topic: topics.bridge('state'), payload: 'offline' },",
    replacement: "will: { topic: topics.bridge('state'), payload: 'online' },",
    tests: announcementTests,
  },
  {
    promise: 'the last words say offline',
    file: 'src/daemon.ts',
    text: "await connection.stop([{ topic: topics.bridge('state'), payload: 'offline' }]);",
    replacement: "await connection.stop([{ topic: topics.bridge('state'), payload: 'online' }]);",
    tests: announcementTests,
  },
  {
    promise: 'the broker keeps no commands for a bridge that is away',
    file: 'src/broker/clientOptions.ts',
    text: 'clean: true,',
    replacement: 'clean: false,',
    tests: connectionTests,
  },
  {
    promise: 'an incident is noted before the bridge announces it',
    file: 'src/publishing/incidentEvents.ts',
    text: 'await state.recordPending(opened);',
    replacement: 'void state.recordPending(opened);',
    tests: announcementTests,
  },
  {
    promise: 'an incident is noted before its device announces it',
    file: 'src/publishing/incidentEvents.ts',
    text: 'await state.recordAnnounced(ready);',
    replacement: 'void state.recordAnnounced(ready);',
    tests: announcementTests,
  },
  {
    promise: 'no incident is announced again after a restart',
    file: 'src/publishing/incidentEvents.ts',
    text: 'if (state.isAnnounced(incident.id)) return;',
    replacement: '',
    tests: announcementTests,
  },
  {
    promise: 'what a disk that is mounted late knows to be announced is not announced again',
    file: 'src/publishing/incidentEvents.ts',
    text: 'if (!store.incidents.get(id) || state.isAnnounced(id)) this.#queue.delete(id);',
    replacement: 'if (!store.incidents.get(id)) this.#queue.delete(id);',
    tests: otherInstallationTests,
  },
  {
    promise: 'totals are worked out again with the data of a disk that is mounted late',
    file: 'src/polling/poller.ts',
    text: "state.on('added', () => this.refreshDays());",
    replacement: '',
    tests: otherInstallationTests,
  },
  {
    promise: 'a bridge that announces a new device too is noticed at the next check',
    file: 'src/publishing/brokerScans.ts',
    text: 'new Set([...inTurn, ...topics.slice(-1), ...this.#missed])',
    replacement: 'new Set([...inTurn, ...this.#missed])',
    tests: otherInstallationTests,
  },
  {
    promise: 'a Wi-Fi valve that only the broker knows of is not deleted after a refusal',
    file: 'src/publishing/brokerScans.ts',
    text: 'if (!publisher.isShowingDevices) state.adoptWifiSonics(found.wifiSonics());',
    replacement: '',
    tests: ['test/stories/uncertain.test.ts'],
  },
  {
    promise: 'one session is renewed at a time',
    file: 'src/cloud/session.ts',
    text: '#renew = singleFlight(() => this.#renewWhenAllowed());',
    replacement: '#renew = () => this.#renewWhenAllowed();',
    tests: ['test/unit/cloud/session.test.ts'],
  },
  {
    promise: 'a rejected password is tried at most three times a minute',
    file: 'src/cloud/signInLimits.ts',
    text: 'if (count < 3) return lastAt;',
    replacement: 'if (count < 6) return lastAt;',
    tests: ['test/unit/cloud/signInLimits.test.ts'],
  },
  {
    promise: 'all who sign in keep to one back-off',
    file: 'src/cloud/session.ts',
    text: 'if (this.#failure !== null && leftMs > 0)',
    replacement: 'if (false)',
    tests: ['test/unit/cloud/session.test.ts'],
  },
  {
    promise: 'a token that was refused is dead, however its renewal fails',
    file: 'src/cloud/session.ts',
    text: 'this.#keep(null);\n      this.#refused = refused;',
    replacement: 'this.#refused = refused;',
    tests: ['test/unit/cloud/session.test.ts'],
  },
  {
    promise: 'an operation that is always refused renews the session once',
    file: 'src/cloud/session.ts',
    text: 'if (isOwnFault || isJustRenewed) return false;',
    replacement: '',
    tests: ['test/unit/cloud/session.test.ts'],
  },
  {
    promise: 'a sign-in keeps to the limits',
    file: 'src/cloud/session.ts',
    text: 'this.#checkLimits();',
    replacement: '',
    tests: ['test/unit/cloud/session.test.ts'],
  },
  {
    promise: 'a restart does not take the bridge from MQTT 5 to 3.1.1',
    file: 'src/broker/connection.ts',
    text: 'return count > maxUnanswered;',
    replacement: 'return true;',
    tests: ['test/unit/broker/connectionTrouble.test.ts'],
  },
  {
    promise: 'a stored birth message is no start of Home Assistant',
    file: 'src/publishing/presence.ts',
    text: "payload !== 'online' || isRetained) return;",
    replacement: "payload !== 'online') return;",
    tests: ['test/stories/homeAssistant.test.ts'],
  },
  {
    promise: 'one refused subscription does not end the connection',
    file: 'src/broker/mqttSession.ts',
    text: 'subscriptions.every((filter) => refused.filters.includes(filter))',
    replacement: 'subscriptions.some((filter) => refused.filters.includes(filter))',
    tests: ['test/unit/broker/connectionTrouble.test.ts'],
  },
  {
    promise: 'a refused subscription is tried again within seconds',
    file: 'src/broker/mqttSession.ts',
    text: 'const retry = { firstMs: 1_000,',
    replacement: 'const retry = { firstMs: 600_000,',
    tests: ['test/stories/brokerGreetings.test.ts'],
  },
  {
    promise: 'a cluster without a leader is not taken for a limit of messages',
    file: 'src/broker/publishQueue.ts',
    text: '#watchedSince < promptMs ? this.large : undefined',
    replacement: '#watchedSince < Number.POSITIVE_INFINITY ? this.large : undefined',
    tests: ['test/stories/brokerAnswers.test.ts'],
  },
  {
    promise: 'a message at which the broker closes the connection is left out',
    file: 'src/broker/messageLimit.ts',
    text: 'Math.min(this.#maxBytes, large.bytes - 1)',
    replacement: 'this.#maxBytes',
    tests: ['test/unit/broker/messageLimit.test.ts'],
  },
  {
    promise: 'the certificate of the broker is verified by default',
    file: 'src/config/schema.ts',
    text: `reject_unauthorized: flag
      .prefault(true)`,
    replacement: `reject_unauthorized: flag
      .prefault(false)`,
    tests: ['test/contract/configuration.test.ts'],
  },
  {
    promise: 'the certificate of the broker is verified',
    file: 'src/broker/clientOptions.ts',
    text: 'rejectUnauthorized: tls.rejectUnauthorized,',
    replacement: 'rejectUnauthorized: false,',
    tests: ['test/unit/broker/connectionTrouble.test.ts'],
  },
  {
    promise: 'the certificate of the cloud is verified',
    file: 'src/cloud/connections.ts',
    text: 'timeout: connectTimeoutMs, rejectUnauthorized: true',
    replacement: 'timeout: connectTimeoutMs, rejectUnauthorized: false',
    tests: httpTests,
  },
  {
    promise: 'what is kept on disk is for its owner only',
    file: 'src/state/disk.ts',
    text: "'wx', 0o600",
    replacement: "'wx', 0o644",
    tests: ['test/unit/state/stateFile.test.ts'],
  },
];
