import type { Catalog, CatalogOperation } from './catalog.ts';
import type { ToolSource } from './mcp/types.ts';
import type { Json, Schema } from './schema.ts';
import { type ContractSource, collectModels } from './source.ts';

/**
 * A contract for tests with parts that the published one lacks: another group, preview, deprecated and internal
 * operations, multipart and byte bodies, query parameters, 202 with a header, unions. It proves that the generators
 * depend on no group or operation by name.
 */
export function fixtureSource(catalogSchema: Json): ContractSource {
  return {
    catalog: fixtureCatalog,
    catalogSchema,
    models: collectModels({ common: commonModels, depots: depotModels }),
    problems: [
      problem('validation_failed', 400, false),
      problem('not_found', 404, false),
      problem('store_contention', 503, true),
    ],
    limits: [{ name: 'parcelsMax', value: 1000, unit: 'items', description: 'Parcels.', source: 'Fixture' }],
    version: '9.9.9',
    license: 'Apache-2.0',
    tools: fixtureTools,
  };
}

function problem(code: string, status: number, retryable: boolean): ContractSource['problems'][number] {
  return { code, status, title: code, retryable, description: `About ${code}.`, whoActs: 'The caller.' };
}

const text = (description: string): Schema => ({ description, type: 'string', maxLength: 100 });

const commonModels: Readonly<Record<string, Schema>> = {
  ProblemDetails: {
    description: 'A problem.',
    type: 'object',
    properties: { code: text('Its code.'), hint: text('Sometimes.') },
    required: ['code'],
    'x-svc-sparse': 'Only where it applies.',
    examples: [{ code: 'not_found' }],
  },
};

const depotModels: Readonly<Record<string, Schema>> = {
  Parcel: {
    description: 'A parcel. */ does not end this comment.',
    type: 'object',
    oneOf: [{ $ref: '#/$defs/BoxParcel' }, { $ref: '#/$defs/TubeParcel' }],
    discriminator: { propertyName: 'kind' },
    examples: [{ kind: 'box', width: 2 }],
  },
  BoxParcel: {
    description: 'A box.',
    type: 'object',
    properties: {
      kind: { description: 'Kind.', const: 'box' },
      width: { description: 'Width.', type: 'integer', 'x-svc-preview': true },
    },
    required: ['kind', 'width'],
    examples: [{ kind: 'box', width: 2 }],
  },
  TubeParcel: {
    description: 'A tube.',
    type: 'object',
    properties: {
      kind: { description: 'Kind.', const: 'tube' },
      length: { description: 'Length.', type: 'number', deprecated: true },
    },
    required: ['kind', 'length'],
    examples: [{ kind: 'tube', length: 2.5 }],
  },
  ParcelManifest: {
    description: 'The parts of a parcel.',
    type: 'object',
    additionalProperties: false,
    properties: {
      manifest: { description: 'What it is.', $ref: '#/$defs/ParcelQuery' },
      artifact: { description: 'Its bytes.', type: 'string', 'x-svc-binary': true },
    },
    required: ['manifest', 'artifact'],
    examples: [{ manifest: { id: 'm' }, artifact: '' }],
  },
  ParcelQuery: {
    description: 'Which parcel.',
    type: 'object',
    additionalProperties: false,
    properties: {
      id: { description: "The id; may hold 'quotes'.", type: 'string', maxLength: 100, pattern: '^[a-z/]*$' },
      'strange-name': { description: 'Strange.', enum: ["it's", null] },
      limit: { description: 'Limit.', type: ['integer', 'null'], minimum: 1, maximum: 9, default: 3 },
      tags: {
        description: 'Tags.',
        type: ['object', 'null'],
        maxProperties: 4,
        propertyNames: { maxLength: 9 },
        additionalProperties: { type: 'string', maxLength: 9 },
      },
    },
    required: ['id'],
    examples: [{ id: 'a', limit: 2 }],
  },
  SecretAnswer: {
    description: 'Only inside.',
    type: 'object',
    properties: { any: { description: 'Anything.', 'x-svc-max-bytes': 10 } },
    required: ['any'],
    examples: [{ any: [1] }],
  },
};

const fixtureTools: ToolSource = {
  maps: {
    listParcels: {
      description: 'Lists parcels.',
      takes: { depot: { from: '/depotId', description: 'The depot.' }, after: 'After.', order: 'Order.' },
      omits: ['/limit', '/tag.'],
    },
    ingestParcel: {
      description: 'Takes a parcel.',
      takes: { manifest: 'The parcel.', artifact: 'Its bytes.', idempotencyKey: 'Key.' },
    },
  },
  models: { ParcelQuery: { takes: { id: {}, limit: {}, tags: {} }, omits: ['strange-name'] } },
};

const base: Omit<CatalogOperation, 'id' | 'routes' | 'sdk'> = {
  group: 'depots',
  summary: 'Do it',
  description: 'Does it.',
  parameters: [],
  stability: 'public',
  authorizationClass: 'depot-policy',
  accessOperation: 'look',
  mutation: 'read',
  completion: 'non-mutating',
  idempotency: { requirement: 'not-applicable', location: null },
  request: null,
  responses: [{ status: 200, mediaType: 'application/json', schema: 'Parcel', description: 'A parcel.' }],
  problems: ['not_found', 'store_contention'],
  mcp: { exposure: 'none', name: null, uri: null, defaultEnabled: false },
  headerSafeFields: [],
  evidence: { fixtures: ['contracts/generate/fixture.ts'], tests: ['contracts/generate/outputs.test.ts'] },
  deprecation: null,
};

