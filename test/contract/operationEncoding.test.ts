import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CloudError } from '../../src/cloud/errors.ts';
import { operationNames, operationRow, paramNames } from '../../src/cloud/operations.ts';
import { encodeCall, type RouteOverrides, type UncheckedCall } from '../../src/cloud/request.ts';
import { sampleCall } from '../support/operationSamples.ts';

const nastyText = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc.string({ unit: fc.constantFrom(...'./\\%25eEfF;?#&=+: \t\r\n\0\u0085\u2028ü') }),
  fc.constantFrom(
    ...[
      '',
      '.',
      '..',
      '../x',
      '..\\x',
      'a/../..',
      '%2e%2e',
      '%2f',
      '%252f',
      '..;/x',
      '.%00.',
      ' .. ',
      'a?b',
      'a#b',
    ],
    ...[
      '__proto__',
      'constructor',
      '{sonic_id}',
      '\ud800',
      'a\udc00b',
      '\ufeff..',
      '..\u00a0',
      '％２ｅ',
      'x'.repeat(300),
    ],
  ),
);

/** The request's path; null where the call is refused, which is always done in the words of the one family. */
function pathOf(call: UncheckedCall, routes: RouteOverrides = {}): string | null {
  try {
    return encodeCall(call, routes).path;
  } catch (error) {
    expect(error).toBeInstanceOf(CloudError);
    expect(error).toMatchObject({ kind: 'invalid', mayHaveActed: false });
    expect((error as CloudError).message).not.toMatch(/\p{Cc}/u);
    return null;
  }
}

/** Whether servers that decode the path before they resolve it come to the same segments. */
function expectInPlace(path: string, template: string, params: Readonly<Record<string, string>>): void {
  const segments = template.split('/');
  expect(path.split('/')).toHaveLength(segments.length);
  for (const [index, segment] of path.split('/').entries()) {
    const filled = segments[index]?.replace(/\{(\w+)\}/g, (_, param: string) => params[param] ?? '');
    expect(segment).toMatch(/^[\w.!~*'()%-]*$/);
    expect(decodeURIComponent(segment)).toBe(filled);
    const twice = decodeURIComponent(decodeURIComponent(segment));
    expect(twice).toBe(filled);
    expect(/^\.*$/.test(twice.trim())).toBe(segments[index] === '');
  }
  expect(new URL(path, 'http://example.com').pathname).toBe(path);
  const decoded = decodeURIComponent(path).replaceAll(/[?#]/g, '_');
  expect(new URL(decoded, 'http://example.com').pathname.split('/')).toHaveLength(segments.length);
}

describe('path parameters', () => {
  const calls = fc
    .constantFrom(...operationNames.filter((name) => paramNames(operationRow(name).path).length > 0))
    .chain((name) => {
      const params = paramNames(operationRow(name).path).map((param) => [param, nastyText] as const);
      return fc.record({ name: fc.constant(name), params: fc.record(Object.fromEntries(params)) });
    });

  it('never leave their segments', () => {
    fc.assert(
      fc.property(calls, ({ name, params }) => {
        const target = pathOf({ ...sampleCall(name), params });
        if (target !== null) expectInPlace(target.split('?')[0] ?? '', operationRow(name).path, params);
      }),
      { numRuns: 1_000 },
    );
  });

  it('never leave their segments where the route is overridden either', () => {
    fc.assert(
      fc.property(calls, fc.nat(3), ({ name, params }, choice) => {
        const names = paramNames(operationRow(name).path);
        const [first = ''] = names;
        const templates = [
          `/v2/${names.map((param) => `{${param}}`).join('/')}`,
          `/v2/${names.map((param) => `x-{${param}}.json`).join('/y/')}`,
          `/{${first}}/twice/{${first}}`,
          '/none',
        ];
        const template = templates[choice] ?? '';
        const route = `${operationRow(name).method} ${template}`;
        const target = pathOf({ ...sampleCall(name), params }, { [name]: route });
        if (target !== null) expectInPlace(target.split('?')[0] ?? '', template, params);
      }),
      { numRuns: 1_000 },
    );
  });

  it('are taken where they are ids', () => {
    for (const id of ['8a7f3c52-6d0e-4b1f-9a55-0c2d9c1e7f10', 'a', '0', 'A_b-1', 'x'.repeat(128), 'ü 1']) {
      const params = { property_id: id, incident_id: id };
      expect(pathOf({ ...sampleCall('act_on_property_incident'), params })).toContain(encodeURIComponent(id));
    }
  });
});

it.each([
  ['list_sonics', 'name'],
  ['list_properties', 'search'],
] as const)('the query of %s takes every %s to the cloud exactly', (name, field) => {
  fc.assert(
    fc.property(nastyText, fc.integer({ min: 1, max: 9_999 }), (value, page) => {
      const target = pathOf({ ...sampleCall(name), query: { [field]: value, page } }) ?? '';
      const { searchParams, hash } = new URL(target, 'http://example.com');
      expect([...searchParams]).toEqual([
        // No query can hold half a surrogate pair.
        [field, Buffer.from(value, 'utf8').toString('utf8')],
        ['page', String(page)],
      ]);
      expect(hash).toBe('');
      // As it stands on the wire, for servers that read it by other rules: no bare separator or space.
      expect(target.split('?')).toHaveLength(2);
      expect(target.split('?')[1]).toMatch(/^[\w.*%+-]+=[\w.*%+-]*&page=\d+$/);
    }),
  );
});
