import { describe, expect, it } from 'vitest';
import type { ExecutionTraceEvent } from '../../contracts/generated/models.ts';
import type { ListSelection, RecordStore, Scope } from '../../functions/store/port.ts';
import { refused } from '../support/canonical.ts';
import { ExecutionClient } from '../support/execution.ts';
import { patched } from './canonical-outbox-tenant.ts';
import {
  HANDLER,
  openProduct,
  ownRuns,
  PLUGIN,
  scopeOf,
  storedRun,
  type Work,
  working,
} from './execution-fixtures.ts';
import type { ExecutionConformance } from './execution-suite.ts';

const messagesOf = (events: readonly ExecutionTraceEvent[]) => events.map(({ message }) => message);

/** The history in parts of `limit`, as a caller reads a long one. */
async function inParts(client: ExecutionClient, runId: string, limit: number) {
  const all: ExecutionTraceEvent[] = [];
  for (;;) {
    const last = all.at(-1)?.sequenceId;
    const query = last === undefined ? { limit } : { limit, afterSequenceId: last };
    const part = await client.history(runId, query);
    expect(part.length).toBeLessThanOrEqual(limit);
    all.push(...part);
    if (part.length < limit) return all;
  }
}

async function tell(client: ExecutionClient, work: Work, messages: readonly string[]): Promise<void> {
  for (const message of messages) await client.record({ ...work, message });
}

const numbered = (count: number, from = 0) => Array.from({ length: count }, (_, n) => `m${from + n}`);

