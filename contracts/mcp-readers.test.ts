import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readImport } from '../functions/collections/import-request.ts';
import { readListing } from '../functions/collections/page-request.ts';
import { readPolicy } from '../functions/collections/rules/policy.ts';
import { entryFormats } from '../functions/collections/search/formats.ts';
import { isRanked, readSearch } from '../functions/collections/search-request.ts';
import { readEmbeddingRequest } from '../functions/embeddings/rules/request.ts';
import { readEnvelope } from '../functions/graph/rules/read-envelope.ts';
import type { JsonObject } from '../functions/kernel/canonical-json.ts';
import { ServiceError } from '../functions/kernel/errors.ts';
import { finished } from '../functions/kernel/turns.ts';
import { checkArguments } from '../functions/mcp/service/check-arguments.ts';
import { argumentPointer, mappedRequest } from '../functions/mcp/service/mapped-request.ts';
import type { ToolMap } from '../functions/mcp/service/tool-map.ts';
import { readContextRequest } from '../functions/rag/rules/context-request.ts';
import { readComparison, readEvaluation } from '../functions/retrieval/rules/evaluation/request.ts';
import { readRetrieval } from '../functions/retrieval/rules/request.ts';
import { mcpDefinitions } from './generate/emit-mcp.ts';
import type { Schema } from './generate/schema.ts';
import { readSource } from './generate/source.ts';

/**
 * A request with no more members than the schema of a tool requires, and with each optional part beside them, is one that the rules of
 * the operation read. A model that leaves out what the schema does not require would be refused otherwise.
 */

/** Each reader has a request type of its own, which the schema of the tool checks. */
type Request = ReturnType<typeof JSON.parse>;

const CANDIDATES = 5_000;
const policy = readPolicy({ name: 'notes', indexedMetadata: ['/metadata/year'] });

function readContext(context: Request, pointer: string): void {
  readRetrieval(context.retrieval, CANDIDATES, `${pointer}/retrieval`);
  readContextRequest(context, pointer);
}

function readCases({ cases }: Request): void {
  for (const [at, each] of (cases as Request[]).entries())
    readRetrieval(each.request, CANDIDATES, `/cases/${at}/request`);
}

/** The rules of the operations that are pure. */
const readers: Readonly<Record<string, (request: Request) => void>> = {
  queryRecords: (request) => readListing(request, policy),
  exportCollectionBounded: ({ query }) => readListing(query ?? {}, policy, '/query'),
  searchRecords: (request) => {
    expect(isRanked(request)).toBe(true);
    readSearch(request, policy, { candidatesMax: CANDIDATES, formats: entryFormats });
  },
  retrieve: (request) => readRetrieval(request, CANDIDATES),
  buildRagContext: (request) => readContext(request, ''),
  buildRagPrompt: ({ context }) => readContext(context, '/context'),
  startRetrievalEvaluationJob: (request) => {
    readEvaluation(request);
    readCases(request);
  },
  startRetrievalEvaluationComparisonJob: (request) => {
    readComparison(request);
    readCases(request);
  },
  startEmbeddingJob: (request) => readEmbeddingRequest(request),
  startGraphImportJob: ({ envelope }) => finished(readEnvelope(envelope ?? {}, '/envelope')),
  startCollectionImportJob: ({ collection, ...body }) =>
    finished(readImport(JSON.stringify(body), collection)),
};

/** Of a member with a form that its schema does not state. */
const FORMS: Readonly<Record<string, unknown>> = {
  path: '/vectors/a/values',
  profile: 'evidence',
  fields: '/content/text',
  indexedMetadata: '/metadata/a',
  // Those of a snapshot without records.
  recordCount: 0,
  truncated: false,
};

/** A value with the members that its schema requires, and one for each optional part. */
function formsOf(schema: Schema, name: string): readonly unknown[] {
  const { type, enum: values, properties, items, required = [] } = schema;
  if (type !== 'array' && FORMS[name] !== undefined) return [FORMS[name]];
  if (values !== undefined) return values;
  if (type === 'array') {
    const forms: readonly unknown[] = items === undefined ? ['a'] : formsOf(items, name);
    return forms.map((form) => [form]);
  }
  if (type === 'object' && properties !== undefined) {
    const forms = Object.fromEntries(
      Object.entries(properties).map(([member, each]) => [member, formsOf(each, member)]),
    );
    const least = Object.fromEntries(required.map((member) => [member, forms[member]?.[0]]));
    const more = Object.entries(forms).flatMap(([member, all]) =>
      all.map((each) => ({ ...least, [member]: each })),
    );
    return [least, ...more];
  }
  if (type === 'object') return [{}];
  if (type === 'boolean') return [true];
  if (type === 'integer' || type === 'number') return [Math.max(schema.minimum ?? 1, 1)];
  return ['a'];
}

const tools = mcpDefinitions(readSource(resolve(import.meta.dirname, '..'))).flatMap(
  ({ operationId, definition, map, advanced }) => {
    const read = readers[operationId];
    if (map === undefined || read === undefined) return [];
    const { inputSchema } = definition as unknown as { inputSchema: Schema };
    // The faults of a filter that no schema states have rules and words of their own.
    const { filter: _filter, continuationToken: _token, ...own } = inputSchema.properties ?? {};
    const properties = advanced === undefined ? own : { ...own, advanced: advanced as Schema };
    return [{ operationId, map, read, schema: { ...inputSchema, properties } }];
  },
);

function refusalOf(read: (request: Request) => void, map: ToolMap, given: JsonObject): ServiceError | null {
  try {
    read(mappedRequest(map, given));
    return null;
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return error;
  }
}

describe('the least arguments that a schema allows, and each part beside them', () => {
  test.each(tools.map((tool) => [tool.operationId, tool] as const))(
    'are read by %s',
    (_, { map, read, schema }) => {
      const forms = formsOf(schema, '') as readonly JsonObject[];
      expect(forms.length).toBeGreaterThan(1);
      for (const given of forms) {
        checkArguments(given, schema as unknown as JsonObject);
        const refused = refusalOf(read, map, given);
        expect(refused?.message ?? null, JSON.stringify(given)).toBeNull();
      }
    },
  );

  test('are looked at for every operation with pure rules', () => {
    expect(tools.map(({ operationId }) => operationId).toSorted()).toEqual(Object.keys(readers).toSorted());
  });

  test('are refused at an argument of the tool if they are empty', () => {
    for (const { map, read, schema } of tools) {
      const lists = Object.entries(schema.properties).filter(([, { type }]) => type === 'array');
      const [least] = formsOf(schema, '') as readonly JsonObject[];
      for (const [name] of lists) {
        const refused = refusalOf(read, map, { ...least, [name]: [] });
        for (const { pointer } of refused?.extensions.errors ?? [])
          expect(argumentPointer(map, pointer)).not.toBeNull();
      }
    }
  });
});
