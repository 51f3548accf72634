import fc from 'fast-check';
import { expect, it } from 'vitest';
import { CloudError } from '../../src/cloud/errors.ts';
import { type Field, fieldsOf } from '../../src/cloud/fields.ts';
import { type OperationName, operationNames, operationRow, paramNames } from '../../src/cloud/operations.ts';
import { encodeCall, type UncheckedCall } from '../../src/cloud/request.ts';
import type { Page } from '../../src/cloud/response.ts';
import { benchFor, requestsFor } from '../support/clientBench.ts';
import { operationSamples, sampleCall } from '../support/operationSamples.ts';

// What is a promise of each row of the catalogue. How the one client deals with answers that are late, cut or strange is
// the same for all rows, and is shown by a few of them in operationEngine.test.ts.
const howToUpdate =
  'An operation is not what the file says. If it is meant, run ' +
  '`npx vitest run test/contract/operations.test.ts --update` and read the difference';

async function expectFile(name: string, content: unknown): Promise<void> {
  const text = `${JSON.stringify(content, null, 2)}\n`;
  await expect(text, howToUpdate).toMatchFileSnapshot(`golden/${name}.json`);
}

/** Calls an operation as its sample says; what was sent and what came of it. */
async function performed(name: OperationName) {
  const { reply } = operationSamples[name];
  const bench = await benchFor(name, reply === undefined ? {} : { json: reply });
  const answer = await bench.client.call(sampleCall(name));
  expect(bench.stub.complaints).toEqual([]);
  expect(bench.client.problems()).toEqual([]);
  const requests = requestsFor(bench, name);
  expect(requests).toHaveLength(1);
  const { method, path, query, headers, body } = requests[0] ?? {};
  const { host: _, connection: __, ...others } = headers ?? {};
  const length = body === undefined ? null : String(JSON.stringify(body).length);
  expect(others).toEqual({
    accept: 'application/json',
    'accept-encoding': 'identity',
    'user-agent': expect.stringMatching(/^sonic2mqtt\/\d/),
    ...(name === 'sign_in' ? {} : { authorization: 'Bearer kept' }),
    ...(length === null ? {} : { 'content-type': 'application/json', 'content-length': length }),
  });
  const read =
    operationRow(name).reply.kind === 'page' ? { records: (answer as Page<unknown>).records } : { answer };
  return { sent: { line: `${method} ${path}`, query, body }, ...read };
}

it('each row says what its documents say, and is called and answered as the file shows', async () => {
  const shown: Record<string, unknown> = {};
  for (const name of operationNames) {
    const { method, path, reply, query: _, body: __, ...facts } = operationRow(name);
    const row = { route: `${method} ${path}`, reply: reply.kind, ...facts };
    shown[name] = { ...row, ...(await performed(name)) };
  }
  await expectFile('operations', shown);
});

it('only what changes nothing may be asked again, and each change needs a permission', () => {
  for (const name of operationNames) {
    const { method, retry, control, moves, session } = operationRow(name);
    expect([name, retry]).toEqual([name, method === 'GET' ? 'safe' : 'never']);
    expect([name, control !== undefined]).toEqual([name, method !== 'GET' && !session]);
    const isMover = moves === 'command' || moves === 'test';
    expect([name, control?.includes('valves') === true]).toEqual([name, isMover]);
    // It is part of a topic.
    expect(name).toMatch(/^[a-z_]+$/);
  }
});

/** A call as a stranger may write it. */
type LooseCall = UncheckedCall & {
  readonly params?: Readonly<Record<string, unknown>>;
  readonly query?: object;
  readonly body?: object;
};

const looseCall = (operation: OperationName): LooseCall => sampleCall(operation);

/** Why a call is refused. */
function refusal(call: UncheckedCall): string {
  try {
    return `taken: ${encodeCall(call, {}).path}`;
  } catch (error) {
    expect(error).toBeInstanceOf(CloudError);
    expect(error).toMatchObject({ kind: 'invalid', operation: call.operation, mayHaveActed: false });
    return (error as CloudError).message;
  }
}

const without = (key: string, values: object) =>
  Object.fromEntries(Object.entries(values).filter(([each]) => each !== key));

/** Calls that are wrong in one place each, with the words in which each is refused. */
function wrongCalls(operation: OperationName): (readonly [call: UncheckedCall, words: string])[] {
  const call = looseCall(operation);
  const row = operationRow(operation);
  const params = (changes: object) => ({ ...call, params: { ...call.params, ...changes } });
  const calls: (readonly [UncheckedCall, string])[] = [
    [params({ stranger: 'x' }), 'params.stranger is unknown'],
    ...paramNames(row.path).flatMap((name) => [
      [{ ...call, params: without(name, call.params ?? {}) }, `params.${name} is missing`] as const,
      [params({ [`${name}s`]: 'x' }), `params.${name}s is unknown. Did you mean ${name}?`] as const,
    ]),
  ];
  for (const place of ['query', 'body'] as const) {
    if (!row[place]) {
      calls.push([{ ...call, [place]: {} }, `${place} is not allowed for this operation`]);
      continue;
    }
    const given = call[place] ?? {};
    const proto = Object.fromEntries([...Object.entries(given), ['__proto__', { x: 1 }]]);
    calls.push([{ ...call, [place]: proto }, `${place}.__proto__ is unknown`]);
    calls.push([{ ...call, [place]: [given] }, `${place} must be an object`]);
    const { fields, isOpen } = fieldsOf(row[place]);
    for (const { name, isRequired, takes } of fields) {
      const changed = (changes: object) => ({ ...call, [place]: { ...given, ...changes } });
      calls.push([changed({ [name]: {} }), `${place}.${name} must be ${takes}`]);
      if (isRequired) calls.push([{ ...call, [place]: without(name, given) }, `${place}.${name} is missing`]);
      if (isOpen) continue;
      calls.push([changed({ [`${name}s`]: 'x' }), `${place}.${name}s is unknown. Did you mean ${name}?`]);
    }
  }
  return calls;
}

