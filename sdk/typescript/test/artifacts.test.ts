import { mkdtempSync, openAsBlob, rmSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ServerProcess, startServer } from '../../../test/support/server-process.ts';
import {
  type ArtifactRecordIngestForm,
  type BinaryContent,
  ConflictError,
  NotModifiedError,
  PreconditionFailedError,
  SvcClient,
} from '../src/index.ts';
import { json, Stage } from './stage.ts';
import { observed } from './wire.ts';

/** Files that arrive with their record: as the client sends them, and against the real service. */

const folder = mkdtempSync(join(tmpdir(), 'sdk-artifacts-'));
const file = join(folder, 'scan.bin');
const bytes = Buffer.alloc(300_000, 'abcdefghij');
beforeAll(() => writeFileSync(file, bytes));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function formOf(id: string, content: BinaryContent): ArtifactRecordIngestForm {
  const artifact = { container: 'papers', key: `${id}/scan.bin`, metadata: { author: 'ada' } };
  const manifest = { collection: 'papers', record: { id, partitionKey: '2026' }, artifact };
  return { manifest, artifact: { content, filename: 'scan "1".bin', contentType: 'application/x-scan' } };
}

async function* failing(error: Error): AsyncGenerator<Uint8Array> {
  yield Buffer.from('first');
  throw error;
}

const client = (baseUrl: string) => new SvcClient({ baseUrl, apiKey: null, token: null });

describe('an artifact', () => {
  const [first, second] = [Buffer.from('first'), Buffer.from('second')];
  const streams: readonly (readonly [string, (awaited: Promise<void>) => BinaryContent])[] = [
    [
      'an async iterator',
      async function* (awaited) {
        yield first;
        await awaited;
        yield second;
      },
    ],
    [
      'a web stream',
      (awaited) =>
        new ReadableStream({
          async start(controller) {
            controller.enqueue(first);
            await awaited;
            controller.enqueue(second);
            controller.close();
          },
        }),
    ],
  ];

  test.each<[string, (error: Error) => BinaryContent]>([
    ['a generator', (error) => failing(error)],
    ['a web stream', (error) => ReadableStream.from(failing(error))],
    ['a stream of Node', (error) => Readable.from(failing(error))],
  ])('that fails as %s ends the call with its own error', async (_, contentOf) => {
    // A server that reads on, and answers nothing before it has all.
    await using stage = await Stage.open(json({ id: 'run-1' }, 202, {}));
    const error = new Error('the disk is gone');
    const form = formOf('a', contentOf(error));
    const call = client(stage.address).ingestRecordArtifact(form, {}, { idempotencyKey: 'key-1' });
    await expect(call).rejects.toBe(error);
  });

  test.each(streams)('goes out while %s is read', async (_, contentAfter) => {
    const { promise: firstArrived, resolve } = Promise.withResolvers<void>();
    await using stage = await Stage.open(json({ id: 'run-1' }, 202, { location: '/execution/runs/run-1' }));
    // The second half exists only after the server has the first: a client that gathers the body would hang.
    stage.onData((text) => text.includes('first') && resolve());
    const form = formOf('a', contentAfter(firstArrived));
    await client(stage.address).ingestRecordArtifact(form, {}, { idempotencyKey: 'key-1' });
    const [seen] = stage.seen;
    expect(seen?.headers['idempotency-key']).toBe('key-1');
    expect(seen && observed(seen).body).toMatchObject({
      parts: [
        { name: 'manifest', contentType: 'application/json' },
        {
          name: 'artifact',
          filename: 'scan "1".bin',
          contentType: 'application/x-scan',
          body: { base64: Buffer.from('firstsecond').toString('base64') },
        },
      ],
    });
  });
});

