import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import type { Catalog } from '../scripts/release-contract.ts';
import { releaseFixtures } from '../scripts/release-fixtures.ts';
import { packed, pinsOf, pinsText } from '../scripts/release-pins.ts';

const OPERATIONS = 129;
const RELEASES = 20;
const BYTES_MAX = 15_000_000;

/**
 * The text of one part of a grown contract: the letters are rotated, so that a compressor finds nothing of the other parts
 * in it. A real contract repeats its words and packs better.
 */
function rotated(text: string, by: number): string {
  return text.replace(/[a-z]/g, (letter) =>
    String.fromCharCode(97 + ((letter.charCodeAt(0) - 97 + by) % 26)),
  );
}

/** The text of a fixture of a contract that is `parts` times as large. */
function grown(text: string, parts: number): string {
  return Array.from({ length: parts }, (_, part) => rotated(text, part)).join('');
}

it('twenty releases of 129 operations stay small in the repository', () => {
  const fixtures = releaseFixtures('.');
  const read = (name: string) => fixtures.find((fixture) => fixture.name === name)?.text ?? null;
  const { operations } = JSON.parse(read('catalog.json') ?? '') as Catalog;
  const parts = Math.ceil(OPERATIONS / operations.length);

  const pins = packed(grown(pinsText(pinsOf(read)), parts)).byteLength;
  const whole = fixtures.reduce((sum, { text }) => sum + Buffer.byteLength(grown(text, parts)), 0);
  const hashes = readFileSync('contracts/releases/hashes.json').byteLength * RELEASES;
  const total = whole + pins * (RELEASES - 1) + hashes;
  const figure = (bytes: number) => `${(bytes / 1e6).toFixed(2)} MB`;
  console.log(
    `${RELEASES} releases of ${operations.length * parts} operations: ${figure(total)}; the newest ${figure(whole)}, each older one ${figure(pins)}`,
  );
  expect(total).toBeLessThan(BYTES_MAX);
});
