import { isIP } from 'node:net';
import { validate } from 'node-cron';
import { z } from 'zod';
import { parseDuration } from '../base/duration.ts';
import { emailPattern } from '../base/email.ts';
import type { Schedule } from '../base/schedule.ts';
import { isTimezoneName } from '../model/settings.ts';

// The kinds of values that options have. Each message is the rest of a sentence that begins with "mqtt.keepalive (line
// 12): ".

/** Numbers and booleans are refused, not converted: 0123, for example, has lost its zero when YAML has read it. */
export const text = z
  .string({ error: ({ input }) => (isBare(input) ? 'must be text. Put it in quotes' : 'must be text') })
  .min(1, { error: 'must not be empty', abort: true });

const isBare = (input: unknown) => typeof input === 'number' || typeof input === 'boolean';

/** A password or token. It is never shown, not even in an error message. */
export const secret = text.nullable().prefault(null);

/** An option that may be left out or empty. Its value is null then. */
export function optional<Schema extends z.ZodType<unknown, string | string[]>>(schema: Schema) {
  return schema.nullable().prefault(null);
}

export const flag = z.boolean({ error: 'must be true or false' });

/** A whole number from `min` to `max`, both included. */
export function whole(min: number, max: number) {
  const message = `must be a whole number from ${min} to ${max}`;
  return z.int({ error: message }).min(min, message).max(max, message);
}

export function oneOf<const Words extends readonly [string, ...string[]]>(words: Words) {
  return z.enum(words, { error: `must be one of ${words.join(', ')}` });
}

export const names = z.array(text, { error: 'must be a list, for example [a, b]' });

const durationMessage = 'must be a duration such as 500ms, 30s, 5m or 1h';

// A timer of the runtime can run for 24.8 days at most.
const maxDuration = '576h';

/** A duration; its value is in ms. */
export function duration(min: string, max = maxDuration) {
  return z
    .string({ error: durationMessage })
    .meta({ pattern: '^\\s*\\d+(\\.\\d+)?(ms|s|m|h)\\s*$' })
    .transform((written, context) => {
      const durationMs = parseDuration(written);
      if (durationMs === null) return refuse(context, durationMessage);
      return isWithin(durationMs, min, max) ? durationMs : refuse(context, `must be from ${min} to ${max}`);
    });
}

function isWithin(durationMs: number, min: string, max: string): boolean {
  const [minMs = 0, maxMs = 0] = [min, max].map((each) => parseDuration(each) ?? 0);
  return durationMs >= minMs && durationMs <= maxMs;
}

const scheduleMessage = 'must be a duration such as 30s or a cron expression of 5 or 6 fields';

// A cron expression needs no such limit, because it cannot repeat more often than every second.
const minInterval = '100ms';

/** Reads a duration or a cron expression of 5 or 6 fields (seconds first); null for any other text. */
export function parseSchedule(text: string): Schedule | null {
  const everyMs = parseDuration(text);
  if (everyMs !== null) return { kind: 'every', everyMs };
  const fields = text.trim().split(/\s+/);
  const expression = fields.join(' ');
  // node-cron also accepts words such as @hourly, which are not allowed here.
  return fields.length >= 5 && validate(expression) ? { kind: 'cron', expression } : null;
}

export const schedule = z
  .string({ error: scheduleMessage })
  .meta({ pattern: '^\\s*(\\d+(\\.\\d+)?(ms|s|m|h)|\\S+(\\s+\\S+){4,5})\\s*$' })
  .transform((written, context): Schedule => {
    const read = parseSchedule(written);
    if (!read) return refuse(context, scheduleMessage);
    const isAllowed = read.kind === 'cron' || isWithin(read.everyMs, minInterval, maxDuration);
    return isAllowed ? read : refuse(context, `must be from ${minInterval} to ${maxDuration}`);
  });

const emailMessage = 'must be an e-mail address';

/** An e-mail address. Only its form is checked. */
export const email = z.string({ error: emailMessage }).regex(emailPattern, emailMessage);

const webMessage = 'must be a URL that begins with https:// or http://';

const webPattern = '^\\s*[Hh][Tt][Tt][Pp][Ss]?://[^\\s?#]+\\s*$';

