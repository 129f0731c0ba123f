import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { intentKey } from '../../functions/collections/space-retention.ts';
import { UPKEEP_SCOPE } from '../../functions/collections/upkeep-collections.ts';
import { formatUtc } from '../../functions/kernel/timestamp.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { exportTraces } from '../../functions/traces/export-traces.ts';
import { pruneTraces } from '../../functions/traces/prune-traces.ts';
import { getTrace, listTraces } from '../../functions/traces/read-traces.ts';
import { removeOldTraces } from '../../functions/traces/retention.ts';
import { readPrune, type TracesPruneRequest } from '../../functions/traces/rules/prune-request.ts';
import { TRACE_RETENTION, traceCollections } from '../../functions/traces/store-collections.ts';
import { summarizeTraces } from '../../functions/traces/summarize-traces.ts';
import { newTraceId, writeTrace } from '../../functions/traces/write-trace.ts';
import { openStore, type TestedStore } from './stores/tested-store.ts';
import { agreesWithModel } from './traces-model.ts';
import { TracesStage } from './traces-stage.ts';

const all: { readonly operation: string | null; readonly limit: number } = { operation: null, limit: 5_000 };

/** Traces against any provider. Each test owns a space. */
export function describeTraces(tested: TestedStore, steps: number): void {
  describe(`traces on ${tested.title}`, () => {
    let store: RecordStore;
    beforeAll(async () => {
      store = await openStore(tested, traceCollections);
    });
    afterAll(async () => {
      await store.close();
    });
    const stage = (own = {}) => new TracesStage(store, own);
    const idsIn = async ({ parts, space }: TracesStage, request = all) =>
      (await listTraces(parts, space, request)).traces.map(({ id }) => id);
    const prune = ({ parts, space }: TracesStage, request: TracesPruneRequest) =>
      pruneTraces(parts, space, readPrune(request));

    test('a trace is read back unchanged, in its space alone', async () => {
      const own = stage();
      const id = await own.write();
      expect(await getTrace(own.parts, own.space, id)).toEqual({
        id,
        operation: 'provider.run',
        adapter: 'deterministic',
        request: { provider: 'local', capability: 'ai.chat' },
        resultSummary: { status: 'Succeeded' },
        startedAt: '2026-01-01T00:00:00.001Z',
        durationMs: 5,
        createdAt: '2026-01-01T00:00:00.001Z',
      });
      const other = stage();
      expect(await getTrace(other.parts, other.space, id)).toBeNull();
      expect(await idsIn(other)).toEqual([]);
    });

    test('the newest come first, and those of one moment by their ids', async () => {
      const own = stage();
      const first = await own.write();
      own.world.advance(1);
      const twins = ['trace-b', 'trace-a'];
      const draft = { operation: 'rag.ingest_text', adapter: null, request: {}, resultSummary: {} };
      for (const id of twins)
        await writeTrace(own.parts, own.space, { id, ...draft, startedAt: 0, durationMs: 1 });
      own.world.advance(1);
      const last = await own.write();
      expect(await idsIn(own)).toEqual([last, 'trace-a', 'trace-b', first]);
      expect(await idsIn(own, { operation: 'rag.ingest_text', limit: 1 })).toEqual(['trace-a']);
    });

    test('a second write of one trace changes nothing', async () => {
      const own = stage();
      const id = newTraceId(own.world.random);
      await own.write({ id });
      await own.write({ id, resultSummary: { status: 'Failed' } });
      expect(await getTrace(own.parts, own.space, id)).toMatchObject({
        resultSummary: { status: 'Succeeded' },
      });
      expect(await summarizeTraces(own.parts, own.space, null)).toMatchObject({ totalCount: 1 });
    });

    test('a prune removes the selection of its request and counts it out', async () => {
      const own = stage();
      const ids = (await own.writeMany(6)).reverse();
      const others = await own.writeMany(2, { operation: 'retrieval.search', adapter: null });
      const olderThan = formatUtc(Date.UTC(2026, 0, 1) + 5);
      const rehearsal = await prune(own, {
        operation: 'provider.run',
        keepLatest: 2,
        limit: 2,
        dryRun: true,
      });
      expect(rehearsal).toEqual({ matchedIds: ids.slice(2, 4), deletedIds: [] });
      expect(await idsIn(own)).toHaveLength(8);
      // Those before the fifth moment are the last four; of these the newest stays.
      const done = await prune(own, { olderThan, keepLatest: 1 });
      expect(done).toEqual({ matchedIds: ids.slice(3), deletedIds: ids.slice(3) });
      expect(await idsIn(own)).toEqual([...others.reverse(), ...ids.slice(0, 3)]);
      const summary = await summarizeTraces(own.parts, own.space, null);
      expect(summary).toMatchObject({ totalCount: 5, providerCounts: { local: 5 } });
    });

    test('prunes at one time remove each trace once', async () => {
      const own = stage();
      const ids = await own.writeMany(8);
      const done = await Promise.all([prune(own, { keepLatest: 0 }), prune(own, { keepLatest: 0 })]);
      expect(done.flatMap(({ deletedIds }) => deletedIds).sort()).toEqual([...ids].sort());
      expect(await summarizeTraces(own.parts, own.space, null)).toMatchObject({
        totalCount: 0,
        operations: [],
      });
    });

    test('traces that are written at one time are all counted', async () => {
      const own = stage();
      const rivals = Array.from({ length: 5 }, () => new TracesStage(store, {}, own.space));
      await Promise.all(
        rivals.map((rival, at) =>
          rival.write({ id: `trace-${at}`, resultSummary: { status: `s${at % 2}` } }),
        ),
      );
      expect(await summarizeTraces(own.parts, own.space, 'provider.run')).toMatchObject({
        totalCount: 5,
        statusCounts: { s0: 3, s1: 2 },
      });
    });

    test('an export has a hash over everything but its time, and names possible secrets', async () => {
      const own = stage();
      const request = { ...all, failOnUnsafeContent: false };
      await own.write({
        request: { headers: { 'X-Api_Key': 'k', note: 'Bearer abc' }, items: [{ token: 1 }] },
      });
      const { bundle: first, hasMore } = await exportTraces(own.parts, own.space, request);
      expect(hasMore).toBe(false);
      const again = async () => (await exportTraces(own.parts, own.space, request)).bundle.contentHash;
      const at = (location: string) => ({ traceId: first.traces[0]?.id, location });
      expect(first.warnings).toEqual([
        { ...at('/request/headers/X-Api_Key'), reason: 'sensitive_field_name' },
        { ...at('/request/headers/note'), reason: 'bearer_token_value' },
        { ...at('/request/items/0/token'), reason: 'sensitive_field_name' },
      ]);
      own.world.advance(1_000);
      expect(await again()).toBe(first.contentHash);
      const refused = exportTraces(own.parts, own.space, { ...request, failOnUnsafeContent: true });
      await expect(refused).rejects.toMatchObject({ code: 'validation_failed' });
      await own.write();
      expect(await again()).not.toBe(first.contentHash);
    });

    test.each([
      [1, 1, 'limit'],
      [2, 2, 'limit'],
      [3, 3, null],
      [4, 3, null],
    ])(
      'a list of at most %i of three traces has %i and says whether more follow: %s',
      async (limit, count, leftOut) => {
        const own = stage();
        await own.writeMany(3);
        const found = await listTraces(own.parts, own.space, { operation: null, limit });
        expect([found.traces.length, found.leftOut]).toEqual([count, leftOut]);
        const request = { operation: null, limit, failOnUnsafeContent: false };
        const { bundle, hasMore } = await exportTraces(own.parts, own.space, request);
        expect([bundle.traceCount, hasMore]).toEqual([count, leftOut !== null]);
      },
    );

    test('a list ends before its answer is too large, and an export of it is refused', async () => {
      const own = stage({ answerBytesMax: 1_000 });
      await own.writeMany(3, { request: { text: 'x'.repeat(400) } });
      const { traces, leftOut } = await listTraces(own.parts, own.space, all);
      expect([traces.length, leftOut]).toEqual([1, 'size']);
      const refused = exportTraces(own.parts, own.space, { ...all, failOnUnsafeContent: false });
      await expect(refused).rejects.toMatchObject({ code: 'limit_exceeded' });
    });

    test('upkeep removes traces older than the retention and continues to check', async () => {
      const day = 86_400_000;
      const own = stage({ retentionMs: day });
      await own.writeMany(3);
      own.world.advance(day / 2);
      const kept = await own.write();
      own.world.advance(day / 2 + 10);
      const isOver = () => false;
      // Other spaces of the database may be due as well.
      await removeOldTraces(own.parts, isOver);
      expect(await idsIn(own)).toEqual([kept]);
      own.world.advance(day);
      await removeOldTraces(own.parts, isOver);
      expect(await idsIn(own)).toEqual([]);
    });

    test('upkeep forgets a space without traces, and checks it again after the next one', async () => {
      const hour = 3_600_000;
      const own = stage({ retentionMs: 24 * hour });
      const isOver = () => false;
      const key = intentKey(TRACE_RETENTION, own.space);
      const isLookedAt = async () =>
        (await store.query(UPKEEP_SCOPE, { by: 'keys', keys: [{ key }] })).records.length === 1;
      const later = async (hours: number) => {
        own.world.advance(hours * hour + 10);
        await removeOldTraces(own.parts, isOver);
      };
      const { deletedIds } = await prune(own, { keepLatest: 0 });
      expect(deletedIds).toEqual([]);
      await own.write();
      await prune(own, { keepLatest: 0 });
      // A process that trusts its announcement may be about to write another one.
      await later(1);
      expect(await isLookedAt()).toBe(true);
      await own.write();
      await later(23);
      expect([await isLookedAt(), (await idsIn(own)).length]).toEqual([true, 1]);
      await later(2);
      expect([await isLookedAt(), await idsIn(own)]).toEqual([false, []]);
      await own.write();
      expect(await isLookedAt()).toBe(true);
      await later(25);
      expect([await isLookedAt(), await idsIn(own)]).toEqual([false, []]);
    });

    test('agrees with a list in memory over many writes and prunes', async () => {
      await agreesWithModel(stage(), steps);
    });
  });
}
