import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type {
  Catalog,
  CatalogOperation,
  ErrorCode,
  Limit,
  OpenApi,
  OpenApiOperation,
  OpenApiSchema,
} from '../scripts/release-contract.ts';
import { releaseFixtures } from '../scripts/release-fixtures.ts';
import { pinsOf, type ReleasePins } from '../scripts/release-pins.ts';
import { catalogFaults, errorFaults, openApiFaults } from './support/release-gate.ts';
import { directions, limitFaults } from './support/release-limits.ts';
import { schemaFaults } from './support/release-schemas.ts';

const read = <T>(path: string): T => JSON.parse(readFileSync(path, 'utf8')) as T;
const OPENAPI = 'contracts/generated/openapi/svc.json';
const CATALOG = 'contracts/public-sdk-surface.json';
const ERRORS = 'contracts/errors.json';
const LIMITS = 'contracts/limits.json';

const folder = mkdtempSync(join(tmpdir(), 'svc-release-gate-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The contract as it is, as the pins of a release hold it. */
const pins: ReleasePins = pinsOf(
  (name) => releaseFixtures('.').find((fixture) => fixture.name === name)?.text ?? null,
);

const COMMIT = '/canonical/tenants/{tenantId}/transactions';
const LEASE = '/canonical/tenants/{tenantId}/outbox/leases';

/** Changes that break a client, on copies of the contract as it is. */
describe('the comparison finds', () => {
  const [asked, given] = ['CanonicalTransactionRequest', 'CanonicalTransactionResult'];
  const inDocument: readonly [what: string, found: string, change: (document: OpenApi) => void][] = [
    ['an operation fewer', 'Path `/readiness` was removed', ({ paths }) => delete paths['/readiness']],
    ['a field of an answer fewer', '`etag` of', inSchema('CanonicalDocument', takeAway('etag'))],
    ['a field of a request fewer', '`actor` of', inSchema(asked, takeAway('actor'))],
    ['a field not promised', 'no longer required: `replayed`', inSchema(given, unpromise('replayed'))],
    ['a field required', 'became required: `outbox`', inSchema(asked, (s) => s.required.push('outbox'))],
    ['maxItems', "changed from '100' to '1'", limited(asked, 'mutations', 'maxItems', 1)],
    ['maximum', "to '<= 10'", limited('CanonicalDocumentRevisionQuery', 'limit', 'maximum', 10)],
    ['a pattern', "was set to '^a'", limited(asked, 'idempotencyKey', 'pattern', '^a')],
    ['a type without null', "to 'string'", limited(asked, 'correlationId', 'type', 'string')],
    ['a value fewer', "'leased', 'scheduled'", limited('CanonicalOutboxQuery', 'state', 'enum', ['ready'])],
    ['a value more', "values: 'merge'", inSchema('CanonicalMutationOperation', addValue('merge'))],
    ['less room', 'from 900000 to 1', limited('CanonicalDocumentInput', 'data', 'x-svc-max-bytes', 1)],
    ['no 409', 'Response `409` was removed', ofPost(COMMIT, ({ responses }) => delete responses['409'])],
    [
      '201 for 200',
      'Response `200` became `201`',
      ofPost(COMMIT, ({ responses }) => {
        responses['201'] = responses['200'] ?? {};
        delete responses['200'];
      }),
    ],
    [
      'a narrowed authorization',
      `POST ${COMMIT} asks for other credentials`,
      ofPost(COMMIT, (operation) => (operation.security = [{ SvcBearer: [] }])),
    ],
    [
      'an opened authorization',
      `POST ${LEASE} asks for other credentials`,
      ofPost(LEASE, (operation) => (operation.security = [])),
    ],
    [
      'a closed authorization',
      'GET /health asks for other credentials',
      ({ paths }) => {
        for (const operation of Object.values(paths['/health'] ?? {}))
          operation.security = [{ SvcBearer: [] }];
      },
    ],
  ];

  // The comparison takes two seconds, so one document holds all faults, and the comparison names each.
  let inAll = '';
  beforeAll(async () => {
    const document = read<OpenApi>(OPENAPI);
    for (const [, , change] of inDocument) change(document);
    const changed = join(folder, 'changed.json');
    writeFileSync(changed, JSON.stringify(document));
    inAll = (await openApiFaults(OPENAPI, changed)).join('\n');
  });

  it.each(inDocument)('%s in the document: %s', (_, found) => {
    expect(inAll).toContain(found);
  });

  /** Breaking changes that the comparison of the documents overlooks, or rates as small. */
  const inSchemas: readonly [what: string, change: (document: OpenApi) => void, found: string][] = [
    [
      'a value of an answer fewer',
      limited('CanonicalDataPlanePreflightCheck', 'status', 'enum', ['passed']),
      'is gone',
    ],
    [
      'a value fewer of a model that answers share',
      inSchema('ServerCheckStatus', (schema) => (schema.enum = schema.enum.slice(1))),
      'is gone',
    ],
    [
      'another default of a body',
      limited('CanonicalDocumentQuery', 'orderDirection', 'default', 'descending'),
      'was "ascending", and is "descending"',
    ],
    [
      'a default that is gone',
      limited('CanonicalOutboxLeaseRequest', 'leaseSeconds', 'default', undefined),
      'was 60, and is none',
    ],
    [
      'another default of a parameter',
      ({ paths }) => {
        const parameters = Object.values(paths).flatMap(({ get }) => get?.parameters ?? []);
        const found = parameters.find(({ name }) => name === 'includeDeleted') ?? expect.fail();
        found.schema = { ...found.schema, default: true };
      },
      'was false, and is true',
    ],
    [
      'less room',
      limited('CanonicalDocumentInput', 'data', 'x-svc-max-bytes', 899_999),
      'x-svc-max-bytes went from 900000 to 899999',
    ],
    [
      'room that was not bounded',
      limited('CanonicalTransactionRequest', 'actor', 'x-svc-max-bytes', 10),
      'went from none to 10',
    ],
  ];

  it.each(inSchemas)('%s in the schemas', (_, change, found) => {
    const document = read<OpenApi>(OPENAPI);
    change(document);
    expect(schemaFaults(pins.openapi, document)).toContainEqual(expect.stringContaining(found));
  });

  it.each<[string, (document: OpenApi) => void]>([
    ['more room', limited('CanonicalDocumentInput', 'data', 'x-svc-max-bytes', 900_001)],
    ['room without a bound', limited('CanonicalDocumentInput', 'data', 'x-svc-max-bytes', undefined)],
    ['a default where none was documented', limited('CanonicalTransactionRequest', 'actor', 'default', null)],
    ['a value more', inSchema('ServerCheckStatus', addValue('unknown'))],
    [
      'another text of a member that is called default',
      (document) => {
        const { properties } = document.components.schemas['ProviderModelDescriptor'] ?? expect.fail();
        const member = properties['default'] ?? expect.fail();
        properties['default'] = { ...member, description: 'Other words.' };
      },
    ],
    [
      'parameters in another order',
      ({ paths }) => {
        for (const { get } of Object.values(paths)) get?.parameters?.reverse();
      },
    ],
    [
      'a schema that has a name now',
      (document) => {
        const { properties } = document.components.schemas['CanonicalDocumentQuery'] ?? expect.fail();
        document.components.schemas['Direction'] = properties['orderDirection'] as unknown as OpenApiSchema;
        properties['orderDirection'] = { $ref: '#/components/schemas/Direction' };
      },
    ],
  ])('nothing in the schemas in %s', (_, change) => {
    const document = read<OpenApi>(OPENAPI);
    change(document);
    expect(schemaFaults(pins.openapi, document)).toEqual([]);
  });

  const inCatalog: readonly [kind: string, change: object, found: string][] = [
    ['another method name', { sdk: { typescript: 'commit', python: 'commit' } }, 'sdk'],
    ['a changed authorization class', { authorizationClass: 'anonymous' }, 'authorizationClass'],
    ['a changed access operation', { accessOperation: 'read' }, 'accessOperation'],
    ['a key that is no longer asked for', { idempotency: { requirement: 'optional' } }, 'idempotency'],
    ['a changed success', { responses: [{ status: 202 }] }, 'other statuses'],
    ['a removed route', { routes: [] }, 'is gone'],
    ['a public operation in preview', { stability: 'preview' }, 'public may not become preview'],
    ['a public operation hidden', { stability: 'internal' }, 'public may not become internal'],
    ['a problem fewer', { problems: problemsBut('fence_conflict') }, 'the problem fence_conflict'],
    ['a smaller body', withRequest({ bodyLimitBytes: 8_388_607 }), 'bodyLimitBytes shrank from 8388608'],
    ['a flatter body', withRequest({ json: bounds({ depthMax: 63 }) }), 'depthMax shrank from 64 to 63'],
    ['a sparser body', withRequest({ json: bounds({ membersMax: 9 }) }), 'membersMax shrank'],
    [
      'a larger body refused as something else',
      withRequest({ overLimit: { problem: 'snapshot_too_large', advice: 'None.' } }),
      'no longer as payload_too_large',
    ],
    ['a body no longer taken', { request: null }, 'takes no body'],
  ];

  it.each(inCatalog)('%s in the catalog', (_, change, found) => {
    const now = read<Catalog>(CATALOG);
    const operations = now.operations.map((operation) =>
      operation.id === 'commitCanonicalTransaction' ? { ...operation, ...change } : operation,
    );
    const faults = catalogFaults(pins.catalog, { ...now, operations });
    expect(faults).toEqual([expect.stringContaining(found)]);
  });

  it.each<[string, string, object]>([
    ['an announced end', 'commitCanonicalTransaction', { stability: 'deprecated' }],
    ['a problem more', 'commitCanonicalTransaction', { problems: [...commit().problems, 'not_found'] }],
    ['a larger body', 'commitCanonicalTransaction', withRequest({ bodyLimitBytes: 8_388_609 })],
    ['a deeper body', 'commitCanonicalTransaction', withRequest({ json: bounds({ depthMax: 65 }) })],
  ])('nothing in %s', (_, id, change) => {
    const now = read<Catalog>(CATALOG);
    const operations = now.operations.map((each) => (each.id === id ? { ...each, ...change } : each));
    expect(catalogFaults(pins.catalog, { ...now, operations })).toEqual([]);
  });

  it.each([
    ['preview', 'public', true],
    ['internal', 'preview', true],
    ['deprecated', 'public', true],
    ['deprecated', 'preview', false],
    ['deprecated', 'internal', false],
    ['preview', 'internal', false],
  ] as const)('whether a %s operation may become %s: %s', (before, after, allowed) => {
    const now = read<Catalog>(CATALOG);
    const as = (stability: CatalogOperation['stability']): Catalog => ({
      ...now,
      operations: [{ ...commit(), stability }],
    });
    const found = catalogFaults(as(before), as(after));
    expect(found).toEqual(allowed ? [] : [expect.stringContaining(`${before} may not become ${after}`)]);
  });

  it.each([
    ['none', 'preview', true],
    ['none', 'tool', true],
    ['preview', 'tool', true],
    ['preview', 'none', true],
    ['tool', 'none', false],
    ['tool', 'preview', false],
    ['task', 'tool', false],
  ])('whether the exposure %s may become %s: %s', (before, after, allowed) => {
    const now = read<Catalog>(CATALOG);
    const as = (exposure: string): Catalog => ({ ...now, operations: [{ ...commit(), mcp: { exposure } }] });
    const found = catalogFaults(as(before), as(after));
    expect(found).toEqual(allowed ? [] : [expect.stringContaining('mcp is another')]);
  });

  it('a body whose special limit shrank', () => {
    const now = read<Catalog>(CATALOG);
    const operations = now.operations.map((operation) => {
      if (operation.request === null) return operation;
      const { json: _, ...request } = operation.request;
      return { ...operation, request };
    });
    expect(
      catalogFaults(pins.catalog, { ...now, operations }).map((fault) => fault.split(' shrank')[0]),
    ).toEqual(
      [
        'restoreCanonicalTenant',
        'importCollection',
        'startCollectionImportJob',
        'upsertRecords',
        'startRecordBatchUpsertJob',
        'importGraphEnvelope',
        'preflightGraphImport',
        'startGraphImportJob',
      ].flatMap((id) => [`${id}: depthMax`, `${id}: membersMax`]),
    );
  });

  it('an authorization class that requires less', () => {
    const now = read<Catalog>(CATALOG);
    const authorizationClasses = { ...now.authorizationClasses, 'canonical-policy': { security: [] } };
    expect(catalogFaults(pins.catalog, { ...now, authorizationClasses })).toHaveLength(1);
  });

  it.each<[string, Partial<ErrorCode>]>([
    ['another code', { code: 'other' }],
    ['another status', { status: 409 }],
    ['another retryability', { retryable: true }],
  ])('%s among the errors', (_, change) => {
    const { errors } = read<{ errors: ErrorCode[] }>(ERRORS);
    const now = errors.map((each) => (each.code === 'not_found' ? { ...each, ...change } : each));
    expect(errorFaults(pins.errors, now)).toEqual([expect.stringContaining('not_found')]);
  });

  it.each<[string, string, Partial<Limit> | null, string | null]>([
    ['a ceiling that fell', 'queryLimitMax', { value: 999 }, 'went from 1000 to 999'],
    ['nothing in a ceiling that rose', 'queryLimitMax', { value: 1001 }, null],
    ['a floor that rose', 'identifierLengthMin', { value: 2 }, 'went from 1 to 2'],
    ['nothing in a floor that fell', 'requestBodyBytesPerSecondMin', { value: 1 }, null],
    ['another default', 'queryLimitDefault', { value: 101 }, 'it may go nowhere'],
    ['less time', 'requestBodySeconds', { value: 14 }, 'it may go up'],
    ['a longer window', 'rateLimitWindowSecondsDefault', { value: 61 }, 'it may go down'],
    ['another unit', 'queryLimitMax', { unit: 'pages' }, 'counts pages'],
    ['a limit that is gone', 'queryLimitMax', null, 'is gone'],
  ])('%s among the limits', (_, name, change, found) => {
    const { limits } = read<{ limits: Limit[] }>(LIMITS);
    const now = limits.flatMap((each) => {
      if (each.name !== name) return [each];
      return change === null ? [] : [{ ...each, ...change }];
    });
    expect(limitFaults(pins.limits, now)).toEqual(found === null ? [] : [expect.stringContaining(found)]);
  });

  it('a new limit without an allowed direction', () => {
    const { limits } = read<{ limits: Limit[] }>(LIMITS);
    const now = [...limits, { name: 'patienceSeconds', value: 1, unit: 'seconds' }];
    expect(limitFaults(pins.limits, now)).toEqual([expect.stringContaining('patienceSeconds may go where?')]);
    expect(limitFaults(now, now)).toHaveLength(1);
  });

  it('no table entry without a limit', () => {
    const names = read<{ limits: Limit[] }>(LIMITS).limits.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(Object.keys(directions)));
  });

  it('nothing in an addition', async () => {
    const document = read<OpenApi>(OPENAPI);
    inSchema(
      'CanonicalTransactionRequest',
      ({ properties }) => (properties.note = { type: 'string' }),
    )(document);
    const changed = join(folder, 'added.json');
    writeFileSync(changed, JSON.stringify(document));
    expect(await openApiFaults(OPENAPI, changed)).toEqual([]);
  });
});

function inSchema(name: string, change: (schema: OpenApiSchema) => unknown) {
  return ({ components }: OpenApi): void => {
    const schema = components.schemas[name];
    if (schema === undefined) throw new Error(`there is no schema ${name}`);
    change(schema);
  };
}

function unpromise(member: string) {
  return (schema: OpenApiSchema): void => {
    schema.required = schema.required.filter((name) => name !== member);
  };
}

function takeAway(member: string) {
  return (schema: OpenApiSchema): void => {
    delete schema.properties[member];
    unpromise(member)(schema);
  };
}

function limited(name: string, member: string, keyword: string, value: unknown) {
  return inSchema(name, ({ properties }) => {
    properties[member] = { ...properties[member], [keyword]: value };
  });
}

function addValue(value: string) {
  return (schema: OpenApiSchema): void => {
    schema.enum = [...schema.enum, value];
  };
}

function ofPost(path: string, change: (operation: OpenApiOperation) => unknown) {
  return ({ paths }: OpenApi): void => {
    const operation = paths[path]?.post;
    if (operation === undefined) throw new Error(`there is no POST ${path}`);
    change(operation);
  };
}

function commit(): CatalogOperation {
  const { operations } = read<Catalog>(CATALOG);
  return operations.find(({ id }) => id === 'commitCanonicalTransaction') ?? expect.fail();
}

function problemsBut(code: string): readonly string[] {
  const { problems } = commit();
  expect(problems).toContain(code);
  return problems.filter((each) => each !== code);
}

function withRequest(change: object): object {
  return { request: { ...commit().request, ...change } };
}

/** The bounds of a body that may hold more than usual, with a change. */
function bounds(change: object): object {
  return { depthMax: 72, membersMax: 300_000, containersMax: 300_000, ...change };
}
