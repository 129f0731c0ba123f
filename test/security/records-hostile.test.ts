import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningService, startService } from '../support/service.ts';
import { RecordSpace } from './record-space.ts';

/** Hostile records and queries over HTTP: each is refused with its code, and leaves no record behind. */

let service: RunningService;
let space: RecordSpace;
beforeAll(async () => {
  service = await startService();
  space = new RecordSpace(service.call);
  await space.create({
    name: 'docs',
    vectorPolicies: [{ name: 'v', path: '/vectors/v/values', dimensions: 3 }],
    indexedMetadata: ['/metadata/n'],
  });
});
afterAll(() => service.close());

const RECORDS = '/collections/docs/records';
const query = (body: object | string) => space.send('POST', '/collections/docs/query', body);

async function count(): Promise<number> {
  const { text } = await space.send('POST', '/collections/docs/export', {});
  return (JSON.parse(text) as { recordCount: number }).recordCount;
}

const record = (members: string) => `{"id":"a","partitionKey":"p"${members === '' ? '' : `,${members}`}}`;
const vector = (members: string) => record(`"vectors":{"v":{${members}}}`);
const filter = (path: string) => ({ filter: { path, op: 'eq', value: 1 } });
const nested = (depth: number): object =>
  depth === 1
    ? { path: '/id', op: 'eq', value: 'a' }
    : { combine: 'all', children: [nested(depth - 1), nested(1)] };
const deep = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;

describe('a hostile record is refused, and nothing is written', () => {
  test.each<[string, string, number, string]>([
    ['a number beyond doubles', record('"metadata":{"n":1e400}'), 400, 'malformed_request'],
    ['NaN', record('"metadata":{"n":NaN}'), 400, 'malformed_request'],
    ['a member twice', record('"id":"b"'), 400, 'malformed_request'],
    ['an id with U+0000', '{"id":"a\\u0000","partitionKey":"p"}', 400, 'validation_failed'],
    ['a partition key with U+0000', '{"id":"a","partitionKey":"p\\u0000"}', 400, 'validation_failed'],
    ['a lone surrogate in the id', '{"id":"a\\ud800","partitionKey":"p"}', 400, 'malformed_request'],
    ['a lone surrogate in a value', record('"metadata":{"t":"\\udc00"}'), 400, 'malformed_request'],
    ['a member that is named __proto__', record('"metadata":{"__proto__":1}'), 400, 'malformed_request'],
    ['an integer beyond doubles', record('"metadata":{"n":9007199254740993}'), 400, 'malformed_request'],
    ['a slash in the id', '{"id":"a/b","partitionKey":"p"}', 400, 'validation_failed'],
    ['a blank id', '{"id":" ","partitionKey":"p"}', 400, 'validation_failed'],
    ['an id of 1,024 bytes', `{"id":"${'a'.repeat(1_024)}","partitionKey":"p"}`, 400, 'limit_exceeded'],
    [
      'a partition key of 2,049 bytes',
      `{"id":"a","partitionKey":"${'p'.repeat(2_049)}"}`,
      400,
      'limit_exceeded',
    ],
    ['nesting beyond the bound', record(`"metadata":{"n":${deep(80)}}`), 400, 'malformed_request'],
    ['a vector with a NaN', vector('"values":[1,2,NaN]'), 400, 'malformed_request'],
    ['a vector with an infinity', vector('"values":[1,2,1e39]'), 400, 'validation_failed'],
    ['a vector with a text', vector('"values":[1,2,"3"]'), 400, 'validation_failed'],
    ['a vector that is too short', vector('"values":[1,2]'), 400, 'validation_failed'],
    ['a vector that is too long', vector('"values":[1,2,3,4]'), 400, 'validation_failed'],
    ['a vector with other dimensions', vector('"values":[1,2,3],"dimensions":4'), 400, 'validation_failed'],
    [
      'a vector that the policy lacks',
      record('"vectors":{"w":{"values":[1,2,3]}}'),
      400,
      'validation_failed',
    ],
  ])('%s', async (_, body, status, code) => {
    expect(await space.send('POST', RECORDS, body)).toMatchObject({ status, code });
    expect(await count()).toBe(0);
  });
});

