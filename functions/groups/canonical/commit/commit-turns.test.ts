import { expect, test } from 'vitest';
import { MemoryDatabase } from '../../../../test/simulation/memory-database.ts';
import { MemoryStore } from '../../../../test/simulation/memory-store.ts';
import { CountedTurns } from '../../../../test/support/counted-turns.ts';
import { ManualWorld } from '../../../../test/support/manual-world.ts';
import { commitCanonicalTransaction } from './commit-operation.ts';

/** Values of a document or a payload; a step has no more of them than this. */
const VALUES = 80_000;
const STEP_VALUES = 2_049;

const large = Object.fromEntries(Array.from({ length: VALUES }, (_, n) => [`m${n.toString(36)}`, 1]));
const document = { tenantId: 't', documentType: 'd', id: 'i', schemaVersion: '1' };

async function stepsOf(body: object): Promise<number> {
  const counted = new CountedTurns();
  const { clock, timers, http, random } = new ManualWorld();
  const store = new MemoryStore(new MemoryDatabase());
  const commit = commitCanonicalTransaction({
    store: () => Promise.resolve(store),
    world: { clock, timers, http, random, turns: counted.room },
  } as never);
  const input = { params: { tenantId: 't' }, body: { tenantId: 't', idempotencyKey: 'k', ...body } };
  await commit(input as never, { caller: { kind: 'development' }, now: clock.now() } as never);
  return counted.asked;
}

test.each([
  ['document', { mutations: [{ operation: 'upsert', document: { ...document, data: large } }] }],
  ['payload', { outbox: [{ topic: 't', key: 'k', payload: large }] }],
])('a commit with a large %s is read in a step for each 2,049 values, at the least', async (_, body) => {
  expect(await stepsOf(body)).toBeGreaterThan(VALUES / STEP_VALUES);
});

test('a small commit is read without a look at the clock of the turns', async () => {
  const mutations = [{ operation: 'upsert', document: { ...document, data: { a: 1 } } }];
  expect(await stepsOf({ mutations })).toBe(0);
});
