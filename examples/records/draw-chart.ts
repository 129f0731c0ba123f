/**
 * Draws `files/leases.png` from the numbers in `files/leases.md`. The picture lies in the folder, so the example does not need this
 * script: run it after you have changed the numbers.
 *
 *     node examples/records/draw-chart.ts
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32, deflateSync } from 'node:zlib';

const folder = join(import.meta.dirname, 'files');
const [BAR, GAP, UNIT, MARGIN] = [36, 12, 3, 10];

writeFileSync(
  join(folder, 'leases.png'),
  chartOf(numbersIn(readFileSync(join(folder, 'leases.md'), 'utf8'))),
);

/** The last cell of each row that is a number. */
function numbersIn(page: string): number[] {
  return [...page.matchAll(/\| (\d+) +\|$/gm)].map(([, number]) => Number(number));
}

/** Bars in shades of grey, as a PNG file (https://www.w3.org/TR/png-3). */
function chartOf(numbers: readonly number[]): Buffer {
  const width = 2 * MARGIN + numbers.length * (BAR + GAP) - GAP;
  const height = 2 * MARGIN + Math.max(...numbers) * UNIT;
  const pixelAt = (x: number, y: number): number => {
    const bar = Math.floor((x - MARGIN) / (BAR + GAP));
    const isInBar = x >= MARGIN && (x - MARGIN) % (BAR + GAP) < BAR;
    const isFilled = height - MARGIN - y <= (numbers[bar] ?? 0) * UNIT && y < height - MARGIN;
    return isInBar && isFilled ? 0x50 : 0xff;
  };
  const rows = Array.from({ length: height }, (_, y) =>
    // Each row begins with the number of its filter: none.
    Buffer.from([0, ...Array.from({ length: width }, (_each, x) => pixelAt(x, y))]),
  );
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 0, 0, 0, 0], 8);
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  const data = deflateSync(Buffer.concat(rows));
  return Buffer.concat([signature, chunk('IHDR', head), chunk('IDAT', data), chunk('IEND', Buffer.alloc(0))]);
}

function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const [length, checksum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  checksum.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, checksum]);
}
