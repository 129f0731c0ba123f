import { describe, expect, test } from 'vitest';
import type { CatalogOperation } from '../catalog.ts';
import { fixtureSource } from '../fixture.ts';
import type { Schema } from '../schema.ts';
import { type ContractSource, collectModels, readSource } from '../source.ts';
import { sdkContract } from './build-ir.ts';
import { type SdkOperation } from './ir.ts';
import { PAGING_RULES, pagingOf } from './paging.ts';
import { sdkType } from './types.ts';

const source = readSource(process.cwd());
const fixture = fixtureSource(source.catalogSchema);
const contract = sdkContract(source);
const other = sdkContract(fixture);
const of = (id: string, { operations }: { operations: readonly SdkOperation[] } = contract) =>
  operations.find((operation) => operation.id === id) ?? expect.fail(`there is no ${id}`);

describe('the operations', () => {
  test('are all that are not internal, in the order of the catalog', () => {
    const published = source.catalog.operations.filter(({ stability }) => stability !== 'internal');
    expect(contract.operations.map(({ id }) => id)).toEqual(published.map(({ id }) => id));
    expect(other.operations.map(({ id }) => id)).toEqual([
      'listParcels',
      'findParcel',
      'ingestParcel',
      'putBytes',
    ]);
    expect(other.groups.map(({ name }) => name)).toEqual(['depots']);
  });

  test('are reached by the canonical route', () => {
    expect(of('readCanonicalDocument')).toMatchObject({
      method: 'POST',
      pathTemplate: '/canonical/tenants/{tenantId}/documents/read',
      names: { typescript: 'getCanonicalDocument', python: 'get_canonical_document' },
    });
    expect(of('renewCanonicalOutboxLease').path.map(({ name }) => name)).toEqual(['tenantId', 'eventId']);
    expect(of('renewCanonicalOutboxLease').request).toMatchObject({
      repeatsRoute: ['tenantId', 'eventId'],
      optional: false,
    });
    expect(of('queryCanonicalOutbox').request).toMatchObject({ repeatsRoute: ['tenantId'], optional: true });
    expect(of('restoreCanonicalTenant').request).toMatchObject({
      json: { depthMax: 72 },
      overLimit: { problem: 'snapshot_too_large' },
    });
  });

  test('say what they take: parameters in the order of the path, files, bytes, a key in a header', () => {
    const list = of('listParcels', other);
    expect(list.path.map(({ words }) => words)).toEqual([['depot', 'id']]);
    expect(list.query.map(({ name, words, prefix, required }) => [name, words, prefix, required])).toEqual([
      ['limit', ['limit'], false, false],
      ['after', ['after'], false, true],
      ['tag.', ['tag'], true, false],
      ['order', ['order'], false, false],
    ]);
    expect(list.query.map(({ type }) => type)).toEqual([
      { kind: 'integer' },
      { kind: 'string', format: 'date-time' },
      { kind: 'string', format: null },
      { kind: 'literal', values: ['up', 'down'] },
    ]);
    const ingest = of('ingestParcel', other);
    expect(ingest.request).toMatchObject({
      kind: 'multipart',
      parts: [
        { name: 'manifest', type: { kind: 'model', name: 'ParcelQuery' } },
        { name: 'artifact', type: { kind: 'bytes' } },
      ],
    });
    expect(ingest.headers).toEqual([]);
    expect(ingest.idempotency).toEqual({
      requirement: 'supported',
      place: { in: 'header', name: 'Idempotency-Key', member: null },
    });
    const start = of('startExecutionRun');
    expect(start.headers).toEqual([]);
    expect(start.idempotency.place).toEqual({
      in: 'header',
      name: 'Idempotency-Key',
      member: 'idempotencyKey',
    });
    expect(of('putBytes', other).request).toMatchObject({
      kind: 'bytes',
      mediaType: 'application/octet-stream',
    });
  });

  test('say what they answer', () => {
    expect(
      of('ingestParcel', other).responses.map(({ status, body, headers }) => [
        status,
        body?.kind ?? null,
        headers.length,
      ]),
    ).toEqual([
      [202, 'json', 2],
      [204, null, 1],
      [503, 'json', 0],
    ]);
    expect(of('getPublicSchemaContract').responses[0]?.body).toEqual({
      kind: 'json',
      mediaType: 'application/schema+json',
      model: 'PublicSchemaBundle',
    });
  });

  test('are retried if they read, or with a key', () => {
    const kinds = (all: readonly SdkOperation[]) =>
      Object.fromEntries(all.map(({ id, retry }) => [id, retry]));
    expect(kinds(other.operations)).toEqual({
      listParcels: 'safe',
      findParcel: 'safe',
      ingestParcel: 'with-key',
      putBytes: 'with-key',
    });
    for (const { mutation, idempotency, retry } of contract.operations) {
      const takesKey = ['required', 'supported'].includes(idempotency.requirement);
      expect(retry).toBe(mutation === 'read' ? 'safe' : takesKey ? 'with-key' : 'never');
    }
    expect(of('commitCanonicalTransaction').idempotency.place).toEqual({
      in: 'body',
      pointer: '/idempotencyKey',
      member: 'idempotencyKey',
    });
  });

  test('are preview and deprecated where the catalog says so, and the models with them', () => {
    expect(of('ingestParcel', other).stability).toBe('preview');
    expect(of('findParcel', other).deprecation).toEqual({
      since: '9.0.0',
      replacement: 'listParcels',
      removal: '10.0.0',
    });
    expect(other.models.filter(({ preview }) => preview).map(({ name }) => name)).toEqual(['ParcelManifest']);
    for (const { id, stability } of source.catalog.operations.filter((each) => each.stability !== 'internal'))
      expect(of(id).stability, id).toBe(stability);
  });

  test('cannot have names that collide', () => {
    const [first, second] = fixture.catalog.operations;
    const change = (patch: Partial<CatalogOperation>): ContractSource => ({
      ...fixture,
      catalog: {
        ...fixture.catalog,
        operations: [{ ...(first ?? expect.fail()), ...patch }, second ?? expect.fail()],
      },
    });
    expect(() => sdkContract(change({ sdk: { python: 'x', typescript: 'findParcel' } }))).toThrow(
      'findParcel',
    );
    const [depotId, ...rest] = first?.parameters ?? [];
    const again = { ...(rest[0] ?? expect.fail()), in: 'header' as const, name: 'Li-Mit' };
    expect(() => sdkContract(change({ parameters: [depotId ?? expect.fail(), ...rest, again] }))).toThrow(
      'limit',
    );
  });
});

