import { describe, expect, test } from 'vitest';
import { ANSWERS_MAX } from '../../functions/runs/rules/answered.ts';
import { begun, event, leased, proofOf, refusedWith, Stage, timer, typesOf } from './execution-stage.ts';
import type { ExecutionConformance } from './execution-suite.ts';
import { together } from './store-fixtures.ts';

/** Writes of workers that are sent again because their answer was lost. */
export function describeRepeats(conformance: ExecutionConformance): void {
  describe('a write that is repeated with its id', () => {
    describeWaits(conformance);
    describeWrites(conformance);
  });
}

function describeWaits({ store, rivals }: ExecutionConformance): void {
  test('is answered with the event that it took, and takes no other', async () => {
    const client = new Stage(store()).client();
    const { id, proof } = await begun(client);
    const large = 'x'.repeat(2_000);
    const [first, second] = [
      await client.raise(id, { name: 'e', payload: large }),
      await client.raise(id, { name: 'e' }),
    ];
    const answer = await event(client, proof, 'e', { waitId: 'one' });
    expect(answer.outcome?.event).toEqual(first);
    expect((await event(client, proof, 'e', { waitId: ' one ' })).outcome).toEqual(answer.outcome);
    // A later write changes nothing for the repeat, and a checkpoint neither.
    expect((await event(client, proof, 'e', { waitId: 'two' })).outcome?.event).toEqual(second);
    await client.putCheckpoint({ ...proof, checkpoint: { key: 'c', content: 1 } });
    expect((await event(client, proof, 'e', { waitId: 'one' })).outcome).toEqual(answer.outcome);
    expect(await event(client, proof, 'e', { waitId: 'three' })).toMatchObject({ suspended: true });
    expect((await typesOf(client, id)).filter((type) => type === 'wait.resumed')).toHaveLength(2);
  });

  test('is suspended again where the wait ended the lease, before and after the event', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const { id, proof } = await begun(client);
    expect(await event(client, proof, 'e', { waitId: 'one' })).toMatchObject({ suspended: true });
    const again = await event(client, proof, 'e', { waitId: 'one' });
    expect(again).toMatchObject({ suspended: true, outcome: null, run: { status: 'waiting' } });
    expect(await refusedWith(event(client, proof, 'e', { waitId: 'two' }))).toBe('lease_not_active');
    expect(await refusedWith(event(client, proof))).toBe('lease_not_active');
    await client.raise(id, { name: 'e', payload: 'x' });
    const late = await event(client, proof, 'e', { waitId: 'one' });
    expect(late).toMatchObject({ suspended: true, outcome: null, run: { status: 'queued' } });
    // The outcome waits for the next lease, where the same id names another wait.
    const next = proofOf(await leased(client, { runId: id }));
    expect(await refusedWith(event(client, proof, 'e', { waitId: 'one' }))).toBe('lease_stale');
    expect((await event(client, next, 'e', { waitId: 'one' })).outcome?.event?.payload).toBe('x');
  });

  test('gets one timer, whose outcome is returned again after a lost lease', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const { id, proof } = await begun(client, {}, { ttlSeconds: 1 });
    const wait = (held: typeof proof, waitId: string) =>
      timer(client, held, stage.time.now - 1, 'nap', { waitId, payload: { n: 1 } });
    const answer = await wait(proof, 'one');
    expect(await wait(proof, 'one')).toMatchObject({ suspended: false, outcome: answer.outcome });
    stage.time.advance(1_000);
    expect(await refusedWith(wait(proof, 'one'))).toBe('lease_not_active');
    const next = proofOf(await leased(client, { runId: id }));
    expect((await wait(next, 'other')).outcome).toEqual(answer.outcome);
  });

  test('consumes one event when all repeats arrive at once', async () => {
    const client = new Stage(store()).client();
    const { id, proof } = await begun(client);
    for (let n = 0; n < rivals; n += 1) await client.raise(id, { name: 'e', payload: n });
    const answers = await together(rivals, () => event(client, proof, 'e', { waitId: 'one' }));
    expect(new Set(answers.map(({ outcome }) => outcome?.event?.id)).size).toBe(1);
    expect((await event(client, proof, 'e', { waitId: 'two' })).outcome?.event?.payload).toBe(1);
  });

  test('is refused where the id names another write', async () => {
    const client = new Stage(store()).client();
    const { id, proof } = await begun(client);
    await client.raise(id, { name: 'e' });
    await event(client, proof, 'e', { waitId: 'one' });
    expect(await refusedWith(event(client, proof, 'f', { waitId: 'one' }))).toBe('idempotency_conflict');
    const log = { ...proof, message: 'm', writeId: 'one' };
    expect(await refusedWith(client.record(log))).toBe('idempotency_conflict');
    await event(client, proof, 'e', { waitId: 'two' });
    expect(await refusedWith(event(client, proof, 'f', { waitId: 'two' }))).toBe('idempotency_conflict');
  });
}

function describeWrites({ store, rivals }: ExecutionConformance): void {
  test('adds one event to the history', async () => {
    const client = new Stage(store()).client();
    const { id, proof } = await begun(client);
    const log = { ...proof, message: 'm', details: { n: 1 }, writeId: 'one' };
    await together(rivals, () => client.record(log));
    await client.record({ ...log, writeId: 'two' });
    expect((await typesOf(client, id)).filter((type) => type === 'log')).toHaveLength(2);
  });

  test('adds one artifact, and answers it', async () => {
    const client = new Stage(store()).client();
    const { id, proof } = await begun(client);
    const artifact = { name: 'a', content: { n: 1 } };
    const put = (writeId: string) => client.putArtifact({ ...proof, artifact, writeId });
    const answers = await together(rivals, () => put('one'));
    const again = await put('one');
    for (const answer of answers) expect(answer).toEqual(again);
    expect((await put('two')).id).not.toBe(again.id);
    expect(await client.artifacts(id)).toHaveLength(2);
    const other = { ...proof, artifact: { name: 'b', content: 1 }, writeId: 'one' };
    expect(await refusedWith(client.putArtifact(other))).toBe('idempotency_conflict');
  });

  test('does not replace a later write of its checkpoint', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const { id, proof } = await begun(client);
    const put = (content: number, writeId: string) =>
      client.putCheckpoint({ ...proof, checkpoint: { key: 'c', content }, writeId });
    const first = await put(1, 'one');
    stage.time.advance(10);
    await put(2, 'two');
    expect(await put(1, 'one')).toEqual(first);
    expect((await client.checkpoint(id, 'c')).content).toBe(2);
    expect((await typesOf(client, id)).filter((type) => type === 'checkpoint.written')).toHaveLength(2);
  });

  test('is known among the newest of its lease, and forgotten with it', async () => {
    const client = new Stage(store()).client();
    const { id, proof } = await begun(client, { retryPolicy: { maxAttempts: 2, initialDelaySeconds: 0 } });
    const log = (held: typeof proof, writeId: string) => client.record({ ...held, message: 'm', writeId });
    for (let n = 0; n < ANSWERS_MAX; n += 1) await log(proof, `w${n}`);
    await log(proof, 'w0');
    const logged = async () => (await typesOf(client, id)).filter((type) => type === 'log').length;
    expect(await logged()).toBe(ANSWERS_MAX);
    await client.complete({ ...proof, result: { status: 'failed' } });
    const next = proofOf(await leased(client, { runId: id }));
    await log(next, 'w0');
    expect(await logged()).toBe(ANSWERS_MAX + 1);
  });
}