describe('against the service', () => {
  let server: ServerProcess;
  beforeAll(async () => {
    server = await startServer({ SVC_DATA_DIR: join(folder, 'data') });
    const made = await client(server.address).createCollection({ name: 'papers' });
    await client(server.address).waitForExecutionRun(made.id);
  });
  afterAll(() => server.stop());

  async function* chunks() {
    for (let at = 0; at < bytes.length; at += 65_536) yield bytes.subarray(at, at + 65_536);
  }
  const contents: readonly (readonly [string, () => Promise<BinaryContent>])[] = [
    ['bytes', () => Promise.resolve(bytes)],
    ['a Blob of a file', () => openAsBlob(file)],
    ['a web stream', async () => (await openAsBlob(file)).stream()],
    ['an async iterator', () => Promise.resolve(chunks())],
    ['the stream of a file handle', async () => (await open(file)).readableWebStream() as BinaryContent],
  ];

  test.each(contents)('%s is ingested with its record', async (name, content) => {
    const svc = client(server.address);
    const id = name.replaceAll(' ', '-');
    const key = { idempotencyKey: `ingest-${id}` };
    const run = await svc.ingestRecordArtifact(formOf(id, await content()), {}, key);
    expect(run.admission).toMatchObject({ operationId: 'ingestRecordArtifact', replayed: false });
    const ended = await svc.waitForExecutionRun(run.id);
    expect(ended.result).toMatchObject({ accepted: true, recordId: id });
    const object = await svc.getObject('papers', `${id}/scan.bin`);
    expect(Buffer.from(await new Response(object).arrayBuffer()).equals(bytes)).toBe(true);
    const part = await svc.getObject('papers', `${id}/scan.bin`, { range: 'bytes=1-3' });
    expect(Buffer.from(await new Response(part).arrayBuffer()).equals(bytes.subarray(1, 4))).toBe(true);
    const record = await svc.getRecord('papers', '2026', id);
    expect(record).toMatchObject({ id });
    await expect(svc.getRecord('papers', '2026', id, { ifNoneMatch: record?.etag })).rejects.toBeInstanceOf(
      NotModifiedError,
    );
    await expect(svc.deleteRecord('papers', '2026', id, { ifMatch: 'rev:0' })).rejects.toBeInstanceOf(
      PreconditionFailedError,
    );
    const again = await svc.ingestRecordArtifact(formOf(id, await content()), {}, key);
    expect([again.id, again.admission.replayed]).toEqual([run.id, true]);
    await expect(svc.ingestRecordArtifact(formOf(id, halfOf(bytes)), {}, key)).rejects.toBeInstanceOf(
      ConflictError,
    );
  });

  test('a consumer goes from a collection to an event of a run', async () => {
    const svc = client(server.address);
    const made = await svc.createCollection({ name: 'consumer' }, {}, { idempotencyKey: 'consumer-1' });
    expect((await svc.waitForExecutionRun(made.id)).status).toBe('succeeded');
    const record = { id: 'r-1', partitionKey: '2026', content: { text: 'Hello' } };
    expect(await svc.upsertRecord('consumer', record)).toMatchObject({ ...record, revision: 1 });
    const info = await svc.putObject('consumer', 'notes/1.txt', Buffer.from('Hello'), {
      contentType: 'text/plain',
    });
    const manifest = {
      collection: 'consumer',
      record: { id: 'r-2', partitionKey: '2026' },
      artifact: { container: 'consumer', key: 'notes/2.txt' },
    };
    const artifact = { content: Buffer.from('Hello'), filename: '2.txt', contentType: 'text/plain' };
    const run = await svc.ingestRecordArtifact({ manifest, artifact }, {}, { idempotencyKey: 'ingest-1' });
    const ended = await svc.waitForExecutionRun(run.id);
    expect(ended.result).toMatchObject({
      artifact: { etag: info.etag },
      recordUri: '/collections/consumer/records/2026/r-2',
    });
    const { items } = await svc.listObjects('consumer');
    expect(items.map(({ key }) => key)).toEqual(['notes/1.txt', 'notes/2.txt']);
    const event = { name: 'approval', payload: { by: 'kim' } };
    expect(await svc.raiseExecutionEvent(run.id, event)).toMatchObject({ runId: run.id, ...event });
  });
});

function halfOf(whole: Uint8Array): Uint8Array {
  return whole.subarray(0, whole.length / 2);
}
