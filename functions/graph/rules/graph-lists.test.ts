import { expect, test } from 'vitest';
import type { GraphAssertion, GraphEdge, GraphReview } from './elements.ts';
import { ListedGraph } from './graph-lists.ts';

const COUNT = 300;
const many = <Item>(make: (at: number) => Item) => Array.from({ length: COUNT }, (_, at) => make(at));

/** The graph of one edge, and how often its ids, assertions and reviews are read to collect its statuses. */
function looksAt(assertionIds: readonly string[], assertionCount: number) {
  const looks = { ids: 0, assertions: 0, reviews: 0 };
  const counted = <Item extends object>(
    item: Item,
    kind: keyof typeof looks,
    isPart: (name: string) => boolean,
  ) =>
    new Proxy(item, {
      get: (target, name) => {
        if (typeof name === 'string' && isPart(name)) looks[kind] += 1;
        return Reflect.get(target, name);
      },
    });
  const isSubject = (name: string) => name === 'subjectKind';
  const edge: GraphEdge = {
    id: 'e',
    sourceId: 'a',
    targetId: 'b',
    predicate: 'p',
    assertionIds: counted(assertionIds, 'ids', (name) => /^\d+$/.test(name)),
  };
  const assertions = Array.from(
    { length: assertionCount },
    (_, at): GraphAssertion =>
      counted(
        { id: `a${at}`, subjectId: 'e', subjectKind: 'edge', status: `s${at % 2}`, method: 'm', actor: 'x' },
        'assertions',
        isSubject,
      ),
  );
  const reviews = many(
    (at): GraphReview =>
      counted(
        { id: `r${at}`, subjectId: 'a0', subjectKind: 'assertion', status: 'ok', reviewer: 'x' },
        'reviews',
        isSubject,
      ),
  );
  const graph = new ListedGraph({ nodes: [], edges: [edge], assertions, reviews });
  const answer = graph.answer({ ask: 'statuses', edge });
  return { looks, answer };
}

test.each<[what: string, ids: readonly string[], assertions: number]>([
  ['one assertion again and again', many(() => 'a0'), 1],
  [
    'many that are not there, and many that are',
    [...many((at) => `no ${at}`), ...many((at) => `a${at}`)],
    COUNT,
  ],
])('the statuses of an edge are read once if it names %s', (_, ids, assertions) => {
  const { looks, answer } = looksAt(ids, assertions);
  const said = { assertions: assertions === 1 ? ['s0'] : ['s0', 's1'], reviews: ['ok'] };
  expect(answer).toEqual({ ask: 'statuses', statuses: said });
  expect(looks.ids).toBeLessThanOrEqual(2 * ids.length);
  expect(looks.assertions).toBeLessThanOrEqual(2 * assertions);
  expect(looks.reviews).toBeLessThanOrEqual(2 * COUNT);
});
