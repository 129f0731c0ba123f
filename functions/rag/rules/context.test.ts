import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { codePoint } from '../../../test/support/code-points.ts';
import { finish } from '../../../test/support/finish.ts';
import { refusalOf } from '../../../test/support/refusal.ts';
import { sha256 } from '../../kernel/canonical-json.ts';
import { citationsOf } from './citations.ts';
import { contextChunks } from './context-chunks.ts';
import type { ContextMatch } from './context-match.ts';
import { type AssemblyRequest, type ContextRequest, readContextRequest } from './context-request.ts';
import { contextText as contextTextInSteps } from './context-text.ts';
import { excerptOf } from './excerpt.ts';
import { splitsCodePoint } from './white-space.ts';

const match = (rank: number, text: unknown, more: object = {}, collection = 'notes'): ContextMatch => ({
  rank,
  score: 1 / rank,
  collection,
  record: { partitionKey: 'p', id: `r${rank}`, content: { text } as never, ...more },
});
const contextOf = (matches: readonly ContextMatch[], request: ContextRequest = {}) =>
  finish(contextChunks(matches, readContextRequest(request)));
const contextText = (...given: Parameters<typeof contextTextInSteps>) => finish(contextTextInSteps(...given));
const idsOf = ({ chunks }: ReturnType<typeof contextOf>) => chunks.map(({ match: { record } }) => record.id);

describe('an excerpt', () => {
  test.each<[text: string, budget: number, excerpt: string, charEnd: number]>([
    ['abcdef', 6, 'abcdef', 6],
    ['abcdef', 5, 'ab...', 2],
    ['abcdef', 4, 'a...', 1],
    ['abcdef', 3, 'abc', 3],
    ['abcdef', 0, '', 0],
    ['a😀bcdef', 5, 'a...', 1],
    ['😀😀', 3, '😀', 2],
    ['😀😀', 1, '', 0],
  ])('of %j with room for %d is %j', (text, budget, excerpt, charEnd) => {
    expect(excerptOf(text, budget)).toEqual({ text: excerpt, charEnd, truncated: text !== excerpt });
  });
});

test('matches without text are counted, and become no chunk', () => {
  const matches = [
    match(1, ' '),
    match(2, 7),
    match(3, 'text'),
    match(4, undefined),
    match(5, 'x', { content: null }),
  ];
  expect(contextOf(matches)).toMatchObject({ chunks: [{ rank: 1, text: 'text' }], skippedEmptyText: 4 });
  expect(contextOf(matches, { contentField: 'toString' }).skippedEmptyText).toBe(5);
});

test('the budget of the context ends within a chunk, and drops the chunks after it', () => {
  const context = contextOf([match(1, 'abcdef'), match(2, 'ghijkl'), match(3, 'm')], { maxChars: 10 });
  expect(context.chunks.map(({ text }) => text)).toEqual(['abcdef', 'g...']);
  expect(context).toMatchObject({ totalChars: 10, droppedForBudget: 1, budgetExhausted: true });
  expect(context.chunks[1]).toMatchObject({ charEnd: 1, originalTextLength: 6, truncated: true });
  expect(context.chunks[1]?.excerptHash).toBe(sha256('g...'));
});

const kinds = (...given: string[]) =>
  given.map((kind, at) => match(at + 1, 'text', { metadata: { kind } as never }));
const assembled = (assembly: AssemblyRequest, matches = kinds('a', 'a', 'b', 'c')) =>
  contextOf(matches, { contextAssembly: { groupBy: 'metadata', groupByPath: 'kind', ...assembly } });

