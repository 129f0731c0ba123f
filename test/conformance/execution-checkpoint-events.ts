import { describe, expect, test } from 'vitest';
import { openProduct, scopeOf } from './execution-fixtures.ts';
import { begun, leased, proofOf, refusedWith, Stage } from './execution-stage.ts';
import type { ExecutionConformance } from './execution-suite.ts';

/** An object whose canonical JSON has exactly this many bytes. */
const detailsOf = (bytes: number) => ({ a: 'x'.repeat(bytes - '{"a":""}'.length) });

const checkpoint = { key: 'k', content: { n: 1 } };

/** The event of a checkpoint request: both are written in one transaction. */
export function describeCheckpointEvents({ store }: ExecutionConformance): void {
  describe('an event in a checkpoint request', () => {
    test('follows the checkpoint in the history, in the same write', async () => {
      const stage = new Stage(store());
      const client = stage.client();
      const { id, proof } = await begun(client);
      const before = stage.storeCalls;
      await client.putCheckpoint({ ...proof, checkpoint });
      const alone = stage.storeCalls - before;
      const event = { type: ' step.completed ', message: 'charge\n7', details: { ms: 12 } };
      await client.putCheckpoint({ ...proof, checkpoint: { ...checkpoint, content: 2 }, event });
      expect(stage.storeCalls - before).toBe(2 * alone);
      const [written, added] = (await client.history(id)).slice(-2);
      expect(written).toMatchObject({ type: 'checkpoint.written', details: { key: 'k' } });
      expect(added).toMatchObject({
        type: 'step.completed',
        message: 'charge\n7',
        details: { ms: 12 },
        severity: 'info',
        attempt: 1,
        status: 'running',
        context: { workerId: proof.workerId },
      });
      expect((await client.checkpoint(id, 'k')).content).toBe(2);
    });

    test('is a log without a type, and is left out by null', async () => {
      const client = new Stage(store()).client();
      const { id, proof } = await begun(client);
      await client.putCheckpoint({ ...proof, checkpoint, event: {} });
      expect((await client.history(id)).at(-1)).toMatchObject({ type: 'log', message: null, details: null });
      await client.putCheckpoint({ ...proof, checkpoint, event: null });
      expect((await client.history(id)).at(-1)).toMatchObject({ type: 'checkpoint.written' });
    });

    test('is part of a named write: a repeat adds nothing, and another event is another write', async () => {
      const client = new Stage(store()).client();
      const { id, proof } = await begun(client);
      const write = { ...proof, checkpoint, writeId: 'one', event: { type: 'step.completed' } };
      const first = await client.putCheckpoint(write);
      const history = await client.history(id);
      expect(await client.putCheckpoint(write)).toEqual(first);
      const others = [{ type: 'step.failed' }, { type: 'step.completed', details: {} }, null];
      for (const event of others)
        expect(await refusedWith(client.putCheckpoint({ ...write, event }))).toBe('idempotency_conflict');
      expect(await client.history(id)).toEqual(history);
    });

    test.each<[string, string, object]>([
      ['a type of the runtime', 'validation_failed', { type: 'Run.completed' }],
      ['the type of the checkpoint itself', 'validation_failed', { type: 'checkpoint.written' }],
      ['a type with a line break', 'validation_failed', { type: 'a\nb' }],
      ['a type of 161 units', 'limit_exceeded', { type: 'x'.repeat(161) }],
      ['a message of 4,097 units', 'limit_exceeded', { message: 'x'.repeat(4_097) }],
      ['details of 4,097 bytes', 'limit_exceeded', { details: detailsOf(4_097) }],
    ])('with %s is refused, and the checkpoint with it', async (_, code, event) => {
      const client = new Stage(store()).client();
      const { id, proof } = await begun(client);
      const history = await client.history(id);
      expect(await refusedWith(client.putCheckpoint({ ...proof, checkpoint, event }))).toBe(code);
      expect(await client.history(id)).toEqual(history);
      expect(await refusedWith(client.checkpoint(id, 'k'))).toBe('not_found');
    });

    test('is kept at its limits', async () => {
      const client = new Stage(store()).client();
      const { id, proof } = await begun(client);
      const event = { type: 'x'.repeat(160), message: 'x'.repeat(4_096), details: detailsOf(4_096) };
      await client.putCheckpoint({ ...proof, checkpoint, event });
      expect((await client.history(id)).at(-1)).toMatchObject(event);
    });

    test('under a lease that is lost adds nothing', async () => {
      const stage = new Stage(store());
      const client = stage.client();
      const { id, proof } = await begun(client, {}, { ttlSeconds: 1 });
      stage.time.advance(1_000);
      const event = { type: 'step.completed' };
      expect(await refusedWith(client.putCheckpoint({ ...proof, checkpoint, event }))).toBe(
        'lease_not_active',
      );
      const next = proofOf(await leased(client, { runId: id }));
      expect(await refusedWith(client.putCheckpoint({ ...proof, checkpoint, event }))).toBe('lease_stale');
      expect((await client.history(id)).map(({ type }) => type)).not.toContain('step.completed');
      await client.putCheckpoint({ ...next, checkpoint, event });
      expect((await client.history(id)).at(-1)).toMatchObject({ type: 'step.completed', attempt: 2 });
    });

    test('loses the details that the product hides', async () => {
      const policies = [{ ...openProduct, productId: 'p', redactedNames: ['card'] }];
      const client = new Stage(store()).client({ policies });
      const { id, proof } = await begun(client, { scope: scopeOf('p') });
      const event = { type: 'step.completed', details: { card: '4242', ms: 1 } };
      await client.putCheckpoint({ ...proof, checkpoint, event });
      expect((await client.history(id)).at(-1)?.details).toEqual({ card: '[redacted]', ms: 1 });
    });
  });
}
