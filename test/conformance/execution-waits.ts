import { describe, expect, test } from 'vitest';
import type { ExecutionClient } from '../support/execution.ts';
import {
  begun,
  event,
  HANDLER,
  leased,
  proofOf,
  refusedWith,
  Stage,
  timer,
  typesOf,
} from './execution-stage.ts';
import type { ExecutionConformance } from './execution-suite.ts';
import { describeKept } from './execution-waits-kept.ts';
import { persist, together } from './store-fixtures.ts';

type Proof = ReturnType<typeof proofOf>;

/** Waits of workers for events and timers: specification, States and transitions, and Events. */
export function describeWaits(conformance: ExecutionConformance): void {
  describe('durable waits', () => {
    describeEvents(conformance);
    describeRaces(conformance);
    describeTimers(conformance);
    describeKept(conformance);
  });
}

function describeEvents({ store }: ExecutionConformance): void {
  test('an event before the wait is its outcome at once', async () => {
    const client = new Stage(store()).client();
    const { id, proof } = await begun(client);
    const raised = await client.raise(id, { name: ' e ', payload: { n: 1 } });
    const answer = await event(client, proof);
    expect(answer).toMatchObject({ suspended: false, run: { id, status: 'running', attempt: 1 } });
    expect(answer.outcome).toEqual({ name: 'e', outcome: 'external_event', event: raised, timer: null });
    expect(raised).toMatchObject({ name: 'e', runId: id, payload: { n: 1 } });
    expect(await event(client, proof)).toMatchObject({ suspended: true, outcome: null });
  });

  test('a wait parks the run, and the event gives it back with the outcome, once', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const { id, proof } = await begun(client);
    expect(await event(client, proof)).toMatchObject({
      suspended: true,
      outcome: null,
      run: { status: 'waiting', currentStep: 'waiting:external_event:e', scheduledAtUtc: null },
    });
    for (const name of ['E', 'ee', 'other']) {
      await client.raise(id, { name });
      expect(await client.get(id)).toMatchObject({ status: 'waiting' });
    }
    const raised = await client.raise(id, { name: 'e', payload: 7 });
    expect(await client.get(id)).toMatchObject({ status: 'queued', currentStep: null });
    const again = await leased(client, { runId: id });
    expect(again.run.attempt).toBe(2);
    expect(await event(client, proofOf(again))).toMatchObject({
      suspended: false,
      outcome: { event: raised },
    });
    expect(await event(client, proofOf(again))).toMatchObject({ suspended: true });
    expect((await typesOf(client, id)).filter((type) => type === 'wait.resumed')).toHaveLength(1);
  });

  test('two events of one name are taken by two waits, the older first', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const { id, proof } = await begun(client);
    await client.raise(id, { name: 'e', payload: 'first' });
    await client.raise(id, { name: 'other', payload: 'other' });
    stage.time.advance(5);
    await client.raise(id, { name: 'e', payload: 'second' });
    const payloads = [];
    for (const name of ['e', 'e', 'other']) {
      payloads.push((await event(client, proof, name)).outcome?.event?.payload);
    }
    expect(payloads).toEqual(['first', 'second', 'other']);
    // One event resumes the run and one comes after it: two waits again.
    expect(await event(client, proof)).toMatchObject({ suspended: true });
    await client.raise(id, { name: 'e', payload: 'third' });
    await client.raise(id, { name: 'e', payload: 'fourth' });
    const next = proofOf(await leased(client, { runId: id }));
    expect((await event(client, next)).outcome?.event?.payload).toBe('third');
    expect((await event(client, next)).outcome?.event?.payload).toBe('fourth');
    expect(await event(client, next)).toMatchObject({ suspended: true });
  });

  test('a hundred events at once are each taken once, in the order of their ids', async () => {
    const stage = new Stage(store());
    const clients = [stage.client(), stage.client()] as const;
    const { id, proof } = await begun(clients[0]);
    expect(await event(clients[0], proof)).toMatchObject({ suspended: true });
    const raised = await together(100, (index) =>
      persist(() => (clients[index % 2] ?? clients[0]).raise(id, { name: 'e', payload: index })),
    );
    const again = proofOf(await leased(clients[1], { runId: id }));
    const taken = [];
    for (let turn = 0; turn < 100; turn += 1) {
      const { outcome } = await event(clients[turn % 2] ?? clients[0], again);
      taken.push(outcome?.event);
    }
    expect(await event(clients[0], again)).toMatchObject({ suspended: true });
    // The first resumed the run, whichever it was; the rest lay in the inbox.
    const rest = taken.slice(1).map((each) => each?.id ?? '');
    expect(rest).toEqual(rest.toSorted());
    expect(taken.map((each) => each?.id ?? '').toSorted()).toEqual(raised.map((each) => each.id).toSorted());
    expect(new Set(taken.map((each) => each?.payload)).size).toBe(100);
  });
}

