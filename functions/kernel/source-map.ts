/** A source map, version 3, as a build writes it. */
export interface SourceMap {
  readonly sources: readonly string[];
  readonly mappings: string;
}

const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

/**
 * The place `source:line:column` that the code at a place of the bundle was made from; all numbers count from 1.
 * `undefined` where the map has no such place.
 */
export function sourcePlace(map: SourceMap, line: number, column: number): string | undefined {
  let source = 0;
  let sourceLine = 0;
  let sourceColumn = 0;
  let found: string | undefined;
  for (const [at, group] of map.mappings.split(';', line).entries()) {
    let start = 0;
    for (const segment of group.split(',')) {
      const [startBy = 0, sourceBy, lineBy = 0, columnBy = 0] = numbersOf(segment);
      start += startBy;
      if (sourceBy === undefined) continue;
      source += sourceBy;
      sourceLine += lineBy;
      sourceColumn += columnBy;
      // Segments of a line are in order: the last one that begins before the column covers it.
      if (at !== line - 1) continue;
      if (start >= column) return found;
      const name = map.sources[source];
      found = name === undefined ? undefined : `${name}:${sourceLine + 1}:${sourceColumn + 1}`;
    }
  }
  return found;
}

/** Decodes one segment: base64 digits of five bits and a continuation bit, the lowest bit of a number is its sign. */
function numbersOf(segment: string): number[] {
  const numbers: number[] = [];
  let value = 0;
  let shift = 0;
  for (const letter of segment) {
    const digit = digits.indexOf(letter);
    value += (digit & 31) << shift;
    shift += 5;
    if (digit >= 32) continue;
    numbers.push(value & 1 ? -(value >>> 1) : value >>> 1);
    value = 0;
    shift = 0;
  }
  return numbers;
}
