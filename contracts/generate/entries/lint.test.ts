import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { lintSource, readEntries, readSurroundings } from '../source.ts';
import { lintEntries } from './lint.ts';
import type { GroupSource } from './types.ts';

const folder = mkdtempSync(join(tmpdir(), 'entries-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
for (const path of [
  'operations',
  'catalog.json',
  'catalog.schema.json',
  'source.schema.json',
  'shared.json',
  'errors.json',
])
  cpSync(join('contracts', path), join(folder, 'contracts', path), { recursive: true });

/** A value that a test may change freely; its declared type does not apply. */
type Loose = { [member: string]: Loose } & { [index: number]: Loose };
type Edit = (graph: Loose, shared: Loose) => void;

const FILES = ['contracts/operations/graph.json', 'contracts/shared.json'] as const;

const published = readSurroundings('.');
const { graph: publishedGraph } = readEntries('contracts/operations');

/** The faults of one group after `edit` changed a copy of it and of the shared parts. */
function faultsAfter(edit: Edit): readonly string[] {
  const graph = structuredClone(publishedGraph) as GroupSource;
  const shared = structuredClone(published.shared);
  edit(graph as unknown as Loose, shared as unknown as Loose);
  return lintEntries({ graph }, { ...published, shared });
}

/** The faults of the whole source after `edit` changed a copy of its files. */
function misshapenAfter(edit: Edit): readonly string[] {
  const [graph, shared] = FILES.map((path) => JSON.parse(readFileSync(path, 'utf8')) as Loose);
  edit(graph as Loose, shared as Loose);
  for (const [path, value] of [graph, shared].map((each, at) => [FILES[at] ?? '', each] as const))
    writeFileSync(join(folder, path), JSON.stringify(value));
  return lintSource(folder);
}

const entry = (graph: Loose, id: string): Loose => {
  const found = Object.values(graph['operations'] as object).find((each: { id: string }) => each.id === id);
  if (found === undefined) throw new Error(`no entry ${id}`);
  return found as Loose;
};
const set = (target: Loose | undefined, members: object) => Object.assign(target as object, members);
const inShape = (graph: Loose, members: object) => set(entry(graph, 'getGraphProviderShape'), members);
const inImport = (graph: Loose, members: object) => set(entry(graph, 'importGraphEnvelope'), members);

const GRAPH = 'contracts/operations/graph.json';
const idle = (id: string, place: string) =>
  `${GRAPH}: ${id}: ${place} changes nothing: a default or a named part says it`;

describe('the lint of the entries', () => {
  it('has no fault in the published source', () => expect(lintSource('.')).toEqual([]));

  it.each<[string, string, Edit]>([
    [
      'an unknown parameter',
      `${GRAPH}: getGraphProviderShape: no parameter is named provider`,
      (graph) => inShape(graph, { parameters: ['provider'] }),
    ],
    [
      'an unknown parameter of an alias',
      `${GRAPH}: getGraphProviderShape: no parameter is named storeId`,
      (graph) =>
        inShape(graph, { aliases: [{ operationId: 'shape', route: 'GET /shape', parameters: ['storeId'] }] }),
    ],
    [
      'an unknown header',
      `${GRAPH}: getGraphProviderShape: no header is named shapeLocation`,
      (graph) => set(entry(graph, 'getGraphProviderShape')['responses']?.[0], { headers: ['shapeLocation'] }),
    ],
    [
      'an unknown problem set',
      `${GRAPH}: getGraphProviderShape: no problem set is named shapeProblems`,
      (graph) => inShape(graph, { problems: ['shapeProblems'] }),
    ],
    [
      'an unknown code',
      `${GRAPH}: getGraphProviderShape: unknown problem code shape_missing`,
      (graph) => inShape(graph, { problems: ['shape_missing'] }),
    ],
    [
      'an unknown code as an exception',
      `${GRAPH}: getGraphProviderShape: unknown problem code contention`,
      (graph) => inShape(graph, { withoutProblems: ['contention'] }),
    ],
    [
      'an unknown code in a set',
      'contracts/shared.json: leaseProblems: unknown problem code lease_lost',
      (_, shared) => set(shared['problemSets'], { leaseProblems: ['lease_lost'] }),
    ],
    [
      'an unknown code that follows',
      'contracts/shared.json: write: unknown problem code disk_full',
      (_, shared) => set(shared['impliedProblems'], { write: ['disk_full'] }),
    ],
    [
      'a name of two meanings',
      `${GRAPH}: the parameter jobId is declared in contracts/shared.json too`,
      (graph) => set(graph['parameters'], { jobId: graph['parameters']?.['graphCollection'] }),
    ],
    [
      'an unused parameter',
      `${GRAPH}: no entry uses the parameter storeId`,
      (graph) =>
        set(graph['parameters'], {
          storeId: { ...graph['parameters']?.['graphCollection'], name: 'storeId' },
        }),
    ],
    [
      'an unused header',
      'contracts/shared.json: no entry uses the header retryAfter',
      (_, shared) => set(shared['headers'], { retryAfter: { name: 'Retry-After', description: 'When.' } }),
    ],
    [
      'an unused set',
      'contracts/shared.json: no entry uses the problem set fenceProblems',
      (_, shared) => set(shared['problemSets'], { fenceProblems: ['fence_conflict', 'fence_not_owned'] }),
    ],
    [
      'a set that equals another',
      `${GRAPH}: the problem set graphProblems equals collectionReadProblems of contracts/shared.json`,
      (graph) => {
        set(graph, { problemSets: { graphProblems: ['collection_not_found', 'query_budget_exceeded'] } });
        inShape(graph, { problems: ['graphProblems'] });
      },
    ],
    [
      'a parameter that equals another',
      `${GRAPH}: the parameter graphJobId equals jobId of contracts/shared.json`,
      (graph, shared) => {
        set(graph['parameters'], { graphJobId: shared['parameters']?.['jobId'] });
        inShape(graph, { parameters: ['graphJobId'] });
      },
    ],
    [
      'a parameter that is written out',
      `${GRAPH}: getGraphProviderShape: the parameter jobId has the name jobId in contracts/shared.json: write that`,
      (graph, shared) => inShape(graph, { parameters: [shared['parameters']?.['jobId']] }),
    ],
    [
      'a header that is written out',
      `${GRAPH}: importGraphEnvelope: the header Location has the name jobLocation in contracts/shared.json: write that`,
      (graph, shared) =>
        set(entry(graph, 'importGraphEnvelope')['responses']?.[0], {
          headers: [shared['headers']?.['jobLocation']],
        }),
    ],
    [
      'a parameter that two entries write out',
      `${GRAPH}: importGraphEnvelope: the parameter providerId is the same as in getGraphProviderShape: give it a name`,
      (graph) => inImport(graph, { parameters: entry(graph, 'getGraphProviderShape')['parameters'] }),
    ],
    [
      'a set that is written out',
      `${GRAPH}: getGraphProviderShape: its problems write out the set leaseProblems`,
      (graph) => inShape(graph, { problems: ['lease_stale', 'not_found', 'lease_not_active'] }),
    ],
  ])('refuses %s', (_, expected, edit) => {
    expect(faultsAfter(edit)).toContain(expected);
  });

  it.each<[string, string, Edit]>([
    [
      'a code that follows',
      'problems/1',
      (graph) => inShape(graph, { problems: ['not_found', 'overloaded'] }),
    ],
    [
      'an exception that follows from nothing',
      'withoutProblems/1',
      (graph) => inShape(graph, { withoutProblems: ['store_contention', 'storage_full'] }),
    ],
    [
      'an order that holds',
      'problemsBefore',
      (graph) => inShape(graph, { problemsBefore: { not_found: 'method_not_allowed' } }),
    ],
    ['the default stability', 'stability', (graph) => inShape(graph, { stability: 'public' })],
    ['the default mutation', 'mutation', (graph) => inShape(graph, { mutation: 'read' })],
    ['the default completion', 'completion', (graph) => inShape(graph, { completion: 'non-mutating' })],
    [
      'the default key',
      'idempotency',
      (graph) => inShape(graph, { idempotency: { requirement: 'not-applicable', location: null } }),
    ],
    [
      'the default methods',
      'sdk/python',
      (graph) => inShape(graph, { sdk: { python: 'get_graph_provider_shape', absent: true } }),
    ],
    [
      'the default tool',
      'mcp/name',
      (graph) => inShape(graph, { mcp: { exposure: 'tool', name: 'svc_graph_get_provider_shape_v1' } }),
    ],
    ['no header-safe fields', 'headerSafeFields', (graph) => inShape(graph, { headerSafeFields: [] })],
    ['no deprecation', 'deprecation', (graph) => inShape(graph, { deprecation: null })],
    [
      'the default fixtures',
      'evidence/fixtures',
      (graph) => inShape(graph, { evidence: { fixtures: ['sdk/wire/requests.json'], tests: ['a.test.ts'] } }),
    ],
    [
      'the default media type',
      'responses/0/mediaType',
      (graph) =>
        set(entry(graph, 'getGraphProviderShape')['responses']?.[0], { mediaType: 'application/json' }),
    ],
  ])('refuses what says no more than a default: %s', (_, place, edit) => {
    expect(faultsAfter(edit)).toContain(idle('getGraphProviderShape', place));
  });

  it.each<[string, string, Edit]>([
    [
      'an unknown member',
      `${GRAPH}: getGraphProviderShape must NOT have additional properties: colour`,
      (graph) => inShape(graph, { colour: 'red' }),
    ],
    [
      'a missing member',
      `${GRAPH}: getGraphProviderShape must have required property 'route'`,
      (graph) => delete (entry(graph, 'getGraphProviderShape') as { route?: unknown }).route,
    ],
    [
      'a route without a method',
      `${GRAPH}: getGraphProviderShape/route must match pattern`,
      (graph) => inShape(graph, { route: '/graph/provider-shapes' }),
    ],
    [
      'a set that is named like a code',
      'contracts/shared.json: /problemSets property name must be valid',
      (_, shared) => set(shared['problemSets'], { lease: ['lease_stale'] }),
    ],
    [
      'a case that no rule has',
      'contracts/shared.json: /impliedProblems must NOT have additional properties: reads',
      (_, shared) => set(shared['impliedProblems'], { reads: ['not_found'] }),
    ],
  ])('refuses a misshapen source: %s', (_, expected, edit) => {
    expect(misshapenAfter(edit)).toContainEqual(expect.stringContaining(expected));
  });
});
