import { expect, test } from 'vitest';
import { eventsOf } from './events.ts';
import { linesOf } from './lines.ts';

async function* pieces(...texts: readonly string[]): AsyncGenerator<Buffer> {
  for (const text of texts) yield Buffer.from(text);
}

async function gathered<T>(source: AsyncIterable<T>): Promise<string[]> {
  const found: string[] = [];
  for await (const each of source) found.push(String(each));
  return found;
}

const text = '{"a":"ü"}\n\n{"b":2}\r\nrest';

test('lines are the same however the stream is cut', async () => {
  const whole = ['{"a":"ü"}', '', '{"b":2}\r', 'rest'];
  const bytes = Buffer.from(text);
  for (let size = 1; size <= bytes.length; size += 1) {
    async function* cut(): AsyncGenerator<Uint8Array> {
      for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
    }
    expect(await gathered(linesOf(cut(), 100))).toEqual(whole);
  }
});

test('a line over the bound is skipped, and the next one is whole', async () => {
  expect(await gathered(linesOf(pieces('1234', '56', '7\n123456\nab', 'cdefg'), 6))).toEqual([
    'too-long',
    '123456',
    'too-long',
  ]);
  expect(await gathered(linesOf(pieces('123456\n'), 6))).toEqual(['123456']);
});

test('events are read from their data lines, and one that was cut off is dropped', async () => {
  const stream = ': hello\n\nevent: message\ndata: {"a":\ndata:1}\n\ndata: 2\r\n\r\ndata: 3';
  expect(await gathered(eventsOf(pieces(stream.slice(0, 30), stream.slice(30)), 100))).toEqual([
    '{"a":\n1}',
    '2',
  ]);
});
