import { writeFile } from 'node:fs/promises';
import type { Item } from './shapes.ts';

export const PART_TYPE = 'part';

/** One line of a supplier's parts catalogue. */
interface Part {
  readonly sku: string;
  readonly name: string;
  readonly category: string;
  readonly priceCents: number;
  readonly edition: number;
}

const CATEGORIES = ['bearing', 'bolt', 'gasket', 'hose', 'valve'];

/** Writes an edition of the catalogue, one part per line. All editions have the same parts at different prices. */
export async function writeCatalogue(path: string, edition: number, parts: number): Promise<void> {
  await writeFile(
    path,
    Array.from({ length: parts }, (_, n) => `${JSON.stringify(part(n, edition))}\n`),
  );
}

function part(n: number, edition: number): Part {
  const category = CATEGORIES[n % CATEGORIES.length] ?? '';
  const sku = `SKU-${String(n).padStart(7, '0')}`;
  return {
    sku,
    name: `${category} no. ${n}`,
    category,
    priceCents: 100 + ((n * 37) % 9_000) + edition,
    edition,
  };
}

export function itemOf(line: string): Item {
  const { sku, ...data } = JSON.parse(line) as Part;
  return { documentType: PART_TYPE, id: sku, schemaVersion: '1', data, indexes: { category: data.category } };
}
