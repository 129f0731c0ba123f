import { describe, expect, it } from 'vitest';
import type { AuthorizationClass } from '../catalog.ts';
import { expandGroups, type Surroundings } from './expand.ts';
import type { EntrySource, GroupSource, ImpliedCase } from './types.ts';

const open: AuthorizationClass = {
  description: 'Open.',
  security: [],
  accessOperations: [],
  settings: null,
  policy: null,
  rateClass: null,
};
/** One code a case, so that a list of problems shows which cases held. */
const IMPLIED: Readonly<Record<ImpliedCase, readonly string[]>> = {
  everyRequest: ['every'],
  rateLimit: ['rate'],
  authenticated: ['caller'],
  pathParameter: ['path'],
  continuationToken: ['token'],
  requestBody: ['body'],
  write: ['write'],
  jobAdmission: ['job'],
};
const surroundings: Surroundings = {
  shared: {
    evidence: { fixtures: ['shared.json'], catalogTests: ['catalog.test.ts'] },
    impliedProblems: IMPLIED,
    parameters: {
      pageToken: {
        in: 'query',
        name: 'continuationToken',
        required: false,
        schema: { type: 'string', maxLength: 9 },
        description: 'Token.',
      },
    },
    headers: { nextPage: { name: 'Link', description: 'Next.', required: false } },
    problemSets: { pairProblems: ['second', 'first'] },
  },
  classes: {
    anonymous: open,
    policy: { ...open, accessOperations: ['look'], settings: 'Server:DepotAccess', policy: 'depot' },
    counted: { ...open, rateClass: 'public' },
  },
  problemOrder: [...Object.values(IMPLIED).flat(), 'first', 'second'],
};
const depotId = {
  in: 'path',
  name: 'depotId',
  required: true,
  schema: { type: 'string', maxLength: 9 },
  description: 'Depot.',
} as const;
const peek: EntrySource = {
  id: 'getDepotPeek',
  summary: 'Peek',
  description: 'Peeks.',
  route: 'GET /peek',
  authorizationClass: 'anonymous',
  accessOperation: null,
  responses: [{ status: 200, schema: 'Peek', description: 'It.' }],
};

function expanded(change: Partial<EntrySource>, group: Partial<GroupSource> = {}) {
  const depots = {
    position: 1,
    title: 'Depots',
    description: 'Depots.',
    ...group,
    operations: [{ ...peek, ...change }],
  };
  const [operation] = expandGroups({ depots }, surroundings)['depots']?.operations ?? [];
  if (operation === undefined) throw new Error('the group is empty');
  return operation;
}

