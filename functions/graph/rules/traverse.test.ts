import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { finish } from '../../../test/support/finish.ts';
import { refusalOf } from '../../../test/support/refusal.ts';
import { canonicalJson, type JsonObject, sha256 } from '../../kernel/canonical-json.ts';
import { nodeFault } from './filters.ts';
import { envelopeOf, graphs, profiles, startLists } from './graph.fixture.ts';
import { ListedGraph, walkLists } from './graph-lists.ts';
import { pathsOf } from './paths.ts';
import { readProfile, readStarts } from './profile.ts';
import { projectionOf } from './projection.ts';
import { type Traversed, traverse } from './traverse.ts';
import type { Ask, GraphAnswer } from './walk.ts';

const walked = (graph: object, starts: readonly string[], profile: object = {}): Traversed =>
  finish(walkLists(traverse(starts, readProfile(profile as JsonObject)), new ListedGraph(envelopeOf(graph))));
const idsOf = (elements: readonly { readonly id: string }[]) => elements.map(({ id }) => id);

interface Vector {
  readonly graph: object;
  readonly profile: object;
  readonly starts: readonly string[];
  readonly expected: { readonly depths: Readonly<Record<string, number>>; readonly edges: readonly string[] };
}

// Made by test/vectors/graph-walks.py.
const path = join(import.meta.dirname, '../../../test/vectors/graph-walks.json');
const vectors = (JSON.parse(readFileSync(path, 'utf8')) as Vector[]).map((each, at) => [at, each] as const);

test.each(vectors)('a walk finds what networkx finds: %d', (_, { graph, profile, starts, expected }) => {
  const { nodes, edges, steps } = walked(graph, starts, profile);
  const depths = Object.fromEntries(nodes.map(({ id }) => [id, steps.get(id)?.depth ?? 0]));
  expect(depths).toEqual(expected.depths);
  expect(idsOf(edges).sort()).toEqual(expected.edges);
});

/** A graph that answers with pages of few edges. */
function paged(graph: ListedGraph, size: number): (asked: Ask) => GraphAnswer {
  return (asked) => {
    const answer = graph.answer(asked);
    if (asked.ask !== 'edges' || answer.ask !== 'edges') return answer;
    const from = Number(asked.after ?? 0);
    const end = from + size;
    return {
      ...answer,
      edges: answer.edges.slice(from, end),
      next: end < answer.edges.length ? String(end) : null,
    };
  };
}

/** Whether a walk over pages equals that over lists, for `numRuns` graphs. */
function agrees(
  answerOf: (graph: ListedGraph, size: number) => (asked: Ask) => GraphAnswer,
  numRuns: number,
): boolean {
  const sizes = fc.integer({ min: 1, max: 4 });
  const property = fc.property(graphs, profiles, startLists, sizes, (given, profile, starts, size) => {
    const graph = new ListedGraph(envelopeOf(given));
    const read = readProfile(profile);
    const whole = finish(walkLists(traverse(starts, read), graph));
    const answer = answerOf(graph, size);
    const walk = traverse(starts, read);
    let step = walk.next();
    while (step.done !== true) step = walk.next(answer(step.value));
    return JSON.stringify([step.value, [...step.value.steps]]) === JSON.stringify([whole, [...whole.steps]]);
  });
  return !fc.check(property, { numRuns }).failed;
}

test('a walk does not depend on the pages of edges', () => {
  expect(agrees(paged, 1_000)).toBe(true);
});

test('and the comparison finds pages in another order, and a lost status', () => {
  const reversed = (graph: ListedGraph) => (asked: Ask) => {
    const answer = graph.answer(asked);
    return answer.ask === 'edges' ? { ...answer, edges: [...answer.edges].reverse() } : answer;
  };
  const mute =
    (graph: ListedGraph) =>
    (asked: Ask): GraphAnswer =>
      asked.ask === 'statuses'
        ? { ask: 'statuses', statuses: { assertions: [], reviews: [] } }
        : graph.answer(asked);
  expect(agrees(reversed, 1_000)).toBe(false);
  expect(agrees(mute, 1_000)).toBe(false);
});