/** A web address without query, fragment and credentials. */
const webUrl = z
  .string({ error: webMessage })
  .meta({ pattern: webPattern })
  .transform((written, context) => {
    const url = URL.parse(written);
    if (!url?.hostname || !['http:', 'https:'].includes(url.protocol)) return refuse(context, webMessage);
    if (url.username || url.password) return refuse(context, 'must not contain a user name or password');
    if (/[?#]/.test(written)) return refuse(context, 'must not have a query or fragment (? or #)');
    return written.trim();
  });

/** The address of a web service, to which paths are appended. Slashes at its end are removed. */
export const serviceUrl = webUrl.transform((url) => url.replace(/\/+$/, ''));

const brokerMessage = 'must be a URL that begins with mqtt://, mqtts://, ws:// or wss://';

const brokerPattern = '^\\s*([Mm][Qq][Tt][Tt]|[Ww][Ss])[Ss]?://[^\\s#]+\\s*$';

const brokerUrl = z
  .string({ error: brokerMessage })
  .meta({ pattern: brokerPattern })
  .transform((written, context) => {
    const address = written.trim();
    if (!/^(mqtts?|wss?):\/\//i.test(address)) return refuse(context, brokerMessage);
    const url = URL.parse(address);
    // A # or / in a password is the most common reason why a URL is invalid.
    if (!url?.hostname || url.hash) {
      return refuse(context, 'is not a valid URL. User name and password can be options');
    }
    if (decoded(url.username + url.password) === null) {
      return refuse(context, 'has a % in its user name or password, which must be written %25 there');
    }
    return address;
  });

/** The address of a broker, or a list of the nodes of a cluster. */
export const brokerUrls = z.union([brokerUrl, z.array(brokerUrl).min(1, 'must name at least one address')]);

/** Null if a % begins no code. The text is returned because the bundler would remove an unused decoding. */
function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

const listenHint = 'must be host:port, for example 127.0.0.1:8099';

const listenPattern = '^\\s*(\\[[\\dA-Fa-f:.]+\\]|[^\\s:\\[\\]]+):\\d{1,5}\\s*$';

/** An address to listen on, as host:port. An IPv6 address is in brackets. */
export const listenAddress = z
  .string({ error: listenHint })
  .meta({ pattern: listenPattern })
  .transform((written, context) => {
    const match = /^(?:\[([\da-f:.]+)\]|([^\s:[\]]+)):(\d{1,5})$/i.exec(written.trim());
    const host = match?.[1] ?? match?.[2];
    const number = Number(match?.[3]);
    if (host === undefined || number > 65_535) return refuse(context, listenHint);
    return { host, port: number };
  });

const networkMessage = 'must be an IP address or a network, for example 192.168.1.10 or 192.168.1.0/24';

export const networks = z.array(z.string({ error: networkMessage }).refine(isNetwork, networkMessage), {
  error: 'must be a list, for example [192.168.1.0/24]',
});

function isNetwork(written: string): boolean {
  const [, address = '', prefix = '0'] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(written) ?? [];
  return isIP(address) !== 0 && Number(prefix) <= (isIP(address) === 4 ? 32 : 128);
}

/** An MQTT topic for publishing: no wildcards, no empty levels. */
export const topic = text
  .meta({ pattern: '^[^+#\\s$/][^+#\\s/]*(/[^+#\\s/]+)*$' })
  .superRefine((written, context) => {
    const fault = topicFault(written);
    if (fault) context.addIssue({ code: 'custom', message: fault });
  });

function topicFault(written: string): string | null {
  if (/[+#]/.test(written)) return 'must not contain + or #, which are wildcards';
  if (/\s|\p{Cc}/u.test(written)) return 'must not contain spaces';
  if (written.startsWith('$')) return 'must not begin with $, which is the broker’s own';
  if (written.split('/').includes('')) return 'must not begin or end with /, or contain //';
  return null;
}

const timeZoneMessage = 'must be a time zone such as Europe/London or UTC';

/** An IANA time zone that this machine knows. */
export const timeZone = z.string({ error: timeZoneMessage }).refine(isTimezoneName, timeZoneMessage);

const routePattern = /^(GET|POST|PUT|PATCH|DELETE) \/(?:[!"$->@-z|~]|\{[a-z_]+\})*$/;
const routeMessage =
  'must be a method and a path such as "GET /v1/sonics/{sonic_id}", or null to switch the operation off';

export const route = z.string({ error: routeMessage }).regex(routePattern, routeMessage).nullable();

function refuse(context: z.core.$RefinementCtx<string>, message: string): never {
  context.addIssue({ code: 'custom', message });
  return z.NEVER;
}
