import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { limits } from '../../../contracts/generated/limits.ts';
import { codePoint } from '../../../test/support/code-points.ts';
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

  test('is made in a few steps, however often it holds the same value', () => {
    let reads = 0;
    const leaf = () => ({
      get a() {
        reads += 1;
        return 1;
      },
    });
    let shared: Json = leaf();
    for (let level = 0; level < 24; level += 1) shared = { left: shared, right: shared };
    const content = boundedContent({ request: { shared }, resultSummary: { status: 'Failed' } });
    expect(bytesOf(content)).toBeLessThanOrEqual(limits.traceBytesMax);
    expect(content.resultSummary).toEqual({ status: 'Failed' });
    expect(JSON.stringify(content.request)).toContain('"_cut"');
    expect(reads).toBeLessThan(200_000);
  });

  test('is made by looking at few of the members of a wide object, and by listing them once', () => {
    const plain = Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`m${at}`, at]));
    const seen = { members: 0, lists: 0 };
    const watched = new Proxy<Record<string, Json>>(plain, {
      get: (target, name) => {
        seen.members += 1;
        return Reflect.get(target, name) as Json;
      },
      ownKeys: (target) => {
        seen.lists += 1;
        return Reflect.ownKeys(target);
      },
    });
    const content = boundedContent({ request: { watched, again: watched }, resultSummary: { status: 'x' } });
    expect(bytesOf(content)).toBeLessThanOrEqual(limits.traceBytesMax);
    const { watched: kept } = content.request as { watched: Record<string, Json> };
    expect(kept).toMatchObject({ m0: 0, m1: 1, _cut: `${20_000 - (Object.keys(kept).length - 1)} members` });
    // As many as a trace has room for, at each measure.
    expect(seen.members).toBeLessThan(limits.traceBytesMax / 4);
    expect(seen.lists).toBe(1);
  });

  test('keeps as much of a large tree as it has room for, in order', () => {
    const { request } = boundedContent({ request: { tree: wide(6), last: 1 }, resultSummary: {} });
    expect(bytesOf({ request })).toBeGreaterThan(limits.traceBytesMax / 4);
    expect(JSON.stringify(request)).toMatch(/^\{"tree":\{"m0":.*"_cut":"1 members"\}$/);
  });

  test('counts members whose names are cut to the same text, and keeps a member with the name of the note', () => {
    const name = (at: number) => `${'n'.repeat(5_000)}${String(at).padStart(2, '0')}`;
    const names = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [name(at), at]));
    const kept = requestOf({ _cut: 'mine', ...names });
    expect(Object.values(kept)).toEqual(['mine', 0, '19 members']);
    expect(Object.keys(kept).at(-1)).toBe('_cut_');
  });

  test('never has more bytes than it may', () => {
    const tree = fc.letrec<{ value: Json }>((tie) => ({
      value: fc.oneof(
        { depthSize: 'large' },
        fc.string({ unit: codePoint, maxLength: 3_000 }),
        fc.double(),
        fc.array(tie('value'), { maxLength: 300 }),
        fc.dictionary(fc.string({ unit: codePoint, maxLength: 300 }), tie('value')),
      ),
    })).value;
    const many = fc
      .tuple(tree, fc.nat({ max: 3_000 }))
      .map(([value, times]) => Array<Json>(times).fill(value));
    fc.assert(
      fc.property(many, many, (request, summary) => {
        const content = boundedContent({ request: { request }, resultSummary: { summary } });
        expect(bytesOf(content)).toBeLessThanOrEqual(limits.traceBytesMax);
      }),
      { numRuns: 60 },
    );
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