describe('the models', () => {
  test('are those that are published', () => {
    expect(other.models.map(({ name }) => name)).not.toContain('SecretAnswer');
    const roles = Object.fromEntries(contract.models.map(({ name, role }) => [name, role]));
    expect(roles).toMatchObject({
      CanonicalTransactionRequest: 'request',
      CanonicalDocument: 'response',
      CanonicalTenantSnapshot: 'response',
      ProblemDetails: 'response',
    });
  });

  test.each<[Schema, object]>([
    [{ $ref: '#/$defs/A' }, { kind: 'model', name: 'A' }],
    [
      { anyOf: [{ $ref: '#/$defs/A' }, { type: 'null' }] },
      { kind: 'nullable', of: { kind: 'model', name: 'A' } },
    ],
    [{ enum: ['a', null] }, { kind: 'nullable', of: { kind: 'literal', values: ['a'] } }],
    [{ const: 1 }, { kind: 'literal', values: [1] }],
    [
      { type: ['string', 'null'], format: 'date-time' },
      { kind: 'nullable', of: { kind: 'string', format: 'date-time' } },
    ],
    [
      { type: 'array', items: { type: 'integer' } },
      { kind: 'array', items: { kind: 'integer' } },
    ],
    [
      { type: 'object', additionalProperties: { type: 'number' } },
      { kind: 'map', values: { kind: 'number' } },
    ],
    [{ type: 'object' }, { kind: 'json-object' }],
    [{ description: 'any' }, { kind: 'json' }],
    [{ type: 'string', 'x-svc-binary': true }, { kind: 'bytes' }],
    [
      { type: 'object', oneOf: [{ $ref: '#/$defs/A' }], discriminator: { propertyName: 'k' } },
      { kind: 'union', models: ['A'], discriminator: 'k' },
    ],
  ])('%j', (schema, type) => {
    expect(sdkType(schema)).toEqual(type);
  });

  test('outside the profile there are none', () => {
    expect(() => sdkType({ type: 'tuple' })).toThrow('tuple');
    expect(() => sdkType({ oneOf: [{ type: 'string' }] })).toThrow('union');
  });
});

