import { describe, expect, it } from 'vitest';
import { lintCatalog } from './catalog-lint.ts';
import { fixtureSource } from './fixture.ts';
import { readSource } from './source.ts';

const source = fixtureSource(readSource(process.cwd()).catalogSchema);

/** A value that a test may change freely; its declared type does not apply. */
type Loose = { [member: string]: Loose } & { [index: number]: Loose };

/** The faults after `edit` changed a copy of the fixture's catalog. */
function faultsAfter(
  edit: (operation: (id: string) => Loose, catalog: Loose) => void,
  root?: string,
): readonly string[] {
  const catalog = structuredClone(source.catalog);
  const find = (id: string) =>
    catalog.operations.find((operation) => operation.id === id) as unknown as Loose;
  edit(find, catalog as unknown as Loose);
  return lintCatalog({ ...source, catalog: catalog }, root);
}

const keyPlace = (operation: (id: string) => Loose) => operation('ingestParcel')['idempotency']?.['location'];

const set = (target: Loose | undefined, members: object) => Object.assign(target as object, members);

describe('the catalog lint', () => {
  it('has no fault in the fixture', () => expect(lintCatalog(source)).toEqual([]));

  it.each<[string, string, Parameters<typeof faultsAfter>[0]]>([
    ['an unknown member', 'additional properties', (op) => set(op('peek'), { colour: 'red' })],
    ['a missing member', 'required property', (op) => delete (op('peek') as { mcp?: unknown }).mcp],
    ['a bad SDK name', 'pattern', (op) => set(op('putBytes')['sdk'], { python: 'putBytes' })],
    ['another version', 'release version', (_, catalog) => set(catalog, { catalogVersion: '1.0.0' })],
    ['a repeated id', 'operation id', (op) => set(op('peek'), { id: 'putBytes' })],
    [
      'a repeated route id',
      'route operationId',
      (op) => set(op('peek')['routes']?.[0], { operationId: 'getParcel' }),
    ],
    [
      'a repeated route',
      'is used twice',
      (op) => set(op('peek')['routes']?.[0], { path: '/depots/{other}/parcels' }),
    ],
    [
      'a repeated SDK name',
      'Python name',
      (op) => set(op('putBytes'), { sdk: { python: 'list_parcels', typescript: 'listParcels' } }),
    ],
    [
      'SDK names that disagree',
      'disagree',
      (op) => set(op('putBytes')['sdk'], { typescript: 'putTheBytes' }),
    ],
    [
      'another canonical id',
      'must carry the id',
      (op) => set(op('peek')['routes']?.[0], { operationId: 'glance' }),
    ],
    [
      'an undeclared path parameter',
      'is not declared',
      (op) => set(op('peek')['routes']?.[0], { path: '/peek/{deep}' }),
    ],
    [
      'a path parameter without a route',
      'is not in any route',
      (op) => set(op('peek'), { parameters: op('listParcels')['parameters'] }),
    ],
    [
      'an optional path parameter',
      'must be required',
      (op) => set(op('listParcels')['parameters']?.[0], { required: false }),
    ],
    [
      'an unbounded parameter',
      'needs a maxLength',
      (op) => set(op('listParcels')['parameters']?.[0], { schema: { type: 'string' } }),
    ],
    [
      'a slow parameter pattern',
      'not proven to need linear time',
      (op) => set(op('listParcels')['parameters']?.[0]?.['schema'], { pattern: '^(a|a)*$' }),
    ],
    [
      'a repeated parameter',
      'declared twice',
      (op) => set(op('listParcels')['parameters']?.[2], { name: 'LIMIT' }),
    ],
    [
      'a prefix in a path',
      'may be a prefix',
      (op) => set(op('listParcels')['parameters']?.[0], { prefix: true }),
    ],
    [
      'an alias without its members',
      'without a parameter',
      (op) => set(op('findParcel')['routes']?.[1], { path: '/depots/{depotId}/one', parameters: [] }),
    ],
    [
      'a parameter that is no member',
      'parameters that are not members of the request',
      (op) => set(op('findParcel')['routes']?.[1]?.['parameters']?.[1], { name: 'size' }),
    ],
    [
      'a GET alias with a body',
      'needs bodyFromParameters',
      (op) => set(op('findParcel')['routes']?.[1], { bodyFromParameters: false }),
    ],
    [
      'an alias that lacks a path parameter',
      'lacks the path parameters',
      (op) => set(op('findParcel')['routes']?.[1], { path: '/parcels/{id}' }),
    ],
    ['an unknown model', 'unknown model', (op) => set(op('peek')['responses']?.[0], { schema: 'Nothing' })],
    ['an unknown problem', 'unknown problem code', (op) => set(op('peek'), { problems: ['broken'] })],
    ['a repeated status', 'listed twice', (op) => set(op('ingestParcel')['responses']?.[1], { status: 202 })],
    [
      'JSON without a model',
      'JSON without a model',
      (op) => set(op('peek')['responses']?.[0], { schema: null }),
    ],
    [
      'a model without a media type',
      'no media type',
      (op) => set(op('peek')['responses']?.[0], { mediaType: null }),
    ],
    [
      'a GET with a body',
      'a GET must not have a body',
      (op) => set(op('peek'), { request: op('findParcel')['request'] }),
    ],
    ['JSON bytes', 'needs a model, except', (op) => set(op('findParcel')['request'], { schema: null })],
    ['an unknown group', 'unknown group', (op) => set(op('peek'), { group: 'nowhere' })],
    [
      'an unknown class',
      'unknown authorization class',
      (op) => set(op('peek'), { authorizationClass: 'nobody' }),
    ],
    [
      'an unknown access operation',
      'access operation must be',
      (op) => set(op('peek'), { accessOperation: 'fly' }),
    ],
    ['no access operation', 'access operation must be', (op) => set(op('peek'), { accessOperation: null })],
    [
      'a read that writes',
      'completion must be non-mutating',
      (op) => set(op('peek'), { completion: 'atomic' }),
    ],
    [
      'deprecated without deprecation',
      'needs a deprecation',
      (op) => set(op('findParcel'), { deprecation: null }),
    ],
    [
      'deprecation without deprecated',
      'needs a deprecation',
      (op) => set(op('findParcel'), { stability: 'public' }),
    ],
    [
      'a replacement by itself',
      'replacement must be',
      (op) => set(op('findParcel')['deprecation'], { replacement: 'findParcel' }),
    ],
    [
      'a replacement that is nowhere',
      'replacement must be',
      (op) => set(op('findParcel')['deprecation'], { replacement: 'nothing' }),
    ],
    ['a preview that is on', 'opt-in', (op) => set(op('ingestParcel')['mcp'], { defaultEnabled: true })],
    [
      'an internal tool',
      'MCP must not expose',
      (op) => set(op('peek')['mcp'], { exposure: 'tool', name: 'svc_depots_peek_v1' }),
    ],
    ['no SDK names', 'needs SDK names', (op) => set(op('putBytes'), { sdk: null })],
    [
      'a key without a place',
      'needs its location',
      (op) => set(op('putBytes')['idempotency'], { location: null }),
    ],
    [
      'a read with a key',
      'not-applicable for a read',
      (op) => set(op('peek'), { idempotency: { requirement: 'unsupported', location: null } }),
    ],
    [
      'a pattern without an example',
      'needs an example',
      (op) => set(op('listParcels')['parameters']?.[1]?.['schema'], { pattern: '^a$' }),
    ],
    [
      'an example beside its pattern',
      'needs an example',
      (op) => set(op('listParcels')['parameters']?.[1]?.['schema'], { pattern: '^a$', examples: ['b'] }),
    ],
    ['an undeclared key header', 'is not declared', (op) => set(op('putBytes'), { parameters: [] })],
    [
      'an undeclared alias of the key header',
      'the idempotency header X-Key is not declared',
      (op) => set(keyPlace(op), { aliases: ['X-Key'] }),
    ],
    [
      'a header that no member repeats',
      'not a member of the request',
      (op) => set(keyPlace(op), { pointer: '/key' }),
    ],
    [
      'a header and a required member',
      'must be optional',
      (op) => set(keyPlace(op), { pointer: '/manifest' }),
    ],
    [
      'a key that is no member',
      'not a member of the request',
      (op) => set(op('ingestParcel')['idempotency'], { location: { in: 'body', pointer: '/key' } }),
    ],
    [
      'an MCP name of another group',
      'must start with',
      (op) => set(op('listParcels')['mcp'], { name: 'svc_parcels_list_v1' }),
    ],
    ['a tool without a name', 'needs an MCP name', (op) => set(op('listParcels')['mcp'], { name: null })],
    ['a uri of a tool', 'needs an MCP uri', (op) => set(op('listParcels')['mcp'], { uri: 'svc://a/v1' })],
    [
      'a secret in a header',
      'must not be in a header',
      (op) => set(op('listParcels'), { headerSafeFields: ['leaseToken'] }),
    ],
    [
      'an unknown header-safe field',
      'neither a parameter nor a member',
      (op) => set(op('listParcels'), { headerSafeFields: ['colour'] }),
    ],
    [
      'a header-safe field of any value',
      'may hold any value',
      (op) => set(op('listParcels'), { headerSafeFields: ['depotId'] }),
    ],
  ])('refuses %s', (_, expected, edit) => {
    expect(faultsAfter((op, catalog) => edit(op, catalog))).toContainEqual(expect.stringContaining(expected));
  });

  it('looks evidence up', () => {
    const edit = (op: (id: string) => Loose) =>
      set(op('peek'), { evidence: { fixtures: [], tests: ['contracts/nothing.test.ts'] } });
    expect(faultsAfter(edit)).toEqual([]);
    expect(faultsAfter(edit, process.cwd())).toEqual([
      'contracts/operations/depots.json: peek: evidence contracts/nothing.test.ts does not exist',
    ]);
  });

  it('asks for evidence of every public operation', () => {
    const edit = (op: (id: string) => Loose) => {
      set(op('listParcels'), { evidence: { fixtures: [], tests: [] } });
      set(op('ingestParcel'), { evidence: { fixtures: [], tests: [] } });
    };
    expect(faultsAfter(edit, process.cwd())).toEqual([
      'contracts/operations/depots.json: listParcels: a public operation needs fixtures as evidence',
      'contracts/operations/depots.json: listParcels: a public operation needs tests as evidence',
    ]);
  });

  it('refuses unsound tables', () => {
    const [problem] = source.problems;
    const [limit] = source.limits;
    if (problem === undefined || limit === undefined) throw new Error('the fixture is empty');
    const broken = {
      ...source,
      problems: [...source.problems, problem, { ...problem, code: 'Bad', status: 200 }],
      limits: [limit, limit, { ...limit, name: 'half', value: 0.5 }],
      models: new Map([...source.models].filter(([name]) => name !== 'ProblemDetails')),
    };
    expect(lintCatalog(broken)).toEqual([
      'the model ProblemDetails is missing',
      'problem code validation_failed is defined twice',
      'problem code Bad is malformed or has no error status',
      'limit parcelsMax is defined twice',
      'limit half has a malformed name or is not an integer',
    ]);
  });
});