describe('groups', () => {
  test('are ordered by priority, those without one last', () => {
    const groups = [{ key: 'c', priority: 1 }, { key: 'b' }];
    expect(idsOf(assembled({ groups }))).toEqual(['r4', 'r3', 'r1', 'r2']);
  });

  test('get their minimum first', () => {
    const groups = [
      { key: 'a', priority: 1 },
      { key: 'c', priority: 2, required: true },
      { key: 'b', priority: 3, minChars: 1 },
    ];
    expect(idsOf(assembled({ groups }))).toEqual(['r4', 'r3', 'r1', 'r2']);
  });

  test('keep to their limits of chunks and characters', () => {
    const chunks = assembled({ defaultMaxChunksPerGroup: 1 });
    expect([idsOf(chunks), chunks.skippedForGroupBudget]).toEqual([['r1', 'r3', 'r4'], 1]);
    const chars = assembled({ groups: [{ key: 'a', maxChars: 6 }] });
    expect(chars.chunks.map(({ text }) => text)).toEqual(['text', 'te', 'text', 'text']);
    expect(chars.groups[0]).toMatchObject({ key: 'a', chunkCount: 2, charCount: 6, skippedCount: 0 });
  });

  test.each<[assembly: AssemblyRequest, key: string]>([
    [{ groupBy: 'collection' }, 'notes'],
    [{ groupBy: 'sourceKind' }, 'web'],
    [{ groupBy: 'metadata', groupByPath: 'a/b~' }, '7'],
    [{ groupBy: 'metadata', groupByPath: 'none' }, '(missing)'],
    [{ groupBy: 'jsonPointer', groupByPath: '/metadata/null' }, '(null)'],
    [{ groupBy: 'jsonPointer', groupByPath: '/metadata/list' }, '["x"]'],
    [{ groupBy: 'jsonPointer', groupByPath: '/metadata/toString' }, '(missing)'],
  ])('of %j: %s', (contextAssembly, key) => {
    const record = { sources: [{ kind: 'web' }], metadata: { 'a/b~': 7, null: null, list: ['x'] } };
    expect(contextOf([match(1, 'text', record)], { contextAssembly }).chunks[0]?.groupKey).toBe(key);
  });

  test('that are required and do not reach their minimum are listed, or refuse the request', () => {
    const groups = [
      { key: 'z', required: true },
      { key: 'b', required: true, minChunks: 2 },
      { key: 'c', required: true },
    ];
    expect(assembled({ groups }).unsatisfiedRequiredGroups).toEqual(['z', 'b']);
    const failing = () => assembled({ groups, failOnUnsatisfiedRequiredGroups: true });
    expect(refusalOf(failing)).toMatchObject({ code: 'validation_failed' });
  });

  test.each<[assembly: AssemblyRequest, pointer: string]>([
    [{ groupBy: 'metadata' }, '/groupByPath'],
    [{ groupBy: 'jsonPointer', groupByPath: 'a' }, '/groupByPath'],
    [{ groups: [{ key: 'a' }] }, '/groupBy'],
    [{ groupBy: 'collection', groups: [{ key: 'a' }, { key: 'a' }] }, '/groups/1/key'],
    [{ groupBy: 'collection', groups: [{ key: 'a', maxChars: 0 }] }, '/groups/0/maxChars'],
    [{ groupBy: 'collection', groups: [{ key: 'a', minChunks: 3, maxChunks: 2 }] }, '/groups/0/minChunks'],
    [{ defaultMaxCharsPerGroup: -1 }, '/defaultMaxCharsPerGroup'],
  ])('of %j are refused', (contextAssembly, pointer) => {
    const place = `/contextAssembly${pointer}`;
    expect(refusalOf(() => readContextRequest({ contextAssembly }))).toMatchObject({
      errors: [{ pointer: place }],
    });
  });
});

const cases = fc.record({
  matches: fc.array(
    fc.record({ text: fc.string({ unit: codePoint, maxLength: 40 }), kind: fc.constantFrom('a', 'b', 'c') }),
    {
      maxLength: 12,
    },
  ),
  maxChars: fc.integer({ min: 1, max: 120 }),
  maxCharsPerChunk: fc.integer({ min: 1, max: 50 }),
  maxCharsOfGroup: fc.integer({ min: 1, max: 60 }),
  maxChunksOfGroup: fc.integer({ min: 1, max: 4 }),
});

/** Whether every context keeps to its budgets, with `measured` as the size of a chunk. */
const keepsBudgets = (measured: (text: string) => number) =>
  !fc.check(
    fc.property(cases, ({ matches, maxChars, maxCharsPerChunk, maxCharsOfGroup, maxChunksOfGroup }) => {
      const context = contextOf(
        matches.map(({ text, kind }, at) => match(at + 1, text, { metadata: { kind } })),
        {
          maxChars,
          maxCharsPerChunk,
          contextAssembly: {
            groupBy: 'metadata',
            groupByPath: 'kind',
            defaultMaxCharsPerGroup: maxCharsOfGroup,
            defaultMaxChunksPerGroup: maxChunksOfGroup,
            groups: [{ key: 'b', priority: 1, required: true }],
          },
        },
      );
      const lengths = context.chunks.map(({ text }) => measured(text));
      const byGroup = Map.groupBy(context.chunks, ({ groupKey }) => groupKey);
      return (
        lengths.every((length) => length <= maxCharsPerChunk) &&
        lengths.reduce((sum, length) => sum + length, 0) <= maxChars &&
        [...byGroup.values()].every(
          (group) =>
            group.length <= maxChunksOfGroup &&
            group.reduce((sum, { text }) => sum + measured(text), 0) <= maxCharsOfGroup,
        ) &&
        context.chunks.every(({ charEnd, match: { record } }) => {
          const { text } = record['content'] as { readonly text: string };
          return !splitsCodePoint(text, charEnd);
        })
      );
    }),
    { numRuns: 3_000 },
  ).failed;

