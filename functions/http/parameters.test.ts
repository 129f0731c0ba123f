import { expect, test } from 'vitest';
import type { ParameterSpec } from '../../contracts/operation.ts';
import { readQuery } from './parameters.ts';

const specs: readonly ParameterSpec[] = [
  { name: 'limit', required: false, type: 'integer', minimum: 1, maximum: 1000, default: 100 },
  { name: 'deep', required: false, type: 'boolean' },
  { name: 'state', required: false, type: 'string', enum: ['ready', 'leased'], maxLength: 10 },
  { name: 'tag.', required: false, type: 'string', prefix: true, minLength: 1, maxLength: 8 },
  { name: 'from', required: false, type: 'string', format: 'date-time', maxLength: 40 },
];

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
  let thrown: unknown;
  try {
    readQuery(specs, query);
  } catch (error) {
    thrown = error;
  }
  expect(['validation_failed', 'limit_exceeded', 'malformed_request']).toContain(
    (thrown as { code?: string }).code,
  );
});

test('a parameter that is needed is asked for', () => {
  expect(() => readQuery([{ name: 'a', required: true, type: 'string' }], '')).toThrow('missing');
});
