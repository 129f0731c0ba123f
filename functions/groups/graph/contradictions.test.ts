import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  edgeClaim,
  GraphClient,
  graphEdge,
  graphNode,
  graphReview,
  inIdOrder,
} from '../../../test/support/graphs.ts';
import { type RunningService, startService } from '../../../test/support/service.ts';

let service: RunningService;
let graphs: GraphClient;
beforeAll(async () => {
  service = await startService({ settings: { 'Records:ImportPayloadBytesMax': '4194304' } });
  graphs = new GraphClient(service);
});
afterAll(() => service.close());

describe('a graph that contradicts itself', () => {
  const envelope = {
    nodes: [graphNode('ada'), graphNode('bob')],
    edges: [
      graphEdge('said', 'ada', 'bob', { assertionIds: ['yes', 'absent'] }),
      graphEdge('self', 'ada', 'ada'),
      graphEdge('nowhere', 'bob', 'nobody'),
      graphEdge('from nowhere', 'nobody', 'ada'),
    ],
    assertions: [
      edgeClaim('yes', 'said', 'accepted'),
      edgeClaim('no', 'said', 'rejected'),
      edgeClaim('of none', 'absent', 'accepted'),
    ],
    reviews: [
      graphReview('r1', 'yes', 'rejected'),
      graphReview('r2', 'no', 'approved'),
      graphReview('r3', 'absent', 'approved'),
      graphReview('r4', 'yes', 'approved', { subjectKind: '__proto__' }),
    ],
  };
  beforeAll(async () => {
    expect(await graphs.imported('odd', envelope)).toMatchObject({ status: 'succeeded', recordCount: 14 });
  });
  const edgesOf = async (profile: object) => {
    const body = { startNodeIds: ['ada'], profile: { maxDepth: 5, ...profile } };
    const [found, whole] = [
      await graphs.walked('odd', body),
      await graphs.walked('odd', { ...body, profile: { ...body.profile, limit: 501 } }),
    ];
    expect(whole.projection.edges).toEqual(found.projection.edges);
    return found.projection.edges?.map(({ id }) => id);
  };

  test('is exported as it was imported', async () => {
    const found = (await graphs.exported('odd')).envelope;
    for (const list of ['nodes', 'edges', 'assertions', 'reviews'] as const)
      expect(inIdOrder(found[list])).toMatchObject(inIdOrder(envelope[list]));
  });

  test('is walked along both statuses of an edge, and not along one that nothing says of it', async () => {
    expect(await edgesOf({})).toEqual(['said', 'self']);
    for (const status of ['accepted', 'rejected'])
      expect(await edgesOf({ assertionStatuses: [status] })).toEqual(['said']);
    for (const status of ['rejected', 'approved'])
      expect(await edgesOf({ reviewStatuses: [status] })).toEqual(['said']);
    expect(await edgesOf({ assertionStatuses: ['proposed'] })).toEqual([]);
    expect(await edgesOf({ reviewStatuses: ['constructor'] })).toEqual([]);
  });

  test('is met once at an edge from a node to itself, whichever way it is walked', async () => {
    for (const direction of ['outgoing', 'incoming', 'both'])
      expect(
        (await edgesOf({ direction, predicates: ['knows'], maxDepth: 1 }))?.filter((id) => id === 'self'),
      ).toEqual(['self']);
  });

  test('is inspected, and each of its faults is named', async () => {
    const found = await graphs.inspected('odd');
    expect(found).toMatchObject({
      traversalReady: false,
      danglingEdgeCount: 2,
      orphanAssertionCount: 1,
      orphanReviewCount: 1,
      danglingAssertionReferenceCount: 1,
      assertionStatusCounts: { accepted: 2, rejected: 1 },
      reviewStatusCounts: { approved: 3, rejected: 1 },
    });
    expect(found.anomalies.map(({ kind, id }) => [kind, id])).toEqual([
      ['danglingEdge', 'from nowhere'],
      ['danglingEdge', 'nowhere'],
      ['orphanAssertion', 'of none'],
      ['orphanReview', 'r3'],
      ['danglingAssertionReference', 'absent'],
    ]);
  });
});
