import { expect, test } from 'vitest';
import { pluginOf, type Run } from '../../test/conformance/execution-plugins.ts';
import { begun, refusedWith, Stage, typesOf } from '../../test/conformance/execution-stage.ts';
import { ExecutionClient } from '../../test/support/execution.ts';
import { unlessQuotaExceeded } from '../kernel/quota.ts';
import { boundedMemory } from './bounded-store.fixture.ts';

const scope = { productId: 'shop', tenantId: 'a' };
const LARGE = 'x'.repeat(4_000);

/** A deployment with a quota of tenants that the test may change. */
function deployment(handlers: Readonly<Record<string, Run>> = {}) {
  const { store, bound, used: usedBy } = boundedMemory();
  const stage = new Stage(store);
  const used = () => usedBy({ kind: 'tenants', name: 'a' });
  const instance = stage.instance({ plugins: [pluginOf(handlers)] });
  return { stage, bound, used, instance, client: new ExecutionClient(instance) };
}

test('a worker of a tenant without free quota adds no event and no large timer, and may end its run', async () => {
  const { client, bound, used } = deployment();
  const { id, proof } = await begun(client, { scope });
  bound.bytes = await used();
  for (const event of [{ message: LARGE }, { message: 'm', details: { text: LARGE } }])
    expect(await refusedWith(client.record({ ...proof, ...event }))).toBe('quota_exceeded');
  const checkpoint = { key: 'k', content: LARGE };
  expect(await refusedWith(client.putCheckpoint({ ...proof, checkpoint }))).toBe('quota_exceeded');
  const timer = { ...proof, kind: 'timer', name: 't', fireAtUtc: '2026-01-02T00:00:00.000Z' } as const;
  expect(await refusedWith(client.wait({ ...timer, payload: LARGE }))).toBe('quota_exceeded');
  expect(await used()).toBe(bound.bytes);
  expect(await typesOf(client, id)).not.toContain('log');
  await client.heartbeat(proof);
  await client.complete({ ...proof, result: { result: { done: true } } });
  expect(await client.get(id)).toMatchObject({ status: 'succeeded' });
});

test('a handler of the process continues without the events that exceed the quota of its tenant', async () => {
  let full = (): void => {};
  const refused: unknown[] = [];
  const { stage, client, instance, bound } = deployment({
    'p.log': async (context) => {
      await context.log('kept');
      full();
      await context.log(LARGE);
      await context.trace('step', { details: { text: LARGE } });
      await context.scheduleTimer('small', new Date('2026-01-02T00:00:00.000Z'), 'x');
      await context.writeCheckpoint('k', LARGE).catch((error: unknown) => refused.push(error));
      await context
        .scheduleTimer('t', new Date('2026-01-02T00:00:00.000Z'), LARGE)
        .catch((error: unknown) => {
          refused.push(error);
        });
      return 'done';
    },
  });
  full = () => {
    bound.bytes = 1;
  };
  await instance.start();
  const { id } = await client.start({ handlerId: 'p.log', scope });
  await stage.quiet();
  expect(await client.get(id)).toMatchObject({ status: 'succeeded', result: 'done' });
  const messages = (await client.history(id, { limit: 200 })).flatMap(({ message }) => message ?? []);
  expect(messages).toContain('kept');
  expect(messages).not.toContain(LARGE);
  expect(refused).toEqual([
    expect.objectContaining({ code: 'quota_exceeded' }),
    expect.objectContaining({ code: 'quota_exceeded' }),
  ]);
  await instance.stop();
});

test('a handler of the process is not paced as callers are', async () => {
  const { stage, client, instance, bound } = deployment({
    'p.log': async (context) => {
      for (let n = 0; n < 8; n += 1) await context.log(LARGE);
      await context.writeCheckpoint('k', LARGE);
      return 'done';
    },
  });
  bound.bytesPerMinute = 10_000;
  await instance.start();
  const { id } = await client.start({ handlerId: 'p.log', scope });
  await stage.quiet();
  expect(await client.get(id)).toMatchObject({ status: 'succeeded', result: 'done' });
  await instance.stop();
});

test('optional writes ignore this refusal alone', () => {
  const other = new Error('another');
  expect(() => unlessQuotaExceeded(other)).toThrow(other);
});
