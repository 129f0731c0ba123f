import { describe, expect, test } from 'vitest';
import { loadOperations } from '../../contracts/generated/operations/load.ts';
import type { OperationEntry, OperationRoute, ParameterSpec } from '../../contracts/operation.ts';
import { createAuthenticator } from '../../functions/identity/authenticator.ts';
import { createAuthorizer } from '../../functions/identity/authorizer.ts';
import { developmentCaller } from '../../functions/identity/development.ts';
import { serveNothing } from '../security/matrix-callers.ts';

/** Each parameter of each operation with each kind of wrong value: the refusal names it with its rule. */

const entries = (await Promise.all(Object.values(loadOperations).map((load) => load()))).flatMap((of) =>
  Object.values(of),
);
const { call } = serveNothing(entries, {
  authenticator: createAuthenticator({ apiKeyRequired: false, otherwise: developmentCaller }),
  authorizer: createAuthorizer(),
});

interface Wrong {
  readonly text: string;
  readonly keyword: string;
  readonly rule: string;
}

/** The wrong values of a parameter, and the expected detail of each refusal. */
function wrongValues(spec: ParameterSpec): Wrong[] {
  const { type, minimum, maximum, minLength = 0, maxLength } = spec;
  if (type === 'boolean') return [{ text: '1', keyword: 'type', rule: 'boolean (true or false)' }];
  if (type !== 'string')
    return [
      { text: 'x', keyword: 'type', rule: `must be of the type ${type}` },
      ...(minimum === undefined
        ? []
        : [{ text: String(minimum - 1), keyword: 'minimum', rule: `must be >= ${minimum}` }]),
      ...(maximum === undefined || !Number.isSafeInteger(maximum + 1)
        ? []
        : [{ text: String(maximum + 1), keyword: 'maximum', rule: `must be <= ${maximum}` }]),
    ];
  return [
    ...(spec.enum === undefined
      ? []
      : [{ text: 'canary-none', keyword: 'enum', rule: `must be one of ${spec.enum.join(', ')}` }]),
    ...(minLength === 0
      ? []
      : [{ text: '', keyword: 'minLength', rule: `fewer than ${minLength} characters` }]),
    ...(maxLength === undefined || spec.enum !== undefined
      ? []
      : [
          {
            text: 'a'.repeat(maxLength + 1),
            keyword: 'maxLength',
            rule: `more than ${maxLength} characters`,
          },
        ]),
    ...(spec.format === undefined
      ? []
      : [{ text: 'canary-soon', keyword: 'format', rule: 'as RFC 3339 writes it' }]),
    ...(spec.pattern === undefined
      ? []
      : [{ text: '?'.repeat(Math.max(1, minLength)), keyword: 'pattern', rule: spec.pattern }]),
    ...(spec.anyText === true ? [] : [{ text: 'a\u0001', keyword: 'pattern', rule: 'control characters' }]),
  ];
}

/** The route with `a` in each parameter of the path but the named one. */
function pathOf({ segments }: OperationRoute, name = '', text = ''): string {
  const parts = segments.map((segment) =>
    'literal' in segment ? segment.literal : encodeURIComponent(segment.param === name ? text : 'a'),
  );
  return `/${parts.join('/')}`;
}

async function refused(
  { method }: OperationRoute,
  path: string,
  headers: Readonly<Record<string, string>> = {},
) {
  const { status, body } = await call({ method, path, headers });
  expect(status, `${method} ${path.slice(0, 200)}`).toBe(400);
  return JSON.parse(body) as {
    readonly code: string;
    readonly detail: string;
    readonly errors: readonly {
      readonly pointer: string;
      readonly detail: string;
      readonly keyword?: string;
    }[];
  };
}

const routes: [string, OperationEntry, OperationRoute][] = entries.flatMap((entry) =>
  entry.routes.map((route): [string, OperationEntry, OperationRoute] => [route.operationId, entry, route]),
);

describe.each(routes)('%s', (_, { idempotency: { location } }, route) => {
  test('names each wrong parameter of the query with its rule, and all of them together', async () => {
    const first: string[] = [];
    for (const spec of route.query) {
      const name = spec.prefix === true ? `${spec.name}a` : spec.name;
      for (const { text, keyword, rule } of wrongValues(spec)) {
        const query = `${name}=${encodeURIComponent(text)}`;
        const { detail, errors } = await refused(route, `${pathOf(route)}?${query}`);
        const fault = errors.find(({ pointer }) => pointer === `/${name}`);
        expect(fault, query).toMatchObject({ keyword, detail: expect.stringContaining(rule) });
        expect(detail).toContain(`/${name}: `);
        if (text.startsWith('canary') || text.length > 20)
          expect(JSON.stringify([detail, errors])).not.toContain(text);
        if (!first.some((one) => one.startsWith(`${name}=`))) first.push(query);
      }
    }
    if (first.length === 0) return;
    const { errors } = await refused(route, `${pathOf(route)}?${first.join('&')}`);
    const named = errors.map(({ pointer }) => pointer);
    expect(named).toEqual(expect.arrayContaining(first.map((query) => `/${query.split('=', 1).join('')}`)));
  });

  test('names an unknown, a repeated and a missing parameter of the query', async () => {
    const unknown = await refused(route, `${pathOf(route)}?zzzzzzzz=1`);
    expect(unknown.errors).toContainEqual({
      pointer: '/zzzzzzzz',
      keyword: 'additionalProperties',
      detail: 'is not known here',
    });
    for (const { name, prefix, required } of route.query) {
      if (prefix === true) continue;
      const near = await refused(route, `${pathOf(route)}?${name}z=1`);
      expect(near.detail).toContain(`/${name}z: is not known here: did you mean ${name}?`);
      const twice = await refused(route, `${pathOf(route)}?${name}=1&${name}=1`);
      expect(twice.detail).toContain(`/${name}: occurs twice`);
      if (required) expect(near.detail).toContain(`/${name}: is missing`);
    }
  });

  test('names each wrong parameter of the path and each wrong field', async () => {
    for (const spec of route.path) {
      const isRest = route.segments.some((segment) => 'rest' in segment && segment.param === spec.name);
      for (const { text } of wrongValues(spec)) {
        // An empty segment is another path.
        if (text === '') continue;
        const { errors, detail } = await refused(route, pathOf(route, spec.name, text));
        expect(errors, `${spec.name} ${text.slice(0, 20)}`).toContainEqual(
          expect.objectContaining({ pointer: `/${spec.name}` }),
        );
        expect(detail).toContain(`/${spec.name}: `);
      }
      if (!isRest && spec.anyText !== true) {
        const { detail } = await refused(route, pathOf(route, spec.name, ' a'));
        expect(detail).toContain(`/${spec.name}: `);
      }
    }
    for (const spec of route.headers) {
      const isKey =
        location?.in === 'header' && [location.name, ...(location.aliases ?? [])].includes(spec.name);
      if (isKey || spec.prefix === true) continue;
      for (const { text, keyword, rule } of wrongValues(spec)) {
        if (text === '' || text.includes('\u0001')) continue;
        const { errors } = await refused(route, pathOf(route), { [spec.name]: text });
        expect(errors).toContainEqual(
          expect.objectContaining({
            pointer: `/${spec.name}`,
            keyword,
            detail: expect.stringContaining(rule),
          }),
        );
      }
    }
  });
});
