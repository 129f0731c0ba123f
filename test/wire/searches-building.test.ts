import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { earlierRelease } from '../conformance/records-reindex.ts';
import { RecordSpace } from '../security/record-space.ts';
import { type RunningService, startService } from '../support/service.ts';

/** The answers after an upgrade, while the records of a collection have no search entries yet. */

const OLD = '/collections/old';
let service: RunningService;
let isEarlier = true;

beforeAll(async () => {
  service = await startService({
    groups: ['collections', 'records', 'execution'],
    watchStore: (store) => earlierRelease(store, () => isEarlier),
  });
  const space = new RecordSpace(service.call);
  const write = async (name: string) => {
    await space.create({ name, vectorPolicies: [{ name: 'v', path: '/vectors/v/values', dimensions: 2 }] });
    const record = {
      id: 'a',
      partitionKey: 'p',
      content: { text: 'word' },
      vectors: { v: { values: [1, 2] } },
    };
    expect(await space.send('POST', `/collections/${name}/records`, record)).toMatchObject({ status: 201 });
  };
  await write('old');
  isEarlier = false;
  await write('new');
});
afterAll(() => service.close());

const post = (path: string, body: object) => service.call({ method: 'POST', path, body });
const searches = [
  ['words', { lexical: { query: 'word' } }],
  ['a vector', { vector: { field: 'v', value: [1, 2] } }],
] as const;

describe.each(searches)('a search by %s', (_, search) => {
  test('of a collection of an earlier release is refused as a whole, and says when to ask again', async () => {
    const answer = await post(`${OLD}/search`, search);
    expect(answer.status).toBe(503);
    expect(answer.headers['retry-after']).toBe('10');
    expect(answer.headers['content-type']).toBe('application/problem+json');
    expect(answer.json()).toMatchObject({
      status: 503,
      code: 'search_index_building',
      detail: 'The records of the collection are being prepared for searches; nothing was searched.',
      retryable: true,
    });
  });

  test('of a collection of this release is answered', async () => {
    const answer = await post('/collections/new/search', search);
    expect(answer.status).toBe(200);
    expect(answer.json()).toMatchObject({ items: [{ record: { id: 'a' } }] });
  });
});

test('a search of an absent collection has its own refusal', async () => {
  expect((await post('/collections/absent/search', searches[0][1])).status).toBe(404);
});

test('no operation but a search waits', async () => {
  expect((await service.call({ method: 'GET', path: `${OLD}/records/p/a` })).status).toBe(200);
  expect((await post(`${OLD}/query`, {})).json()).toMatchObject({ items: [{ id: 'a' }] });
  // Without words and vector it is a query.
  expect((await post(`${OLD}/search`, {})).status).toBe(200);
  expect((await post(`${OLD}/records`, { id: 'b', partitionKey: 'p' })).status).toBe(201);
  expect((await post(`${OLD}/search`, searches[0][1])).status).toBe(503);
});