describe('an entry written out', () => {
  it('has every member, in the order of the catalog', () => {
    expect(Object.entries(expanded({}))).toEqual([
      ['id', 'getDepotPeek'],
      ['summary', 'Peek'],
      ['description', 'Peeks.'],
      ['routes', [{ operationId: 'getDepotPeek', method: 'GET', path: '/peek' }]],
      ['parameters', []],
      ['stability', 'public'],
      ['authorizationClass', 'anonymous'],
      ['accessOperation', null],
      ['mutation', 'read'],
      ['completion', 'non-mutating'],
      ['idempotency', { requirement: 'not-applicable', location: null }],
      ['sdk', { python: 'get_depot_peek', typescript: 'getDepotPeek' }],
      ['request', null],
      ['responses', [{ status: 200, mediaType: 'application/json', schema: 'Peek', description: 'It.' }]],
      ['problems', ['every']],
      ['mcp', { exposure: 'none', name: null, uri: null, defaultEnabled: false }],
      ['headerSafeFields', []],
      ['evidence', { fixtures: ['shared.json'], tests: ['catalog.test.ts'] }],
      ['deprecation', null],
    ]);
    const more = Object.keys(expanded({ rateClass: null, answersText: true }));
    expect(more.slice(6, 9)).toEqual(['authorizationClass', 'rateClass', 'accessOperation']);
    expect(more.slice(14, 17)).toEqual(['responses', 'answersText', 'problems']);
  });

  it.each<[string, Partial<EntrySource>, object]>([
    ['a DELETE', { route: 'DELETE /peek' }, { mutation: 'delete', completion: 'atomic' }],
    ['a PUT', { route: 'PUT /peek' }, { mutation: 'write', completion: 'atomic' }],
    [
      'a POST that reads',
      { route: 'POST /peek', mutation: 'read' },
      { mutation: 'read', completion: 'non-mutating' },
    ],
    ['a write', { route: 'POST /peek' }, { idempotency: { requirement: 'unsupported', location: null } }],
    [
      'the admission of a job',
      { route: 'POST /peek', completion: 'receipt-bound' },
      {
        idempotency: {
          requirement: 'supported',
          location: { in: 'header', name: 'Idempotency-Key', aliases: ['X-Idempotency-Key'] },
        },
      },
    ],
    [
      'a key of its own',
      { idempotency: { requirement: 'required', location: { in: 'body', pointer: '/key' } } },
      { idempotency: { requirement: 'required', location: { in: 'body', pointer: '/key' } } },
    ],
    [
      'other methods of the SDKs',
      { sdk: { typescript: 'lookIn', absent: true } },
      { sdk: { python: 'look_in', typescript: 'lookIn', absent: true } },
    ],
    [
      'a Python method of its own',
      { sdk: { python: 'openapi', typescript: 'openApi' } },
      { sdk: { python: 'openapi', typescript: 'openApi' } },
    ],
    ['an internal operation', { stability: 'internal' }, { sdk: null }],
    [
      'a tool',
      { mcp: 'tool' },
      { mcp: { exposure: 'tool', name: 'svc_depots_get_peek_v1', uri: null, defaultEnabled: true } },
    ],
    ['a preview tool', { mcp: 'tool', stability: 'preview' }, { mcp: { defaultEnabled: false } }],
    ['a task', { mcp: 'task' }, { mcp: { name: 'svc_depots_get_peek_v1', defaultEnabled: false } }],
    [
      'a resource',
      { mcp: 'resource' },
      { mcp: { exposure: 'resource', name: null, uri: 'svc://depot_peek/v1', defaultEnabled: true } },
    ],
    [
      'a tool with another name',
      { mcp: { exposure: 'tool', name: 'svc_depots_peek_v2', defaultEnabled: false } },
      { mcp: { exposure: 'tool', name: 'svc_depots_peek_v2', uri: null, defaultEnabled: false } },
    ],
    [
      'a body of bytes',
      { request: { mediaType: 'application/octet-stream', bodyLimitBytes: 9 } },
      { request: { schema: null, mediaType: 'application/octet-stream', bodyLimitBytes: 9 } },
    ],
    [
      'a body of JSON',
      { request: { schema: 'Peek', bodyLimitBytes: 9, keepsText: true } },
      { request: { schema: 'Peek', mediaType: 'application/json', bodyLimitBytes: 9, keepsText: true } },
    ],
    [
      'an answer without a body, with named and own headers',
      {
        responses: [
          { status: 204, description: 'No.', headers: ['nextPage', { name: 'ETag', description: 'Tag.' }] },
        ],
      },
      {
        responses: [
          {
            status: 204,
            mediaType: null,
            schema: null,
            description: 'No.',
            headers: [
              { name: 'Link', description: 'Next.', required: false },
              { name: 'ETag', description: 'Tag.' },
            ],
          },
        ],
      },
    ],
    [
      'an answer of another media type',
      { responses: [{ status: 200, mediaType: 'text/plain', description: 'It.' }] },
      { responses: [{ status: 200, mediaType: 'text/plain', schema: null, description: 'It.' }] },
    ],
  ])('says of %s what follows', (_, change, expected) => {
    expect(expanded(change)).toMatchObject(expected);
  });

  it('has its aliases after the canonical route, and named parameters where they are named', () => {
    const change: Partial<EntrySource> = {
      route: 'POST /depots/{depotId}/peek',
      routeOnlyParameters: ['pageToken'],
      aliases: [
        {
          operationId: 'glance',
          route: 'GET /depots/{depotId}/glance',
          bodyFromParameters: true,
          parameters: ['pageToken'],
        },
        { operationId: 'blink', route: 'GET /depots/{depotId}/blink' },
      ],
      parameters: ['depotId', depotId],
    };
    const pageToken = surroundings.shared.parameters?.['pageToken'];
    const operation = expanded(change, { parameters: { depotId } });
    expect(operation.routes).toEqual([
      {
        operationId: 'getDepotPeek',
        method: 'POST',
        path: '/depots/{depotId}/peek',
        parameters: [pageToken],
      },
      {
        operationId: 'glance',
        method: 'GET',
        path: '/depots/{depotId}/glance',
        bodyFromParameters: true,
        parameters: [pageToken],
      },
      { operationId: 'blink', method: 'GET', path: '/depots/{depotId}/blink' },
    ]);
    expect(operation.parameters).toEqual([depotId, depotId]);
  });

  it('refuses a name that nothing has', () => {
    const refused = (change: Partial<EntrySource>) => {
      const message = 'contracts/operations/depots.json: getDepotPeek cannot be written out';
      const cause = new Error('nothing is named depotId');
      expect(() => expanded(change)).toThrow(new Error(message, { cause }));
    };
    const headers = ['depotId'];
    refused({ parameters: ['depotId'] });
    refused({ responses: [{ status: 204, description: 'No.', headers }] });
  });
});

