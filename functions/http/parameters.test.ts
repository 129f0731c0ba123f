import { expect, test } from 'vitest';
import type { OperationEntry, OperationRoute, ParameterSpec } from '../../contracts/operation.ts';
import type { ServiceError } from '../kernel/errors.ts';
import { refusalByParameters } from './parameter-refusal.ts';
import { RefusedParameters, readParameters, type SentQuery } from './parameters.ts';

const specs: readonly ParameterSpec[] = [
  { name: 'limit', required: false, type: 'integer', minimum: 1, maximum: 1000, default: 100 },
  { name: 'deep', required: false, type: 'boolean' },
  { name: 'state', required: false, type: 'string', enum: ['ready', 'leased'], maxLength: 10 },
  { name: 'tag.', required: false, type: 'string', prefix: true, minLength: 1, maxLength: 8 },
  { name: 'from', required: false, type: 'string', format: 'date-time', maxLength: 40 },
];

const entry = { idempotency: { location: null } } as unknown as OperationEntry;

function readQuery(query: readonly ParameterSpec[], sent: SentQuery) {
  return readParameters({ path: [], headers: [], query } as unknown as OperationRoute, entry, {
    path: {},
    query: sent,
  });
}

/** The refusal of the query in its words. */
function refusalOfQuery(query: readonly ParameterSpec[], sent: SentQuery): ServiceError {
  try {
    readQuery(query, sent);
  } catch (error) {
    if (error instanceof RefusedParameters) return refusalByParameters(error);
    return error as ServiceError;
  }
  throw new Error('the query was accepted');
}

test.each([
  ['', { limit: 100 }],
  ['limit=7&deep=false', { limit: 7, deep: false }],
  ['state=ready&', { limit: 100, state: 'ready' }],
  ['from=2026-01-02T03:04:05%2B01:00', { limit: 100, from: '2026-01-02T03:04:05+01:00' }],
  ['tag.a=b+c&tag.%C3%BC=%2B', { limit: 100, 'tag.a': 'b c', 'tag.ü': '+' }],
])('%j is read', (query, values) => {
  expect(readQuery(specs, query)).toEqual(values);
});

test.each([
  'limit=',
  'limit=0',
  'limit=1001',
  'limit=1.0',
  'limit=1e2',
  'limit=%207',
  'limit=07',
  'limit=0x7',
  'limit=9007199254740993',
  'from=2026-01-02',
  'from=2026-01-02T03:04:05',
  'from=2026-01-02T03:04:05+01:00',
  'limit=1&limit=1',
  'deep',
  'deep=1',
  'deep=True',
  'state=READY',
  'state=other',
  'tag.=a',
  'tag.a=',
  'tag.a=123456789',
  'tag.a=%00',
  'tag.a=%0A',
  'Limit=1',
  'unknown=1',
  '__proto__=1',
  'constructor=1',
  'limit=%',
  'tag.a=%FF',
  'tag.a=1&tag.a=2',
])('%j is refused with 400', (query) => {
  const { code } = refusalOfQuery(specs, query);
  expect(['validation_failed', 'limit_exceeded', 'malformed_request']).toContain(code);
});

test('a value from inside the process has its declared type', () => {
  expect(readQuery(specs, { limit: 7, deep: null, from: undefined })).toEqual({ limit: 7 });
  expect(refusalOfQuery(specs, { limit: '7', deep: 'true', state: 1 }).message).toBe(
    'The request is not valid: /limit: must be of the type integer; ' +
      '/deep: must be of the type boolean (true or false); /state: must be of the type string',
  );
});

test('a refusal names all faults with the rule of each, and suggests the intended name', () => {
  const needed: ParameterSpec = { name: 'a', required: true, type: 'string' };
  const { code, message, extensions } = refusalOfQuery(
    [...specs, needed],
    'limit=1001&sate=ready&state=x&tag.a=123456789&limit=1',
  );
  expect(code).toBe('limit_exceeded');
  expect(message).toBe(
    'The request is not valid: /limit: must be <= 1000; /sate: is not known here: did you mean state?; ' +
      '/state: must be one of ready, leased; /tag.a: must NOT have more than 8 characters; ' +
      '/limit: occurs twice; /a: is missing',
  );
  expect(extensions.errors?.[2]).toEqual({
    pointer: '/state',
    keyword: 'enum',
    detail: 'must be one of ready, leased',
  });
});

test('a refusal names 20 faults at most, with names as short as those of a body', () => {
  const query = Array.from({ length: 1_000 }, (_, n) => `${'x'.repeat(600)}${n}=1`).join('&');
  const { message, extensions } = refusalOfQuery(specs, query);
  expect(extensions.errors).toHaveLength(20);
  expect(Math.max(...(extensions.errors ?? []).map(({ pointer }) => pointer.length))).toBe(512);
  expect(message.length).toBeLessThan(2_049);
});
