import type { ErrorCode } from '../../src/commands/requests.ts';
import { code, codeBlock, table } from './markdown.ts';

const meanings: Readonly<Record<ErrorCode, string>> = {
  invalid_request: 'the request is wrong, and `message` says how',
  unknown_operation: 'there is no such operation; `message` may know which was meant',
  not_permitted: '`control` forbids it, or it belongs to the session',
  unauthorized: 'the bridge is not signed in and cannot sign in (401)',
  forbidden: 'the cloud does not permit it (403)',
  not_found: 'the cloud knows no such record (404)',
  validation_failed: 'the cloud does not accept it (another 4xx)',
  rate_limited:
    'too much at once: `cloud.max_requests_per_minute`, the limit of the cloud, or a newer command for the same valve',
  cloud_unavailable: 'no answer that can be used; a change may have been made all the same',
  timeout: 'no answer within `cloud.request_timeout`; a change may have been made all the same',
  unsupported: 'the cloud does not offer it, or `cloud.routes` switches it off',
};

const examples = `mosquitto_pub -t sonic2mqtt/bridge/request/list_incidents -m '{"query":{"open":true},"transaction":"mine"}'
mosquitto_rr -V 5 -t sonic2mqtt/bridge/request/read_sonic -e my/answers -m '{"params":{"sonic_id":"…"}}'`;

/** How operations of the cloud are asked for over MQTT. */
export const requestsSection: readonly string[] = [
  '## Requests',
  `Every [operation of the cloud](operations.md), but for those of the session, can be asked for at
\`bridge/request/{operation}\`; the answer comes on \`bridge/response/{operation}\`, at QoS 1 and not retained.`,
  codeBlock('sh', examples),
  `The payload is \`{"params":{…},"query":{…},"body":{…},"transaction":…}\`; every key may be left out, and an empty payload
asks for nothing in particular. \`transaction\` is any JSON of at most 1,000 characters and comes back as it was sent. With
MQTT 5 the answer goes to the response topic of the request, unless the bridge or Home Assistant lives by that topic, and
the correlation data comes back with it; so the second line needs a broker with MQTT 5, which that of the demo is not.`,
  `An answer is \`{"status":"ok","data":…,"transaction":…}\` or
\`{"status":"error","error":{"code":…,"message":…,"http_status":…},"transaction":…}\`; \`http_status\` is null where the cloud
did not answer. \`data\` of a list is one page, as the cloud gives it. Above 256 KiB, or what the broker takes, \`data\` is null
and \`truncated\` true: the operation was done.`,
  table(
    ['`code`', 'Meaning'],
    Object.entries(meanings).map(([name, meaning]) => [code(name), meaning]),
  ),
  `Four requests are under way at a time and fifty wait; a payload may have 64 KiB. Reads keep to the budget as polls do;
changes are turned away while it is used up. Requests that move a valve keep the promises of its own topic: one at a time
for each valve, the newest that waits wins, never sent later, never repeated. Requests with the retain flag are refused,
as far as the broker passes it on (with MQTT 3.1.1 only the embedded one does for live messages). \`filters.properties\` limits what is shown, not what
can be asked for. The outcome of each request is also a \`command\` event.`,
];
