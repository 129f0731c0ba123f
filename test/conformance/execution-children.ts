import { describe, expect, test } from 'vitest';
import { resumeCascades } from '../../functions/runs/cascade.ts';
import { changeRun } from '../../functions/runs/change-run.ts';
import { cancel } from '../../functions/runs/control.ts';
import { removeRun } from '../../functions/runs/maintenance/remove-run.ts';
import { requireRun } from '../../functions/runs/read-runs.ts';
import { CHILDREN, cascadeKey } from '../../functions/runs/records.ts';
import { cancelRun } from '../../functions/runs/rules/cancel.ts';
import type { Run } from '../../functions/runs/run.ts';
import { type ListSelection, type RecordStore, type Scope, StoreError } from '../../functions/store/port.ts';
import { patched } from './canonical-outbox-tenant.ts';
import { again, child, finish, waitFor } from './execution-children-stage.ts';
import { begun, event, HANDLER, refusedWith, Stage, typesOf } from './execution-stage.ts';
import type { ExecutionConformance } from './execution-suite.ts';

/** Children that a run starts and waits for. */
export function describeChildren(conformance: ExecutionConformance): void {
  describe('the start of a child', () => {
    describeStart(conformance);
  });
  describe('a wait for a child', () => {
    describeWait(conformance);
    describeEnds(conformance);
    describeMany(conformance);
  });
  describe('children that are removed', () => {
    describeRemoval(conformance);
  });
  describe('a parent that is cancelled', () => {
    describeCascade(conformance);
  });
}

function describeStart({ store, rivals }: ExecutionConformance): void {
  test('gives it scope and correlation id of its parent', async () => {
    const client = new Stage(store()).client();
    const scope = { productId: 'p', tenantId: 't' };
    const { id, proof } = await begun(client, { scope, correlationId: 'chain' });
    const runId = await child(client, proof, 'c', { payload: { a: 1 } });
    const parentRunId = id;
    expect(await client.get(runId)).toMatchObject({
      status: 'queued',
      parentRunId,
      correlationId: 'chain',
      scope,
      payload: { a: 1 },
    });
    expect(await client.get(id)).not.toHaveProperty('parentRunId');
    expect(await typesOf(client, id)).toContain('run.child_started');
  });

  test('is made once for its name, also under a later lease', async () => {
    const client = new Stage(store()).client();
    const { id, proof } = await begun(client);
    const starts = Array.from({ length: Math.max(2, rivals) }, () =>
      client.startChild({ ...proof, writeId: 'c', child: { handlerId: HANDLER } }),
    );
    const started = await Promise.all(starts);
    expect(new Set(started.map(({ runId }) => runId)).size).toBe(1);
    expect(started.filter(({ replayed }) => !replayed)).toHaveLength(1);
    await client.release(proof);
    const next = await again(client, id);
    expect(await child(client, next)).toBe(started[0]?.runId);
    expect(await refusedWith(child(client, next, 'c', { payload: 1 }))).toBe('idempotency_conflict');
    expect(await child(client, next, 'd')).not.toBe(started[0]?.runId);
  });

  test('needs the lease', async () => {
    const client = new Stage(store()).client();
    const { proof } = await begun(client);
    expect(await refusedWith(child(client, { ...proof, leaseToken: 'x' }))).toBe('lease_stale');
    await client.complete({ ...proof, result: { status: 'succeeded' } });
    expect(await refusedWith(child(client, proof))).toBe('lease_not_active');
  });

  test('that is rejected is an outcome, and takes no name', async () => {
    const client = new Stage(store()).client();
    const { proof } = await begun(client);
    const first = await child(client, proof, 'c', { handlerId: 'test.nowhere' });
    const { outcome } = await waitFor(client, proof, first);
    expect(outcome?.run).toMatchObject({ runId: first, status: 'rejected', failureClass: 'handler_missing' });
    expect(await child(client, proof, 'c', { handlerId: 'test.nowhere' })).not.toBe(first);
  });
}

