import { crc32, deflateRawSync } from 'node:zlib';

// 1 January 1980, the first date that the format can name: the same files make the same bytes on every day.
const noTime = 0;
const firstDay = 0x21;
const regularFile = 0o100644;

/** A ZIP archive of the files, by their path in it. */
export function zip(files: ReadonlyMap<string, Uint8Array>): Buffer {
  const parts: Buffer[] = [];
  const entries: Buffer[] = [];
  let offset = 0;
  for (const [path, content] of files) {
    const name = Buffer.from(path);
    const packed = deflateRawSync(content, { level: 9 });
    const common = commonHeader(content, packed.length, name.length);
    const head = Buffer.concat([uint32(0x04034b50), common, name]);
    entries.push(Buffer.concat([uint32(0x02014b50), madeByUnix, common, placeHeader(offset), name]));
    parts.push(head, packed);
    offset += head.length + packed.length;
  }
  const directory = Buffer.concat(entries);
  const count = uint16(files.size);
  const end = [uint32(0x06054b50), uint16(0), uint16(0), count, count];
  return Buffer.concat([...parts, directory, ...end, uint32(directory.length), uint32(offset), uint16(0)]);
}

const madeByUnix = uint16((3 << 8) | 20);

/** From the needed version to the length of the extra field. Names are UTF-8 (bit 11), contents deflated (method 8). */
function commonHeader(content: Uint8Array, packedBytes: number, nameBytes: number): Buffer {
  const sizes = [uint32(crc32(content)), uint32(packedBytes), uint32(content.length)];
  return Buffer.concat([
    ...[20, 1 << 11, 8, noTime, firstDay].map(uint16),
    ...sizes,
    uint16(nameBytes),
    uint16(0),
  ]);
}

/** From the length of the comment to the place of the file. */
function placeHeader(offset: number): Buffer {
  return Buffer.concat([...[0, 0, 0].map(uint16), uint32(regularFile * 0x10000), uint32(offset)]);
}

function uint16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16LE(value);
  return bytes;
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}