function describeRaces({ store, rivals }: ExecutionConformance): void {
  test('an event and a wait at once: the run continues with it, in either order', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const other = stage.client();
    for (let turn = 0; turn < Math.min(rivals, 20); turn += 1) {
      const { id, proof } = await begun(client);
      const [waited, raised] = await Promise.all([
        persist(() => event(client, proof)),
        persist(() => other.raise(id, { name: 'e' })),
      ]);
      const held = waited.suspended ? proofOf(await leased(other, { runId: id })) : proof;
      const taken = waited.suspended ? await event(other, held) : waited;
      expect(taken).toMatchObject({
        suspended: false,
        outcome: { outcome: 'external_event', event: raised },
      });
      expect(await event(client, held)).toMatchObject({ suspended: true });
    }
  });

  test('instances that raise and wait at once consume every event exactly once', async () => {
    const stage = new Stage(store());
    const clients = [stage.client(), stage.client()] as const;
    const count = Math.min(rivals, 20);
    const { id } = await clients[0].start({ handlerId: HANDLER });
    const taken: string[] = [];
    const worker = async (client: ExecutionClient) => {
      for (let turn = 0; taken.length < count && turn < 2_000; turn += 1) {
        const lease = await persist(() => client.lease({ workerId: 'w', handlerIds: [HANDLER], runId: id }));
        if (lease === null) {
          await stage.quiet();
          continue;
        }
        let answer = await persist(() => event(client, proofOf(lease)));
        for (; answer.outcome !== null; answer = await persist(() => event(client, proofOf(lease)))) {
          taken.push(answer.outcome.event?.id ?? 'none');
          if (taken.length >= count) return;
        }
      }
    };
    const raising = together(count, (index) =>
      persist(() => (clients[index % 2] ?? clients[0]).raise(id, { name: 'e', payload: index })),
    );
    await Promise.all([worker(clients[0]), worker(clients[1]), raising]);
    expect(taken.toSorted()).toEqual((await raising).map((raised) => raised.id).toSorted());
  });

  test('a wait after a requested cancellation ends the run, but a wait with a ready outcome does not', async () => {
    const client = new Stage(store()).client();
    const { id, proof } = await begun(client);
    await client.raise(id, { name: 'e' });
    await client.cancel(id);
    expect(await event(client, proof)).toMatchObject({
      suspended: false,
      run: { status: 'running', cancellationRequested: true },
    });
    const parked = await event(client, proof);
    expect(parked).toMatchObject({ suspended: true, outcome: null });
    expect(parked.run).toMatchObject({ status: 'cancelled', failureClass: 'cancelled' });
    expect(await client.get(id)).toEqual(parked.run);
    expect(await refusedWith(event(client, proof))).toBe('lease_not_active');
  });

  test('a wait and a cancellation at once end cancelled', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const other = stage.client();
    for (let turn = 0; turn < Math.min(rivals, 20); turn += 1) {
      const { id, proof } = await begun(client);
      const acts = [() => event(client, proof), () => other.cancel(id)];
      if (turn % 2 === 1) acts.reverse();
      await Promise.all(acts.map((act) => persist<unknown>(act)));
      // Parked first: cancelled as a waiting run. Asked first: the wait ends it, since no worker would resume it.
      expect(await client.get(id)).toMatchObject({ status: 'cancelled', failureClass: 'cancelled' });
      await other.raise(id, { name: 'e' });
      expect(await client.lease({ workerId: 'w', handlerIds: [HANDLER], runId: id })).toBeNull();
      expect(await client.get(id)).toMatchObject({ status: 'cancelled', attempt: 1 });
    }
  });
}

