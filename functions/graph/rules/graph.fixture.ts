import * as fc from 'fast-check';
import { finish } from '../../../test/support/finish.ts';
import type { Json } from '../../kernel/canonical-json.ts';
import type { GraphEnvelope } from './elements.ts';
import { inspectEnvelope } from './read-envelope.ts';

/** Lists of elements in the form of a request; ids are made from numbers. */
export function envelopeOf(given: object): GraphEnvelope {
  const { envelope, faults } = finish(
    inspectEnvelope(JSON.parse(JSON.stringify(given)) as Record<string, Json>),
  );
  if (faults.length > 0) throw new Error(JSON.stringify(faults));
  return envelope;
}

const span = fc.constantFrom([], [{ sourceRef: 's' }]);
const score = fc.constantFrom({}, { score: 0.2 }, { score: 0.8 }, { score: 'high' });
const nodeId = fc.integer({ min: 0, max: 9 }).map((at) => `n${at}`);
const assertionIds = fc.subarray(['a0', 'a1', 'a9']);
const status = fc.constantFrom('proposed', 'accepted', 'rejected');

const listed = <Element extends object>(element: fc.Arbitrary<Element>, prefix: string, most: number) =>
  fc
    .array(element, { maxLength: most, size: 'max' })
    .map((all) => all.map((each, at) => ({ ...each, id: `${prefix}${at}` })));

/** Graphs with loops, cycles, parallel and dangling edges, and claims that contradict each other. */
export const graphs = fc.record({
  nodes: listed(fc.record({ type: fc.constantFrom('x', 'y'), sourceSpans: span, properties: score }), 'n', 9),
  edges: listed(
    fc.record({
      sourceId: nodeId,
      targetId: nodeId,
      predicate: fc.constantFrom('p', 'q'),
      sourceSpans: span,
      properties: score,
      assertionIds,
    }),
    'e',
    24,
  ),
  assertions: listed(
    fc.record({
      subjectId: fc.constantFrom('e0', 'e1', 'e2', 'n0'),
      subjectKind: fc.constantFrom('edge', 'node'),
      status,
    }),
    'a',
    4,
  ),
  reviews: listed(
    fc.record({
      subjectId: fc.constantFrom('a0', 'a1', 'e0', 'e3'),
      subjectKind: fc.constantFrom('assertion', 'edge'),
      status,
      reviewer: fc.constant('r'),
    }),
    'r',
    4,
  ),
});

/** Profiles that often meet a limit. */
export const profiles = fc.record({
  direction: fc.constantFrom('outgoing', 'incoming', 'both'),
  maxDepth: fc.integer({ min: 0, max: 4 }),
  predicates: fc.constantFrom([], [], ['p']),
  nodeTypes: fc.constantFrom([], [], ['x']),
  limit: fc.integer({ min: 1, max: 10 }),
  edgeLimit: fc.integer({ min: 1, max: 14 }),
  includeStart: fc.boolean(),
  assertionStatuses: fc.constantFrom([], [], ['accepted'], ['accepted', 'proposed']),
  reviewStatuses: fc.constantFrom([], [], [], ['accepted']),
  requireSourceGrounding: fc.constantFrom(false, false, true),
  minScore: fc.constantFrom(null, null, 0.5),
});

export const startLists = fc.uniqueArray(nodeId, { minLength: 1, maxLength: 3 });