test('an edge of an answer leads to no node outside of it, except to a start that the profile or a filter excludes', () => {
  const property = fc.property(graphs, profiles, startLists, (given, profile, starts) => {
    // Few places, no statuses: most walks fill their list.
    const few = { ...profile, limit: 1 + (profile.limit % 3), assertionStatuses: [], reviewStatuses: [] };
    const { nodes, edges } = walked(given, starts, few);
    const read = readProfile(few);
    const outside = envelopeOf(given).nodes.filter(
      (each) => starts.includes(each.id) && (!profile.includeStart || nodeFault(each, read) !== null),
    );
    const known = new Set([...idsOf(nodes), ...idsOf(outside)]);
    return edges.every(({ sourceId, targetId }) => known.has(sourceId) && known.has(targetId));
  });
  fc.assert(property, { numRuns: 1_000 });
});

const node = (id: string, more: object = {}) => ({ id, type: 'x', ...more });
const edge = (id: string, sourceId: string, targetId: string, more: object = {}) => ({
  id,
  sourceId,
  targetId,
  predicate: 'p',
  ...more,
});
const chain = {
  nodes: [node('a'), node('b'), node('c')],
  edges: [edge('ab', 'a', 'b'), edge('bc', 'b', 'c'), edge('aa', 'a', 'a'), edge('az', 'a', 'z')],
};

