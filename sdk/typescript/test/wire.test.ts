import { describe, expect, test } from 'vitest';
import catalog from '../../../contracts/public-sdk-surface.json' with { type: 'json' };
import golden from '../../wire/requests.json' with { type: 'json' };
import { SvcClient, SvcError } from '../src/index.ts';
import { json, problem, Stage, thrown } from './stage.ts';
import { call, observed } from './wire.ts';

const cases = golden.cases;

describe('the request of every operation', () => {
  test.each(cases.map((each) => [each.operation, each.case, each] as const))(
    '%s, %s',
    async (_, __, each) => {
      await using stage = await Stage.open(json({ items: [], continuationToken: null }));
      await call(stage.client(), each);
      expect(stage.seen.map(observed)).toEqual([each.expect]);
    },
  );

  test('is one of these, for every operation of the catalog', () => {
    const published = catalog.operations.filter(({ stability }) => stability !== 'internal');
    expect(new Set(cases.map(({ operation }) => operation))).toEqual(new Set(published.map(({ id }) => id)));
    const own = Object.getOwnPropertyNames(Object.getPrototypeOf(SvcClient.prototype)).filter(
      (name) => name !== 'constructor',
    );
    expect(own.toSorted()).toEqual(published.map(({ sdk }) => sdk?.typescript).toSorted());
  });
});

describe('a path', () => {
  test.each(['', '.', '..'])('cannot hold %j, which would lead elsewhere', async (segment) => {
    await using stage = await Stage.open(json({}));
    await thrown(stage.client().exportCanonicalTenant(segment), SvcError);
    await thrown(stage.client().renewCanonicalOutboxLease('t', segment, { leaseToken: 'l' }), SvcError);
    expect(stage.seen).toEqual([]);
  });

  test.each([undefined, null])('needs a value for each part: %j', async (nothing) => {
    await using stage = await Stage.open(json({}));
    await thrown(stage.client().exportCanonicalTenant(nothing as never), SvcError);
    expect(stage.seen).toEqual([]);
  });

  test('holds what a caller meant as one segment', async () => {
    await using stage = await Stage.open(problem(400, 'invalid_path_segment'));
    await stage
      .client()
      .exportCanonicalTenant('../a?b#c%2F\\')
      .catch(() => {});
    expect(stage.seen[0]?.target).toBe('/canonical/tenants/..%2Fa%3Fb%23c%252F%5C/export');
  });

  test('is appended to the path of a gateway', async () => {
    await using stage = await Stage.open(json({}));
    await stage.client({ baseUrl: `${stage.address}/svc/v1/` }).health();
    expect(stage.seen[0]?.target).toBe('/svc/v1/health');
  });
});

describe('headers', () => {
  test('come from the client and the call, and null removes one', async () => {
    await using stage = await Stage.open(json({}));
    const client = stage.client({ headers: { 'X-A': 'client', 'X-B': 'client', 'X-C': 'client' } });
    await client.health({ headers: { 'x-b': 'call', 'X-C': null, 'X-D': undefined }, correlationId: 'c-1' });
    const { 'x-a': a, 'x-b': b, 'x-correlation-id': id, ...rest } = stage.seen[0]?.headers ?? {};
    expect([a, b, id]).toEqual(['client', 'call', 'c-1']);
    expect(Object.keys(rest).filter((name) => name.startsWith('x-'))).toEqual([]);
  });

  test('that the call leaves undefined are those of the client', async () => {
    await using stage = await Stage.open(json({}));
    await stage.client({ headers: { 'X-A': 'client' } }).health({ headers: { 'X-A': undefined } });
    expect(stage.seen[0]?.headers['x-a']).toBe('client');
  });
});

describe('a key for an operation that takes none', () => {
  test.each([
    ['queryCanonicalDocuments', ['t', {}]],
    ['leaseCanonicalOutbox', ['t', { consumerId: 'c' }]],
    ['commitCanonicalTransaction', ['t', { idempotencyKey: 'k' }]],
  ] as const)('is refused, since it would have no effect: %s', async (name, given) => {
    await using stage = await Stage.open(json({}));
    const client = stage.client() as unknown as Record<string, (...all: unknown[]) => Promise<unknown>>;
    const made = client[name]?.(...given, { idempotencyKey: 'k' }) ?? Promise.resolve();
    expect((await thrown(made, SvcError)).message).toContain('key');
    expect(stage.seen).toEqual([]);
  });
});
