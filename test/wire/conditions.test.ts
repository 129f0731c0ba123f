import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { operations } from '../../contracts/generated/operations.ts';
import type { OperationEntry } from '../../contracts/operation.ts';
import { type RunningService, startService } from '../support/service.ts';

/** Conditional requests (RFC 9110 section 13) to every operation of a resource that has an etag. */

let service: RunningService;
beforeAll(async () => {
  service = await startService();
  const made = await service.call({ method: 'POST', path: '/collections', body: { name: 'conditions' } });
  await service.ended({ method: 'GET', path: made.headers['location'] ?? '' });
});
afterAll(() => service.close());

type Fields = Readonly<Record<string, string>>;

interface Answered {
  readonly status: number;
  readonly text: string;
  readonly etag: string | undefined;
}

async function call(method: string, path: string, headers: Fields = {}, body?: unknown): Promise<Answered> {
  const answer = await service.call({ method, path, headers, ...(body === undefined ? {} : { body }) });
  return { status: answer.status, text: answer.body, etag: answer.headers['etag'] };
}

interface Resource {
  readonly path: string;
  readonly write: (content: string, headers?: Fields) => Promise<Answered>;
}

const record: Resource = {
  path: '/collections/conditions/records/p/a',
  write: (content, headers) =>
    call('POST', '/collections/conditions/records', headers, {
      id: 'a',
      partitionKey: 'p',
      metadata: { content },
    }),
};
const object: Resource = {
  path: '/objects/conditions/a',
  write: (content, headers) => call('PUT', '/objects/conditions/a', headers, Buffer.from(content)),
};

/** How each operation is called with conditions. */
const reads: Readonly<Record<string, Resource>> = { getRecord: record, getObject: object };
const writes: Readonly<Record<string, readonly [Resource, (headers: Fields) => Promise<Answered>]>> = {
  upsertRecord: [record, (headers) => record.write('written', headers)],
  deleteRecord: [record, (headers) => call('DELETE', record.path, headers)],
  putObject: [object, (headers) => object.write('written', headers)],
  deleteObject: [object, (headers) => call('DELETE', object.path, headers)],
};

const entries: readonly OperationEntry[] = Object.values(operations);
const pathOf = ({ routes: [route] }: OperationEntry) => JSON.stringify(route?.segments);
const answersTag = ({ responses }: OperationEntry) =>
  responses.some(({ headers }) => headers.includes('ETag'));

describe('the contract', () => {
  const tagged = new Set(entries.filter(answersTag).map(pathOf));
  const conditional = entries.filter((entry) => answersTag(entry) || tagged.has(pathOf(entry)));

  test('has these operations of resources with an etag, and no other', () => {
    const named = [...Object.keys(reads), ...Object.keys(writes)];
    expect(conditional.map(({ id }) => id).toSorted()).toEqual(named.toSorted());
  });

  test.each(conditional.map((entry) => [entry.id, entry] as const))(
    'gives %s its conditions',
    (id, entry) => {
      const fields = entry.routes.flatMap(({ headers }) => headers.map(({ name }) => name));
      expect(fields).toEqual(expect.arrayContaining(['If-Match', 'If-None-Match']));
      expect(entry.problems).toContain('precondition_failed');
      expect(entry.responses.some(({ status }) => status === 304)).toBe(Object.hasOwn(reads, id));
    },
  );
});

/** The tag of the version that is stored when a test begins, and one of an earlier version. */
async function versionsOf({ path, write }: Resource): Promise<{ current: string; earlier: string }> {
  await call('DELETE', path);
  const earlier = await tagOf(path, await write('earlier'));
  const current = await tagOf(path, await write('current'));
  expect(current).not.toBe(earlier);
  return { current, earlier };
}

async function tagOf(path: string, { status }: Answered): Promise<string> {
  expect(status).toBeLessThan(300);
  return (await call('GET', path)).etag ?? '';
}

const LONG_AGO = 'Thu, 01 Jan 1970 00:00:00 GMT';
const FAR_OFF = 'Fri, 31 Dec 9999 00:00:00 GMT';