it('each wrong call is refused with its place and what is wrong there', () => {
  for (const name of operationNames) {
    for (const [call, words] of wrongCalls(name)) expect([name, refusal(call)]).toEqual([name, words]);
  }
});

/** For each kind of field, some values that it takes and some that it does not. */
const kinds: Readonly<Record<string, readonly [good: readonly unknown[], wrong: readonly unknown[]]>> = {
  text: [
    ['x', 'ü & 1', ' ', ''],
    [7, true, null, [], {}, ['x']],
  ],
  'true or false': [
    [true, false],
    ['true', 'ON', 1, 0, null, []],
  ],
  'a number': [
    [51.5, -0.1, 0],
    ['51.5', true, null, {}, Number.NaN, Number.POSITIVE_INFINITY],
  ],
  'a whole number': [
    [-5, 0, 25, 1000],
    [1.5, '25', null, 2 ** 60],
  ],
  'a whole number from 1': [
    [1, 2, 100_000],
    [0, -1, 1.5, '2', null, 2 ** 60],
  ],
  'a whole number from 1 to 12': [
    [1, 12],
    [0, 13, -1, 1.5, '11', null],
  ],
  'a whole number from 1970 to 9999': [
    [1970, 2026, 9999],
    [0, 1969, 10_000, '2026', 2026.5],
  ],
  'an e-mail address': [['me@example.com'], ['nobody', '', 'a@', 7, null]],
  'a time HH:MM:SS': [
    ['03:00:00', '23:59:59'],
    ['3:00', '03:00', '24:00:00', '03:60:00', '', 7],
  ],
};

function valuesOf({ takes, choices }: Field): (typeof kinds)[string] {
  const values = choices ? [choices, ['', 'explode', 7, null, [choices[0]], { toString: 1 }]] : kinds[takes];
  if (!values) throw new Error(`there are no values for a field that takes ${takes}`);
  return values as (typeof kinds)[string];
}

it('each field takes what it says and nothing else', () => {
  for (const operation of operationNames) {
    const call = looseCall(operation);
    for (const place of ['query', 'body'] as const) {
      for (const field of fieldsOf(operationRow(operation)[place]).fields) {
        const { name, takes } = field;
        const [good, wrong] = valuesOf(field);
        const given = (value: unknown) => ({ ...call, [place]: { ...call[place], [name]: value } });
        for (const value of good) {
          const { body, path } = encodeCall(given(value), {});
          const query = new URLSearchParams(path.split('?')[1]).get(name);
          const sent = place === 'body' ? JSON.parse(body ?? '')[name] : query;
          expect([operation, name, sent]).toEqual([
            operation,
            name,
            place === 'body' ? value : String(value),
          ]);
        }
        for (const value of wrong) {
          expect([operation, refusal(given(value))]).toEqual([
            operation,
            `${place}.${name} must be ${takes}`,
          ]);
        }
      }
    }
  }
});

it.each([
  ['list_incidents', { query: { type: 'long_flow_alarm' } }, 'long_flow_alert'],
  ['list_properties', { query: { membership_role: 'Owners' } }, 'owner'],
  ['command_valve', { body: { action: 'Close' } }, 'close'],
] as const)(
  '%s with nearly one of the only values asks whether that was meant: %j',
  (operation, parts, meant) => {
    expect(refusal({ ...looseCall(operation), ...parts })).toContain(`. Did you mean ${meant}?`);
  },
);

it('what an open body holds besides is passed on unchanged', () => {
  const open = operationNames.filter(
    (name) => fieldsOf(operationRow(name).body).isOpen && operationRow(name).body,
  );
  expect(open.length).toBeGreaterThan(5);
  const others = fc.dictionary(fc.string(), fc.jsonValue());
  fc.assert(
    fc.property(fc.constantFrom(...open), others, (operation, more) => {
      const call = looseCall(operation);
      const names = fieldsOf(operationRow(operation).body).fields.map(({ name }) => name);
      const body = { ...without('__proto__', more), ...call.body };
      for (const name of names) if (!(name in (call.body ?? {}))) Reflect.deleteProperty(body, name);
      expect(JSON.parse(encodeCall({ ...call, body }, {}).body ?? '')).toEqual(
        JSON.parse(JSON.stringify(body)),
      );
    }),
    { numRuns: 300 },
  );
});

it('a body that is nested so deeply that it cannot be written is refused', () => {
  const deep = JSON.parse(`{"name":${'['.repeat(10_000)}${']'.repeat(10_000)}}`);
  for (const operation of operationNames.filter((name) => operationRow(name).body)) {
    const call = looseCall(operation);
    for (const body of [deep, { ...call.body, more: deep }]) {
      expect(refusal({ ...call, body })).toBe('body is nested too deeply');
    }
  }
});