export function describeHistory({ store, rivals }: ExecutionConformance): void {
  describe('the history of a run', () => {
    it('has the events of its life, with their common members', async () => {
      const { client, clock } = ownRuns(store());
      const body = { scope: scopeOf('p'), correlationId: 'corr' };
      const { run, work } = await working(client, body);
      clock.now += 5;
      const details = { step: { n: 1 } };
      await client.record({ ...work, type: 'my.type', severity: 'warning', message: 'hello', details });
      await client.report({ ...work, update: { currentStep: 'reading', statusDetails: { at: 1 } } });
      await client.putArtifact({ ...work, artifact: { name: 'a', text: 'x', metadata: {} } });
      await client.putCheckpoint({ ...work, checkpoint: { key: 'k', content: 1, metadata: {} } });
      await client.complete({
        ...work,
        result: { status: 'failed', failureClass: 'validation', error: 'bad' },
      });
      const history = await client.history(run.id);
      expect(history.map(({ type }) => type)).toEqual([
        'run.created',
        'lease.acquired',
        'run.started',
        'my.type',
        'run.status',
        'artifact.written',
        'checkpoint.written',
        'run.failed',
      ]);
      expect(history.map(({ status }) => status)).toEqual([
        'queued',
        ...Array.from({ length: 6 }, () => 'running'),
        'failed',
      ]);
      expect(history.map(({ attempt }) => attempt)).toEqual([0, 1, 1, 1, 1, 1, 1, 1]);
      const [created, leased, , own, status, artifact, checkpoint, failed] = history;
      expect(created?.context).toEqual({
        adapterId: 'local-test',
        runtimeKind: 'local.test',
        runId: run.id,
        correlationId: 'corr',
        handlerId: HANDLER,
        pluginId: PLUGIN,
        productId: 'p',
        tenantId: 't',
      });
      expect(leased?.context).toEqual({ ...created?.context, workerId: work.workerId });
      expect(own).toMatchObject({
        runId: run.id,
        severity: 'warning',
        message: 'hello',
        details,
        stepId: null,
        timestampUtc: new Date(clock.now).toISOString(),
      });
      expect(own?.id).toBe(own?.sequenceId);
      expect(status).toMatchObject({ message: 'reading', details: { at: 1 }, severity: 'info' });
      expect(artifact?.details).toMatchObject({ name: 'a', sizeBytes: 1 });
      expect(checkpoint?.details).toMatchObject({ key: 'k' });
      expect(failed).toMatchObject({
        severity: 'warning',
        message: 'bad',
        details: { failureClass: 'validation' },
      });
      // A token is a secret: no event shows it.
      expect(JSON.stringify(history)).not.toContain(work.leaseToken);
    });

    it('has ids that strictly increase, also where instances disagree about the time', async () => {
      const { client, clock, scope } = ownRuns(store());
      const behind = ownRuns(store(), { scope, node: 2 });
      behind.clock.now = clock.now - 3_600_000;
      const other = new ExecutionClient(behind.instance);
      const { run, work } = await working(client);
      for (const by of [client, other, client, other, other]) await tell(by, work, ['x']);
      await other.cancel(run.id);
      const history = await client.history(run.id);
      const ids = history.map(({ sequenceId }) => sequenceId);
      expect(ids).toEqual([...new Set(ids)].sort());
      for (const id of ids) expect(id).toMatch(/^[0-9]{20}$/);
      expect(history.at(-1)?.type).toBe('run.cancellation_requested');
      const moments = history.map(({ timestampUtc }) => timestampUtc);
      expect(moments).toEqual([...moments].sort());
    });

    it.each([1, 7, 50])('of a hundred events is whole and in order, in parts of %i', async (limit) => {
      const { client } = ownRuns(store());
      const { run, work } = await working(client);
      const messages = numbered(100);
      await tell(client, work, messages);
      await client.complete({ ...work, result: {} });
      const history = await inParts(client, run.id, limit);
      expect(messagesOf(history)).toEqual([null, null, null, ...messages, null]);
      expect((await client.history(run.id)).map(({ id }) => id)).toEqual(
        history.slice(0, 50).map(({ id }) => id),
      );
      const ids = history.map(({ sequenceId }) => sequenceId);
      expect(ids).toEqual([...new Set(ids)].sort());
      // The run's own record keeps the newest events alone.
      expect((await storedRun(client, run.id)).trace.length).toBeLessThanOrEqual(17);
    });

    it('is read after any id, also after a foreign one', async () => {
      const { client } = ownRuns(store());
      const { run, work } = await working(client);
      await tell(client, work, numbered(40));
      const all = await client.history(run.id, { limit: 200 });
      for (const n of [0, 15, 16, 17, 18, 41, 42]) {
        const afterSequenceId = all[n]?.sequenceId ?? '';
        expect(await client.history(run.id, { afterSequenceId })).toEqual(all.slice(n + 1));
      }
      expect(await client.history(run.id, { afterSequenceId: '0'.repeat(20) })).toEqual(all);
      expect(await client.history(run.id, { afterSequenceId: '9'.repeat(20) })).toEqual([]);
    });

    it('is read from where the caller is, not from its beginning', async () => {
      const { client, scope } = ownRuns(store());
      const { run, work } = await working(client);
      await tell(client, work, numbered(200));
      const all: ExecutionTraceEvent[] = [];
      for (;;) {
        const part = await client.history(run.id, {
          limit: 200,
          afterSequenceId: all.at(-1)?.id ?? '0'.repeat(20),
        });
        all.push(...part);
        if (part.length < 200) break;
      }
      let looked = 0;
      const query = async (given: Scope, selection: ListSelection) => {
        const page = await store().query(given, selection);
        if (selection.by === 'list') looked += page.records.length;
        return page;
      };
      const reader = ownRuns(patched(store(), { query: query as RecordStore['query'] }), { scope }).client;
      const near = all.length - 20;
      const afterSequenceId = all[near - 1]?.id ?? '';
      expect(await reader.history(run.id, { afterSequenceId })).toEqual(all.slice(near));
      expect(looked).toBeGreaterThan(0);
      expect(looked).toBeLessThanOrEqual(3);
    });

    it('keeps large details whole, many of them', async () => {
      const { client } = ownRuns(store());
      const { run, work } = await working(client);
      const details = (n: number) => ({ n, text: 'z'.repeat(40_000) });
      for (let n = 0; n < 20; n += 1) await client.record({ ...work, details: details(n) });
      const history = await client.history(run.id, { limit: 100 });
      expect(history.slice(3).map((event) => event.details)).toEqual(
        Array.from({ length: 20 }, (_, n) => details(n)),
      );
      expect(JSON.stringify(await storedRun(client, run.id)).length).toBeLessThan(100_000);
    });

    it('keeps all events of concurrent writers', async () => {
      const { client, scope } = ownRuns(store());
      const other = new ExecutionClient(ownRuns(store(), { scope, node: 2 }).instance);
      const { run, work } = await working(client);
      const messages = numbered(Math.min(rivals, 40));
      await Promise.all(messages.map((message, n) => tell(n % 2 === 0 ? client : other, work, [message])));
      const history = await inParts(client, run.id, 9);
      expect(new Set(messagesOf(history).slice(3))).toEqual(new Set(messages));
      expect(history).toHaveLength(3 + messages.length);
      const ids = history.map(({ sequenceId }) => sequenceId);
      expect(ids).toEqual([...new Set(ids)].sort());
    });

    it('shows each event once, also when older ones move out of the run during the read', async () => {
      const { client, scope } = ownRuns(store());
      const { run, work } = await working(client);
      await tell(client, work, numbered(10));
      let meanwhile = 0;
      const query = async (given: Scope, selection: ListSelection) => {
        // Between the run, which is read first, and the records that its trace moves to.
        if (selection.by === 'list' && meanwhile === 0) {
          meanwhile = 20;
          await tell(client, work, numbered(meanwhile, 10));
        }
        return store().query(given, selection);
      };
      const between = patched(store(), { query: query as RecordStore['query'] });
      const reader = ownRuns(between, { scope, node: 2 }).client;
      const history = await reader.history(run.id, { limit: 100 });
      expect(meanwhile).toBe(20);
      const messages = messagesOf(history).slice(3);
      expect(messages).toEqual(numbered(messages.length));
      expect(messages.length).toBeGreaterThanOrEqual(10);
    });

    it('drops and counts events beyond its maximum, except for the end of the run', async () => {
      const { client } = ownRuns(store(), { options: { traceEventsPerRunMax: 30 } });
      const { run, work } = await working(client);
      await tell(client, work, numbered(32));
      const full = await inParts(client, run.id, 10);
      expect(messagesOf(full)).toEqual([null, null, null, ...numbered(27)]);
      expect(await storedRun(client, run.id)).toMatchObject({ traced: 35, traceDropped: 5 });
      await client.record({ ...work, type: 'completed' });
      expect(await storedRun(client, run.id)).toMatchObject({ traced: 36, traceDropped: 6 });
      await client.complete({ ...work, result: {} });
      const ended = await inParts(client, run.id, 10);
      expect(ended.slice(0, -1)).toEqual(full);
      expect(ended.at(-1)?.type).toBe('run.completed');
    });

    it('redacts the names of the product policy before anything is stored', async () => {
      const policies = [{ ...openProduct, productId: 'p', redactedNames: ['secret', 'alsoSecret'] }];
      const { client } = ownRuns(store(), { policies: [...policies, { ...openProduct, productId: 'q' }] });
      const { run, work } = await working(client, { scope: scopeOf('p') });
      const details = { secret: 'hidden-1', open: { secret: 'shown' }, alsoSecret: ['hidden-2'] };
      await client.record({ ...work, message: 'secret', details });
      await client.report({ ...work, update: { statusDetails: { secret: 'hidden-1' } } });
      const history = await client.history(run.id);
      expect(history.slice(3).map((event) => event.details)).toEqual([
        { secret: '[redacted]', open: { secret: 'shown' }, alsoSecret: '[redacted]' },
        { secret: '[redacted]' },
      ]);
      expect(JSON.stringify((await storedRun(client, run.id)).trace)).not.toContain('hidden');
      expect((await client.get(run.id)).statusDetails).toEqual({ secret: 'hidden-1' });
      const other = await working(client, { scope: scopeOf('q') });
      await client.record({ ...other.work, details });
      expect((await client.history(other.run.id)).at(-1)?.details).toEqual(details);
    });

    it('is bounded, and of no run that is not there', async () => {
      const { client } = ownRuns(store(), { options: { historyLimitDefault: 2, historyLimitMax: 3 } });
      const { run } = await working(client);
      expect(await client.history(run.id)).toHaveLength(2);
      expect(await client.history(run.id, { limit: 3 })).toHaveLength(3);
      await refused('limit_exceeded', client.history(run.id, { limit: 4 }));
      await refused('not_found', client.history('00000000000000000001'));
    });
  });
}
