import { randomUUID } from 'node:crypto';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { writeChunk } from '../../functions/collections/write-chunk.ts';
import type { GraphChoice } from '../../functions/graph/graph-query.ts';
import { type GraphImport, type GraphImportJob, importGraph } from '../../functions/graph/import-graph.ts';
import { exportGraph } from '../../functions/graph/read-graph.ts';
import { envelopeOf, graphs, profiles, startLists } from '../../functions/graph/rules/graph.fixture.ts';
import { graphPolicy } from '../../functions/graph/rules/graph-policy.ts';
import {
  type TraversedGraph,
  traverseExport,
  traverseGraph,
  traverseIndexes,
} from '../../functions/graph/traverse-graph.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { describeGraphCounts } from './graphs-counts.ts';
import { edge, node, put, walk } from './graphs-fixtures.ts';
import { RecordsStage, recordCollections } from './records-stage.ts';
import { openStore, type TestedStore } from './stores/tested-store.ts';

const OPTIONS = { createCollectionIfMissing: true, replaceExisting: false, allowNonGraphPolicy: false };

/** A job of an import that no one cancels. */
function importJob(stage: RecordsStage, given: object, more: Partial<GraphImport> = {}): GraphImportJob {
  return {
    runId: randomUUID(),
    space: stage.space,
    collection: 'graphs',
    request: () =>
      Promise.resolve({ ...OPTIONS, continueOnError: false, ...more, envelope: envelopeOf(given) }),
    signal: new AbortController().signal,
    decide: () => Promise.resolve(),
    progress: () => Promise.resolve(),
    judgeReplacement: () => undefined,
  };
}

const comparable = (found: TraversedGraph | null) => {
  if (found === null) return null;
  const { traversed, source } = found;
  return JSON.stringify([traversed, [...traversed.steps], source]);
};

function bothWays(stage: RecordsStage, choice: GraphChoice, starts: readonly string[], profile: object) {
  const request = { ...choice, startNodeIds: starts, profile: walk(profile), maxRecords: 10_000 };
  return Promise.all([
    traverseIndexes(stage.parts, stage.space, 'graphs', request),
    traverseExport(stage.parts, stage.space, 'graphs', request),
  ]);
}

/** Records that are of another graph, or of none, in the partition of the graph `g` and beside it. */
const strays = [
  { id: 'of no kind', partitionKey: 'graph:g', type: 'note', metadata: { graphId: 'g' } },
  {
    id: 'of no graph',
    partitionKey: 'graph:g',
    type: 'graph.node',
    metadata: { graphPartitionKey: 'graph:g' },
  },
  { id: 'of a number', partitionKey: 'graph:g', type: 'graph.edge', metadata: { graphId: 7 } },
  { id: 'of another', partitionKey: 'graph:h', type: 'graph.node', metadata: { graphId: 'h' } },
  {
    id: 'beside',
    partitionKey: 'p',
    type: 'graph.node',
    metadata: { graphPartitionKey: 'graph:g', graphId: 'g' },
  },
];

interface Ground {
  /** The request names the partition. */
  readonly named: boolean;
  /** The number of strays in the collection. */
  readonly strayed: number;
}

/** Whether both walks find the same in a graph. */
export async function agreesOn(
  stage: RecordsStage,
  given: object,
  profile: object,
  starts: readonly string[],
  { named, strayed }: Ground,
): Promise<boolean> {
  await stage.create(graphPolicy('graphs'));
  await put(stage, 'graphs', { ...given, scope: { graphId: 'g' } });
  const items = strays.slice(0, strayed).map((record) => ({ text: JSON.stringify(record) }));
  if (items.length > 0)
    await writeChunk(stage.parts, stage.space, { name: 'graphs' }, items, { continueOnError: false });
  const choice = named ? { graphId: 'g', partitionKey: 'graph:g' } : { graphId: 'g' };
  const [indexed, listed] = await bothWays(stage, choice, starts, profile);
  return indexed !== null && comparable(indexed) === comparable(listed);
}

