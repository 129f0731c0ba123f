import { afterAll, beforeAll, expect, test } from 'vitest';
import { CallError } from '../../examples/import/client.ts';
import { type ImportOutcome, importSource } from '../../examples/import/importer.ts';
import { ManualWorld } from '../support/manual-world.ts';
import { type RunningService, startService } from '../support/service.ts';
import { expectPublished, ImportTenant, type Meddle, sourceOf } from './staged-import-tenant.ts';

let service: RunningService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

const newly: ImportOutcome = { status: 'published', before: false };
const already: ImportOutcome = { status: 'published', before: true };

test('a rate limit is kept: every pause is as long as the service asked for, and nothing is done twice', async () => {
  const world = new ManualWorld();
  const settings = {
    'Server:CanonicalRateLimit:PermitLimit': '3',
    'Server:CanonicalRateLimit:WindowSeconds': '7',
  };
  const limited = await startService({ world, settings });
  const asked: number[] = [];
  const meddle: Meddle = async (_, send) => {
    const answer = await send();
    if (answer.status === 429) asked.push(Number(answer.headers.get('retry-after')) * 1000);
    return answer;
  };
  const pauses: number[] = [];
  const pause = async (delayMs: number) => {
    pauses.push(delayMs);
    world.advance(delayMs);
  };
  const tenant = new ImportTenant(limited);
  expect(await importSource(tenant.client({ meddle, pause }), sourceOf('one', 1, 650))).toEqual(newly);
  expect(asked.length).toBeGreaterThan(2);
  expect(pauses.length).toBe(asked.length);
  expect(pauses.every((delayMs, n) => delayMs >= (asked[n] ?? Number.NaN))).toBe(true);
  world.advance(60_000);
  const staged = await tenant.staged('one');
  expect(staged.filter(({ revision }) => revision === 1)).toHaveLength(650);
  await limited.close();
});

test('a commit that is answered 503, or not at all, is sent again under its key', async () => {
  const tenant = new ImportTenant(service);
  const keys = new Map<string, string[]>();
  const meddle: Meddle = async ({ body }, send) => {
    const key = body.idempotencyKey;
    if (key === undefined) return send();
    const bodies = keys.get(key) ?? [];
    keys.set(key, [...bodies, JSON.stringify(body)]);
    if (bodies.length === 0) return new Response('', { status: 503 });
    const answer = await send();
    if (bodies.length === 1) throw new TypeError('the connection broke');
    return answer;
  };
  const source = sourceOf('one', 1, 250);
  expect(await importSource(tenant.client({ meddle }), source)).toEqual(already);
  for (const bodies of keys.values()) expect([bodies.length, new Set(bodies).size]).toEqual([3, 1]);
  expect(keys.size).toBe(5);
  await expectPublished(tenant, source);
  expect(await tenant.published()).toHaveLength(1);
});

test('at most the requested number of chunks is under way at a time, and none is started after a failure', async () => {
  const tenant = new ImportTenant(service);
  let underWay = 0;
  let most = 0;
  let sent = 0;
  const counting =
    (failAt: number): Meddle =>
    async ({ body }, send) => {
      if (!String(body.idempotencyKey).includes(':chunk:')) return send();
      sent += 1;
      const number = sent;
      underWay += 1;
      most = Math.max(most, underWay);
      const answer = await send();
      underWay -= 1;
      if (number < failAt) return answer;
      return new Response(JSON.stringify({ code: 'storage_full', retryable: false }), { status: 503 });
    };
  const source = sourceOf('one', 1, 1200);
  const full = tenant.client({ meddle: counting(3) });
  await expect(importSource(full, source)).rejects.toThrow(CallError);
  expect(sent).toBeLessThanOrEqual(3 + 4);
  sent = 0;
  const client = tenant.client({ meddle: counting(Number.POSITIVE_INFINITY) });
  expect(await importSource(client, source, { chunksAtOnce: 4 })).toEqual(newly);
  expect([most, sent]).toEqual([4, 12]);
});
