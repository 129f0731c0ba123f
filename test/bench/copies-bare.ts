import { createHash, hash } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzip as gunzipCallback, gzip as gzipCallback } from 'node:zlib';
import { openRows } from './copies-rows.ts';

const gzip = promisify(gzipCallback);
const gunzip = promisify(gunzipCallback);
const CHUNK_BYTES = 8 * 1024 * 1024;

/**
 * The bare limit of an export: the same rows read by the driver in the order of their keys, their text put together,
 * compressed as an archive is, hashed twice and written to files. One thing after the other; no JSON is looked at.
 */
export async function bareExport(
  settings: readonly string[],
  tenantId: string,
  folder: string,
): Promise<object> {
  const rows = await openRows(settings, tenantId);
  const content = createHash('sha256');
  let pending: Uint8Array[] = [];
  let pendingBytes = 0;
  let chunks = 0;
  let packMs = 0;
  const flush = async () => {
    const startedAt = performance.now();
    const chunk = Buffer.concat(pending, pendingBytes);
    content.update(chunk);
    const packed = await gzip(chunk, { level: 6 });
    hash('sha256', packed);
    await writeFile(join(folder, `bare-${chunks++}`), packed);
    [pending, pendingBytes] = [[], 0];
    packMs += performance.now() - startedAt;
  };
  const startedAt = performance.now();
  let bytes = 0;
  for await (const text of rows.texts()) {
    const piece = typeof text === 'string' ? Buffer.from(text) : text;
    pending.push(piece);
    pendingBytes += piece.byteLength;
    bytes += piece.byteLength;
    if (pendingBytes >= CHUNK_BYTES) await flush();
  }
  if (pendingBytes > 0) await flush();
  const readSeconds = (performance.now() - startedAt - packMs) / 1000;
  await rows.close();
  return { readSeconds, packSeconds: packMs / 1000, bytes };
}

/**
 * The bare limit of a restore: the files of the archive hashed, unpacked and hashed again; and the rows of the other
 * database written into this one by the driver, in transactions as large as the store's. Reading them is not counted.
 */
export async function bareRestore(
  from: readonly string[],
  to: readonly string[],
  tenantId: string,
  folder: string,
): Promise<object> {
  const startedAt = performance.now();
  const content = createHash('sha256');
  for (const name of (await readdir(folder)).filter((each) => each.startsWith('chunk-'))) {
    const packed = await readFile(join(folder, name));
    hash('sha256', packed);
    content.update(await gunzip(packed));
  }
  const unpackSeconds = (performance.now() - startedAt) / 1000;
  const [source, target] = [await openRows(from, tenantId), await openRows(to, tenantId)];
  let writeMs = 0;
  for await (const batch of source.batches()) {
    const writingAt = performance.now();
    await target.write(batch);
    writeMs += performance.now() - writingAt;
  }
  await Promise.all([source.close(), target.close()]);
  return { unpackSeconds, writeSeconds: writeMs / 1000 };
}