/** Graphs over collections, on one store. `runs` is how many random graphs are walked. */
export function describeGraphs(tested: TestedStore, runs: number): void {
  describe(`graphs on ${tested.title}`, () => {
    let store: RecordStore;
    beforeAll(async () => {
      store = await openStore(tested, recordCollections);
    });
    afterAll(() => store.close());
    const begin = () => new RecordsStage(store);

    describe('an import', () => {
      const graph = {
        scope: { graphId: 'g' },
        nodes: [node('a', { properties: { n: 1 } }), node('b')],
        edges: [edge('ab', 'a', 'b')],
      };

      test('makes a collection, and merges into it', async () => {
        const stage = begin();
        const first = await importGraph(stage.parts, importJob(stage, graph));
        expect(first).toMatchObject({
          policyStatus: 'created',
          graphId: 'g',
          partitionKey: 'graph:g',
          recordCount: 4,
        });
        expect(first.records).toMatchObject({ succeeded: 4, failed: 0 });
        const more = { scope: { graphId: 'g' }, nodes: [node('a', { label: 'new' }), node('c')] };
        const second = await importGraph(stage.parts, importJob(stage, more));
        expect(second.policyStatus).toBe('existing_graph_policy');
        const { envelope, recordCount } = await exportGraph(stage.parts, stage.space, 'graphs', {
          graphId: 'g',
        });
        expect(envelope.nodes.map(({ id, label = null }) => [id, label])).toEqual([
          ['a', 'new'],
          ['b', null],
          ['c', null],
        ]);
        expect([envelope.edges.length, recordCount]).toEqual([1, 5]);
      });

      test('replaces a collection, when the caller requests it', async () => {
        const stage = begin();
        await importGraph(stage.parts, importJob(stage, graph));
        const replacing = importJob(stage, { nodes: [node('z')] }, { replaceExisting: true });
        expect((await importGraph(stage.parts, replacing)).policyStatus).toBe('replaced');
        const { envelope } = await exportGraph(stage.parts, stage.space, 'graphs', {});
        expect(envelope.nodes.map(({ id }) => id)).toEqual(['z']);
        expect(envelope.scope.graphId).toBe('default');
      });

      test('writes into another collection only when the caller names it', async () => {
        const stage = begin();
        await stage.create({ name: 'graphs', indexedMetadata: ['/metadata/kind'] });
        const refused = importGraph(stage.parts, importJob(stage, graph));
        await expect(refused).rejects.toThrow('/metadata/sourceId');
        const allowed = importJob(stage, graph, { allowNonGraphPolicy: true });
        const { policyStatus, records } = await importGraph(stage.parts, allowed);
        expect([policyStatus, records.succeeded]).toEqual(['existing_non_graph_policy_allowed', 4]);
      });

      test('needs its collection, where it may make none', async () => {
        const stage = begin();
        const job = importJob(stage, graph, { createCollectionIfMissing: false });
        await expect(importGraph(stage.parts, job)).rejects.toMatchObject({ code: 'collection_not_found' });
      });

      test.each([false, true])(
        'goes on after it was killed, each record once; replacing: %s',
        async (replaceExisting) => {
          const stage = begin();
          if (replaceExisting) await importGraph(stage.parts, importJob(stage, graph));
          const nodes = Array.from({ length: 250 }, (_, at) => node(`n${at}`));
          const job = importJob(stage, { scope: { graphId: 'g' }, nodes }, { replaceExisting });
          const dies = () => Promise.reject(new Error('killed'));
          await expect(importGraph(stage.parts, { ...job, progress: dies })).rejects.toThrow('killed');
          const { policyStatus, records } = await importGraph(stage.parts, job);
          expect(policyStatus).toBe(replaceExisting ? 'replaced' : 'created');
          expect(records).toMatchObject({ requested: 251, succeeded: 251 });
          expect(new Set(records.items.map(({ revision }) => revision))).toEqual(new Set([1]));
          expect(await importGraph(stage.parts, job)).toMatchObject({
            policyStatus,
            records: { succeeded: 251 },
          });
        },
      );
    });

    describeGraphCounts(() => store, Math.ceil(runs / 4));

    describe('a walk', () => {
      test('by indexes finds the same as a walk over an export', async () => {
        const property = fc.asyncProperty(
          graphs,
          profiles,
          startLists,
          fc.record({ named: fc.boolean(), strayed: fc.constantFrom(0, 0, 1, strays.length) }),
          (given, profile, starts, ground) => agreesOn(begin(), given, profile, starts, ground),
        );
        await fc.assert(property, { numRuns: runs });
      });

      test('is answered page by page at a node with many edges', async () => {
        const stage = begin();
        await stage.create(graphPolicy('graphs'));
        const leaves = Array.from({ length: 130 }, (_, at) => `leaf ${at}`);
        await put(stage, 'graphs', {
          nodes: [node('hub'), ...leaves.map((id) => node(id))],
          edges: leaves.map((id) => edge(`to ${id}`, 'hub', id)),
        });
        for (const limit of [40, 50, 51, 120, 500]) {
          const profile = { limit, edgeLimit: 500 };
          for (const choice of [{ partitionKey: 'graph:default' }, {}]) {
            const [indexed, listed] = await bothWays(stage, choice, ['hub'], profile);
            expect(indexed?.traversed.nodes).toHaveLength(Math.min(limit, 131));
            expect(comparable(indexed)).toBe(comparable(listed));
          }
        }
      });

      test('reads few records of other partitions, however many have the same nodes', async () => {
        const stage = begin();
        await stage.create(graphPolicy('graphs'));
        const pair = { nodes: [node('a'), node('b')], edges: [edge('ab', 'a', 'b')] };
        for (let at = 0; at < 120; at += 1)
          await put(stage, 'graphs', { ...pair, scope: { graphId: `g${at}` } });
        const parts = { ...stage.parts, limits: { ...stage.parts.limits, readsPerCallMax: 100 } };
        const request = { startNodeIds: ['a'], profile: walk({}), maxRecords: 90 };
        const traversed = (choice: GraphChoice) =>
          traverseIndexes(parts, stage.space, 'graphs', { ...request, ...choice });
        for (const choice of [{ graphId: 'g7', partitionKey: 'graph:g7' }, { graphId: 'g7' }]) {
          const found = await traversed(choice);
          expect(found?.traversed.nodes.map(({ id }) => id)).toEqual(['a', 'b']);
        }
        expect(await traversed({ namespace: 'default' })).toBe(null);
      });

      test('sees one graph of several in a collection, also of one that is in two partitions', async () => {
        const stage = begin();
        await stage.create(graphPolicy('graphs'));
        const pair = { nodes: [node('a'), node('b')], edges: [edge('ab', 'a', 'b')] };
        const back = { nodes: [node('a', { label: 'second' }), node('b')], edges: [edge('0ba', 'b', 'a')] };
        await put(stage, 'graphs', { ...pair, scope: { graphId: 'g', partitionKey: 'p1' } });
        await put(stage, 'graphs', { ...back, scope: { graphId: 'g', partitionKey: 'p2' } });
        await put(stage, 'graphs', { ...pair, scope: { graphId: 'other' } });
        const [indexed, listed] = await bothWays(stage, { graphId: 'g' }, ['a'], {});
        expect(indexed?.source).toMatchObject({
          sourceRecordCount: 8,
          availableNodeCount: 4,
          availableEdgeCount: 2,
        });
        expect(indexed?.traversed.edges.map(({ id }) => id)).toEqual(['ab', '0ba']);
        expect(comparable(indexed)).toBe(comparable(listed));
        const [one] = await bothWays(stage, { graphId: 'g', partitionKey: 'p2' }, ['a'], {});
        expect(one?.traversed.nodes[0]?.['label']).toBe('second');
      });

      test('finds nodes and assertions that were written by hand under other ids', async () => {
        const stage = begin();
        await stage.create(graphPolicy('graphs'));
        const graph = {
          nodes: [node('a'), node('b'), node('c')],
          edges: [
            { ...edge('ab', 'a', 'b'), assertionIds: ['said', 'not there'] },
            edge('bc', 'b', 'c'),
            edge('az', 'a', 'z'),
          ],
          assertions: [{ id: 'said', subjectId: 'x', status: 'accepted' }],
        };
        const isImported = ({ id }: { readonly id: string }) => !/^g:(node|assertion):/.test(id);
        await put(stage, 'graphs', graph, (each) =>
          isImported(each) ? each.id : `by hand ${each.id.length}${each.id.slice(-3)}`,
        );
        for (const choice of [{ partitionKey: 'graph:default' }, {}])
          for (const [profile, nodes] of [
            [{ maxDepth: 2 }, ['a', 'b', 'c']],
            [{ assertionStatuses: ['accepted'] }, ['a', 'b']],
          ] as const) {
            const [indexed, listed] = await bothWays(stage, choice, ['a'], profile);
            expect(indexed?.traversed.nodes.map(({ id }) => id)).toEqual(nodes);
            expect(comparable(indexed)).toBe(comparable(listed));
          }
      });

      test('counts reads without a result too', async () => {
        const stage = begin();
        await stage.create(graphPolicy('graphs'));
        const absent = Array.from({ length: 30 }, (_, at) => `absent ${at}`);
        await put(stage, 'graphs', {
          nodes: [node('a'), node('b')],
          edges: [{ ...edge('ab', 'a', 'b'), assertionIds: absent }],
        });
        const parts = { ...stage.parts, limits: { ...stage.parts.limits, readsPerCallMax: 20 } };
        const request = { startNodeIds: ['a'], profile: walk({ assertionStatuses: ['accepted'] }) };
        for (const choice of [{ partitionKey: 'graph:default' }, {}]) {
          const found = await traverseGraph(parts, stage.space, 'graphs', { ...request, ...choice });
          expect([found.scan, found.traversed.filtered.assertionStatus]).toEqual(['export', 1]);
        }
      });

      test('is answered also when the graph nearly fills the allowed reads', async () => {
        const stage = begin();
        await stage.create(graphPolicy('graphs'));
        const ids = Array.from({ length: 20 }, (_, at) => `n${at}`);
        await put(stage, 'graphs', {
          nodes: ids.map((id) => node(id)),
          edges: ids.slice(1).map((id, at) => edge(`e${at}`, `n${at}`, id)),
        });
        const request = { startNodeIds: ['n0'], profile: walk({ maxDepth: 30 }), maxRecords: 40 };
        const scanned: string[] = [];
        for (const readsPerCallMax of [5_000, 100, 10])
          for (const choice of [{ partitionKey: 'graph:default' }, {}]) {
            const parts = { ...stage.parts, limits: { ...stage.parts.limits, readsPerCallMax } };
            const found = await traverseGraph(parts, stage.space, 'graphs', { ...request, ...choice });
            expect(found.traversed.nodes.map(({ id }) => id)).toEqual(ids);
            expect(found.source.sourceRecordCount).toBe(40);
            scanned.push(found.scan);
          }
        expect(scanned).toEqual(['indexes', 'indexes', 'indexes', 'indexes', 'export', 'export']);
      });

      test('walks an export when an index is missing, and when the graph is too large for one', async () => {
        const stage = begin();
        await stage.create({ name: 'plain' });
        await stage.create(graphPolicy('graphs'));
        const graph = { nodes: [node('a'), node('b')], edges: [edge('ab', 'a', 'b')] };
        const request = { startNodeIds: ['a'], profile: walk({}) };
        for (const name of ['plain', 'graphs']) await put(stage, name, graph);
        const traversed = (name: string, more: object = {}) =>
          traverseGraph(stage.parts, stage.space, name, { ...request, ...more });
        expect(await traversed('plain')).toMatchObject({ scan: 'export', source: { sourceRecordCount: 4 } });
        expect(await traversed('graphs')).toMatchObject({
          scan: 'indexes',
          source: { sourceRecordCount: 4 },
        });
        const cut = { maxRecords: 3 };
        await expect(traversed('graphs', cut)).rejects.toMatchObject({ code: 'limit_exceeded' });
        const partial = await traversed('graphs', { ...cut, allowPartialGraph: true });
        expect(partial).toMatchObject({
          scan: 'export',
          source: { sourceTruncated: true, sourceRecordCount: 3 },
        });
        expect(await traversed('graphs', { profile: walk({ limit: 501 }) })).toMatchObject({
          scan: 'export',
        });
        await expect(traversed('none')).rejects.toMatchObject({ code: 'collection_not_found' });
      });
    });

    test('an export that is cut is refused, or marked', async () => {
      const stage = begin();
      await stage.create(graphPolicy('graphs'));
      await put(stage, 'graphs', { nodes: [node('a'), node('b')], projections: [{ id: 'p' }] });
      const exported = (request: object) => exportGraph(stage.parts, stage.space, 'graphs', request);
      await expect(exported({ maxRecords: 2 })).rejects.toMatchObject({ code: 'limit_exceeded' });
      const part = await exported({ maxRecords: 2, failOnLimitExceeded: false });
      expect([part.truncated, part.recordCount, part.continuationToken === null]).toEqual([true, 2, false]);
      expect((await exported({ includeProjections: false })).recordCount).toBe(3);
      expect((await exported({ namespace: 'other' })).recordCount).toBe(0);
    });
  });
}
