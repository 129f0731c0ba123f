import { expect, test, vi } from 'vitest';
import { echoChain, echoHandlers } from '../../test/wire/fixture/echo.ts';
import { fixedDocument } from './fixed-document.ts';
import { inject } from './host-inject.ts';
import { RawBody } from './message.ts';

test('a fixed document is written once, shared by all answers and answered with its tag', async () => {
  const toJSON = vi.fn(() => ({ openapi: '3.1.0' }));
  const document = fixedDocument({ toJSON });
  const handlers = { ...echoHandlers(), getItem: () => Promise.resolve({ status: 200, body: document }) };
  const chain = echoChain({ handlers });
  const get = (headers: Readonly<Record<string, string>> = {}) =>
    inject(chain, { method: 'GET', path: '/items/a', headers });
  const first = await get();
  expect([first.status, first.body]).toEqual([200, '{"openapi":"3.1.0"}']);
  expect(first.headers).toMatchObject({ 'cache-control': 'no-cache', etag: expect.stringMatching(/^"/) });
  expect((await get()).headers).toMatchObject({ etag: first.headers['etag'] });
  const unchanged = await get({ 'If-None-Match': first.headers['etag'] ?? '' });
  expect([unchanged.status, unchanged.body, unchanged.headers['etag']]).toEqual([
    304,
    '',
    first.headers['etag'],
  ]);
  expect(toJSON).toHaveBeenCalledTimes(1);
});

test('a page with a tag is not sent again, and one without a tag is', async () => {
  const page = async (etag: string | null) => {
    const greet = () => Promise.resolve({ status: 200, body: new RawBody('text/html', 'page', etag) });
    const chain = echoChain({ handlers: { ...echoHandlers(), greet } });
    return inject(chain, { method: 'GET', path: '/', headers: { 'If-None-Match': '"a"' } });
  };
  expect((await page('"a"')).status).toBe(304);
  expect([(await page('"b"')).body, (await page(null)).body]).toEqual(['page', 'page']);
});