function describeWait({ store }: ExecutionConformance): void {
  test('parks the parent until the child ends, and answers its end as often as it is asked', async () => {
    const client = new Stage(store()).client();
    const { id, proof } = await begun(client);
    const runId = await child(client, proof);
    expect(await waitFor(client, proof, runId)).toMatchObject({ suspended: true, outcome: null });
    expect(await client.get(id)).toMatchObject({ status: 'waiting', currentStep: 'waiting:run:child' });
    await finish(client, runId, { status: 'succeeded', result: { parcel: 7 } });
    expect(await client.get(id)).toMatchObject({ status: 'queued', currentStep: null });
    const next = await again(client, id);
    const first = await waitFor(client, next, runId);
    expect(first).toMatchObject({
      suspended: false,
      outcome: {
        name: 'child',
        outcome: 'run',
        event: null,
        timer: null,
        run: { runId, status: 'succeeded', result: { parcel: 7 }, resultRemoved: false, error: null },
      },
    });
    await client.release(next);
    expect((await waitFor(client, await again(client, id), runId)).outcome).toEqual(first.outcome);
    const types = await typesOf(client, id);
    expect(types.filter((type) => type.startsWith('wait.'))).toEqual(['wait.registered', 'wait.resumed']);
  });

  test('answers at once where the child has ended', async () => {
    const client = new Stage(store()).client();
    const { id, proof } = await begun(client);
    const runId = await child(client, proof);
    await finish(client, runId);
    const { outcome, suspended } = await waitFor(client, proof, runId);
    expect({ suspended, status: outcome?.run?.status }).toEqual({ suspended: false, status: 'succeeded' });
    expect(await client.get(id)).toMatchObject({ status: 'running', attempt: 1 });
  });

  test('loses no end that it races with', async () => {
    const client = new Stage(store()).client();
    for (let round = 0; round < 8; round += 1) {
      const { id, proof } = await begun(client);
      const runId = await child(client, proof);
      const [waited] = await Promise.all([waitFor(client, proof, runId), finish(client, runId)]);
      const answer = waited.suspended ? await waitFor(client, await again(client, id), runId) : waited;
      expect(answer.outcome?.run).toMatchObject({ runId, status: 'succeeded' });
    }
  });

  test('with an id may be repeated after it ended the lease', async () => {
    const client = new Stage(store()).client();
    const { id, proof } = await begun(client);
    const runId = await child(client, proof);
    const waitId = 'w';
    expect(await waitFor(client, proof, runId, { waitId })).toMatchObject({ suspended: true });
    await finish(client, runId);
    expect(await waitFor(client, proof, runId, { waitId })).toMatchObject({ suspended: true });
    expect(await waitFor(client, await again(client, id), runId)).toMatchObject({ suspended: false });
  });

  test('has a deadline, whose end is answered once before that of the child', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const { id, proof } = await begun(client, {}, { ttlSeconds: 600 });
    const runId = await child(client, proof);
    const timeoutAtUtc = new Date(stage.time.now + 1_000).toISOString();
    expect(await waitFor(client, proof, runId, { timeoutAtUtc })).toMatchObject({ suspended: true });
    stage.time.advance(1_000);
    await finish(client, runId);
    await stage.settle(client.instance);
    const next = await again(client, id);
    const { outcome } = await waitFor(client, next, runId);
    expect(outcome).toMatchObject({ outcome: 'timed_out', event: null, timer: null });
    expect(outcome).not.toHaveProperty('run');
    expect((await waitFor(client, next, runId)).outcome).toMatchObject({ outcome: 'run' });
  });

  test('refuses what makes no sense', async () => {
    const client = new Stage(store()).client();
    const { proof } = await begun(client);
    const kind = 'run' as const;
    const wait = (more: object) => refusedWith(client.wait({ ...proof, kind, name: 'n', ...more }));
    expect(await wait({})).toBe('validation_failed');
    expect(await wait({ runId: 'x', fireAtUtc: '2026-01-01T00:00:00Z' })).toBe('validation_failed');
    expect(await refusedWith(event(client, proof, 'e', { runId: 'x' }))).toBe('validation_failed');
  });
}