describe('a walk', () => {
  test('has a loop once, and nothing behind a dangling edge', () => {
    const { nodes, edges, missingStartNodeIds } = walked(chain, ['a', 'q'], { maxDepth: 9 });
    expect([idsOf(nodes), idsOf(edges), missingStartNodeIds]).toEqual([
      ['a', 'b', 'c'],
      ['ab', 'aa', 'bc'],
      ['q'],
    ]);
  });

  test('ends and reports the limit when its list of edges is full', () => {
    const found = walked(chain, ['a'], { maxDepth: 9, edgeLimit: 1 });
    expect([idsOf(found.edges), found.edgeTruncated, found.filtered.edgeLimit]).toEqual([['ab'], true, 1]);
  });

  test('continues with a full list of nodes, without edges to further nodes', () => {
    const found = walked(chain, ['a'], { maxDepth: 9, limit: 1 });
    expect([idsOf(found.nodes), idsOf(found.edges), found.filtered.nodeLimit]).toEqual([['a'], ['aa'], 1]);
    expect(found.nodeLimitReached).toBe(true);
  });

  test('has no edge at a start that its full list of nodes has no room for', () => {
    const graph = {
      nodes: [node('a'), node('b'), node('c')],
      edges: [edge('ab', 'a', 'b'), edge('ca', 'c', 'a'), edge('bb', 'b', 'b')],
    };
    const full = walked(graph, ['a', 'b', 'c'], { maxDepth: 2, limit: 1 });
    expect([idsOf(full.nodes), idsOf(full.edges), [...full.steps.keys()]]).toEqual([['a'], [], ['a']]);
    // Two starts and the edges to them.
    expect(full.filtered.nodeLimit).toBe(4);
    const unlisted = walked(graph, ['a', 'b'], { maxDepth: 2, limit: 1, includeStart: false });
    expect([idsOf(unlisted.nodes), idsOf(unlisted.edges)]).toEqual([['c'], ['ab', 'ca', 'bb']]);
  });

  test('counts an excluded edge at each of its ends', () => {
    const graph = {
      nodes: [node('a'), node('b')],
      edges: [edge('1', 'a', 'b'), edge('2', 'a', 'b', { predicate: 'q' })],
    };
    const found = walked(graph, ['a'], { maxDepth: 2, predicates: ['p'] });
    expect([idsOf(found.edges), found.filtered.predicate]).toEqual([['1'], 2]);
    expect(walked(graph, ['a'], { maxDepth: 1, predicates: ['p'] }).filtered.predicate).toBe(1);
  });

  test('omits its starts if the profile excludes them', () => {
    expect(idsOf(walked(chain, ['a'], { includeStart: false }).nodes)).toEqual(['b']);
  });

  test.each<[what: string, start: object, profile: object, counter: string]>([
    ['another type', { type: 'y' }, { nodeTypes: ['x'] }, 'nodeType'],
    ['no source', {}, { requireSourceGrounding: true }, 'sourceGrounding'],
    ['a low score', { properties: { score: 0.1 } }, { minScore: 0.2 }, 'score'],
  ])('counts a start with %s, omits it and begins at it', (_, start, profile, counter) => {
    const sound = { sourceSpans: [{ sourceRef: 's' }] };
    const graph = {
      nodes: [node('a', start), node('b', sound), node('c', sound)],
      edges: [edge('ab', 'a', 'b', sound), edge('aa', 'a', 'a', sound), edge('bc', 'b', 'c', sound)],
    };
    const found = walked(graph, ['a', 'c'], { maxDepth: 1, limit: 2, ...profile });
    expect([idsOf(found.nodes), idsOf(found.edges)]).toEqual([
      ['c', 'b'],
      ['ab', 'aa', 'bc'],
    ]);
    expect(Object.values(found.filtered).reduce((sum, count) => sum + count, 0)).toBe(1);
    expect(found.filtered).toMatchObject({ [counter]: 1 });
    expect(found.missingStartNodeIds).toEqual([]);
    // If the answer excludes starts, no filter checks them.
    const bare = walked(graph, ['a', 'c'], { maxDepth: 1, limit: 2, includeStart: false, ...profile });
    expect([idsOf(bare.nodes), bare.filtered]).toMatchObject([['b'], { [counter]: 0 }]);
    expect(idsOf(bare.edges)).toEqual(idsOf(found.edges));
  });

  test.each<[what: string, edge: object, profile: object, counter: string]>([
    ['another predicate', {}, { predicates: ['q'] }, 'predicate'],
    ['no source', {}, { requireSourceGrounding: true }, 'sourceGrounding'],
    ['a low score', { properties: { score: 0.1 } }, { minScore: 0.2 }, 'score'],
    ['no assertion', {}, { assertionStatuses: ['accepted'] }, 'assertionStatus'],
    ['no review', {}, { reviewStatuses: ['accepted'] }, 'reviewStatus'],
    ['a node of another type', {}, { nodeTypes: ['y'] }, 'nodeType'],
  ])('counts an edge with %s once', (_, more, profile, counter) => {
    const graph = {
      nodes: [node('a'), node('b')],
      edges: [edge('ab', 'a', 'b', more), edge('ba', 'b', 'a', more)],
    };
    const { edges, filtered } = walked(graph, ['a'], { maxDepth: 3, includeStart: false, ...profile });
    expect(edges).toEqual([]);
    expect(filtered).toMatchObject({ [counter]: 2 });
  });

  test('finds assertions and reviews by id and by subject, also if they contradict each other', () => {
    const graph = {
      nodes: [node('a'), node('b')],
      edges: [
        edge('named', 'a', 'b', { assertionIds: ['a1'] }),
        edge('subject', 'a', 'b'),
        edge('bare', 'a', 'b'),
      ],
      assertions: [
        { id: 'a1', subjectId: 'x', status: 'accepted' },
        { id: 'a2', subjectId: 'subject', subjectKind: 'edge', status: 'rejected' },
        { id: 'a3', subjectId: 'subject', subjectKind: 'edge', status: 'accepted' },
        { id: 'a4', subjectId: 'bare', subjectKind: 'node', status: 'accepted' },
      ],
      reviews: [
        { id: 'r1', subjectId: 'a2', status: 'approved', reviewer: 'r' },
        { id: 'r2', subjectId: 'bare', subjectKind: 'edge', status: 'approved', reviewer: 'r' },
      ],
    };
    expect(idsOf(walked(graph, ['a'], { assertionStatuses: ['accepted'] }).edges)).toEqual([
      'named',
      'subject',
    ]);
    expect(idsOf(walked(graph, ['a'], { assertionStatuses: ['rejected'] }).edges)).toEqual(['subject']);
    expect(idsOf(walked(graph, ['a'], { reviewStatuses: ['approved'] }).edges)).toEqual(['subject', 'bare']);
  });
});

