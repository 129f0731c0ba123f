import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { write } from '../../../contracts/generate/disk.ts';
import { fixtureSource } from '../../../contracts/generate/fixture.ts';
import { sdkOutputs } from '../../../contracts/generate/sdk/outputs.ts';
import type { WireCase } from '../../../contracts/generate/sdk/wire.ts';
import { readSource } from '../../../contracts/generate/source.ts';
import type { ClientOptions } from '../src/index.ts';
import { foreign, hangUp, json, ManualTime, Stage } from './stage.ts';
import { call, observed } from './wire.ts';

/** A client of another contract from the same generator and runtime: forms, bytes, parameters, a key in a header. */
interface FixtureClient {
  listParcels(depotId: string, parameters: object, options?: object): Promise<unknown>;
  ingestParcel(
    request: object,
    options?: object,
  ): Promise<unknown> & {
    withResponse(): Promise<{ data: unknown; response: { status: number; headers: Headers } }>;
  };
  putBytes(request: unknown, options?: object): Promise<ReadableStream<Uint8Array>>;
}

const folder = mkdtempSync(join(tmpdir(), 'sdk-fixture-'));
const at = (path: string) => join(folder, 'sdk/typescript', path);
let SvcClient: new (options: ClientOptions) => FixtureClient;
let cases: readonly WireCase[];

