import { describe, expect, test } from 'vitest';
import { limits } from '../../contracts/generated/limits.ts';
import definitions from '../../contracts/generated/mcp/definitions.json' with { type: 'json' };
import { loadOperations } from '../../contracts/generated/operations/load.ts';
import type { OperationEntry } from '../../contracts/operation.ts';
import surface from '../../contracts/public-sdk-surface.json' with { type: 'json' };
import { createAuthenticator } from '../../functions/identity/authenticator.ts';
import { createAuthorizer } from '../../functions/identity/authorizer.ts';
import { developmentCaller } from '../../functions/identity/development.ts';
import { serveNothing } from '../security/matrix-callers.ts';

/** A key has one limit, wherever it stands and whichever operation takes it. */

const MAX = 160;

const entries = (await Promise.all(Object.values(loadOperations).map((load) => load()))).flatMap((of) =>
  Object.values(of),
);
const { call } = serveNothing(entries, {
  authenticator: createAuthenticator({ apiKeyRequired: false, otherwise: developmentCaller }),
  authorizer: createAuthorizer(),
});
const keyed = entries.flatMap((entry) => {
  const { location } = entry.idempotency;
  if (location === null) return [];
  const names = location.in === 'header' ? [location.name, ...(location.aliases ?? [])] : ['Idempotency-Key'];
  return entry.routes
    .filter(({ method }) => method !== 'GET')
    .flatMap((route) => names.map((name) => [route.operationId, name, entry, route] as const));
});

test('the limit is that of identifiers, and there are operations that take a key', () => {
  expect(limits.identifierLengthMax).toBe(MAX);
  expect(new Set(keyed.map(([, , { id }]) => id)).size).toBeGreaterThan(20);
});

function typeOf({ bodyLimitBytes, requestMediaType }: OperationEntry): Readonly<Record<string, string>> {
  if (bodyLimitBytes === null) return {};
  const isForm = requestMediaType === 'multipart/form-data';
  return { 'content-type': isForm ? 'multipart/form-data; boundary=b' : 'application/json' };
}

describe.each(keyed)('%s with its key in %s', (_, name, entry, route) => {
  const path = `/${route.segments.map((each) => ('literal' in each ? each.literal : 'a')).join('/')}`;
  const isForm = entry.requestMediaType === 'multipart/form-data';
  const refusalOf = async (key: string) => {
    const parts = (entry.parts ?? []).map(
      (part) => `--b\r\nContent-Disposition: form-data; name="${part.name}"\r\n\r\n{}\r\n`,
    );
    const { status, body } = await call({
      method: route.method,
      path,
      headers: { [name]: key, ...typeOf(entry) },
      ...(entry.bodyLimitBytes === null ? {} : { body: isForm ? `${parts.join('')}--b--\r\n` : {} }),
    });
    const answer = status < 400 ? null : (JSON.parse(body) as { code: string; detail: string });
    return answer?.detail.includes('Idempotency-Key') === true ? answer : null;
  };

  test('takes 160 characters, in quotes too, and no more', async () => {
    for (const key of ['k'.repeat(MAX), `"${'k'.repeat(MAX)}"`, 'k']) expect(await refusalOf(key)).toBeNull();
    for (const key of ['k'.repeat(MAX + 1), `"${'k'.repeat(MAX + 1)}"`, 'k'.repeat(513)])
      expect(await refusalOf(key)).toMatchObject({
        code: 'limit_exceeded',
        errors: [{ pointer: '/Idempotency-Key', detail: 'must be at most 160 characters' }],
      });
    expect(entry.problems).toContain('limit_exceeded');
  });
});

test('the contract says the limit of the key at each field, and a tool has it as that of its argument', () => {
  const fields = surface.operations.flatMap(({ parameters }) =>
    parameters.filter(({ in: place, name }) => place === 'header' && name === 'Idempotency-Key'),
  );
  expect(fields.length).toBeGreaterThan(15);
  for (const { description } of fields) expect(description).toContain(`1 to ${MAX} characters`);
  const bounds = JSON.stringify(definitions).matchAll(/"idempotencyKey":\{[^{}]*"maxLength":(\d+)/g);
  const most = [...bounds].map(([, bound]) => Number(bound));
  // The start of a run takes white space around the key, which its body may hold.
  expect(most.filter((bound) => bound !== 400)).toEqual(Array.from({ length: most.length - 1 }, () => MAX));
  expect(most.length).toBeGreaterThan(10);
});
