import type { Vocabulary } from './arbitrary.ts';
import type { Call, Party } from './party.ts';

/** The container of the one object of a party. */
export const containerOf = ({ workerId }: Party): string => `of-${workerId}`;
export const OBJECT = '2026/report.txt';

/** Gives the party an object that holds its mark. */
export async function furnishObjects(call: Call, party: Party): Promise<void> {
  await put(call, `/objects/${containerOf(party)}/${OBJECT}`, party.mark, {
    ...party.headers,
    'Content-Type': 'text/plain',
  });
}

/** Makes an object in the container, and gives the words that requests about it are drawn from. */
export async function furnishObjectWords(call: Call, container: string): Promise<Vocabulary> {
  const key = 'report.txt';
  // Bytes are read with the media type that they were written with: this one is that of the contract's answer.
  await put(call, `/objects/${container}/${key}`, container, { 'Content-Type': 'application/octet-stream' });
  return new Map([
    ['container', [container]],
    ['key', [key]],
    ['If-Match', ['*']],
  ]);
}

async function put(call: Call, path: string, text: string, headers: Party['headers']): Promise<void> {
  const { status, body } = await call({
    method: 'PUT',
    path,
    headers: { ...headers, 'X-Svc-Meta-mark': 'a-mark' },
    body: Buffer.from(text),
  });
  if (status !== 200) throw new Error(`PUT ${path}: ${status} ${body}`);
}
