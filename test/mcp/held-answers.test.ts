import { expect, test } from 'vitest';
import { createBytesInFlight } from '../../functions/http/bytes-in-flight.ts';
import { createLargeAnswers } from '../../functions/http/large-answers.ts';
import type { RawRequest } from '../../functions/http/message.ts';
import { createRateLimits } from '../../functions/http/rate-limits.ts';
import { RequestLine } from '../../functions/http/request-line.ts';
import { ManualWorld } from '../support/manual-world.ts';
import { bodyOf, fieldsOf, mcpStage } from './support.ts';

const URI = 'test://large';
const TEXT = 'x'.repeat(150_000);

/** A document, a list and the result of a call, each too long to be free. */
const questions: readonly (readonly [method: string, params: Readonly<Record<string, unknown>>])[] = [
  ['resources/read', { uri: URI }],
  ['tools/list', {}],
  ['tools/call', { name: 'large', arguments: {} }],
];

test.each(questions)('an answer to %s counts until it is sent', async (method, params) => {
  const bytes = createBytesInFlight({ perProcess: 1_000_000, perCaller: 200_000 });
  const limits = createRateLimits({ operations: {}, rateLimit: null, world: new ManualWorld() });
  const large = createLargeAnswers();
  const line = new RequestLine(new ManualWorld(), () => {}, Infinity);
  const { chain } = mcpStage(
    { capacity: { limits, rateClass: 'mcp', bytes, large, line, trustedProxyHops: 0 } },
    (catalog) => ({
      ...catalog,
      tools: () => Promise.resolve([tool]),
      resources: { list: () => Promise.resolve([document]), templates: () => Promise.resolve([]) },
    }),
  );
  const ask = () => chain(requestOf(method, params));
  const first = await ask();
  expect(first.status).toBe(200);
  expect(bytes.total).toBeGreaterThanOrEqual(TEXT.length);
  expect(bytes.total).toBe((first.body as string | Uint8Array).length);
  // A tool call has already changed the data, so its answer is sent even above the limit.
  const second = await ask();
  expect(second.status).toBe(method === 'tools/call' ? 200 : 429);
  second.settled?.();
  first.settled?.();
  expect(bytes.total).toBe(0);
  expect((await ask()).status).toBe(200);
});

const tool = {
  definition: { name: 'large', description: TEXT, inputSchema: { type: 'object' } },
  call: () => Promise.resolve({ resultType: 'complete', content: [{ type: 'text', text: TEXT }] } as const),
};

const document = {
  definition: { uri: URI, name: 'large' },
  read: () =>
    Promise.resolve({
      resultType: 'complete',
      contents: [{ uri: URI, text: TEXT }],
      ttlMs: 0,
      cacheScope: 'public',
    } as const),
};

function requestOf(method: string, params: Readonly<Record<string, unknown>>): RawRequest {
  const body = Buffer.from(JSON.stringify(bodyOf(method, params)));
  const headers = {
    ...fieldsOf(method, params),
    'Content-Type': 'application/json',
    'Content-Length': String(body.length),
  };
  return {
    method: 'POST',
    target: '/mcp',
    httpVersion: '1.1',
    rawHeaders: Object.entries(headers).flat(),
    socketAddress: '192.0.2.1',
    body: (async function* () {
      yield body;
    })(),
    proceed: () => {},
    signal: new AbortController().signal,
  };
}
