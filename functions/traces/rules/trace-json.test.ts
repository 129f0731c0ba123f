import { describe, expect, test } from 'vitest';
import { limits } from '../../../contracts/generated/limits.ts';
import type { Json } from '../../kernel/canonical-json.ts';
import { boundedContent, bytesOf } from './trace-json.ts';

const requestOf = (request: Record<string, Json>) => boundedContent({ request, resultSummary: {} }).request;

function nested(depth: number): Json {
  let value: Json = 'inner';
  for (let level = 0; level < depth; level += 1) value = { level: value };
  return value;
}

describe('the content of a trace', () => {
  test('stays as it is while it is small', () => {
    const content = { request: { a: [1, null, true, 'x'] }, resultSummary: { status: 'Succeeded' } };
    expect(boundedContent(content)).toEqual(content);
  });

  test.each<[string, Record<string, Json>]>([
    ['a text of a megabyte', { text: 'é'.repeat(1_000_000) }],
    ['many texts', Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`m${at}`, 'x'.repeat(4_000)]))],
    ['a long array', { list: Array.from({ length: 100_000 }, (_, at) => at) }],
    ['long names', { ['n'.repeat(100_000)]: 1 }],
    ['many members at many levels', { tree: wide(5) }],
  ])('is cut to its bound with %s, and says so', (_, request) => {
    const content = boundedContent({ request, resultSummary: { status: 'Failed' } });
    expect(bytesOf(content)).toBeLessThanOrEqual(limits.traceBytesMax);
    expect(JSON.stringify(content)).toMatch(/\[cut: |"_cut"/);
  });

  test('is cut where it is too deep', () => {
    const text = JSON.stringify(requestOf({ deep: nested(10_000) }));
    expect(text).toContain('[cut: too deep]');
    expect(text.length).toBeLessThan(1_000);
    expect(requestOf({ deep: nested(20) })).toEqual({ deep: nested(20) });
  });

  test('holds nothing that a store cannot keep', () => {
    expect(requestOf({ 'a\0': 'b\ud800', number: Number.NaN })).toEqual({
      'a\uFFFD': 'b\uFFFD',
      number: null,
    });
  });

  test('keeps a member with the name of a prototype as a member', () => {
    const request = JSON.parse('{"__proto__": {"status": "x"}}') as Record<string, Json>;
    expect(JSON.stringify(requestOf(request))).toBe('{"__proto__":{"status":"x"}}');
  });
});

function wide(depth: number): Json {
  if (depth === 0) return 'leaf';
  return Object.fromEntries(Array.from({ length: 10 }, (_, at) => [`m${at}`, wide(depth - 1)]));
}
