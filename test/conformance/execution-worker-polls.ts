import { expect, test } from 'vitest';
import type { ExecutionClient } from '../support/execution.ts';
import { begun, HANDLER, leased, proofOf, Stage } from './execution-stage.ts';
import type { ExecutionConformance } from './execution-suite.ts';

function never(): never {
  throw new Error('there was no lease');
}

/** Calls that wait for a run. */
export function describePolls({ store, alone }: ExecutionConformance): void {
  /** Calls that wait, each in its turn, for runs that did not exist before. */
  async function waiting(stage: Stage, client: ExecutionClient, count: number, given: object = {}) {
    const calls = [];
    for (let index = 0; index < count; index += 1) {
      const answer = { lease: undefined as Awaited<ReturnType<ExecutionClient['lease']>> | undefined };
      const body = { workerId: `w-${index}`, handlerIds: [HANDLER], waitSeconds: 20, ...given };
      const done = client.lease(body).then((lease) => {
        answer.lease = lease;
        return lease;
      });
      await stage.quiet();
      expect(answer.lease).toBeUndefined();
      calls.push({ answer, done });
    }
    return calls;
  }

  alone('is answered as soon as a run is started, and one run wakes one call', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const calls = await waiting(stage, client, 3);
    const quiet = stage.storeCalls;
    await stage.pass(10_000);
    expect(stage.storeCalls).toBe(quiet);
    const { id } = await client.start({ handlerId: HANDLER });
    await stage.quiet();
    const answers = calls.map(({ answer }) => answer.lease?.run.id);
    expect(answers).toEqual([id, undefined, undefined]);
    // The start and the claim, and nothing of those that wait on.
    expect(stage.storeCalls).toBe(quiet + 2);
    await stage.pass(10_000);
    expect(calls.map(({ answer }) => answer.lease?.run.id ?? null)).toEqual([id, null, null]);
    expect(stage.time.now).toBe(Date.UTC(2026, 0, 1) + 20_000);
    expect(stage.time.pendingTimers).toBe(0);
  });

  test('runs that are started at once wake one call each', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const calls = await waiting(stage, client, 4);
    const runs = await Promise.all(Array.from({ length: 4 }, () => client.start({ handlerId: HANDLER })));
    const got = await Promise.all(calls.map(({ done }) => done));
    expect(got.map((lease) => lease?.run.id ?? '').toSorted()).toEqual(runs.map(({ id }) => id).toSorted());
  });

  test('a run that arrives during the first search is not missed', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    for (let turn = 0; turn < 5; turn += 1) {
      const call = client.lease({ workerId: 'w', handlerIds: [HANDLER], waitSeconds: 20 });
      const { id } = await client.start({ handlerId: HANDLER });
      expect((await call)?.run.id).toBe(id);
    }
  });

  test('for a named run is answered when that run is due, has ended or the time is over', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    await client.instance.start();
    const inSeconds = (seconds: number) => new Date(stage.time.now + seconds * 1_000).toISOString();
    const named = async (runId: string) => (await waiting(stage, client, 1, { runId }))[0];
    const scheduled = await client.start({ handlerId: HANDLER, scheduledAtUtc: inSeconds(3) });
    // It is due, and no call that names another run gets it.
    await client.start({ handlerId: HANDLER });
    const soon = await named(scheduled.id);
    await stage.pass(3_000);
    expect(soon?.answer.lease?.run.id).toBe(scheduled.id);

    const parked = await begun(client, { retryPolicy: { maxAttempts: 9, initialDelaySeconds: 3 } });
    const other = await named(parked.id);
    await client.wait({ ...parked.proof, kind: 'external_event', name: 'e' });
    await stage.quiet();
    expect(other?.answer.lease).toBeUndefined();
    await client.raise(parked.id, { name: 'e' });
    await stage.quiet();
    expect(other?.answer.lease?.run.id).toBe(parked.id);

    const proof = proofOf(other?.answer.lease ?? never());
    const retried = await named(parked.id);
    await client.complete({ ...proof, result: { status: 'failed', failureClass: 'transient' } });
    await stage.pass(3_000);
    expect(retried?.answer.lease?.run).toMatchObject({ id: parked.id, attempt: 3 });

    const ending = await named(parked.id);
    await client.complete({ ...proofOf(retried?.answer.lease ?? never()), result: {} });
    await stage.quiet();
    expect(ending?.answer.lease).toBeNull();

    const later = await client.start({ handlerId: HANDLER, scheduledAtUtc: inSeconds(100) });
    const cancelled = await named(later.id);
    await client.cancel(later.id);
    await stage.quiet();
    expect(cancelled?.answer.lease).toBeNull();

    const latest = await client.start({ handlerId: HANDLER, scheduledAtUtc: inSeconds(100) });
    const patient = await named(latest.id);
    await stage.pass(19_000);
    expect(patient?.answer.lease).toBeUndefined();
    await stage.pass(1_000);
    expect(patient?.answer.lease).toBeNull();
  });

  test('for a named run that it can never get is answered at once', async () => {
    const stage = new Stage(store());
    const client = stage.client({ external: [{ handlerId: HANDLER }, { handlerId: 'other' }] });
    const ended = await client.start({ handlerId: HANDLER });
    await client.cancel(ended.id);
    const foreign = await client.start({ handlerId: 'other' });
    for (const runId of ['no such run', ended.id, foreign.id])
      expect(await client.lease({ workerId: 'w', handlerIds: [HANDLER], waitSeconds: 20, runId })).toBeNull();
    expect(stage.time.now).toBe(Date.UTC(2026, 0, 1));
  });

  test('is answered when a wait, a retry, a schedule or a lost lease makes a run ready', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    await client.instance.start();
    const parked = await begun(client, { retryPolicy: { maxAttempts: 9, initialDelaySeconds: 3 } });
    await client.wait({ ...parked.proof, kind: 'external_event', name: 'e' });
    const [event] = await waiting(stage, client, 1);
    await client.raise(parked.id, { name: 'e' });
    const second = await event?.done;
    expect(second?.run).toMatchObject({ id: parked.id, attempt: 2 });
    if (second == null) throw new Error('nothing was leased');
    await client.complete({ ...proofOf(second), result: { status: 'failed' } });
    const [retry] = await waiting(stage, client, 1);
    await stage.pass(2_999);
    expect(retry?.answer.lease).toBeUndefined();
    await stage.pass(1);
    const third = await retry?.done;
    expect(third?.run).toMatchObject({ id: parked.id, attempt: 3 });
    if (third == null) throw new Error('nothing was leased');
    await client.heartbeat({ ...proofOf(third), ttlSeconds: 2 });
    const [lost] = await waiting(stage, client, 1);
    await stage.pass(2_000);
    const fourth = await lost?.done;
    expect(fourth?.run).toMatchObject({ id: parked.id, attempt: 4 });
    if (fourth == null) throw new Error('nothing was leased');
    const fireAtUtc = new Date(stage.time.now + 1_500).toISOString();
    await client.wait({ ...proofOf(fourth), kind: 'timer', name: 't', fireAtUtc });
    const [timer] = await waiting(stage, client, 1);
    await stage.pass(1_500);
    expect((await timer?.done)?.run).toMatchObject({ id: parked.id, attempt: 5 });
    const scheduledAtUtc = new Date(stage.time.now + 1_000).toISOString();
    const { id } = await client.start({ handlerId: HANDLER, scheduledAtUtc });
    const [schedule] = await waiting(stage, client, 1);
    await stage.pass(1_000);
    expect((await schedule?.done)?.run).toMatchObject({ id, attempt: 1 });
    await client.instance.stop();
  });

  alone('an abort and a drain answer at once, and their run goes to another call', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const gone = new AbortController();
    const body = { workerId: 'w', handlerIds: [HANDLER], waitSeconds: 20 };
    const aborted = client.lease(body, gone.signal);
    await stage.quiet();
    const [other] = await waiting(stage, client, 1);
    const start = client.start({ handlerId: HANDLER });
    gone.abort();
    expect(await aborted).toBeNull();
    const { id } = await start;
    expect((await other?.done)?.run.id).toBe(id);
    const draining = new AbortController();
    const input = { params: {}, query: {}, body };
    const drained = client.instance.operations.leaseExternalExecutionRun(input, {
      caller: { kind: 'development', principal: null },
      correlationId: 'test',
      now: stage.time.now,
      signal: new AbortController().signal,
      draining: draining.signal,
    });
    await stage.quiet();
    draining.abort();
    expect(await drained).toEqual({ status: 204, body: null });
    const [stopped] = await waiting(stage, client, 1);
    await client.instance.stop();
    expect(await stopped?.done).toBeNull();
    // A stopped instance lets no call wait.
    expect(await client.lease(body)).toBeNull();
    expect(stage.time.pendingTimers).toBe(0);
  });

  alone('a run that another instance started is found at the next recheck', async () => {
    const stage = new Stage(store());
    const client = stage.client({ recheckMs: 5_000 });
    await client.instance.start();
    const [call] = await waiting(stage, client, 1);
    const { id } = await stage.client().start({ handlerId: HANDLER });
    await stage.pass(4_999);
    expect(call?.answer.lease).toBeUndefined();
    await stage.pass(1);
    expect((await call?.done)?.run.id).toBe(id);
    await client.instance.stop();
  });

  alone('a run that the policy denies to one polling worker goes to the one that it allows', async () => {
    const stage = new Stage(store());
    const policy = {
      productId: 'p',
      allowedHandlerIds: [],
      allowedTenantIds: [],
      allowedServiceIdentities: ['w-1'],
      payloadBytesMax: null,
      artifactPrefix: '',
      redactedNames: [],
    };
    const client = stage.client({ policies: [policy] });
    const scope = { productId: 'p', tenantId: 't' };
    // Both calls wait already; the policy denies the run to the one that has waited longest.
    const both = await waiting(stage, client, 2);
    const { id } = await client.start({ handlerId: HANDLER, scope });
    expect((await both[1]?.done)?.run.id).toBe(id);
    // It was there before either asked.
    const second = await client.start({ handlerId: HANDLER, scope });
    await stage.quiet();
    expect(both[0]?.answer.lease).toBeUndefined();
    expect((await leased(client, { workerId: 'w-1', waitSeconds: 20 })).run.id).toBe(second.id);
    await stage.pass(20_000);
    expect(await both[0]?.done).toBeNull();
  });
}
