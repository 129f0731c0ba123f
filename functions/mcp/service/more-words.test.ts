import { expect, test } from 'vitest';
import { ExpectedAbsence, ServiceError } from '../../kernel/errors.ts';
import { withCollectionWords, withTaskWords } from './more-words.ts';

const missing = (name: string) =>
  new ExpectedAbsence(`Collection '${name}' does not exist.`, 'collection_not_found');
const listed = (): Promise<boolean> => Promise.resolve(true);
const unlisted = (): Promise<boolean> => Promise.resolve(false);
const LIST = 'svc_collections_list_v1 has the names.';
const GONE = "Collection 'nots' does not exist.";

test.each([
  ['of one', { collection: 'nots' }, listed, `${GONE} ${LIST}`],
  [
    'of several',
    { collections: ['notes', ' nots '] },
    listed,
    `${GONE} It is the one at /collections/1. ${LIST}`,
  ],
  ['of others', { collections: ['notes', 7] }, listed, `${GONE} ${LIST}`],
  [
    'for a caller without the list',
    { collections: ['nots'] },
    unlisted,
    `${GONE} It is the one at /collections/0.`,
  ],
  ['of one, without the list', {}, unlisted, GONE],
])('a missing collection %s', async (_, given, sees, message) => {
  const refusal = await withCollectionWords(missing('nots'), given, sees);
  expect(refusal).toBeInstanceOf(ExpectedAbsence);
  expect(refusal).toMatchObject({ message, code: 'collection_not_found' });
});

test('other refusals keep their words', async () => {
  const others = [
    new Error('a'),
    new ServiceError('not_found', GONE),
    new ServiceError('collection_not_found', 'a'),
  ];
  for (const each of others)
    expect(await withCollectionWords(each, { collections: ['nots'] }, listed)).toBe(each);
  const form = (text: string) => text === 't.1';
  const absent = new ServiceError('not_found', 'There is no such run');
  for (const each of [...others, missing('t.1')])
    expect(withTaskWords(each, { runId: 't.2' }, form)).toBe(each);
  for (const given of [{ runId: 'a' }, { runId: 7 }, {}])
    expect(withTaskWords(absent, given, form)).toBe(absent);
  expect(withTaskWords(missing('a'), { runId: 't.1' }, form)).toMatchObject({
    message: "Collection 'a' does not exist.",
  });
  expect(withTaskWords(absent, { runId: 't.1' }, form)).toMatchObject({
    code: 'not_found',
    message:
      'There is no such run. The runId is a taskId: svc_tasks_get_v1 takes it, or the method tasks/get.',
  });
});
