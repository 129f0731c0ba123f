import { expect, test } from 'vitest';
import { echoChain, echoHandlers, echoOperations } from '../../test/wire/fixture/echo.ts';
import type { ChainOptions } from './chain.ts';
import { type InjectedRequest, inject } from './host-inject.ts';

const allowed = 'http://localhost:5173';
let handled = 0;

function chainOf(overrides: Partial<ChainOptions> = {}) {
  handled = 0;
  const echo = () => {
    handled += 1;
    return Promise.resolve({ status: 200, body: {} });
  };
  return echoChain({
    handlers: { ...echoHandlers(), echo, removeItem: echo },
    cors: { allowedOrigins: [allowed] },
    refuseForeignOrigins: true,
    ...overrides,
  });
}

const path = '/canonical/tenants/t/echo';
const post = (headers: Readonly<Record<string, string>>): InjectedRequest => ({
  method: 'POST',
  path,
  headers: { Host: 'localhost:5220', ...headers },
  body: {},
});

test.each([
  [{ Origin: 'https://evil.example' }],
  // A page with `no-cors`, a form, a sandboxed frame, a file.
  [{ Origin: 'https://evil.example', 'Content-Type': 'text/plain' }],
  [{ Origin: 'null' }],
  [{ Origin: 'http://localhost:9999' }],
  [{ Origin: 'http://localhost:5220.evil.example' }],
  [{ Origin: 'https://evil.example', 'Sec-Fetch-Site': 'same-origin' }],
  [{ 'Sec-Fetch-Site': 'cross-site' }],
  [{ 'Sec-Fetch-Site': 'same-site' }],
])('a page with %j changes nothing', async (headers) => {
  const chain = chainOf();
  const answer = await inject(chain, post(headers));
  expect([answer.status, answer.json<{ code: string }>().code]).toEqual([403, 'permission_denied']);
  const removal = await inject(chain, {
    ...post(headers),
    method: 'DELETE',
    path: '/items/a',
    body: undefined,
  });
  expect([removal.status, handled]).toEqual([403, 0]);
});

test.each([
  [{}],
  [{ Origin: allowed }],
  [{ Origin: allowed, 'Sec-Fetch-Site': 'cross-site' }],
  [{ Origin: 'http://localhost:5220' }],
  [{ 'Sec-Fetch-Site': 'same-origin' }],
  [{ 'Sec-Fetch-Site': 'none' }],
])('a caller with %j is served', async (headers) => {
  expect((await inject(chainOf(), post(headers))).status).toBe(200);
  expect(handled).toBe(1);
});

test('a read is served, a write by GET is not, and servers with credentials accept any origin', async () => {
  const evil = { Origin: 'https://evil.example' };
  const read = { ...echoOperations, getItem: { ...echoOperations['getItem'], mutation: 'read' } };
  const operations = read as ChainOptions['operations'];
  const get = { ...post(evil), method: 'GET', body: undefined };
  expect((await inject(chainOf({ operations }), { ...get, path: '/items/a' })).status).toBe(200);
  expect((await inject(chainOf(), { ...get, path: `${path}/name` })).status).toBe(403);
  expect((await inject(chainOf({ refuseForeignOrigins: false }), post(evil))).status).toBe(200);
});
