import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type SourceMap, sourcePlace } from '../kernel/source-map.ts';

// Windows has a colon behind the drive.
const placePattern = /file:\/\/(?:\/[A-Za-z]:)?[^\s():]*\.js:(\d{1,9}):(\d{1,9})/g;
// A failure that repeats has the same places; a search in a large map takes milliseconds.
const placesKeptMax = 1_000;

/**
 * Names the stack frames of a failure by the sources instead of the bundle. It reads a source map with the first failure in
 * its file: Node's own `--enable-source-maps` reads all maps at the start, which delays the first answer.
 */
export function sourcePlaces(folder: string = import.meta.dirname): (failure: string) => string {
  const kept = new Map<string, string>();
  const maps = new Map<string, SourceMap>();
  let names: ReadonlySet<string> | undefined;
  const find = (whole: string, file: string, line: number, column: number): string => {
    names ??= new Set(readdirSync(folder));
    if (!names.has(`${file}.map`)) return whole;
    const map =
      maps.get(file) ?? (JSON.parse(readFileSync(join(folder, `${file}.map`), 'utf8')) as SourceMap);
    maps.set(file, map);
    return sourcePlace(map, line, column) ?? whole;
  };
  const replaced = (whole: string, line: string, column: string): string => {
    const known = kept.get(whole);
    if (known !== undefined) return known;
    const file = whole.slice(whole.lastIndexOf('/') + 1, whole.indexOf('.js:') + '.js'.length);
    const place = find(whole, file, Number(line), Number(column));
    if (kept.size >= placesKeptMax) kept.clear();
    kept.set(whole, place);
    return place;
  };
  return (failure) => {
    if (!failure.includes('.js:')) return failure;
    try {
      return failure.replace(placePattern, replaced);
    } catch {
      // A log line must not fail: a deployment may have removed or cut the maps.
      return failure;
    }
  };
}
