import { describe, expect, test } from 'vitest';
import type { ExecutionClient } from '../support/execution.ts';
import { begun, event, HANDLER, leased, proofOf, refusedWith, Stage, typesOf } from './execution-stage.ts';
import type { ExecutionConformance } from './execution-suite.ts';
import { persist } from './store-fixtures.ts';

type Proof = ReturnType<typeof proofOf>;

/** A wait for any of several events. */
function any(client: ExecutionClient, proof: Proof, names: readonly string[], more: object = {}) {
  return client.wait({ ...proof, kind: 'external_event', name: names[0] ?? '', names, ...more });
}

/** A wait for any of several names ends with one event, and the outcome says with which. */
export function describeNamedWaits(conformance: ExecutionConformance): void {
  describe('a wait for any of several names', () => {
    describeOutcomes(conformance);
    describeIdentity(conformance);
    describeRefusals(conformance);
  });
}

function describeOutcomes({ store, rivals }: ExecutionConformance): void {
  test('takes the oldest event of any of them at once, and leaves the others', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const { id, proof } = await begun(client);
    await client.raise(id, { name: 'other' });
    const raised = [];
    for (const name of ['b', 'a', 'b']) {
      stage.time.advance(5);
      raised.push(await client.raise(id, { name }));
    }
    for (const each of raised) {
      const answer = await any(client, proof, ['a', ' b ']);
      expect(answer).toMatchObject({ suspended: false, run: { status: 'running', attempt: 1 } });
      expect(answer.outcome).toEqual({
        name: each.name,
        outcome: 'external_event',
        event: each,
        timer: null,
      });
    }
    expect(await any(client, proof, ['a', 'b'])).toMatchObject({ suspended: true, outcome: null });
  });

  test('parks the run, and an event of each name ends it, once', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    for (const name of ['approved', 'denied', 'gone']) {
      const { id, proof } = await begun(client);
      expect(await any(client, proof, ['denied', 'approved', 'gone'])).toMatchObject({
        suspended: true,
        run: { status: 'waiting', currentStep: 'waiting:external_event:approved,denied,gone' },
      });
      for (const wrong of ['Approved', 'approved,denied', 'a'])
        await client.raise(id, { name: wrong }).then(() => undefined);
      expect(await client.get(id)).toMatchObject({ status: 'waiting' });
      const raised = await client.raise(id, { name });
      expect(await client.get(id)).toMatchObject({ status: 'queued', currentStep: null });
      const again = proofOf(await leased(client, { runId: id }));
      // The order of the names does not matter.
      const answer = await any(client, again, ['gone', 'denied', 'approved']);
      expect(answer.outcome).toEqual({ name, outcome: 'external_event', event: raised, timer: null });
      expect(await any(client, again, ['denied', 'approved', 'gone'])).toMatchObject({ suspended: true });
      expect((await typesOf(client, id)).filter((type) => type === 'wait.resumed')).toHaveLength(1);
    }
  });

  test('ends at its deadline under the name that it had when it parked the run, or under its own', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const { id, proof } = await begun(client);
    const timeoutAtUtc = new Date(stage.time.now + 100).toISOString();
    await any(client, proof, ['b', 'a'], { timeoutAtUtc });
    stage.time.advance(100);
    await stage.settle(client.instance);
    const again = proofOf(await leased(client, { runId: id }));
    const late = { name: 'b', outcome: 'timed_out', event: null, timer: null };
    expect((await any(client, again, ['a', 'b'])).outcome).toEqual(late);
    expect((await any(client, again, ['b', 'a'], { timeoutAtUtc })).outcome).toEqual(late);
  });

  test('two events at once: one ends the wait and the other stays for the next', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const other = stage.client();
    for (let turn = 0; turn < Math.min(rivals, 10); turn += 1) {
      const { id, proof } = await begun(client);
      await any(client, proof, ['a', 'b']);
      const raised = await Promise.all([
        persist(() => client.raise(id, { name: 'a' })),
        persist(() => other.raise(id, { name: 'b' })),
      ]);
      const held = proofOf(await leased(client, { runId: id }));
      const taken = [await any(client, held, ['a', 'b']), await any(client, held, ['a', 'b'])];
      const ids = taken.map(({ outcome }) => outcome?.event?.id ?? '');
      expect(ids.toSorted()).toEqual(raised.map((each) => each.id).toSorted());
      expect(await any(client, held, ['a', 'b'])).toMatchObject({ suspended: true });
    }
  });

  test('a parked run is cancelled at once, and a requested cancellation ends a run that would park', async () => {
    const client = new Stage(store()).client();
    const parked = await begun(client);
    await any(client, parked.proof, ['a', 'b']);
    expect(await client.cancel(parked.id)).toMatchObject({ status: 'cancelled' });
    await client.raise(parked.id, { name: 'a' });
    expect(await client.lease({ workerId: 'w', handlerIds: [HANDLER], runId: parked.id })).toBeNull();
    const asked = await begun(client);
    await client.cancel(asked.id);
    expect(await any(client, asked.proof, ['a', 'b'])).toMatchObject({ run: { status: 'cancelled' } });
  });
}

