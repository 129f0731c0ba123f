import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { writeChunk } from '../../functions/collections/write-chunk.ts';
import { graphPolicy } from '../../functions/graph/rules/graph-policy.ts';
import { traverseExport, traverseIndexes } from '../../functions/graph/traverse-graph.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { changedMoments } from '../support/changed-moments.ts';
import { patched } from './canonical-outbox-tenant.ts';
import { edge, node, put, walk } from './graphs-fixtures.ts';
import { RecordsStage } from './records-stage.ts';

/** Adds up the cost of a moment's reads. */
function countedReads(
  store: RecordStore,
  reads: { counts?: number; ofCounts: number; records: number },
): RecordStore {
  const counting = patched(store, {
    snapshot: (scope, read) =>
      store.snapshot(scope, (moment) =>
        read({
          query: moment.query.bind(moment),
          find: moment.find,
          generation: () => moment.generation(),
          count: async (selection) => {
            const page = await moment.count(selection);
            reads.counts = (reads.counts ?? 0) + 1;
            reads.ofCounts += page.reads;
            return page;
          },
        }),
      ),
  });
  return changedMoments(counting, (_, found) => {
    reads.records += found.records.length;
    return found;
  });
}

const kinds = ['graph.envelope', 'graph.node', 'graph.edge', 'graph.assertion', 'note'];
/** Names of partitions of which one is the prefix of another. */
const partitions = ['p', 'pp', 'p/q', 'p\u0001', '\u{10FFFF}'];

/** Records by hand, of graphs that share partitions, and some that name a partition in which they do not lie. */
const records = fc.array(
  fc.record({
    partitionKey: fc.constantFrom(...partitions),
    type: fc.constantFrom(...kinds),
    graphId: fc.option(fc.constantFrom('g', 'h')),
    namespace: fc.constantFrom('n', 'n', 'n', 'm'),
    named: fc.constantFrom(null, ...partitions),
  }),
  { minLength: 5, maxLength: 30, size: 'max' },
);

const choices = fc.record({
  graphId: fc.constantFrom(null, 'g'),
  namespace: fc.constantFrom(null, 'n'),
  partitionKey: fc.constantFrom(null, ...partitions),
});

/** The number of reads that counts cost in a walk by indexes, on one store. */
export function describeGraphCounts(store: () => RecordStore, runs: number): void {
  describe('a walk by indexes', () => {
    test('counts the graph without a read of its records, however many it has', async () => {
      const readsWith = async (more: number) => {
        const reads = { ofCounts: 0, records: 0 };
        const stage = new RecordsStage(countedReads(store(), reads));
        await stage.create(graphPolicy('graphs'));
        const others = Array.from({ length: more }, (_, at) => node(`other ${at}`));
        const pair = { nodes: [node('a'), node('b')], edges: [edge('ab', 'a', 'b')] };
        await put(stage, 'graphs', { ...pair, nodes: [...pair.nodes, ...others] });
        const taken: object[] = [];
        for (const choice of [{}, { graphId: 'default' }, { partitionKey: 'graph:default' }]) {
          Object.assign(reads, { ofCounts: 0, records: 0 });
          const request = { ...choice, startNodeIds: ['a'], profile: walk({}), maxRecords: 10_000 };
          const found = await traverseIndexes(stage.parts, stage.space, 'graphs', request);
          expect(found?.source).toMatchObject({
            sourceRecordCount: 4 + more,
            availableNodeCount: 2 + more,
          });
          taken.push({ ...reads });
        }
        return taken;
      };
      const few = await readsWith(0);
      expect(few).not.toContainEqual(expect.objectContaining({ ofCounts: 0 }));
      expect(await readsWith(250)).toEqual(few);
    });

    test('counts the nodes and edges of an export, and is not used when an export is cut', async () => {
      const property = fc.asyncProperty(
        records,
        fc.array(fc.tuple(choices, fc.integer({ min: 1, max: 30 })), { minLength: 6, maxLength: 6 }),
        async (given, asked) => {
          const stage = new RecordsStage(store());
          await stage.create(graphPolicy('graphs'));
          const items = given.map(({ partitionKey, type, named, graphId, namespace }, at) => {
            const metadata = { graphId, namespace, graphPartitionKey: named ?? partitionKey };
            return { text: JSON.stringify({ id: `r${at}`, partitionKey, type, metadata }) };
          });
          await writeChunk(stage.parts, stage.space, { name: 'graphs' }, items, { continueOnError: false });
          for (const [choice, maxRecords] of asked) {
            const request = { ...choice, startNodeIds: ['r0'], profile: walk({}), maxRecords };
            const whole = { ...request, allowPartialGraph: true };
            const indexed = await traverseIndexes(stage.parts, stage.space, 'graphs', request);
            const listed = await traverseExport(stage.parts, stage.space, 'graphs', whole);
            expect(indexed?.source ?? null).toEqual(listed.source.sourceTruncated ? null : listed.source);
          }
        },
      );
      await fc.assert(property, { numRuns: runs });
    });

    test('ends the count of a graph that is too large with its edges, which are many', async () => {
      const reads = { counts: 0, ofCounts: 0, records: 0 };
      const stage = new RecordsStage(countedReads(store(), reads));
      await stage.create(graphPolicy('graphs'));
      const ids = Array.from({ length: 30 }, (_, at) => `n${at}`);
      const edges = ids.map((id) => edge(`to ${id}`, 'n0', id));
      await put(stage, 'graphs', { nodes: ids.map((id) => node(id)), edges, scope: { graphId: 'g' } });
      await put(stage, 'graphs', { nodes: [node('a')], scope: { graphId: 'other' } });
      const request = { graphId: 'g', startNodeIds: ['n0'], profile: walk({}), maxRecords: 20 };
      reads.counts = 0;
      expect(await traverseIndexes(stage.parts, stage.space, 'graphs', request)).toBe(null);
      // One of all records shows that there is no use in the search for what restricts nothing.
      expect(reads.counts).toBe(2);
    });
  });
}
