import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningService, startService } from '../../../test/support/service.ts';
import { createRecordParts } from '../../collections/parts.ts';
import { createCollection } from '../../collections/pointers.ts';
import { readPolicy } from '../../collections/rules/policy.ts';
import { machine } from '../../compose/machine.ts';
import { DEFAULT_SPACE } from '../../identity/record-access.ts';
import type { RecordStore } from '../../store/port.ts';

let service: RunningService;
let store: RecordStore | undefined;

beforeAll(async () => {
  service = await startService({
    watchStore(opened) {
      store = opened;
      return opened;
    },
  });
  // Any call opens the store.
  expect((await service.call({ method: 'GET', path: '/collections' })).status).toBe(200);
  const limits = { readsPerCallMax: 1_000, pageRecordsMax: 100, answerBytesMax: 1_000_000 };
  const opened = (): Promise<RecordStore> =>
    store === undefined ? Promise.reject(new Error('no store')) : Promise.resolve(store);
  const vectorPolicies = [{ name: 'v', path: '/vectors/v/values', dimensions: 2 }];
  const policy = readPolicy({ name: 'notes', vectorPolicies, indexedMetadata: ['/metadata/year'] });
  await createCollection(createRecordParts({ store: opened, world: machine, limits }), DEFAULT_SPACE, policy);
});

afterAll(() => service.close());

const post = (path: string, text: string, headers: Readonly<Record<string, string>> = {}) =>
  service.call({ method: 'POST', path, body: Buffer.from(text), headers });
const write = (text: string, headers?: Readonly<Record<string, string>>) =>
  post('/collections/notes/records', text, headers);