beforeAll(async () => {
  const runtime = join(import.meta.dirname, '../src');
  cpSync(runtime, at('src'), {
    recursive: true,
    filter: (path) => !path.startsWith(join(runtime, 'generated')),
  });
  write(folder, sdkOutputs(fixtureSource(readSource(process.cwd()).catalogSchema)));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  ({ SvcClient } = (await import(pathToFileURL(at('src/index.ts')).href)) as { SvcClient: typeof SvcClient });
  cases = (JSON.parse(readFileSync(join(folder, 'sdk/wire/requests.json'), 'utf8')) as { cases: WireCase[] })
    .cases;
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const client = (stage: Stage, options: ClientOptions = {}) =>
  new SvcClient({ baseUrl: stage.address, apiKey: null, token: null, ...options });
const bytes = (...chunks: readonly string[]) => chunks.map((chunk) => new TextEncoder().encode(chunk));
const manifest = { id: 'a' };

test('makes the request of every operation', async () => {
  expect(new Set(cases.map(({ operation }) => operation))).toEqual(
    new Set(['listParcels', 'findParcel', 'ingestParcel', 'putBytes']),
  );
  for (const each of cases) {
    await using stage = await Stage.open(json({ kind: 'box' }));
    await call(client(stage), each);
    expect(stage.seen.map(observed), `${each.operation} ${each.case}`).toEqual([each.expect]);
  }
});

describe('a form', () => {
  test('is sent as it is read, without being gathered', async () => {
    const { promise: firstArrived, resolve } = Promise.withResolvers<void>();
    await using stage = await Stage.open(json({ kind: 'box', width: 1 }, 202, { location: '/parcels/1' }));
    // The second chunk exists only after the server has the first: a client that buffers the body would hang.
    async function* content() {
      yield* bytes('first');
      await firstArrived;
      yield* bytes('second');
    }
    stage.onData((text) => text.includes('first') && resolve());
    const request = { manifest, artifact: { content: content(), filename: 'p.bin', contentType: 'x/y' } };
    const { data, response } = await client(stage).ingestParcel(request).withResponse();
    expect(data).toEqual({ kind: 'box', width: 1 });
    expect([response.status, response.headers.get('location')]).toEqual([202, '/parcels/1']);
    const [seen] = stage.seen.map(observed);
    const base64 = Buffer.from('firstsecond').toString('base64');
    expect(seen?.body).toEqual({
      parts: [
        { name: 'manifest', filename: null, contentType: 'application/json', body: { json: '{"id":"a"}' } },
        { name: 'artifact', filename: 'p.bin', contentType: 'x/y', body: { base64 } },
      ],
    });
    expect(stage.seen[0]?.headers).toMatchObject({ 'transfer-encoding': 'chunked' });
  });

  test.each([
    ['bytes', () => bytes('content')[0]],
    ['a Buffer', () => Buffer.from('content')],
    ['an ArrayBuffer', () => bytes('content')[0]?.buffer],
    ['a Blob', () => new Blob(['con', 'tent'])],
    ['a stream', () => new Blob(['content']).stream()],
    [
      'a generator',
      () =>
        (async function* () {
          yield* bytes('con', 'tent');
        })(),
    ],
  ])('takes %s', async (_, content) => {
    await using stage = await Stage.open((response) => response.writeHead(204).end());
    expect(await client(stage).ingestParcel({ manifest, artifact: { content: content() } })).toBeNull();
    const [seen] = stage.seen.map(observed);
    const body = seen?.body;
    expect(body !== null && body !== undefined && 'parts' in body && body.parts[1]?.body).toEqual({
      base64: Buffer.from('content').toString('base64'),
    });
    await client(stage).putBytes(content());
    expect(stage.seen[1]?.body.toString()).toBe('content');
  });

  test('escapes names, so that a name cannot end its part', async () => {
    await using stage = await Stage.open((response) => response.writeHead(204).end());
    const artifact = { content: new Blob([]), filename: 'a"\r\nX: y', contentType: 'x/y\r\nX: y' };
    await client(stage).ingestParcel({ manifest, artifact });
    const text = stage.seen[0]?.body.toString() ?? '';
    expect(text).toContain('filename="a%22%0D%0AX: y"\r\nContent-Type: x/yX: y\r\n\r\n');
  });

  test('is retried with a key, if its content can be read again', async () => {
    for (const [options, content, times] of [
      [{ idempotencyKey: 'k' }, () => new Blob(['x']), 2],
      [{ headers: { 'idempotency-key': 'k' } }, () => new Blob(['x']), 2],
      [{ idempotencyKey: '' }, () => new Blob(['x']), 1],
      [{}, () => new Blob(['x']), 1],
      [{ idempotencyKey: 'k' }, () => new Blob(['x']).stream(), 1],
    ] as const) {
      await using stage = await Stage.open(hangUp, json({ kind: 'box' }, 202));
      const world = new ManualTime();
      const made = client(stage, { world }).ingestParcel(
        { manifest, artifact: { content: content() } },
        options,
      );
      if (times === 2) {
        await world.pass(500);
        await made;
        expect(stage.seen[1]).toEqual(stage.seen[0]);
        expect(stage.seen[0]?.headers['idempotency-key']).toBe('k');
      } else await expect(made).rejects.toThrow('the connection failed');
      expect(stage.seen).toHaveLength(times);
    }
  });

  test('whose stream fails is not sent, and its call rejects', async () => {
    await using stage = await Stage.open(json({}));
    async function* content() {
      yield* bytes('first');
      throw new Error('the disk is gone');
    }
    await expect(
      client(stage).ingestParcel({ manifest, artifact: { content: content() } }),
    ).rejects.toThrow();
    expect(stage.seen).toEqual([]);
  });
});

describe('answers', () => {
  test('of a status of failure that the contract describes are returned', async () => {
    await using stage = await Stage.open(json({ kind: 'box', width: 3 }, 503), foreign(500));
    const artifact = { content: new Blob([]) };
    expect(await client(stage).ingestParcel({ manifest, artifact })).toEqual({ kind: 'box', width: 3 });
    await expect(client(stage).ingestParcel({ manifest, artifact })).rejects.toThrow('500');
  });

  test('of bytes are a stream that the time of the call does not cut off', async () => {
    const { promise: more, resolve } = Promise.withResolvers<void>();
    await using stage = await Stage.open((response) => {
      response.writeHead(200, { 'content-type': 'application/octet-stream' });
      response.write('first');
      void more.then(() => response.end('second'));
    });
    const world = new ManualTime();
    const stream = await client(stage, { world }).putBytes(new Blob(['x']));
    expect(world.pending).toEqual([]);
    resolve();
    expect(await new Response(stream).text()).toBe('firstsecond');
  });
});

test('a missing required parameter is refused', async () => {
  await using stage = await Stage.open(json({ kind: 'box' }));
  await client(stage).listParcels('d', {
    after: '2026-01-01T00:00:00Z',
    tag: { 'a b': '1', c: undefined },
    limit: null,
  });
  expect(stage.seen[0]?.target).toBe('/depots/d/parcels?after=2026-01-01T00%3A00%3A00Z&tag.a%20b=1');
});
