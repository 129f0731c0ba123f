import { transform } from 'esbuild';
import { expect, test } from 'vitest';
import { type SourceMap, sourcePlace } from './source-map.ts';

const source = [
  'export function outer(value: number): number {',
  '  const doubled = value * 2;',
  '  if (doubled > 4) throw new RangeError("too large");',
  '  return doubled;',
  '}',
  '',
  'export class Other {',
  '  fail(): never {',
  '    throw new TypeError("always");',
  '  }',
  '}',
].join('\n');

/** The place of `text` in the only line that has it, counted from 1. */
function placeIn(code: string, text: string): readonly [line: number, column: number] {
  const lines = code.split('\n');
  const line = lines.findIndex((each) => each.includes(text));
  return [line + 1, (lines[line] ?? '').indexOf(text) + 1];
}

test.each([true, false])(
  'a place in the code leads to its place in the source, minified: %s',
  async (minify) => {
    const { code, map } = await transform(source, {
      loader: 'ts',
      minify,
      sourcemap: true,
      sourcefile: 'functions/example.ts',
    });
    const parsed = JSON.parse(map) as SourceMap;
    const at = (text: string) => sourcePlace(parsed, ...placeIn(code, text));
    expect(at('new RangeError')).toBe('functions/example.ts:3:26');
    expect(at('new TypeError')).toBe('functions/example.ts:9:11');
  },
);

test('a place that the map does not have leads nowhere', () => {
  const map = { sources: ['a.ts'], mappings: ';;IAEI' };
  expect(sourcePlace(map, 3, 5)).toBe('a.ts:3:5');
  expect(sourcePlace(map, 3, 90)).toBe('a.ts:3:5');
  expect(sourcePlace(map, 3, 4)).toBeUndefined();
  expect(sourcePlace(map, 1, 1)).toBeUndefined();
  expect(sourcePlace(map, 4, 1)).toBeUndefined();
});