describe('a hostile query is refused', () => {
  test.each<[string, object | string, string]>([
    ['a path with a segment that is a prototype, nested', filter('/__proto__/a b'), 'validation_failed'],
    ['a path with white space', filter('/a b'), 'validation_failed'],
    ['a path without a slash', filter('id'), 'validation_failed'],
    ['a filter of depth 17', { filter: nested(17) }, 'limit_exceeded'],
    [
      'a filter of 101 nodes',
      { filter: { combine: 'any', children: Array.from({ length: 100 }, () => nested(1)) } },
      'limit_exceeded',
    ],
    ['an object as the value of eq', { filter: { path: '/id', op: 'eq', value: {} } }, 'validation_failed'],
    ['a text as the values of in', { filter: { path: '/id', op: 'in', value: 'a' } }, 'validation_failed'],
    ['an unknown operator', { filter: { path: '/id', op: 'like', value: 'a' } }, 'validation_failed'],
    ['a number beyond doubles', '{"filter":{"path":"/id","op":"eq","value":1e400}}', 'malformed_request'],
    [
      'a text compared on an indexed path',
      { filter: { path: '/metadata/n', op: 'gt', value: 'a' } },
      'validation_failed',
    ],
    [
      '9 orders',
      { orderBy: Array.from({ length: 9 }, (_, at) => ({ path: `/metadata/o${at}` })) },
      'limit_exceeded',
    ],
    ['a direction that is none', { orderBy: [{ path: '/id', direction: 'up' }] }, 'validation_failed'],
    ['a limit of 0', { limit: 0 }, 'validation_failed'],
    [
      'the token -1',
      { continuationToken: Buffer.from('-1').toString('base64') },
      'continuation_token_invalid',
    ],
    [
      'the token 1.5',
      { continuationToken: Buffer.from('1.5').toString('base64') },
      'continuation_token_invalid',
    ],
    ['a token that is no base64', { continuationToken: '%%%' }, 'continuation_token_invalid'],
    ['a member that no query has', { top: 5 }, 'validation_failed'],
  ])('%s', async (_, body, code) => {
    expect(await query(body)).toMatchObject({ status: 400, code });
  });
});

describe('odd but sound', () => {
  test('names of prototypes are names like others, in records and in paths', async () => {
    const body = '{"id":"proto","partitionKey":"odd","metadata":{"constructor":{"n":2}}}';
    expect((await space.send('POST', RECORDS, body)).status).toBe(201);
    const found = await query({ filter: { path: '/metadata/constructor/n', op: 'eq', value: 2 } });
    expect(found.text).toContain('"metadata":{"constructor":{"n":2}}');
    for (const path of ['/__proto__', '/constructor', '/metadata/toString', '/metadata/constructor/name']) {
      const { status, text } = await query({ filter: { path, op: 'exists', value: true } });
      expect([status, JSON.parse(text)]).toEqual([200, { items: [], continuationToken: null }]);
    }
  });

  test('the longest keys are written, read by their path, and removed', async () => {
    const [id, key] = ['i'.repeat(1_023), 'k'.repeat(2_048)];
    expect((await space.send('POST', RECORDS, { id, partitionKey: key })).status).toBe(201);
    const path = `${RECORDS}/${key}/${id}`;
    expect((await space.send('GET', path)).status).toBe(200);
    expect((await space.send('DELETE', path)).status).toBe(204);
    expect(await space.send('GET', path)).toMatchObject({ status: 404, code: 'not_found' });
  });

  test('a partition key with a slash is addressed by its encoding', async () => {
    expect((await space.send('POST', RECORDS, { id: 'x', partitionKey: 'a/b%2F' })).status).toBe(201);
    expect((await space.send('GET', `${RECORDS}/a%2Fb%252F/x`)).status).toBe(200);
    expect((await space.send('DELETE', `${RECORDS}/a%2Fb%252F/x`)).status).toBe(204);
  });

  test.each([
    [' x', 'x '],
    ['a\nb\u0001', '\u007F'],
    ['%2E%2E', '...'],
    ['a\u2028b', 'e\u0301😀'],
  ])('a record of the keys %j and %j is read and removed by its path', async (partitionKey, id) => {
    expect((await space.send('POST', RECORDS, { id, partitionKey })).status).toBe(201);
    const path = `${RECORDS}/${encodeURIComponent(partitionKey)}/${encodeURIComponent(id)}`;
    const { status, text } = await space.send('GET', path);
    expect([status, JSON.parse(text)]).toEqual([200, expect.objectContaining({ id, partitionKey })]);
    expect((await space.send('DELETE', path)).status).toBe(204);
    expect(await space.send('GET', path)).toMatchObject({ status: 404, code: 'not_found' });
  });

  test.each([
    ['..', 'x'],
    ['x', '.'],
  ])('the keys %j and %j, which no path can name, are refused', async (partitionKey, id) => {
    expect(await space.send('POST', RECORDS, { id, partitionKey })).toMatchObject({
      status: 400,
      code: 'validation_failed',
    });
  });

  test('the spelling of numbers stays, and a negative zero equals zero', async () => {
    const text = '"metadata":{"n":-0,"m":1.50,"e":1E2}';
    expect((await space.send('POST', RECORDS, `{"id":"zero","partitionKey":"odd",${text}}`)).status).toBe(
      201,
    );
    for (const value of [0, -0]) {
      const found = await query({ filter: { path: '/metadata/n', op: 'eq', value } });
      expect(found.text).toContain(text);
    }
  });

  test('a list of 10,000 values is answered or refused by its size, and never read in part', async () => {
    const value = Array.from({ length: 10_000 }, (_, at) => `id-${at}`);
    const { status, code } = await query({ filter: { path: '/id', op: 'in', value: [...value, 'proto'] } });
    expect([200, 400, 413]).toContain(status);
    if (status !== 200) expect(['limit_exceeded', 'payload_too_large']).toContain(code);
  });
});