test('a projection is in the order of ids, explains each way and has the same id for the same walk', () => {
  const profile = readProfile({ maxDepth: 9 });
  const source = {
    sourceRecordCount: 8,
    sourceTruncated: false,
    availableNodeCount: 3,
    availableEdgeCount: 4,
  };
  const make = (starts: string[]) =>
    projectionOf('g', profile, starts, walked(chain, starts, { maxDepth: 9 }), source);
  const projection = make(['c']);
  expect(idsOf(projection.nodes)).toEqual(['a', 'b', 'c']);
  expect(projection.diagnostics).toMatchObject({ ...source, nodeCount: 3, edgeCount: 3 });
  expect(projection.diagnostics).toHaveProperty('pathExplanations', {
    c: [],
    b: [{ edgeId: 'bc', from: 'c', to: 'b', predicate: 'p', depth: 1 }],
    a: [
      { edgeId: 'bc', from: 'c', to: 'b', predicate: 'p', depth: 1 },
      { edgeId: 'ab', from: 'b', to: 'a', predicate: 'p', depth: 2 },
    ],
  });
  expect(projection.id).toMatch(/^projection:g:[0-9a-f]{32}$/);
  expect([make(['c']).id === projection.id, make(['a']).id === projection.id]).toEqual([true, false]);
  const bare = projectionOf(
    'g',
    { ...profile, includePathExplanations: false },
    ['c'],
    walked(chain, ['c']),
    source,
  );
  expect(bare.diagnostics).not.toHaveProperty('pathExplanations');
});

test('a projection of ids that are no well-formed Unicode has an id of its own', () => {
  const profile = readProfile({});
  const source = {
    sourceRecordCount: 0,
    sourceTruncated: false,
    availableNodeCount: 0,
    availableEdgeCount: 0,
  };
  const make = (start: string) => projectionOf('g', profile, [start], walked({}, [start]), source).id;
  expect(make('\ud800')).toMatch(/:[0-9a-f]{32}$/);
  expect(make('\ud800')).not.toBe(make('\ud801'));
  // For all other ids the name is canonical JSON, so that ids do not change.
  const named = { graphId: 'g', profile, startNodeIds: ['a'], nodes: [], edges: [] };
  expect(make('a')).toBe(`projection:g:${sha256(canonicalJson(named)).slice(7, 39)}`);
});

test('the paths of a long chain are omitted as soon as all together would be too long', () => {
  const ids = Array.from({ length: 2_000 }, (_, at) => `n${at}`);
  const long = {
    nodes: ids.map((id) => node(id)),
    edges: ids.slice(1).map((id, at) => edge(`e${at}`, `n${at}`, id)),
  };
  const found = walked(long, ['n0'], { maxDepth: 5_000, limit: 5_000, edgeLimit: 5_000 });
  expect(found.nodes).toHaveLength(2_000);
  const { paths, truncated } = pathsOf(found);
  expect(truncated).toBe(true);
  expect(Object.values(paths).reduce((sum, steps) => sum + steps.length, 0)).toBeLessThanOrEqual(50_000);
});

test.each<[profile: object, pointer: string]>([
  [{ direction: 'up' }, '/profile/direction'],
  [{ maxDepth: -1 }, '/profile/maxDepth'],
  [{ limit: 0 }, '/profile/limit'],
  [{ edge_limit: 0.5 }, '/profile/edgeLimit'],
  [{ includeStart: 1 }, '/profile/includeStart'],
  [{ node_types: 'x' }, '/profile/nodeTypes'],
  [{ minScore: '1' }, '/profile/minScore'],
  [{ id: 1 }, '/profile/id'],
])('the profile %j is refused', (profile, pointer) => {
  expect(refusalOf(() => readProfile(profile as JsonObject))).toMatchObject({ errors: [{ pointer }] });
});

test('a walk needs a start', () => {
  expect(readStarts(['a', 'b', 'a'])).toEqual(['a', 'b']);
  expect(refusalOf(() => readStarts([' ']))).toMatchObject({ errors: [{ pointer: '/startNodeIds' }] });
});