function describeIdentity({ store }: ExecutionConformance): void {
  test('is another wait than one for other names, which takes its event where it waits for that event', async () => {
    const client = new Stage(store()).client();
    const deadline = { timeoutAtUtc: new Date(0).toISOString() };
    for (const others of [['a'], ['a', 'c'], ['a', 'b', 'c']]) {
      const { id, proof } = await begun(client);
      await any(client, proof, ['a', 'b']);
      const raised = await client.raise(id, { name: 'a' });
      const next = proofOf(await leased(client, { runId: id }));
      for (const names of [['b'], ['b', 'c']])
        expect((await any(client, next, names, deadline)).outcome?.outcome, names.join()).toBe('timed_out');
      expect((await any(client, next, others, deadline)).outcome?.event, others.join()).toEqual(raised);
      expect((await any(client, next, ['b', 'a'], deadline)).outcome?.outcome).toBe('timed_out');
    }
  });

  test('for one name is the wait for that name', async () => {
    const client = new Stage(store()).client();
    const { id, proof } = await begun(client);
    expect(await any(client, proof, ['a'])).toMatchObject({
      suspended: true,
      run: { currentStep: 'waiting:external_event:a' },
    });
    const raised = await client.raise(id, { name: 'a' });
    const next = proofOf(await leased(client, { runId: id }));
    expect((await event(client, next, 'a')).outcome).toMatchObject({ name: 'a', event: raised });
  });

  test('is answered again after a lost lease, until a checkpoint records it', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const { id, proof } = await begun(client, {}, { ttlSeconds: 1 });
    const raised = await client.raise(id, { name: 'b' });
    expect((await any(client, proof, ['a', 'b'])).outcome?.event).toEqual(raised);
    stage.time.advance(1_000);
    const next = proofOf(await leased(client, { runId: id, ttlSeconds: 1 }));
    expect((await any(client, next, ['b', 'a'])).outcome).toMatchObject({ name: 'b', event: raised });
    await client.putCheckpoint({ ...next, checkpoint: { key: 'k', content: 1 } });
    stage.time.advance(1_000);
    const last = proofOf(await leased(client, { runId: id }));
    expect(await any(client, last, ['a', 'b'])).toMatchObject({ suspended: true });
  });

  test('with an id gets the same answer again, and other names are another wait', async () => {
    const client = new Stage(store()).client();
    const { id, proof } = await begun(client);
    const raised = await client.raise(id, { name: 'a' });
    await client.raise(id, { name: 'b' });
    const waitId = { waitId: 'one' };
    expect((await any(client, proof, ['a', 'b'], waitId)).outcome?.event).toEqual(raised);
    expect((await any(client, proof, ['b', 'a'], waitId)).outcome?.event).toEqual(raised);
    expect(await refusedWith(any(client, proof, ['a', 'c'], waitId))).toBe('idempotency_conflict');
    expect(await refusedWith(event(client, proof, 'a', waitId))).toBe('idempotency_conflict');
    expect((await any(client, proof, ['a', 'b'])).outcome?.name).toBe('b');
  });
}

function describeRefusals({ store }: ExecutionConformance): void {
  const sixteen = Array.from({ length: 16 }, (_, n) => `${n}-${'x'.repeat(150)}`);
  const fireAtUtc = new Date(0).toISOString();

  test.each<[string, string, object]>([
    ['its name not among the names', 'validation_failed', { names: ['b', 'c'] }],
    ['its name in other letters', 'validation_failed', { names: ['A', 'b'] }],
    ['a blank name of its own', 'validation_failed', { name: ' ', names: ['a', 'b'] }],
    ['no names', 'validation_failed', { names: [] }],
    ['one name twice', 'validation_failed', { names: ['a', ' a '] }],
    ['a blank name', 'validation_failed', { names: ['a', ' '] }],
    ['a name with a line break', 'validation_failed', { names: ['a', 'b\nc'] }],
    ['a name of 161 units', 'limit_exceeded', { names: ['a', 'x'.repeat(161)] }],
    ['17 names', 'limit_exceeded', { names: ['a', ...sixteen] }],
    ['names for a timer', 'validation_failed', { kind: 'timer', names: ['a', 'b'], fireAtUtc }],
    ['the time of a timer', 'validation_failed', { names: ['a', 'b'], fireAtUtc }],
  ])('with %s is refused, and the run keeps its lease', async (_, code, body) => {
    const client = new Stage(store()).client();
    const { id, proof } = await begun(client);
    const before = await client.get(id);
    expect(await refusedWith(client.wait({ ...proof, kind: 'external_event', name: 'a', ...body }))).toBe(
      code,
    );
    expect(await client.get(id)).toEqual(before);
    await client.heartbeat(proof);
  });

  test('has at most 16 names, of which each ends it', async () => {
    const client = new Stage(store()).client();
    const { id, proof } = await begun(client);
    const parked = await any(client, proof, sixteen);
    expect(parked.run.currentStep).toHaveLength(200);
    const last = sixteen.at(-1) ?? '';
    await client.raise(id, { name: last });
    const next = proofOf(await leased(client, { runId: id }));
    expect((await any(client, next, sixteen)).outcome).toMatchObject({ name: last });
  });

  test('under a lease that is lost takes nothing', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const { id, proof } = await begun(client, {}, { ttlSeconds: 1 });
    const raised = await client.raise(id, { name: 'a' });
    stage.time.advance(1_000);
    expect(await refusedWith(any(client, proof, ['a', 'b']))).toBe('lease_not_active');
    const next = proofOf(await leased(client, { runId: id }));
    expect(await refusedWith(any(client, proof, ['a', 'b']))).toBe('lease_stale');
    expect((await any(client, next, ['a', 'b'])).outcome?.event).toEqual(raised);
  });
}
