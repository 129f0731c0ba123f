import { expect, test } from 'vitest';
import type { OperationEntry } from '../../contracts/operation.ts';
import { echoChain, echoOperations, echoOptions } from '../../test/wire/fixture/echo.ts';
import { developmentCaller } from '../identity/development.ts';
import { JsonText } from '../kernel/json-value-text.ts';
import type { Answer } from './answer.ts';
import { inject } from './host-inject.ts';
import { createCall } from './in-process.ts';
import type { HandlerMap } from './options.ts';

// A double has neither the spelling of the number nor, in an object, the place of the member "1".
const text = '{"b": 1.50, "1": 2e3, "\\u0061": "é"}';

const echo = {
  ...echoOperations['echo'],
  keepsText: true,
  idempotency: {
    requirement: 'supported',
    location: { in: 'header', name: 'Idempotency-Key', aliases: ['X-Idempotency-Key'] },
  },
} as OperationEntry;
const operations = { ...echoOperations, echo };

interface Kept {
  readonly text: () => string;
  readonly idempotencyKey: string | null;
}
let seen: { readonly text: string; readonly key: string | null } | undefined;
const keep = (input: never): Promise<Answer> => {
  const { idempotencyKey, ...kept } = input as Kept;
  seen = { text: kept.text(), key: idempotencyKey };
  return Promise.resolve({ status: 200, body: new JsonText(kept.text()) });
};
const handlers: HandlerMap = { ...echoOptions().handlers, echo: keep };

const post = (body: string, headers: Readonly<Record<string, string>> = {}) =>
  inject(echoChain({ operations, handlers }), {
    method: 'POST',
    path: '/canonical/tenants/t/echo',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: Buffer.from(body),
  });

test('a handler that keeps the text gets and answers it byte for byte', async () => {
  expect((await post(text)).body).toBe(text);
  const large = `{"pad":"${'x'.repeat(300_000)}","2":1,"1":1.0}`;
  expect((await post(large)).body).toBe(large);
});

test('a caller in the process gives the text itself', async () => {
  const call = createCall(echoOptions({ operations, handlers }));
  const input = { params: { tenantId: 't' }, body: new JsonText(text) };
  const { body } = await call('echo', input, developmentCaller);
  expect(body).toEqual(new JsonText(text));
});

test('text that is not strict JSON is refused as any other body is', async () => {
  const answer = await post('{"a":1,"a":2}');
  expect([answer.status, answer.json<{ code: string }>().code]).toEqual([400, 'malformed_request']);
});

test('a key that only a header carries reaches the handler', async () => {
  await post(text);
  expect(seen?.key).toBeNull();
  await post(text, { 'X-Idempotency-Key': '"quoted"' });
  expect(seen?.key).toBe('quoted');
  const answer = await post(text, { 'Idempotency-Key': 'é' });
  expect(answer.status).toBe(400);
});