describe('records over HTTP', () => {
  test('keep their text from the request to every answer', async () => {
    const members =
      '"9":1.0,"metadata":{"year":2026,"b":1e2,"1":[{"2":1,"1":2}]},"sources":[{"uri":"u","x":{"1":1,"0":2},"id":"s"}],"1":"\\u00e9"';
    const key = '"id":"a 1","partitionKey":"p/q"';
    const written = await write(`{${members},${key},"vectors":{"v":{"values":[0.1,16777217]}}}`);
    expect(written.status).toBe(201);
    expect(written.headers).toMatchObject({
      location: '/collections/notes/records/p%2Fq/a%201',
      etag: '"rev:1"',
    });
    const text = written.body;
    expect(text).toContain(`{${members},${key},"vectors":{"v":{"values":[0.1,16777216],`);
    const location = '/collections/notes/records/p%2Fq/a%201';
    const read = await service.call({ method: 'GET', path: location });
    expect(read.headers).toMatchObject({ etag: '"rev:1"' });
    expect(read.body).toBe(text);
    const filter = '{"filter":{"path":"/metadata/year","value":2026}}';
    const found = await post('/collections/notes/query', filter);
    expect(found.body).toBe(`{"items":[${text}],"continuationToken":null}`);
    const exported = await service.call({ method: 'GET', path: '/collections/notes/export' });
    expect(exported.body).toContain(`"records":[${text}],"query":null,"maxRecords":10000,"recordCount":1,`);
    const inspected = await service.call({ method: 'GET', path: '/collections/notes/inspect' });
    expect(inspected.body).toContain('"typeCounts":{"(none)":1}');
    expect((await service.call({ method: 'DELETE', path: location })).status).toBe(204);
    expect((await service.call({ method: 'DELETE', path: location })).status).toBe(204);
    expect((await service.call({ method: 'GET', path: location })).status).toBe(404);
  });

  test('are written under the conditions of the headers', async () => {
    const text = '{"id":"c","partitionKey":"p"}';
    expect((await write(text, { 'If-None-Match': '*' })).status).toBe(201);
    const refused = await write(text, { 'If-None-Match': '*' });
    expect(refused.status).toBe(412);
    expect(refused.body).toContain('precondition failed');
    expect((await write(text, { 'If-Match': '"rev:1"' })).headers).toMatchObject({ etag: '"rev:2"' });
    expect((await write(text, { 'If-Match': '"rev:1"' })).status).toBe(412);
  });

  test.each([
    ['a control character', 'a\u0085b'],
    ['4,097 characters', 'a'.repeat(4_097)],
    ['nothing', ''],
  ])('are not written under a condition of %s', async (_, condition) => {
    const text = '{"id":"d","partitionKey":"p"}';
    for (const name of ['If-Match', 'If-None-Match']) {
      const refused = await write(text, { [name]: condition });
      expect([refused.status, refused.body]).toEqual([400, expect.stringContaining(`"pointer":"/${name}"`)]);
    }
    const place = { method: 'GET', path: '/collections/notes/records/p/d' };
    expect((await service.call(place)).status).toBe(404);
  });

  test.each(['語', '😀', 'é', '"', 'k'])(
    'with the longest keys of %s are written, read and deleted by path',
    async (character) => {
      const keyOf = (bytes: number) => character.repeat(Math.floor(bytes / Buffer.byteLength(character)));
      const [id, partitionKey] = [keyOf(1_023), keyOf(2_048)];
      const written = await write(JSON.stringify({ id, partitionKey }));
      expect(written.status).toBe(201);
      const path = written.headers['location'] ?? '';
      expect(path).toBe(
        `/collections/notes/records/${encodeURIComponent(partitionKey)}/${encodeURIComponent(id)}`,
      );
      const scoped = `${path}?productId=${'p'.repeat(200)}&tenantId=${'t'.repeat(200)}`;
      expect((await service.call({ method: 'GET', path })).body).toBe(written.body);
      expect((await service.call({ method: 'GET', path: scoped })).status).not.toBe(431);
      expect((await service.call({ method: 'DELETE', path })).status).toBe(204);
      expect((await service.call({ method: 'GET', path })).status).toBe(404);
    },
  );

  test.each([
    ['a number beyond a double', '{"id":"1","partitionKey":"p","n":1e400}'],
    ['U+0000 in a key', '{"id":"1\\u0000","partitionKey":"p"}'],
    ['a lone surrogate', '{"id":"1","partitionKey":"p","t":"\\ud800"}'],
    ['a member twice', '{"id":"1","partitionKey":"p","a":1,"a":2}'],
    ['a name of the engine', '{"id":"1","partitionKey":"p","__proto__":{}}'],
    ['a blank key', '{"id":" ","partitionKey":"p"}'],
    ['a partition of 2,049 bytes', `{"id":"1","partitionKey":"${'é'.repeat(1_024)}x"}`],
    ['a vector without a policy', '{"id":"1","partitionKey":"p","vectors":{"w":{"values":[1]}}}'],
    ['a vector of other dimensions', '{"id":"1","partitionKey":"p","vectors":{"v":{"values":[1]}}}'],
    ['a vector beyond float32', '{"id":"1","partitionKey":"p","vectors":{"v":{"values":[1e39,1]}}}'],
    ['more than 900,000 bytes', `{"id":"1","partitionKey":"p","t":"${'x'.repeat(900_000)}"}`],
  ])('refuse %s', async (_, text) => {
    expect((await write(text)).status).toBe(400);
  });

  test.each([
    ['a pointer with other characters', '{"filter":{"path":"/a b","value":1}}'],
    ['another word for a group', '{"filter":{"combine":"or","children":[{"path":"/a"},{"path":"/b"}]}}'],
    ['an object as operand', '{"filter":{"path":"/a","value":{}}}'],
    ['a limit of 0', '{"limit":0}'],
    ['a token of -1', '{"continuationToken":"LTE="}'],
    ['nine terms of an order', `{"orderBy":[${Array(9).fill('{"path":"/a"}').join(',')}]}`],
  ])('refuse a query with %s', async (_, text) => {
    expect((await post('/collections/notes/query', text)).status).toBe(400);
  });

  test('of a collection that does not exist answer 404 in the words of the contract', async () => {
    for (const path of ['/collections/none/query', '/collections/none/records']) {
      const answer = await post(path, path.endsWith('query') ? '{}' : '{"id":"1","partitionKey":"p"}');
      expect(answer.status).toBe(404);
      expect(answer.body).toContain("Collection 'none' does not exist.");
    }
  });
});
