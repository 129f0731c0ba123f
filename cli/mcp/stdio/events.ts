import { linesOf } from './lines.ts';

const DATA = 'data:';
const utf8 = new TextDecoder('utf-8', { fatal: true });

/** The data of each event of an event stream. An event that was cut off at the end is dropped, and so is one over `bytesMax`. */
export async function* eventsOf(chunks: AsyncIterable<Uint8Array>, bytesMax: number): AsyncGenerator<string> {
  let data: string[] = [];
  for await (const bytes of linesOf(chunks, bytesMax)) {
    const line = bytes === 'too-long' ? '' : utf8.decode(bytes).replace(/\r$/, '');
    if (line.startsWith(DATA)) {
      const value = line.slice(DATA.length);
      data.push(value.startsWith(' ') ? value.slice(1) : value);
    } else if (line === '' && data.length > 0) {
      yield data.join('\n');
      data = [];
    }
  }
}