function describeEnds({ store }: ExecutionConformance): void {
  test('answers how the child ended', async () => {
    const client = new Stage(store()).client();
    const { proof } = await begun(client);
    const status = async (runId: string) => (await waitFor(client, proof, runId)).outcome?.run;
    const failing = await child(client, proof, 'failing');
    const failed = { status: 'failed' as const, failureClass: 'validation', error: 'no such order' };
    await finish(client, failing, failed);
    expect(await status(failing)).toMatchObject(failed);
    const cancelled = await child(client, proof, 'cancelled');
    await client.cancel(cancelled);
    expect(await status(cancelled)).toMatchObject({ status: 'cancelled', failureClass: 'cancelled' });
    const late = await child(client, proof, 'late');
    await finish(client, late, { status: 'timed_out', error: 'late' });
    expect(await status(late)).toMatchObject({ status: 'timed_out', error: 'late', result: null });
  });

  test('goes on over the retries of the child', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const { id, proof } = await begun(client);
    const retryPolicy = { maxAttempts: 2, initialDelaySeconds: 1 };
    const runId = await child(client, proof, 'c', { retryPolicy });
    await waitFor(client, proof, runId);
    await finish(client, runId, { status: 'failed', failureClass: 'transient' });
    expect(await client.get(id)).toMatchObject({ status: 'waiting' });
    stage.time.advance(1_000);
    await stage.settle(client.instance);
    await finish(client, runId, { status: 'failed', failureClass: 'transient' });
    expect(await client.get(id)).toMatchObject({ status: 'queued' });
  });

  test('tells nothing of a run that is no child of the waiting one', async () => {
    const client = new Stage(store()).client();
    const { id, proof } = await begun(client);
    const other = await begun(client);
    const theirs = await child(client, other.proof);
    await finish(client, theirs, { status: 'succeeded', result: 'secret' });
    for (const runId of [theirs, id, other.id, 'nowhere']) {
      expect((await waitFor(client, proof, runId)).outcome?.run).toEqual({
        runId,
        status: 'unknown',
        failureClass: null,
        error: null,
        result: null,
        resultRemoved: false,
        completedAtUtc: null,
      });
    }
  });

  test('leaves a parent alone that waits for another thing', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const { id, proof } = await begun(client);
    const runId = await child(client, proof);
    await waitFor(client, proof, runId, { timeoutAtUtc: new Date(stage.time.now + 1_000).toISOString() });
    stage.time.advance(1_000);
    await stage.settle(client.instance);
    await event(client, await again(client, id));
    await finish(client, runId);
    expect(await client.get(id)).toMatchObject({
      status: 'waiting',
      currentStep: 'waiting:external_event:e',
    });
  });
}

function describeMany({ store, rivals }: ExecutionConformance): void {
  test('loses none of the ends of many children, and their ends do not write the parent', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const { id, proof } = await begun(client, {}, { ttlSeconds: 3_600 });
    const names = Array.from({ length: Math.max(2, rivals) }, (_, at) => `c${at}`);
    const ids: string[] = [];
    for (const name of names) ids.push(await child(client, proof, name));
    const before = await client.get(id);
    stage.time.advance(1_000);
    await Promise.all(ids.map((runId) => finish(client, runId, { status: 'succeeded', result: runId })));
    expect(await client.get(id)).toEqual(before);
    for (const runId of ids) {
      const { outcome } = await waitFor(client, proof, runId);
      expect(outcome?.run).toMatchObject({ runId, status: 'succeeded', result: runId });
    }
  });
}