function describeTimers({ store }: ExecutionConformance): void {
  test('a timer requeues the run on time, with an unchanged timer', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const { id, proof } = await begun(client);
    const setAt = stage.time.now;
    expect(await timer(client, proof, setAt + 700, 't', { payload: { p: 1 } })).toMatchObject({
      suspended: true,
      run: { status: 'waiting', scheduledAtUtc: new Date(setAt + 700).toISOString() },
    });
    stage.time.advance(699);
    await stage.settle(client.instance);
    expect(await client.get(id)).toMatchObject({ status: 'waiting' });
    expect(await client.lease({ workerId: 'w', handlerIds: [HANDLER], runId: id })).toBeNull();
    stage.time.advance(1);
    await stage.settle(client.instance);
    expect(await client.get(id)).toMatchObject({ status: 'queued', scheduledAtUtc: null });
    stage.time.advance(50_000);
    const again = proofOf(await leased(client, { runId: id }));
    // A replay computes its time again; it is the same wait.
    const { outcome, suspended } = await timer(client, again, stage.time.now + 700, 't', {
      payload: 'other',
    });
    expect(suspended).toBe(false);
    expect(outcome).toMatchObject({ name: 't', outcome: 'timer', event: null });
    expect(outcome?.timer).toMatchObject({
      name: 't',
      runId: id,
      fireAtUtc: new Date(setAt + 700).toISOString(),
      createdAtUtc: new Date(setAt).toISOString(),
      payload: { p: 1 },
    });
    expect(await timer(client, again, stage.time.now + 700)).toMatchObject({ suspended: true });
  });

  test('a time in the past is the outcome at once, and nothing is stored', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const { proof } = await begun(client);
    const now = stage.time.now;
    for (const at of [now, now - 1]) {
      const fired = await timer(client, proof, at, 't', { payload: 3 });
      expect(fired).toMatchObject({ suspended: false, outcome: { outcome: 'timer', timer: { payload: 3 } } });
      const late = await event(client, proof, 'e', { timeoutAtUtc: new Date(at).toISOString() });
      expect(late).toMatchObject({
        suspended: false,
        outcome: { outcome: 'timed_out', event: null, timer: null },
      });
    }
  });

  test('a deadline gives the run back without the event, which is kept for the next wait', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const { id, proof } = await begun(client);
    const timeoutAtUtc = new Date(stage.time.now + 100).toISOString();
    await event(client, proof, 'e', { timeoutAtUtc });
    stage.time.advance(100);
    await stage.settle(client.instance);
    const raised = await client.raise(id, { name: 'e' });
    const again = proofOf(await leased(client, { runId: id }));
    const first = await event(client, again, 'e', { timeoutAtUtc });
    expect(first.outcome).toEqual({ name: 'e', outcome: 'timed_out', event: null, timer: null });
    expect((await event(client, again)).outcome).toMatchObject({ outcome: 'external_event', event: raised });
    expect((await typesOf(client, id)).filter((type) => type === 'wait.timed_out')).toHaveLength(1);
  });

  test('at the millisecond of the deadline or the timer, time has priority in every operation', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const soon = () => stage.time.now + 100;
    const eventFirst = await begun(client);
    const leaseFirst = await begun(client);
    const timed = await begun(client);
    const deadline = { timeoutAtUtc: new Date(soon()).toISOString() };
    await event(client, eventFirst.proof, 'e', deadline);
    await event(client, leaseFirst.proof, 'e', deadline);
    await timer(client, timed.proof, soon());
    stage.time.advance(99);
    expect(await client.get(eventFirst.id)).toMatchObject({ status: 'waiting' });
    stage.time.advance(1);
    // No call has settled the run: the event arrives at the deadline of the wait.
    await client.raise(eventFirst.id, { name: 'e' });
    await client.raise(timed.id, { name: 't' });
    const proofs = [];
    for (const { id } of [eventFirst, leaseFirst, timed])
      proofs.push(proofOf(await leased(client, { runId: id })));
    const [late, alone, fired] = proofs as [Proof, Proof, Proof];
    expect((await event(client, late)).outcome).toMatchObject({ outcome: 'timed_out' });
    expect((await event(client, late)).outcome).toMatchObject({ outcome: 'external_event' });
    expect((await event(client, alone)).outcome).toMatchObject({ outcome: 'timed_out' });
    expect((await timer(client, fired, soon())).outcome).toMatchObject({ outcome: 'timer' });
    expect((await event(client, fired, 't')).outcome).toMatchObject({ outcome: 'external_event' });
    // A millisecond before, the event wins.
    const before = await begun(client);
    await event(client, before.proof, 'e', { timeoutAtUtc: new Date(soon()).toISOString() });
    stage.time.advance(99);
    await client.raise(before.id, { name: 'e' });
    stage.time.advance(1);
    await stage.settle(client.instance);
    const won = proofOf(await leased(client, { runId: before.id }));
    expect((await event(client, won)).outcome).toMatchObject({ outcome: 'external_event' });
  });

  test('a timer needs its moment, and an event has none but its deadline', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const { id, proof } = await begun(client);
    expect(await refusedWith(client.wait({ ...proof, kind: 'timer', name: 't' }))).toBe('validation_failed');
    const fireAtUtc = new Date(stage.time.now + 5).toISOString();
    expect(await refusedWith(event(client, proof, 'e', { fireAtUtc }))).toBe('validation_failed');
    expect(await refusedWith(timer(client, proof, stage.time.now + 4_000 * 86_400_000))).toBe(
      'limit_exceeded',
    );
    expect(await client.get(id)).toMatchObject({ status: 'running' });
  });
}
