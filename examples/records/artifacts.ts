import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ArtifactRecordIngestManifest, SvcClient } from '../../sdk/typescript/src/index.ts';
import { done } from './jobs.ts';

const folder = join(import.meta.dirname, 'files');
export const CONTAINER = 'library-files';
export const FILES_PARTITION = 'files';

interface SourceFile {
  readonly name: string;
  readonly contentType: string;
  readonly title: string;
  /** The words by which a search finds the file: a picture has none of its own. */
  readonly text: string;
}

export const files: readonly SourceFile[] = [
  {
    name: 'leases.md',
    contentType: 'text/markdown; charset=utf-8',
    title: 'How long workers hold their runs',
    text: 'A worker holds a run by a lease, renews it with heartbeats, and releases it with a result.',
  },
  {
    name: 'leases.png',
    contentType: 'image/png',
    title: 'Chart of lease times',
    text: 'A bar chart: how many runs were held for ten, twenty, thirty, forty and fifty seconds.',
  },
];

/** Sends each file with its record as one form, and reads both back. */
export async function ingestFiles(client: SvcClient, collection: string): Promise<void> {
  for (const file of files) {
    const bytes = await readFile(join(folder, file.name));
    await ingest(client, manifestOf(collection, file), file, bytes);
    await readBack(client, collection, file, bytes);
  }
  const { items } = await client.listObjects(CONTAINER);
  if (items.length !== files.length) throw new Error(`the container has ${items.length} objects`);
  console.log(`Ingested ${files.map(({ name }) => name).join(' and ')} as artifacts, and read them back.`);
}

/** Objects belong to no collection: they stay when it is deleted. */
export async function deleteFiles(client: SvcClient): Promise<void> {
  for (const { name } of files) await client.deleteObject(CONTAINER, name);
}

function manifestOf(
  collection: string,
  { name, contentType, title, text }: SourceFile,
): ArtifactRecordIngestManifest {
  const content = { title, text, artifact: { container: CONTAINER, key: name } };
  return {
    collection,
    record: { id: name, partitionKey: FILES_PARTITION, type: 'file', content },
    artifact: { container: CONTAINER, key: name, contentType, metadata: { source: 'example' } },
  };
}

async function ingest(
  client: SvcClient,
  manifest: ArtifactRecordIngestManifest,
  { name, contentType }: SourceFile,
  content: Uint8Array<ArrayBuffer>,
): Promise<void> {
  const form = { manifest, artifact: { content, filename: name, contentType } };
  const options = { idempotencyKey: `file:${name}` };
  const run = await client.ingestRecordArtifact(form, {}, options);
  await done(client, run);
  // A repeat under the key answers the first run and stores nothing.
  const again = await client.ingestRecordArtifact(form, {}, options);
  if (again.id !== run.id) throw new Error(`the same key ingested ${name} twice`);
}

async function readBack(
  client: SvcClient,
  collection: string,
  { name, contentType }: SourceFile,
  bytes: Uint8Array,
): Promise<void> {
  const { items } = await client.listObjects(CONTAINER, { prefix: name });
  const [info] = items;
  const hash = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
  if (info?.etag !== hash || info.contentType !== contentType)
    throw new Error(`the object ${name} has another hash or type`);
  const whole = await bytesOf(client, name);
  // The first bytes identify the format of a file, so a client reads only those.
  const first = await bytesOf(client, name, 'bytes=0-7');
  if (!whole.equals(bytes) || !first.equals(bytes.subarray(0, 8)))
    throw new Error(`the object ${name} has other bytes`);
  const record = await client.getRecord(collection, FILES_PARTITION, name);
  if (record === null) throw new Error(`the record of ${name} is missing`);
}

async function bytesOf(client: SvcClient, name: string, range?: string): Promise<Buffer> {
  const content = await client.getObject(CONTAINER, name, { range });
  if (content === null) throw new Error(`the object ${name} is missing`);
  return Buffer.from(await new Response(content).arrayBuffer());
}
