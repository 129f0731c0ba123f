import { describe, expect, test } from 'vitest';
import { type BulkResult, checkSame, headerOf, leftOf, lineOf, readResults } from './results.ts';

const given = { action: 'cancel' as const, server: 'http://a', options: { handler: 'h' } };
const header = headerOf({ ...given, batch: 'b', ids: ['1', '2', '3'] });
const result = (id: string, error: string | null = null): BulkResult => ({ id, status: null, error });
const text = (...results: BulkResult[]) => [header, ...results].map(lineOf).join('');

describe('the file of results', () => {
  test('continues with runs without a result, and with those that were refused', () => {
    const file = readResults(text(result('1'), result('2', '409')), 'f');
    expect(file.header).toEqual(header);
    expect(leftOf(file)).toEqual(['2', '3']);
    expect(leftOf(readResults(text(result('2', '409'), result('2')), 'f'))).toEqual(['1', '3']);
    expect(leftOf(readResults(text(), 'f'))).toEqual(['1', '2', '3']);
  });

  test('may end within a line', () => {
    const whole = text(result('1'));
    const file = readResults(`${whole}{"id":"2","err`, 'f');
    expect([leftOf(file), file.wholeLength]).toEqual([['2', '3'], whole.length]);
  });

  test.each([
    ['nothing', ''],
    ['a header without its end', JSON.stringify(header)],
    ['other JSON', '{"format":"x","ids":[]}\n'],
    ['text', 'hello\n'],
  ])('is refused if it holds %s', (_, held) => {
    expect(() => readResults(held, 'f.jsonl')).toThrow('f.jsonl is no file of results');
  });

  test('is refused if a line within it is no result', () => {
    expect(() => readResults(`${text()}{"id":4}\n`, 'f')).toThrow('a line that is no result');
  });

  test('belongs to one command', () => {
    expect(() => checkSame(header, given, 'f')).not.toThrow();
    expect(() => checkSame(header, { ...given, options: {} }, 'f')).not.toThrow();
    expect(() => checkSame(header, { ...given, action: 'rerun' }, 'f')).toThrow('svc runs cancel');
    expect(() => checkSame(header, { ...given, server: 'http://b' }, 'f')).toThrow('http://a');
    const other = { ...given, options: { handler: 'i' } };
    expect(() => checkSame(header, other, 'f')).toThrow('its handler is "h"');
    expect(() => checkSame(header, { ...given, options: { tag: ['a=1'] } }, 'f')).toThrow('its tag is null');
  });
});