const depotId = {
  in: 'path',
  name: 'depotId',
  required: true,
  schema: { type: 'string', maxLength: 20 },
  description: 'The depot.',
} as const;

const key = {
  in: 'header',
  name: 'Idempotency-Key',
  required: false,
  schema: { type: 'string', maxLength: 512 },
  description: 'Key.',
} as const;

const write = {
  mutation: 'write',
  completion: 'receipt-bound',
  accessOperation: 'change',
  idempotency: { requirement: 'supported', location: { in: 'header', name: 'Idempotency-Key' } },
} as const;

const fixtureCatalog: Catalog = {
  catalogVersion: '9.9.9',
  groups: {
    depots: { position: 1, title: 'Depots', description: 'Depots.' },
    empty: { position: 2, title: 'Empty', description: 'A group whose operations are still to come.' },
  },
  authorizationClasses: {
    'depot-policy': {
      description: 'Depots.',
      security: [{ SvcBearer: [] }],
      accessOperations: ['look', 'change'],
      settings: 'Server:DepotAccess',
      policy: 'depot',
      rateClass: 'depot',
    },
  },
  operations: [
    {
      ...base,
      id: 'listParcels',
      routes: [{ operationId: 'listParcels', method: 'GET', path: '/depots/{depotId}/parcels' }],
      parameters: [
        depotId,
        {
          in: 'query',
          name: 'limit',
          required: false,
          schema: { type: 'integer', minimum: 1, default: 5 },
          description: 'Limit.',
        },
        {
          in: 'query',
          name: 'after',
          required: true,
          schema: { type: 'string', format: 'date-time', maxLength: 40 },
          description: 'After.',
        },
        {
          in: 'query',
          name: 'tag.',
          prefix: true,
          required: false,
          schema: { type: 'string', maxLength: 9 },
          description: 'Tags.',
        },
        {
          in: 'query',
          name: 'order',
          required: false,
          schema: { type: 'string', enum: ['up', 'down'] },
          description: 'Order.',
        },
      ],
      sdk: { python: 'list_parcels', typescript: 'listParcels' },
      mcp: { exposure: 'tool', name: 'svc_depots_list_parcels_v1', uri: null, defaultEnabled: true },
      headerSafeFields: ['order'],
    },
    {
      ...base,
      id: 'findParcel',
      routes: [
        { operationId: 'findParcel', method: 'POST', path: '/depots/{depotId}/find' },
        {
          operationId: 'getParcel',
          method: 'GET',
          path: '/depots/{depotId}/parcels/{id}',
          bodyFromParameters: true,
          parameters: [
            {
              in: 'path',
              name: 'id',
              required: true,
              schema: { type: 'string', maxLength: 100 },
              description: 'Id.',
            },
            {
              in: 'query',
              name: 'limit',
              required: false,
              schema: { type: 'integer' },
              description: 'Limit.',
            },
          ],
        },
      ],
      parameters: [depotId],
      sdk: { python: 'find_parcel', typescript: 'findParcel' },
      request: { schema: 'ParcelQuery', mediaType: 'application/json', bodyLimitBytes: 1024 },
      stability: 'deprecated',
      deprecation: { since: '9.0.0', replacement: 'listParcels', removal: '10.0.0' },
    },
    {
      ...base,
      ...write,
      id: 'ingestParcel',
      routes: [{ operationId: 'ingestParcel', method: 'POST', path: '/parcels' }],
      parameters: [key],
      sdk: { python: 'ingest_parcel', typescript: 'ingestParcel' },
      request: { schema: 'ParcelManifest', mediaType: 'multipart/form-data', bodyLimitBytes: 4096 },
      responses: [
        {
          status: 202,
          mediaType: 'application/json',
          schema: 'Parcel',
          description: 'Taken.',
          headers: [
            { name: 'Location', description: 'Where to look.' },
            { name: 'Depot-Hint', description: 'Sometimes.', required: false },
          ],
        },
        {
          status: 204,
          mediaType: null,
          schema: null,
          description: 'Nothing to do.',
          headers: [{ name: 'Depot-Hint', description: 'Now and then.', required: false }],
        },
        {
          status: 503,
          mediaType: 'application/json',
          schema: 'Parcel',
          description: 'A parcel that failed.',
        },
      ],
      stability: 'preview',
      mcp: { exposure: 'task', name: 'svc_depots_ingest_parcel_v1', uri: null, defaultEnabled: false },
    },
    {
      ...base,
      ...write,
      id: 'putBytes',
      mutation: 'write',
      routes: [{ operationId: 'putBytes', method: 'PUT', path: '/bytes' }],
      parameters: [key],
      sdk: { python: 'put_bytes', typescript: 'putBytes' },
      request: { schema: null, mediaType: 'application/octet-stream', bodyLimitBytes: 4096 },
      responses: [
        { status: 200, mediaType: 'application/octet-stream', schema: null, description: 'The bytes.' },
      ],
    },
    {
      ...base,
      id: 'peek',
      routes: [{ operationId: 'peek', method: 'GET', path: '/peek' }],
      sdk: null,
      stability: 'internal',
      responses: [
        { status: 200, mediaType: 'application/json', schema: 'SecretAnswer', description: 'Inside.' },
      ],
    },
  ],
  excluded: [],
};
