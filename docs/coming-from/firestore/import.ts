/**
 * Imports documents of Firestore, one line of JSON for each, into a tenant:
 *
 *     node import.ts export.ndjson acme '{"claims":["status"]}'
 *
 * Run it again after a failure or a kill: it continues. Each chunk is one commit, whose key follows from the file, so a chunk
 * whose answer was lost is answered again and not written twice.
 */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { SvcClient } from '@svc-runtime/client';
import { type FirestoreDocument, type ImportedDocument, imported, Refused } from './documents.ts';

const CHUNK_DOCUMENTS = 100;
const CHUNK_BYTES = 2 * 1024 * 1024;

const [, , file = '', tenantId = '', indexesText = '{}'] = process.argv;
if (file === '' || tenantId === '') throw new Error('node import.ts <file> <tenant> [<indexes as JSON>]');
const indexes = JSON.parse(indexesText) as Readonly<Record<string, readonly string[]>>;
const progressFile = `${file}.${tenantId}.progress`;

/** The documents in chunks, in the order of the file. The same file gives the same chunks. */
async function* chunks(): AsyncGenerator<readonly ImportedDocument[]> {
  let chunk: ImportedDocument[] = [];
  let bytes = 0;
  for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
    if (line.trim() === '') continue;
    const document = imported(JSON.parse(line) as FirestoreDocument, tenantId, indexes);
    const size = Buffer.byteLength(line);
    if (chunk.length === CHUNK_DOCUMENTS || (chunk.length > 0 && bytes + size > CHUNK_BYTES)) {
      yield chunk;
      chunk = [];
      bytes = 0;
    }
    chunk.push(document);
    bytes += size;
  }
  if (chunk.length > 0) yield chunk;
}

/** Reads the whole file before anything is written: a document that cannot be imported stops the import here. */
async function check(): Promise<{ readonly importId: string; readonly documents: number }> {
  const hash = createHash('sha256').update(indexesText);
  const seen = new Set<string>();
  for await (const chunk of chunks())
    for (const document of chunk) {
      const name = `${document.documentType} ${document.id}`;
      if (seen.has(name)) throw new Refused(`The file has ${name} twice.`);
      seen.add(name);
      hash.update(JSON.stringify(document));
    }
  return { importId: hash.digest('hex').slice(0, 32), documents: seen.size };
}

/** The number of chunks that are written. Another file than before begins anew. */
async function progressOf(importId: string): Promise<number> {
  const text = await readFile(progressFile, 'utf8').catch(() => '');
  const [id, done] = text.split(' ');
  return id === importId ? Number(done) : 0;
}

async function note(importId: string, done: number): Promise<void> {
  await writeFile(`${progressFile}.new`, `${importId} ${done}`);
  await rename(`${progressFile}.new`, progressFile);
}

const { importId, documents } = await check();
const client = new SvcClient({ maxRetries: 10 });
const known = await progressOf(importId);
let at = 0;
let written = 0;
for await (const chunk of chunks()) {
  at += 1;
  written += chunk.length;
  if (at <= known) continue;
  await client.commitCanonicalTransaction(tenantId, {
    idempotencyKey: `firestore:${importId}:${at}`,
    mutations: chunk.map((document) => ({ document, precondition: { mustNotExist: true } })),
  });
  await note(importId, at);
  console.log(`${written} of ${documents} documents`);
}
console.log(`done: ${documents} documents`);
