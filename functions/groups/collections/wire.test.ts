import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningService, startService } from '../../../test/support/service.ts';

/** Collections and records over HTTP. Every answer is checked against its model. */

let service: RunningService;
beforeAll(async () => {
  service = await startService({ settings: { 'Records:ImportPayloadBytesMax': '65536' } });
});
afterAll(() => service.close());

interface Seen {
  readonly status: number;
  readonly text: string;
  readonly header: (name: string) => string | undefined;
  readonly body: Record<string, unknown>;
}

async function call(
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Seen> {
  const answer = await service.call({ method, path, body, headers });
  const fields = new Headers(answer.headers);
  return {
    status: answer.status,
    text: answer.body,
    header: (name) => fields.get(name) ?? undefined,
    body: answer.body === '' ? {} : answer.json(),
  };
}

/** The state at the `Location` of an accepted call, once it has ended. */
async function ended(accepted: Seen): Promise<Record<string, unknown>> {
  expect(accepted.status, accepted.text).toBe(202);
  return (await service.ended({ method: 'GET', path: accepted.header('Location') ?? '' })).json();
}

async function created(name: string, policy: object = {}): Promise<void> {
  const run = await ended(await call('POST', '/collections', { name, ...policy }));
  expect(run['status']).toBe('succeeded');
}

const codeOf = ({ status, body }: Seen) => [status, body['code']];

describe('createCollection, deleteCollection, getCollection and listCollections', () => {
  test('a run creates and deletes, and is answered again for the same key', async () => {
    const key = { 'Idempotency-Key': 'made-1' };
    const policy = { name: 'made', indexedMetadata: ['/metadata/n'] };
    const first = await call('POST', '/collections', policy, key);
    const run = await ended(first);
    expect(run['result']).toMatchObject(policy);
    const again = await call('POST', '/collections', policy, key);
    expect([again.body['id'], again.header('Idempotency-Replayed')]).toEqual([run['id'], 'true']);
    expect(codeOf(await call('POST', '/collections', { name: 'made' }, key))).toEqual([
      409,
      'idempotency_conflict',
    ]);
    expect((await call('GET', '/collections/made')).body).toMatchObject(policy);
    expect((await call('GET', '/collections')).text).toContain('"made"');
    expect((await ended(await call('DELETE', '/collections/made')))['status']).toBe('succeeded');
    expect(codeOf(await call('GET', '/collections/made'))).toEqual([404, 'collection_not_found']);
    expect((await ended(await call('DELETE', '/collections/made')))['status']).toBe('succeeded');
  });

  test('a repeated key is answered as the first time after a deletion, and creates nothing; another one creates', async () => {
    const key = { 'Idempotency-Key': 'again-1' };
    const policy = { name: 'again' };
    const run = await ended(await call('POST', '/collections', policy, key));
    await ended(await call('DELETE', '/collections/again'));
    const replayed = await call('POST', '/collections', policy, key);
    expect([replayed.header('Idempotency-Replayed'), (await ended(replayed))['id']]).toEqual([
      'true',
      run['id'],
    ]);
    expect(codeOf(await call('GET', '/collections/again'))).toEqual([404, 'collection_not_found']);
    await ended(await call('POST', '/collections', policy, { 'Idempotency-Key': 'again-2' }));
    expect((await call('GET', '/collections/again')).status).toBe(200);
  });

  test('one of product and tenant alone is refused, and so is another member', async () => {
    expect((await call('POST', '/collections?productId=p', { name: 'x' })).status).toBe(400);
    expect(codeOf(await call('POST', '/collections', { name: 'x', colour: 1 }))).toEqual([
      400,
      'validation_failed',
    ]);
    expect(codeOf(await call('DELETE', '/collections/-x'))).toEqual([400, 'validation_failed']);
  });
});

describe('upsertRecord, getRecord and deleteRecord', () => {
  test('the text of a record comes back in its order and spelling', async () => {
    await created('texts');
    const sent =
      '{"b":{"2":1.50,"1":[1e2,-0]},"id":"a","partitionKey":"x/y %","1":true,"metadata":{"z":"\\u0061"}}';
    const stored = await service.call({
      method: 'POST',
      path: '/collections/texts/records',
      headers: { 'Content-Type': 'application/json' },
      body: Buffer.from(sent),
    });
    expect(stored.status).toBe(201);
    const place = stored.headers['location'] ?? '';
    expect(place).toBe('/collections/texts/records/x%2Fy%20%25/a');
    const { text, status } = await call('GET', place);
    expect(status).toBe(200);
    expect(text).toContain('{"2":1.50,"1":[1e2,-0]}');
    expect(text.indexOf('"b"')).toBeLessThan(text.indexOf('"1":true'));
    expect((await call('DELETE', place)).status).toBe(204);
    expect((await call('DELETE', place)).status).toBe(204);
    expect(codeOf(await call('GET', place))).toEqual([404, 'not_found']);
  });

  test('members of a source that are null come back as they were written', async () => {
    await created('sources');
    const sources = [
      { id: null, kind: null, uri: null, label: null, span: null },
      { id: 'book-1', page: null },
    ];
    const record = { id: 'a', partitionKey: 'p', sources };
    const stored = await call('POST', '/collections/sources/records', record);
    expect([stored.status, stored.body['sources']]).toEqual([201, sources]);
    expect((await call('GET', '/collections/sources/records/p/a')).body['sources']).toEqual(sources);
    const found = await call('POST', '/collections/sources/query', {});
    expect([found.status, found.body['items']]).toMatchObject([200, [{ sources }]]);
    const kept = await call('POST', '/collections/sources/export', {});
    expect(kept.status).toBe(200);
    expect(kept.text).toContain(JSON.stringify(sources));
  });

  test('a header makes the write conditional', async () => {
    await created('conditions');
    const record = { id: 'a', partitionKey: 'p' };
    const put = (headers: Record<string, string>) =>
      call('POST', '/collections/conditions/records', record, headers);
    expect(codeOf(await put({ 'If-Match': '*' }))).toEqual([412, 'precondition_failed']);
    expect((await put({ 'If-None-Match': '*' })).status).toBe(201);
    expect(codeOf(await put({ 'If-None-Match': '*' }))).toEqual([412, 'precondition_failed']);
    expect((await put({ 'If-Match': '"rev:1"' })).body['revision']).toBe(2);
  });

  test('a long partition key is addressed, and an absent collection is named', async () => {
    await created('long');
    const partitionKey = 'é'.repeat(1_000);
    await call('POST', '/collections/long/records', { id: 'a', partitionKey });
    const place = `/collections/long/records/${encodeURIComponent(partitionKey)}/a`;
    expect((await call('GET', place)).body['partitionKey']).toBe(partitionKey);
    const absent = await call('POST', '/collections/absent/records', { id: 'a', partitionKey: 'p' });
    expect(absent.body['detail']).toBe("Collection 'absent' does not exist.");
  });
});

describe('upsertRecords, startRecordBatchUpsertJob, importCollection and startCollectionImportJob', () => {
  const record = { id: 'a', partitionKey: 'p' };

  test.each(['batch', 'batch/jobs'])('%s is a job that names its failed records', async (path) => {
    const name = `batch-${path.length}`;
    await created(name);
    const records = [record, { id: 'a/b', partitionKey: 'p' }, { id: 'c', partitionKey: 'p' }];
    const job = await ended(await call('POST', `/collections/${name}/records/${path}`, { records }));
    expect(job).toMatchObject({
      kind: 'batch_upsert',
      status: 'succeeded',
      attempted: 2,
      succeeded: 1,
      failed: 1,
      stoppedOnError: true,
    });
  });

  test.each(['import', 'import/jobs'])('%s is a job over an export', async (path) => {
    const name = `import-${path.length}`;
    const snapshot = { collection: name, policy: { name }, records: [record], recordCount: 1 };
    const job = await ended(await call('POST', `/collections/${name}/${path}`, { snapshot }));
    expect(job).toMatchObject({
      kind: 'collection_import',
      status: 'succeeded',
      importResult: { policyStatus: 'created' },
    });
  });

  test('a body beyond the setting is refused', async () => {
    await created('bounded');
    const records = [{ ...record, content: { text: 'x'.repeat(70_000) } }];
    const refused = await call('POST', '/collections/bounded/records/batch', { records });
    expect(codeOf(refused)).toEqual([413, 'payload_too_large']);
  });
});

describe('listRecordImportJobs, getRecordImportJob and cancelRecordImportJob', () => {
  test('lists go on at their Link, and an ended job stays', async () => {
    await created('jobs');
    const records = [{ id: 'a', partitionKey: 'p' }];
    const ids: unknown[] = [];
    for (let count = 0; count < 3; count += 1) {
      const job = await ended(await call('POST', '/collections/jobs/records/batch', { records }));
      ids.unshift(job['id']);
    }
    const first = await call('GET', '/record-import/jobs?limit=2');
    const next = /^<([^>]+)>; rel="next"$/.exec(first.header('Link') ?? '')?.[1];
    expect(next).toBeDefined();
    const second = await call('GET', next ?? '');
    const listed = [first, second].flatMap(
      ({ body }) => body as unknown as { id: string; batchResult: unknown }[],
    );
    expect(listed.slice(0, 3).map(({ id }) => id)).toEqual(ids);
    expect(listed[0]?.batchResult).toBeNull();
    const cancelled = await call('DELETE', `/record-import/jobs/${String(ids[0])}`);
    expect([cancelled.status, cancelled.body['status']]).toEqual([200, 'succeeded']);
    expect(codeOf(await call('GET', '/record-import/jobs/absent'))).toEqual([404, 'not_found']);
    expect((await call('GET', '/record-import/jobs?limit=201')).status).toBe(400);
  });
});

describe('queryRecords, exportCollection, exportCollectionBounded and inspectCollection', () => {
  test('they answer for the records of the collection, and 404 for none', async () => {
    await created('read');
    for (const id of ['b', 'a', 'c'])
      await call('POST', '/collections/read/records', { id, partitionKey: 'p' });
    const page = await call('POST', '/collections/read/query', { limit: 2 });
    expect((page.body['items'] as { id: string }[]).map(({ id }) => id)).toEqual(['a', 'b']);
    expect(page.body['continuationToken']).toBe(Buffer.from('2').toString('base64'));
    expect((await call('GET', '/collections/read/export')).body['recordCount']).toBe(3);
    const cut = { maxRecords: 1, failOnLimitExceeded: false };
    expect((await call('POST', '/collections/read/export', cut)).body['truncated']).toBe(true);
    expect((await call('POST', '/collections/read/export', { maxRecords: 1 })).status).toBe(400);
    expect((await call('GET', '/collections/read/inspect')).body['recordCount']).toBe(3);
    for (const path of ['query', 'export'])
      expect(codeOf(await call('POST', `/collections/absent/${path}`, {}))).toEqual([
        404,
        'collection_not_found',
      ]);
    expect(codeOf(await call('GET', '/collections/absent/inspect'))).toEqual([404, 'collection_not_found']);
  });
});

describe('searchRecords', () => {
  test('without vector and lexical it is a query with scores of 1', async () => {
    await created('unranked');
    for (const id of ['b', 'a', 'c'])
      await call('POST', '/collections/unranked/records', { id, partitionKey: 'p' });
    const asked = {
      filter: { path: '/id', op: 'neq', value: 'b' },
      orderBy: [{ path: '/id', direction: 'desc' }],
    };
    const queried = await call('POST', '/collections/unranked/query', asked);
    const found = await call('POST', '/collections/unranked/search', asked);
    const items = queried.body['items'] as object[];
    expect(items).toHaveLength(2);
    expect(found.body).toEqual({
      items: items.map((record) => ({ record, score: 1, diagnostics: null })),
      continuationToken: null,
    });
    const page = await call('POST', '/collections/unranked/search', { limit: 2 });
    expect(page.body['continuationToken']).toBe(Buffer.from('2').toString('base64'));
  });

  test.each([
    ['a query', 'query', '', (search: object) => search],
    ['an export', 'export', '/query', (query: object) => ({ query })],
  ])('%s ranks nothing, and refuses to', async (name, path, pointer, bodyOf) => {
    const collection = name.replace(' ', '-');
    await created(collection);
    for (const search of [{ lexical: { query: 'a' } }, { vector: { field: 'v', value: [1] } }]) {
      const refused = await call('POST', `/collections/${collection}/${path}`, bodyOf(search));
      expect(codeOf(refused)).toEqual([400, 'validation_failed']);
      expect(refused.body['errors']).toMatchObject([{ pointer: `${pointer}/${Object.keys(search)[0]}` }]);
    }
    const nulls = bodyOf({ lexical: null, vector: null });
    expect((await call('POST', `/collections/${collection}/${path}`, nulls)).status).toBe(200);
  });
});
