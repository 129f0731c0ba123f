import { expect, test } from 'vitest';
import { operations } from '../../../contracts/generated/operations.ts';
import { listHeaders } from '../../http/list-headers.ts';
import { nextPageOf, withNextPage } from './next-page.ts';

test('the next page of a list is named by its arguments, with their types', () => {
  const headersOf = (next: Record<string, string> | null) =>
    listHeaders('/collections', { limit: 2 }, { next, cut: true });
  const headers = { ...headersOf({ continuationToken: 'a/+ä' }) };
  expect(nextPageOf(operations.listCollections, { headers })).toEqual({
    continuationToken: 'a/+ä',
    limit: '2',
  });
  const history = listHeaders(
    '/execution/runs/a/history',
    { limit: 2 },
    {
      next: { afterSequenceId: '7' },
      cut: false,
    },
  );
  expect(nextPageOf(operations.getExecutionRunHistory, { headers: { ...history } })).toEqual({
    afterSequenceId: '7',
    limit: 2,
  });
  expect(nextPageOf(operations.listCollections, { headers: { ...headersOf(null) } })).toBeNull();
  expect(nextPageOf(operations.listCollections, {})).toBeNull();
});

test('a result names it beside its texts, and is left alone where there is none', () => {
  const result = { resultType: 'complete', content: [], _meta: { own: 1 } } as const;
  expect(withNextPage(result, null)).toBe(result);
  expect(withNextPage(result, { limit: 2 })).toEqual({
    resultType: 'complete',
    content: [{ type: 'text', text: '{"nextPage":{"limit":2}}' }],
    _meta: { own: 1, 'svc.runtime/nextPage': { limit: 2 } },
  });
  const content = [{ type: 'text', text: '{"nextPage":{"limit":2,"answerOffset":0}}' }];
  expect(withNextPage(result, { limit: 2 }, 7)).toMatchObject({ content });
});
