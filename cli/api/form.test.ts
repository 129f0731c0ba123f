import { expect, test } from 'vitest';
import { operations } from '../../contracts/generated/operations.ts';
import { readForm as parsedForm } from '../../functions/http/multipart.ts';
import { readForm } from './form.ts';

const entry = operations.ingestRecordArtifact;
const inputs = {
  warn: () => undefined,
  read: (path: string) => Promise.resolve(Buffer.from(`content of ${path}`)),
};

async function* once(bytes: Uint8Array) {
  yield bytes;
}

test('the service reads the parts as they were given, in any order', async () => {
  const { type, bytes } = await readForm({ entry }, ['artifact=@/a/b"c.bin', 'manifest={"a":"b=c"}'], inputs);
  const { values, streams } = await parsedForm(once(bytes), type, entry);
  expect(values).toEqual({ manifest: { a: 'b=c' } });
  const chunks: Uint8Array[] = [];
  for await (const chunk of streams['artifact'] ?? []) chunks.push(chunk);
  expect(Buffer.concat(chunks).toString()).toBe('content of /a/b"c.bin');
  expect(streams['artifact']?.fileName).toBe('b_c.bin');
});

test('a part may come from a file and from standard input', async () => {
  const { bytes } = await readForm({ entry }, ['manifest=@m.json', 'artifact=@-'], inputs, 'b');
  expect(bytes.toString()).toContain('\r\n\r\ncontent of m.json\r\n--b\r\n');
  expect(bytes.toString()).toContain('filename="artifact"');
});

test.each([
  [['other={}'], 'manifest, artifact'],
  [['manifest={}', 'manifest={}'], 'manifest, artifact'],
  [['manifest'], 'name=value'],
  [['artifact=text'], 'artifact=@file'],
])('%j is refused', async (parts, words) => {
  await expect(readForm({ entry }, parts, inputs)).rejects.toThrow(words);
});
