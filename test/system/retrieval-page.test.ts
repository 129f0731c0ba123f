import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { comparison, loadOperations } from '../../examples/records/evaluate.ts';
import { chartOf } from '../../examples/records/evaluation-chart.ts';
import { SvcClient } from '../../sdk/typescript/src/index.ts';
import { programOf, Reader } from './guides.ts';
import { root } from './program.ts';

/** The requests of docs/retrieval.md are sent to a real service, which gives the answers of the page. */

const page = await readFile(join(root, 'docs/retrieval.md'), 'utf8');
const blocks = [...page.matchAll(/^```json\n(.*?)^```$/gms)].map(
  ([, block = '']) => JSON.parse(block) as object,
);
const examples = blocks.flatMap((request, at) =>
  at % 2 === 0 ? [{ request, answer: blocks[at + 1] ?? {} }] : [],
);

let reader: Reader;
let client: SvcClient;
beforeAll(async () => {
  reader = await Reader.start();
  client = new SvcClient({ baseUrl: reader.address });
});
afterAll(() => reader[Symbol.asyncDispose]());

async function answerTo(request: object): Promise<object> {
  const answer = await fetch(`${reader.address}/search`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(request),
  });
  return (await answer.json()) as object;
}

test('the examples of the shell are answered', async () => {
  const { code, lines, stderr } = await reader.run(programOf(page, 'sh'), 'sh');
  expect([code, stderr]).toEqual([0, '']);
  expect(lines.join('\n')).toContain('"operationId":"startRetrievalEvaluationJob","status":"accepted"');
  expect(lines.join('\n')).toMatch(/"results":\[\{"rank":1,.*"id":"refund"/);
});

test('each request is followed by its answer', () => {
  expect([blocks.length % 2, examples.length]).toEqual([0, 2]);
});

test.each(examples)('answers $request', async ({ request, answer }) => {
  expect(await answerTo(request)).toMatchObject(answer);
});

test('the check finds another answer', async () => {
  const [first] = examples;
  const found = await answerTo(first?.request ?? {});
  const wrong = { results: [{ record: { id: 'close' } }] };
  expect(() => expect(found).toMatchObject(wrong)).toThrow('match object');
});

test('the worked evaluation has the numbers and the picture of the page', async () => {
  await loadOperations(client, root);
  const body = join(root, 'examples/records/files/evaluation.json');
  const command = `svc api compareRetrievalEvaluations --server $SVC_BASE_URL --body @${body} --output table`;
  const { code, lines, stderr } = await reader.run(command, 'sh');
  expect([code, stderr]).toEqual([0, '']);
  const [, shown = ''] = /^\$ svc api compareRetrievalEvaluations[^\n]*\n(.*?)^```$/ms.exec(page) ?? [];
  expect(lines.slice(0, 3)).toEqual(shown.trimEnd().split('\n'));
  const report = await client.compareRetrievalEvaluations(comparison);
  const picture = await readFile(join(root, 'docs/images/retrieval-evaluation.svg'), 'utf8');
  expect(chartOf(report)).toBe(picture);
});