describe('pages', () => {
  test('are found where request and answer carry a token, and nowhere else', () => {
    const paged = contract.operations.filter(({ paging }) => paging !== null).map(({ id }) => id);
    expect(paged).toEqual([
      'queryCanonicalOutbox',
      'queryCanonicalDocuments',
      'queryRecords',
      'searchRecords',
      'listObjects',
    ]);
    expect(of('queryCanonicalDocuments').paging).toEqual({
      tokenIn: 'body',
      requestToken: 'continuationToken',
      responseToken: 'continuationToken',
      items: 'items',
      item: { kind: 'model', name: 'CanonicalDocument' },
      limit: 'limit',
    });
  });

  /** An operation that pages by the query, with changes. */
  const listing = (
    change: (parts: { answer: Record<string, Schema>; operation: CatalogOperation }) => void = () => {},
  ) => {
    const token: Schema = { description: 'Token.', type: ['string', 'null'], maxLength: 9 };
    const answer: Record<string, Schema> = {
      items: { description: 'Items.', type: 'array', maxItems: 9, items: { $ref: '#/$defs/BoxParcel' } },
      continuationToken: token,
    };
    const [first] = structuredClone(fixture.catalog.operations);
    const operation = {
      ...(first ?? expect.fail()),
      parameters: [
        ...(first?.parameters ?? []),
        {
          in: 'query',
          name: 'continuationToken',
          required: false,
          schema: { type: 'string', maxLength: 9 },
          description: 'Token.',
        },
      ],
      responses: [
        { status: 200, mediaType: 'application/json', schema: 'ParcelPage', description: 'A page.' },
      ],
    } as CatalogOperation;
    const parts = { answer, operation };
    change(parts);
    const page: Schema = {
      description: 'A page.',
      type: 'object',
      properties: answer,
      required: ['items'],
      examples: [{ items: [] }],
    };
    const models = collectModels({
      all: {
        ...Object.fromEntries([...fixture.models].map(([name, { schema }]) => [name, schema])),
        ParcelPage: page,
      },
    });
    const made = sdkContract({
      ...fixture,
      models,
      catalog: { ...fixture.catalog, operations: [parts.operation] },
    });
    return {
      operation: of('listParcels', made),
      models: new Map(made.models.map((model) => [model.name, model])),
    };
  };

  test('may be requested by query parameters', () => {
    expect(listing().operation.paging).toMatchObject({
      tokenIn: 'query',
      limit: 'limit',
      item: { name: 'BoxParcel' },
    });
  });

  test.each<[string, Parameters<typeof listing>[0]]>([
    ['the answer has no list', ({ answer }) => delete answer['items']],
    [
      'its list is no list',
      ({ answer }) => Object.assign(answer, { items: { description: 'x', type: 'integer' } }),
    ],
    ['the answer has no token', ({ answer }) => delete answer['continuationToken']],
    [
      'its token is no text',
      ({ answer }) => Object.assign(answer, { continuationToken: { description: 'x', type: 'integer' } }),
    ],
    [
      'the request takes none',
      ({ operation }) => Object.assign(operation, { parameters: operation.parameters.slice(0, -1) }),
    ],
    [
      'the request must have one',
      ({ operation }) =>
        Object.assign(operation, {
          parameters: operation.parameters.map((each) => ({ ...each, required: true })),
        }),
    ],
    ['the operation writes', ({ operation }) => Object.assign(operation, { mutation: 'write' })],
    [
      'it has two answers',
      ({ operation }) =>
        Object.assign(operation, {
          responses: [
            ...operation.responses,
            { status: 202, mediaType: 'application/json', schema: 'Parcel', description: 'x' },
          ],
        }),
    ],
  ])('are none where %s', (_, change) => {
    expect(listing(change).operation.paging).toBeNull();
  });

  test('have other names where a rule sets them', () => {
    const { operation, models } = listing(({ answer, operation: given }) => {
      Object.assign(answer, { parcels: answer['items'], next: answer['continuationToken'] });
      delete answer['items'];
      delete answer['continuationToken'];
      Object.assign(given, {
        parameters: given.parameters.map((each) =>
          each.name === 'continuationToken' ? { ...each, name: 'cursor' } : each,
        ),
      });
    });
    expect(operation.paging).toBeNull();
    const rule = { requestToken: 'cursor', responseToken: 'next', items: 'parcels', limit: 'size' };
    expect(pagingOf(operation, models, [...PAGING_RULES, rule])).toMatchObject({
      tokenIn: 'query',
      requestToken: 'cursor',
      responseToken: 'next',
      items: 'parcels',
      limit: null,
    });
  });
});
