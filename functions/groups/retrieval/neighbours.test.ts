import { expect, test } from 'vitest';
import { RetrievalStage } from '../../../test/conformance/retrieval-stage.ts';
import { MemoryDatabase } from '../../../test/simulation/memory-database.ts';
import { MemoryStore } from '../../../test/simulation/memory-store.ts';
import { ReadLanes } from '../../collections/read-lanes.ts';
import type { CallContext } from '../../http/handler.ts';
import { createRecordAccess } from '../../identity/record-access.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { nextTurn } from '../../kernel/turns.ts';
import type { RetrievalLayers } from './jobs/job-view.ts';
import { evaluateRetrieval } from './retrieval-operations.ts';

/** The share of a process that one space uses, and the share of other spaces. */

/** A round trip takes a turn of the event loop, as one to a database does. */
const memory = () => new MemoryStore(new MemoryDatabase(), { before: nextTurn });

/** Counts how many calls are under way at once. */
class Crowd {
  now = 0;
  most = 0;
  all = 0;

  async within<Result>(work: () => Promise<Result>): Promise<Result> {
    this.now += 1;
    this.all += 1;
    this.most = Math.max(this.most, this.now);
    try {
      return await work();
    } finally {
      this.now -= 1;
    }
  }
}

function watched(stage: RetrievalStage): Crowd {
  const crowd = new Crowd();
  const { lanes } = stage.parts.records;
  const run = lanes.run.bind(lanes);
  lanes.run = (...given) => crowd.within(() => run(...given));
  return crowd;
}

test('a retrieval over 16 collections searches two of them at a time', async () => {
  const stage = new RetrievalStage(memory());
  const collections = Array.from({ length: 16 }, (_, at) => `c-${at}`);
  for (const name of collections) {
    await stage.create(name);
    await stage.write(name, [{ id: name, text: 'the brown fox', title: 'Fox' }]);
  }
  const crowd = watched(stage);
  const { results } = await stage.retrieve({ collections, searchMode: 'hybrid', limit: 20 });
  expect(results).toHaveLength(16);
  expect([crowd.most, crowd.all]).toEqual([2, 16]);
});

test('one that is refused in its first collection leaves the others alone', async () => {
  const stage = new RetrievalStage(memory());
  const collections = Array.from({ length: 16 }, (_, at) => `absent-${at}`);
  const crowd = watched(stage);
  await expect(stage.retrieve({ collections })).rejects.toThrow("Collection 'absent-0' does not exist.");
  expect(crowd.all).toBe(2);
});

test('evaluations of one space wait for each other, and not those of a neighbour', async () => {
  const gate = Promise.withResolvers<void>();
  const stages = ['mine', 'theirs'].map((space) => new RetrievalStage(memory(), { space }));
  const begun = new Map<string, number>();
  const evaluations = new ReadLanes({ longReadsMax: 3 });
  const grants = stages.map(({ space }) => {
    return { principal: space, space, productId: null, operations: ['read'] as const };
  });
  const access = createRecordAccess({ grants });
  const ask = ({ space, parts }: RetrievalStage) => {
    const embedder = {
      ...parts.embeddings.embedder,
      embed: async (...given: Parameters<typeof parts.embeddings.embedder.embed>) => {
        begun.set(space, (begun.get(space) ?? 0) + 1);
        await gate.promise;
        return parts.embeddings.embedder.embed(...given);
      },
    };
    const retrieval = { ...parts, embeddings: { ...parts.embeddings, embedder } };
    const own = { retrieval, access } as unknown as RetrievalLayers;
    const request = { query: 'fox', collections: ['notes'], embedding: {} };
    const input = { params: {}, query: {}, body: { cases: [{ request, expected: [{ id: 'fox' }] }] } };
    return evaluateRetrieval(own, evaluations)(input, {
      caller: { kind: 'workload', principal: space },
      signal: new AbortController().signal,
    } as CallContext);
  };
  for (const stage of stages) {
    await stage.create('notes');
    await stage.write('notes', [{ id: 'fox', text: 'fox', title: 'Fox' }]);
    // Only calls of the evaluations count.
    begun.clear();
  }
  const [mine, theirs] = stages as [RetrievalStage, RetrievalStage];
  const calls = [ask(mine), ask(mine), ask(mine), ask(theirs)];
  for (let turn = 0; turn < 100; turn += 1) await nextTurn();
  expect([...begun]).toEqual([
    ['mine', 1],
    ['theirs', 1],
  ]);
  gate.resolve();
  for (const { status, body } of await Promise.all(calls))
    expect([status, body]).toMatchObject([200, { hitRate: 1 }]);
  expect(begun.get('mine')).toBe(3);
});

test('a caller without the right to read learns nothing', async () => {
  const access = createRecordAccess({
    grants: [{ principal: 'writer', space: 's', productId: null, operations: ['write'] }],
  });
  const own = { access } as unknown as RetrievalLayers;
  const body = { cases: [] };
  const context = { caller: { kind: 'workload', principal: 'writer' } } as CallContext;
  const lanes = new ReadLanes({ longReadsMax: 1 });
  const refusal = await evaluateRetrieval(own, lanes)({ params: {}, query: {}, body }, context).catch(
    (error: unknown) => error,
  );
  expect(refusal).toBeInstanceOf(ServiceError);
  expect((refusal as ServiceError).code).toBe('permission_denied');
});
