import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import catalogSchema from '../../catalog.schema.json' with { type: 'json' };
import { type CatalogOperation, canonicalRoute, isPublished, routeParameters } from '../catalog.ts';
import { fixtureSource } from '../fixture.ts';
import type { Json, Schema } from '../schema.ts';
import { type ContractSource, readSource } from '../source.ts';
import { sdkContract } from './build-ir.ts';
import { completed, type Models } from './complete.ts';
import type { SdkType } from './types.ts';
import { type WireCase, wireRequests } from './wire.ts';

const source = readSource(resolve(import.meta.dirname, '../../..'));
const fixture = fixtureSource(catalogSchema);

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The members that the values of a request lack, computed from the schema files alone. */
function gaps(
  schema: Schema,
  values: readonly unknown[],
  models: ContractSource['models'],
  at: string,
  above: readonly string[] = [],
): string[] {
  const present = values.filter((value) => value !== undefined && value !== null);
  if (present.length === 0) return [at];
  const name = schema.$ref?.split('/').at(-1);
  if (name !== undefined) {
    // A model inside itself has no end, so one is enough.
    return above.includes(name)
      ? []
      : gaps(models.get(name)?.schema ?? {}, present, models, at, [...above, name]);
  }
  const branch = schema.anyOf?.find(({ type }) => type !== 'null');
  if (branch !== undefined) return gaps(branch, present, models, at, above);
  const members = Object.entries(schema.properties ?? {}).flatMap(([member, inner]) =>
    gaps(
      inner,
      present.filter(isObject).map((value) => value[member]),
      models,
      `${at}.${member}`,
      above,
    ),
  );
  const { items, additionalProperties: rest } = schema;
  const entries = items === undefined ? [] : gaps(items, present.flat(), models, `${at}[]`, above);
  const named =
    typeof rest !== 'object'
      ? []
      : gaps(
          rest,
          present.flatMap((value) => Object.values(value)),
          models,
          `${at}{}`,
          above,
        );
  return [...members, ...entries, ...named];
}

/** The inputs that a case with every input leaves out. */
function leftOut(
  operation: CatalogOperation,
  { arguments: given }: WireCase,
  from: ContractSource,
): string[] {
  const { location } = operation.idempotency;
  const parameters = routeParameters(operation, canonicalRoute(operation));
  const keyHeader = location?.in === 'header' ? location.name : null;
  // Other names of the same header are aliases for old callers.
  const keyHeaders = location?.in === 'header' ? [location.name, ...(location.aliases ?? [])] : [];
  const words = new Set(given.parameters?.map((parameter) => parameter.words.join('')));
  const missing = parameters
    .filter((parameter) => parameter.linkOnly !== true)
    .filter((parameter) => parameter.in !== 'path' && !keyHeaders.includes(parameter.name))
    .map(({ name, sdkName }) => (sdkName ?? name).replace(/[^A-Za-z0-9]/g, '').toLowerCase())
    .filter((name) => !words.has(name));
  const paths = parameters.filter((parameter) => parameter.in === 'path').length;
  const model = operation.request?.schema ?? null;
  return [
    ...missing,
    ...(given.path.length === paths ? [] : ['a part of the path']),
    ...(keyHeader === null || given.idempotencyKey !== null ? [] : ['the key']),
    ...(model === null ? [] : gaps({ $ref: `#/$defs/${model}` }, [given.request], from.models, model)),
  ];
}

describe.each([
  ['the contract', source],
  ['the fixture', fixture],
])('the cases of %s', (_, from) => {
  const cases = wireRequests(sdkContract(from)).cases;
  const operations = from.catalog.operations.filter(isPublished);

  test.each(operations.map((operation) => [operation.id, operation] as const))(
    'of %s give all that can be given',
    (id, operation) => {
      const most = cases.findLast((each) => each.operation === id) ?? expect.fail('there is no case');
      expect(leftOut(operation, most, from)).toEqual([]);
    },
  );

  test('give the same values in the route and in the request', () => {
    for (const each of cases) {
      const operation = operations.find(({ id }) => id === each.operation) ?? expect.fail(each.operation);
      const names = [...canonicalRoute(operation).path.matchAll(/\{(.*?)\}/g)].map(([, name = '']) => name);
      const { path, request } = each.arguments;
      for (const [at, name] of names.entries())
        if (isObject(request) && name in request) expect(request[name], each.operation).toBe(path[at]);
    }
  });
});

describe('what is left out', () => {
  const operation =
    source.catalog.operations.find(({ request }) => request?.schema === 'CanonicalTransactionRequest') ??
    expect.fail('there is no commit');
  const most =
    wireRequests(sdkContract(source)).cases.findLast((each) => each.operation === operation.id) ??
    expect.fail('there is no case');
  const without = (path: readonly string[], value: Json): Json => {
    const [name = '', ...deeper] = path;
    if (Array.isArray(value)) return value.map((entry: Json) => without(path, entry));
    if (!isObject(value)) return value;
    const { [name]: taken, ...rest } = value as Readonly<Record<string, Json>>;
    return deeper.length === 0 ? rest : { ...rest, [name]: without(deeper, taken ?? null) };
  };

  test.each([
    'actor',
    'fences',
    'outbox.headers',
    'mutations.document.deleted',
    'mutations.precondition.mustExist',
  ])('is found: %s', (path) => {
    const given = { ...most.arguments, request: without(path.split('.'), most.arguments.request) };
    expect(leftOut(operation, { ...most, arguments: given }, source)).toEqual([
      expect.stringContaining(path.split('.').at(-1) ?? ''),
    ]);
  });
});

type Shape = NonNullable<ReturnType<Models['get']>>;

describe('a completed value', () => {
  const member = (name: string, type: SdkType) => ({
    name,
    type,
    required: false,
    description: '',
    deprecated: false,
  });
  const models: Models = new Map<string, Shape>([
    [
      'Tree',
      {
        members: [
          member('label', { kind: 'string', format: null }),
          member('below', { kind: 'array', items: { kind: 'model', name: 'Tree' } }),
        ],
        type: null,
        example: { label: 'a' },
      },
    ],
    [
      'Box',
      {
        members: [member('kind', { kind: 'literal', values: ['box'] }), member('width', { kind: 'integer' })],
        type: null,
        example: { kind: 'box' },
      },
    ],
    [
      'Tube',
      {
        members: [member('kind', { kind: 'literal', values: ['tube'] }), member('open', { kind: 'boolean' })],
        type: null,
        example: { kind: 'tube' },
      },
    ],
    [
      'Either',
      {
        members: null,
        type: { kind: 'union', models: ['Box', 'Tube'], discriminator: 'kind' },
        example: { kind: 'tube' },
      },
    ],
  ]);

  test('keeps given members and ends where a model contains itself', () => {
    expect(completed('Tree', { label: 'b' }, models)).toEqual({ label: 'b', below: [{ label: 'a' }] });
  });

  test('keeps the model of a union that the example has', () => {
    expect(completed('Either', undefined, models)).toEqual({ kind: 'tube', open: false });
    expect(completed('Either', { kind: 'box' }, models)).toEqual({ kind: 'box', width: 2 });
  });
});
