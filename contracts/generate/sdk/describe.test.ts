import { expect, test } from 'vitest';
import { readSource } from '../source.ts';
import { sdkOutputs } from './outputs.ts';

const outputs = sdkOutputs(readSource(process.cwd()));

/** The text between two marks of a generated file, on one line. */
function words(path: string, from: string, to: string): string {
  const text = outputs.get(path) ?? expect.fail(`there is no ${path}`);
  const [, after = ''] = text.split(from, 2);
  return (after.split(to, 1)[0] ?? '').replaceAll(/\s+(\* )?/g, ' ');
}

test.each([
  [
    'sdk/typescript/src/generated/groups/canonical.ts',
    '  replayCanonicalOutbox(',
    '  queryCanonicalDocuments(',
    '`await` returns',
  ],
  [
    'sdk/python/src/svc_client/_generated/client.py',
    'def query_canonical_documents(',
    '    def ',
    '`first()` returns',
  ],
  [
    'sdk/python/src/svc_client/_generated/async_client.py',
    'def query_canonical_documents(',
    '    def ',
    '`await` returns',
  ],
])('%s says in its own words how a list comes in pages', (path, from, to, first) => {
  expect(words(path, from, to)).toContain(
    `A list whose pages are requested on demand. ${first} the first page; iteration yields every entry of \`items\` up to the last page.`,
  );
});