describe.each(Object.entries(reads))('%s', (operation, resource) => {
  let [current, earlier] = ['', ''];
  beforeEach(async () => {
    ({ current, earlier } = await versionsOf(resource));
  });

  test.each<[number, (current: string, earlier: string) => Fields]>([
    [200, () => ({})],
    [200, (now) => ({ 'If-Match': now })],
    [200, (now) => ({ 'If-Match': now.slice(1, -1) })],
    [200, (now, before) => ({ 'If-Match': `${before}, ${now}` })],
    [200, () => ({ 'If-Match': '*' })],
    [412, (_now, before) => ({ 'If-Match': before })],
    [412, (now) => ({ 'If-Match': `W/${now}` })],
    [304, (now) => ({ 'If-None-Match': now })],
    [304, (now) => ({ 'If-None-Match': `W/${now}` })],
    [304, (now, before) => ({ 'If-None-Match': `${before}, ${now}` })],
    [304, () => ({ 'If-None-Match': '*' })],
    [200, (_now, before) => ({ 'If-None-Match': before })],
    [412, (now, before) => ({ 'If-Match': before, 'If-None-Match': now })],
    [304, (now) => ({ 'If-Match': now, 'If-None-Match': now })],
    [200, (now, before) => ({ 'If-Match': now, 'If-None-Match': before })],
    // A tag decides alone.
    [200, (now) => ({ 'If-Match': now, 'If-Unmodified-Since': LONG_AGO })],
    [200, (_now, before) => ({ 'If-None-Match': before, 'If-Modified-Since': FAR_OFF })],
    [200, () => ({ 'If-Unmodified-Since': FAR_OFF, 'If-Modified-Since': LONG_AGO })],
    [200, () => ({ 'If-Unmodified-Since': 'yesterday', 'If-Modified-Since': 'tomorrow' })],
  ])('answers %i (case %#)', async (status, fields) => {
    const answer = await call('GET', resource.path, fields(current, earlier));
    expect(answer.status).toBe(status);
    if (status === 200) expect(answer.text).toContain('current');
    if (status === 304) expect(answer).toEqual({ status, text: '', etag: current });
    if (status === 412) expect(answer.text).toContain('precondition failed');
  });

  // The answers of other reads have no Last-Modified.
  const hasDate = operation === 'getObject';
  test.each<[number, Fields]>([
    [412, { 'If-Unmodified-Since': LONG_AGO }],
    [304, { 'If-Modified-Since': FAR_OFF }],
  ])('answers %i by a date, where it has one', async (status, fields) => {
    const answer = await call('GET', resource.path, fields);
    expect(answer.status).toBe(hasDate ? status : 200);
  });

  test('of nothing is 404, as without a condition', async () => {
    await call('DELETE', resource.path);
    for (const name of ['If-Match', 'If-None-Match'])
      expect((await call('GET', resource.path, { [name]: '*' })).status).toBe(404);
  });
});

describe('a part of an object', () => {
  let [current, earlier] = ['', ''];
  beforeEach(async () => {
    ({ current, earlier } = await versionsOf(object));
  });
  const part = { Range: 'bytes=3-' };

  test.each<[number, string, (current: string, earlier: string) => Fields]>([
    [206, 'rent', () => part],
    [206, 'rent', (now) => ({ ...part, 'If-Match': now })],
    [412, 'precondition failed', (_now, before) => ({ ...part, 'If-Match': before })],
    [206, 'rent', (now) => ({ ...part, 'If-Range': now })],
    [200, 'current', (_now, before) => ({ ...part, 'If-Range': before })],
    [200, 'current', (now) => ({ ...part, 'If-Range': `W/${now}` })],
    [200, 'current', () => ({ ...part, 'If-Range': 'Fri, 31 Dec 9999 00:00:00 GMT' })],
    [304, '', (now) => ({ ...part, 'If-None-Match': now })],
    [416, 'behind the last byte', () => ({ Range: 'bytes=7-' })],
    // The conditions are judged before the range.
    [412, 'precondition failed', (_now, before) => ({ Range: 'bytes=7-', 'If-Match': before })],
    [304, '', (now) => ({ Range: 'bytes=7-', 'If-None-Match': now })],
    [200, 'current', (_now, before) => ({ Range: 'bytes=7-', 'If-Range': before })],
  ])('is answered %i: %s (case %#)', async (status, text, fields) => {
    const answer = await call('GET', object.path, fields(current, earlier));
    expect([answer.status, answer.text]).toEqual([status, expect.stringContaining(text)]);
    if (status === 206 || status === 304) expect(answer.text).toBe(text);
  });

  test('HEAD answers the same without bytes', async () => {
    for (const [fields, status] of [
      [{}, 200],
      [part, 200],
      [{ 'If-None-Match': current }, 304],
      [{ 'If-Match': earlier }, 412],
    ] as const)
      expect(await call('HEAD', object.path, fields)).toMatchObject({ status, text: '' });
  });
});

describe.each(Object.entries(writes))('%s', (_, [resource, send]) => {
  test.each<[(current: string, earlier: string) => Fields, boolean]>([
    [() => ({}), true],
    [(now) => ({ 'If-Match': now }), true],
    [(now, before) => ({ 'If-Match': `${before}, ${now}` }), true],
    [() => ({ 'If-Match': '*' }), true],
    [(_now, before) => ({ 'If-None-Match': before }), true],
    [(_now, before) => ({ 'If-Match': before }), false],
    [(now) => ({ 'If-Match': `W/${now}` }), false],
    [() => ({ 'If-None-Match': '*' }), false],
    [(now) => ({ 'If-None-Match': `W/${now}` }), false],
    [(now) => ({ 'If-Match': now, 'If-None-Match': '*' }), false],
  ])('does its work or changes nothing (case %#)', async (fields, isDone) => {
    const { current, earlier } = await versionsOf(resource);
    const answer = await send(fields(current, earlier));
    const after = await call('GET', resource.path);
    if (isDone) {
      expect(answer.status).toBeLessThan(300);
      expect(after.etag).not.toBe(current);
    } else {
      expect([answer.status, answer.text]).toEqual([412, expect.stringContaining('precondition failed')]);
      expect(after).toMatchObject({ etag: current, text: expect.stringContaining('current') });
    }
  });

  test('where there is nothing, needs no If-None-Match and fails with If-Match', async () => {
    await call('DELETE', resource.path);
    expect((await send({ 'If-Match': '*' })).status).toBe(412);
    expect((await call('GET', resource.path)).status).toBe(404);
    expect((await send({ 'If-None-Match': '*' })).status).toBeLessThan(300);
  });
});

test('the deletion of a record in no collection needs none, and fails with If-Match', async () => {
  const path = '/collections/none/records/p/a';
  expect((await call('DELETE', path)).status).toBe(204);
  expect((await call('DELETE', path, { 'If-Match': '*' })).status).toBe(412);
});
