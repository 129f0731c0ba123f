import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { inflateRawSync } from 'node:zlib';

/** Unpacks an archive as the platform does: by its directory, at the end of the file. */
export async function unzip(archive: Buffer, folder: string): Promise<void> {
  const end = archive.lastIndexOf(Buffer.from([0x50, 0x4b, 5, 6]));
  let at = archive.readUInt32LE(end + 16);
  for (let left = archive.readUInt16LE(end + 10); left > 0; left -= 1) {
    const lengthOf = (field: number) => archive.readUInt16LE(at + field);
    const name = archive.toString('utf8', at + 46, at + 46 + lengthOf(28));
    const head = archive.readUInt32LE(at + 42);
    const from = head + 30 + archive.readUInt16LE(head + 26) + archive.readUInt16LE(head + 28);
    const packed = archive.subarray(from, from + archive.readUInt32LE(at + 20));
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), lengthOf(10) === 0 ? packed : inflateRawSync(packed));
    at += 46 + lengthOf(28) + lengthOf(30) + lengthOf(32);
  }
}