function describeRemoval({ store }: ExecutionConformance): void {
  const LARGE = 'x'.repeat(20_000);

  test('keep their outcomes, but for a large result, and their names', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const { runtime } = client.instance;
    const { proof } = await begun(client, {}, { ttlSeconds: 3_600 });
    const small = await child(client, proof, 'small');
    const large = await child(client, proof, 'large');
    await finish(client, small, { status: 'succeeded', result: 'small' });
    await finish(client, large, { status: 'succeeded', result: LARGE });
    expect((await waitFor(client, proof, large)).outcome?.run).toMatchObject({ result: LARGE });
    for (const runId of [small, large])
      await removeRun(runtime, await requireRun(runtime, runId), stage.time.now);
    const outcomeOf = async (runId: string) => (await waitFor(client, proof, runId)).outcome?.run;
    expect(await outcomeOf(small)).toMatchObject({
      status: 'succeeded',
      result: 'small',
      resultRemoved: false,
    });
    expect(await outcomeOf(large)).toMatchObject({ status: 'succeeded', result: null, resultRemoved: true });
    expect(await child(client, proof, 'small')).toBe(small);
  });

  test('leave nothing behind where the parent was removed first', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const { runtime } = client.instance;
    const { id, proof } = await begun(client);
    const runId = await child(client, proof);
    await client.complete({ ...proof, result: { status: 'succeeded' } });
    await removeRun(runtime, await requireRun(runtime, id), stage.time.now);
    await finish(client, runId);
    const links = { by: 'list', collection: CHILDREN, group: id, limit: 10 } as const;
    expect((await stage.store.query(stage.scope, links)).records).toEqual([]);
    expect(await client.get(runId)).toMatchObject({ status: 'succeeded', parentRunId: id });
  });
}

function describeCascade({ store }: ExecutionConformance): void {
  test('cancels the children that chose so, and theirs', async () => {
    const client = new Stage(store()).client();
    const { id, proof } = await begun(client);
    const cancelWithParent = true;
    const waited = await child(client, proof, 'waited', { cancelWithParent });
    const left = await child(client, proof, 'left');
    const worker = await again(client, waited);
    const nested = await child(client, worker, 'nested', { cancelWithParent });
    await waitFor(client, worker, nested);
    await waitFor(client, proof, waited);
    expect(await client.cancel(id)).toMatchObject({ status: 'cancelled' });
    for (const runId of [waited, nested])
      expect(await client.get(runId)).toMatchObject({ status: 'cancelled' });
    expect(await client.get(left)).toMatchObject({ status: 'queued' });
    expect(await finish(client, left)).toMatchObject({ status: 'succeeded' });
  });

  test('is finished by a reconcile if its process breaks off', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const { id, proof } = await begun(client);
    const runId = await child(client, proof, 'c', { cancelWithParent: true });
    await waitFor(client, proof, runId);
    const { runtime } = client.instance;
    // The children cannot be listed after the cancellation is durable.
    const query = ((scope: Scope, selection: ListSelection) =>
      selection.by === 'list'
        ? Promise.reject(new StoreError('unavailable', 'gone'))
        : stage.store.query(scope, selection)) as RecordStore['query'];
    const broken = patched(stage.store, { query });
    await cancel({ ...runtime, store: () => Promise.resolve(broken) }, id, () => undefined, stage.time.now);
    expect(await client.get(runId)).toMatchObject({ status: 'queued' });
    stage.time.advance(60_000);
    await client.reconcile({ dryRun: false });
    expect(await client.get(runId)).toMatchObject({ status: 'cancelled' });
  });

  test('has bounded steps: reconciles go on with the children that one leaves', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const { id, proof } = await begun(client);
    const ids: string[] = [];
    for (let at = 0; at < 5; at += 1)
      ids.push(await child(client, proof, `c${at}`, { cancelWithParent: true }));
    const { runtime } = client.instance;
    await changeRun(runtime, { runId: id, now: stage.time.now, mayEnd: true }, (run) => ({
      change: cancelRun(run as Run, stage.time.now),
      result: null,
    }));
    const cancelled = async () => {
      const runs = await Promise.all(ids.map((runId) => client.get(runId)));
      return runs.filter(({ status }) => status === 'cancelled').length;
    };
    const counts: number[] = [];
    for (let step = 0; step < 4; step += 1) {
      stage.time.advance(60_000);
      await resumeCascades(runtime, stage.time.now, 1, 2);
      counts.push(await cancelled());
    }
    expect(counts).toEqual([2, 4, 5, 5]);
    const keys = [{ key: cascadeKey(id) }];
    expect((await stage.store.query(runtime.scope, { by: 'keys', keys })).records).toEqual([]);
  });
}