describe('the problems of an entry', () => {
  it.each<[string, Partial<EntrySource>, readonly string[]]>([
    ['a rate limit', { authorizationClass: 'counted' }, ['every', 'rate']],
    ['a rate limit that does not count it', { authorizationClass: 'counted', rateClass: null }, ['every']],
    ['a class with access operations', { authorizationClass: 'policy' }, ['every', 'caller']],
    ['a path parameter', { route: 'GET /peek/{depotId}', parameters: [depotId] }, ['every', 'path']],
    [
      'a path parameter of an alias',
      { aliases: [{ operationId: 'glance', route: 'GET /glance/{depotId}' }] },
      ['every', 'path'],
    ],
    ['a continuation token', { parameters: ['pageToken'] }, ['every', 'token']],
    ['a body', { request: { schema: 'Peek', bodyLimitBytes: 9 } }, ['every', 'body']],
    ['a write', { mutation: 'write' }, ['every', 'write']],
    ['a job', { mutation: 'write', completion: 'receipt-bound' }, ['every', 'write', 'job']],
    ['an unknown class', { authorizationClass: 'nothing' }, ['every']],
  ])('follow from %s', (_, change, expected) => {
    expect(expanded(change).problems).toEqual(expected);
  });

  it('are those that it names and no exception, each once, in the order of the codes', () => {
    expect(
      expanded({ mutation: 'write', problems: ['pairProblems', 'job'], withoutProblems: ['every'] }).problems,
    ).toEqual(['write', 'job', 'first', 'second']);
    expect(expanded({ problems: ['second', 'every'] }).problems).toEqual(['every', 'second']);
  });

  it('stand where an entry places them', () => {
    const problems = ['job', 'pairProblems'];
    expect(expanded({ problems, problemsBefore: { second: 'every' } }).problems).toEqual([
      'second',
      'every',
      'job',
      'first',
    ]);
    expect(expanded({ problems, problemsBefore: { second: 'first' } }).problems).toEqual([
      'every',
      'job',
      'second',
      'first',
    ]);
  });
});

describe('the evidence of an entry', () => {
  const fixtures = ['own.json'];
  const tests = ['own.test.ts'];

  it('is that of the catalog and its own, or else that of its group', () => {
    const group = { evidence: { tests: ['group.test.ts'] } };
    expect(expanded({}, group).evidence).toEqual({
      fixtures: ['shared.json'],
      tests: ['catalog.test.ts', 'group.test.ts'],
    });
    expect(expanded({ evidence: { fixtures, tests } }, group).evidence).toEqual({
      fixtures,
      tests: ['catalog.test.ts', 'own.test.ts'],
    });
  });

  it('leaves out the tests of the catalog where the group names others', () => {
    const group = { evidence: { catalogTests: ['other.test.ts'] } };
    expect(expanded({ evidence: { tests } }, group).evidence).toEqual({
      fixtures: ['shared.json'],
      tests: ['other.test.ts', 'own.test.ts'],
    });
  });
});