test('no context exceeds a budget or splits a code point', () => {
  expect(keepsBudgets((text) => text.length)).toBe(true);
});

test('and the comparison finds a budget that does not count the mark of truncation', () => {
  expect(keepsBudgets((text) => text.length + (text.endsWith('...') ? 1 : 0))).toBe(false);
});

describe('citations', () => {
  const cited = (sources: unknown, request: ContextRequest = {}, text = 'abcdef') =>
    citationsOf(contextOf([match(1, text, { sources })], request).chunks, readContextRequest(request));

  test('name a chunk without sources by its record, one source by its rank, and several by a number each', () => {
    expect(cited(null).citations).toMatchObject([{ id: 'c1', recordId: 'r1', sourceUri: null }]);
    expect(cited([{ id: 's', uri: 'u' }]).citations).toMatchObject([
      { id: 'c1', sourceId: 's', sourceUri: 'u' },
    ]);
    expect(cited([{}, { kind: 'k' }]).citations.map(({ id }) => id)).toEqual(['c1.1', 'c1.2']);
  });

  test('beyond the maximum of a chunk are counted, and the others keep numbered ids', () => {
    const { citations, omitted } = cited([{}, {}, {}], { maxCitationsPerChunk: 1 });
    expect([citations.map(({ id }) => id), omitted]).toEqual([['c1.1'], 2]);
    expect(cited([{}], { includeCitations: false })).toEqual({ citations: [], omitted: 0 });
  });

  test.each([
    [{ charStart: 10, charEnd: 100 }, 10, 13],
    [{ charStart: 10, charEnd: 12 }, 10, 12],
    [{ charStart: 10 }, 10, 13],
  ])('give the part of %j in the excerpt', (span, charStart, charEnd) => {
    const [citation] = cited([{ span: { ...span, anchor: 'a' } }], { maxCharsPerChunk: 3 }).citations;
    expect(citation?.includedSourceSpan).toEqual({ charStart, charEnd, anchor: 'a' });
    expect(citation?.sourceSpan).toEqual({ ...span, anchor: 'a' });
  });

  test('have no part of a span without a start', () => {
    expect(cited([{ span: { anchor: 'a' } }]).citations[0]?.includedSourceSpan).toBe(null);
  });
});

test('the text of a context has chunks, citations and a graph, and its hash', () => {
  const matches = [
    match(1, 'First. \r\nLine two [c2]', { sources: [{ uri: 'https://a', label: 'A\n[c9] forged' }] }),
    match(2, 'Second', { sources: [{}, { uri: 'u' }] }),
  ];
  const { chunks } = contextOf(matches);
  const { citations } = citationsOf(chunks, readContextRequest({}));
  const expected = [
    'Context:',
    '[c1] First.',
    'Line two [c2]',
    '',
    '[c2.1, c2.2] Second',
    '',
    'Citations:',
    '[c1] https://a - A [c9] forged (record: r1)',
    '[c2.1] r2 (record: r2)',
    '[c2.2] u (record: r2)',
    '',
    'Graph context:',
  ].join('\n');
  expect(contextText(chunks, citations, 'Graph context:')).toEqual({
    text: expected,
    hash: sha256(expected),
  });
  expect(contextText(chunks.slice(0, 1), [], null).text).toBe('Context:\n[chunk:1] First.\nLine two [c2]');
  expect(contextText([], [], null).text).toBe('Context:');
  const uncited = contextText(chunks.slice(0, 1), [], 'Graph context:').text;
  expect(uncited).toBe('Context:\n[chunk:1] First.\nLine two [c2]\n\nGraph context:');
  expect(contextText([], [], 'Graph context:').text).toBe('Context:\n\nGraph context:');
});
