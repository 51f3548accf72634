import type { ErrorCode } from '../../src/commands/requests.ts';
import { code, codeBlock, table } from './markdown.ts';

const meanings: Readonly<Record<ErrorCode, string>> = {
  invalid_request: 'The request is wrong, and `message` explains it',
  unknown_operation: 'This operation does not exist. `message` can suggest another one',
  not_permitted:
    '`control` or `filters.properties` forbids it, it moves a valve, or it belongs to the session',
  unauthorized: 'sonic2mqtt cannot sign in (401)',
  forbidden: 'The cloud does not permit it (403)',
  not_found: 'The cloud has no such record (404)',
  validation_failed: 'The cloud does not accept it (other 4xx)',
  rate_limited:
    'Too many requests: half of `cloud.max_requests_per_minute` is used up, the cloud requests a wait, or a newer command for the same valve arrived',
  cloud_unavailable: 'No usable answer. A change can still have been made',
  timeout: 'No answer within `cloud.request_timeout`. A change can still have been made',
  unsupported: 'The cloud does not offer it, or `cloud.routes` turns it off',
};

const examples = `mosquitto_pub -t sonic2mqtt/bridge/request/list_incidents -m '{"query":{"open":true},"transaction":"mine"}'
mosquitto_rr -V 5 -t sonic2mqtt/bridge/request/read_sonic -e my/answers -m '{"params":{"sonic_id":"…"}}'`;

/** How operations of the cloud are called over MQTT. */
export const requestsSection: readonly string[] = [
  '## Requests',
  `Send a request to \`bridge/request/{operation}\` to call an [operation of the cloud](operations.md).
Operations of the session are not available. To move a valve, use its own topic.
With \`filters.properties\`, a request must name a property, hub, valve or open alert that sonic2mqtt shows.
The answer arrives on \`bridge/response/{operation}\`, at QoS 1 and not retained.
The second line needs a broker with MQTT 5, so it does not work with the demo:`,
  codeBlock('sh', examples),
  `The payload is \`{"params":{…},"query":{…},"body":{…},"transaction":…}\`.
All keys are optional: \`{}\` is a complete request. An empty payload is ignored.

- \`transaction\` is any JSON of at most 1,000 characters. The answer contains it unchanged.
- With MQTT 5, the answer is sent to the response topic of the request, with its correlation data. Topics that sonic2mqtt or Home Assistant use are not allowed.`,
  `An answer is \`{"status":"ok","data":…,"transaction":…}\`,
or \`{"status":"error","error":{"code":…,"message":…,"http_status":…},"transaction":…}\`.

- \`http_status\` is null if the cloud did not answer.
- \`data\` of a list is one page, as the cloud sends it.
- If the answer is larger than 256 KiB or than the broker allows, \`data\` is null and \`truncated\` is true. The operation was done.`,
  table(
    ['`code`', 'Meaning'],
    Object.entries(meanings).map(([name, meaning]) => [code(name), meaning]),
  ),
  `- Four requests run at a time, and fifty wait. A payload has at most 64 KiB.
- Requests and commands may use half of \`cloud.max_requests_per_minute\`. Further ones are rejected.
- Requests that move a valve are rejected. The \`message\` names the topic to use.
- Requests with the retain flag are rejected. With MQTT 3.1.1, only the built-in broker shows the flag of live messages.
- With \`filters.properties\`, a request must name a selected property, or a record that sonic2mqtt shows.
- The result of each request is also a \`command\` event.`,
];
