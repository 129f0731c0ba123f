import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type CharactersWorld, startCharacters } from './characters-world.ts';
import { type Party } from './party.ts';
import { HANDLER } from './runs.ts';

/** A neighbour that uses up all that it can: the victim still starts runs, and keeps those that it has. */

let world: CharactersWorld;
beforeAll(async () => {
  world = await startCharacters({ settings: { 'ExecutionRuntime:MaxActiveRuns': '60' } });
});
afterAll(() => world.close());

async function start({ productId, tenantId, headers }: Party, more: object = {}) {
  const body = { handlerId: HANDLER, scope: { productId, tenantId }, ...more };
  const answer = await world.service.call({ method: 'POST', path: '/execution/runs', headers, body });
  return { ...answer.json<{ id?: string; code?: string }>(), http: answer.status };
}

describe('D13: a busy neighbour', () => {
  test('that schedules runs far ahead fills its own share, and not that of the victim', async () => {
    const codes: (string | undefined)[] = [];
    const scheduledAtUtc = new Date(Date.now() + 300 * 86_400_000).toISOString();
    for (let count = 0; count < 61; count += 1)
      codes.push((await start(world.neighbour, { scheduledAtUtc })).code);
    expect(codes.at(-1)).toBe('queue_full');
    expect(codes.filter((code) => code === undefined).length).toBeGreaterThan(0);
    expect((await start(world.victim)).http).toBe(202);
  });

  test('whose starts are refused takes neither runs nor idempotency keys from the victim', async () => {
    const { victim, neighbour, service, operator } = world;
    const first = await start(victim, { idempotencyKey: 'kept' });
    const path = `/execution/runs/${first.id}`;
    expect((await service.call({ method: 'DELETE', path, headers: victim.headers })).status).toBe(200);
    for (let count = 0; count < 120; count += 1)
      expect((await start(neighbour, { pluginId: 'absent' })).http).toBe(400);
    const prune = await service.call({
      method: 'POST',
      path: '/execution/runtime/maintenance/prune',
      headers: operator,
      body: { dryRun: false, retainTerminalRuns: 5 },
    });
    expect(prune.status, prune.body).toBe(200);
    expect(await start(victim, { idempotencyKey: 'kept' })).toMatchObject({ id: first.id });
  });
});