test('one of productId and tenantId alone is no owner of a job, and takes no idempotency key', async () => {
  const headers = { 'Idempotency-Key': 'alone' };
  const policy = { name: 'alone' };
  for (const name of ['productId', 'tenantId']) {
    const path = `/collections?${name}=x`;
    expect(await space.send('POST', path, policy, headers)).toMatchObject({ status: 400 });
  }
  expect(await space.send('GET', '/collections/alone')).toMatchObject({ status: 404 });
  expect((await space.send('POST', '/collections', policy, headers)).status).toBe(202);
});

test('after a collection was created again, its name leads to the new records only', async () => {
  await space.create({ name: 'again' });
  const records = '/collections/again/records';
  expect((await space.send('POST', records, { id: 'old', partitionKey: 'p' })).status).toBe(201);
  const gone = await space.settled(await space.admit('DELETE', '/collections/again'));
  expect(gone.status).toBe('succeeded');
  expect(await space.send('GET', `${records}/p/old`)).toMatchObject({ status: 404 });
  expect(await space.send('POST', records, { id: 'late', partitionKey: 'p' })).toMatchObject({
    status: 404,
    code: 'collection_not_found',
  });
  await space.create({ name: 'again' });
  expect(await space.send('GET', `${records}/p/old`)).toMatchObject({ status: 404, code: 'not_found' });
  const { text } = await space.send('POST', '/collections/again/query', {});
  expect(JSON.parse(text)).toEqual({ items: [], continuationToken: null });
});

test('a batch keeps the items before the one that fails', async () => {
  await space.create({ name: 'batch' });
  const records = Array.from({ length: 20 }, (_, at) => ({
    id: at === 15 ? 'bad/id' : `r${at}`,
    partitionKey: 'p',
  }));
  await space.settled(await space.admit('POST', '/collections/batch/records/batch', { records }));
  const { text } = await space.send('POST', '/collections/batch/export', {});
  expect((JSON.parse(text) as { recordCount: number }).recordCount).toBe(15);
});

test.each(['1e39', '-3.4028235677973366e+38', '"3"'])(
  'an import with the vector number %s is refused before its admission',
  async (number) => {
    const bad = `{"id":"a","partitionKey":"p","vectors":{"v":{"values":[1,2,${number}]}}}`;
    const snapshot = `{"collection":"docs","policy":{"name":"docs"},"records":[${bad}]}`;
    for (const path of ['import', 'import/jobs']) {
      const answer = await space.send('POST', `/collections/docs/${path}`, `{"snapshot":${snapshot}}`);
      expect(answer).toMatchObject({ status: 400, code: 'validation_failed' });
    }
  },
);

test('an import whose content is not that of its hash changes nothing', async () => {
  const snapshot = {
    collection: 'drift',
    policy: { name: 'drift' },
    records: [{ id: 'a', partitionKey: 'p' }],
  };
  const body = { snapshot, expectedContentHash: `sha256:${'0'.repeat(64)}` };
  const path = '/collections/drift/import';
  expect(await space.send('POST', path, body)).toMatchObject({ status: 400, code: 'content_hash_mismatch' });
  expect(await space.send('GET', '/collections/drift')).toMatchObject({ status: 404 });
});
