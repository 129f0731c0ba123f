import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { OperationEntry, ParameterSpec } from '../../contracts/operation.ts';
import { readParameters } from '../../functions/http/parameters.ts';
import { decodeSegment, splitPath, splitTarget } from '../../functions/http/path.ts';
import { codePoint } from '../../test/support/code-points.ts';
import { exitCodes } from '../output.ts';
import { type ApiOperation, apiOperations } from './catalog.ts';
import { requestOf } from './request.ts';

function operation(id: string): ApiOperation {
  const found = apiOperations.find((each) => each.id === id);
  if (found === undefined) throw new Error(`there is no ${id}`);
  return found;
}

/** An operation with parameters of every kind; the contract has none yet. */
function invented(): ApiOperation {
  const spec = (name: string, more: Partial<ParameterSpec> = {}): ParameterSpec => ({
    name,
    required: false,
    type: 'string',
    ...more,
  });
  const base = operation('getHealth');
  const entry: OperationEntry = {
    ...base.entry,
    idempotency: { requirement: 'supported', location: { in: 'header', name: 'Svc-Key' } },
  };
  const route = { ...base.route, segments: [{ literal: 'a' }, { param: 'id' }, { param: 'other' }] };
  return {
    ...base,
    entry,
    route,
    parameters: [
      { in: 'path', spec: spec('id', { required: true }), description: '' },
      { in: 'path', spec: spec('other', { required: true }), description: '' },
      { in: 'query', spec: spec('limit'), description: '' },
      { in: 'query', spec: spec('label.', { prefix: true, required: true }), description: '' },
      { in: 'header', spec: spec('X-Note'), description: '' },
    ],
  };
}

const fault = (of: ApiOperation, params: string[], idempotencyKey?: string) => {
  try {
    requestOf(of, { params, idempotencyKey });
  } catch (error) {
    expect(error).toMatchObject({ name: 'ToolError', exitCode: exitCodes.usage });
    return (error as Error).message;
  }
  return '';
};

test('parameters take their places', () => {
  const params = ['other=b/c', 'id=ä', 'limit=1=2&3', 'label.a b=x+y', 'label.c=', 'x-note=hello there'];
  expect(requestOf(invented(), { params, idempotencyKey: 'key 1' })).toEqual({
    method: 'GET',
    path: '/a/%C3%A4/b%2Fc?limit=1%3D2%263&label.a%20b=x%2By&label.c=',
    headers: [
      ['x-note', 'hello there'],
      ['Svc-Key', 'key 1'],
    ],
  });
  expect(requestOf(operation('getHealth'), { params: [] })).toEqual({
    method: 'GET',
    path: '/health',
    headers: [],
  });
});

test('every text that a path or a query may hold arrives unchanged', () => {
  const segment = fc
    .string({ unit: codePoint, minLength: 1, maxLength: 40 })
    .filter((text) => text.isWellFormed() && !['.', '..'].includes(text));
  fc.assert(
    fc.property(segment, segment, fc.string({ unit: codePoint }), (id, other, limit) => {
      fc.pre(limit.isWellFormed());
      const { path } = requestOf(invented(), { params: [`id=${id}`, `other=${other}`, `limit=${limit}`] });
      expect(path).toMatch(/^[\x21-\x7e]+$/);
      // No value may add a path segment or a second query, which would change the requested resource.
      const target = splitTarget(path);
      const segments = splitPath(target.path);
      expect(segments.length).toBe(3);
      expect(segments.slice(1).map((each) => decodeURIComponent(each))).toEqual([id, other]);
      expect(new URLSearchParams(target.query).get('limit')).toBe(limit);
    }),
    { numRuns: 500 },
  );
});

test('the command sends every path segment that the service accepts', () => {
  for (const id of [
    '1042',
    'a.b',
    '...',
    "it's",
    'a!b(c)*d',
    'ä',
    '世界',
    '🦊',
    'a:b@c,d;e=f&g+h$i',
    'x~y_z-',
  ])
    expect(
      decodeSegment(splitPath(requestOf(invented(), { params: [`id=${id}`, 'other=x'] }).path)[1] ?? ''),
    ).toBe(id);
  const { path } = requestOf(operation('getCanonicalDocument'), {
    params: ['tenantId=a', 'documentType=b', 'id=c', 'includeDeleted=true'],
  });
  expect(path).toBe('/canonical/tenants/a/documents/b/c?includeDeleted=true');
  const { entry, route } = operation('getCanonicalDocument');
  const sent = {
    path: { tenantId: 'a', documentType: 'b', id: 'c' },
    query: splitTarget(path).query,
  };
  expect(readParameters(route, entry, sent)).toEqual({ includeDeleted: true });
});

describe('one message names every fault before anything is sent:', () => {
  test('missing parameters', () => {
    const message = fault(operation('renewCanonicalOutboxLease'), []);
    expect(message).toContain('the parameter tenantId is missing: --param tenantId=…');
    expect(message).toContain('the parameter eventId is missing');
    expect(message).toContain('svc api renewCanonicalOutboxLease --help');
  });

  test('unknown parameters, with the known ones', () => {
    const message = fault(operation('renewCanonicalOutboxLease'), ['tenant=a', 'eventId=1', 'TenantId=a']);
    expect(message).toContain('there is no parameter tenant: it takes tenantId, eventId');
    expect(message).toContain('there is no parameter TenantId');
    expect(message).toContain('tenantId is missing');
    expect(message).not.toContain('eventId is missing');
    expect(fault(operation('getHealth'), ['a=b'])).toContain('there is no parameter a: it takes none');
    expect(fault(invented(), ['id=1', 'other=2', 'label.=x'])).toContain('there is no parameter label.');
  });

  test.each([
    [['tenantId=a', 'tenantId=a'], 'tenantId is given twice'],
    [['tenantId'], '--param tenantId lacks a value'],
    [['tenantId='], 'tenantId cannot be empty'],
    [['tenantId=.'], 'tenantId cannot be .'],
    [['tenantId=..'], 'tenantId cannot be ..'],
    [['tenantId=\ud800'], 'tenantId is no text'],
    [['=a'], 'there is no parameter '],
  ])('%j: %s', (params, expected) => {
    expect(fault(operation('commitCanonicalTransaction'), params)).toContain(expected);
  });

  test('a header that would be two', () => {
    expect(fault(invented(), ['id=1', 'other=2', 'X-Note=a\r\nX-Other: b'])).toContain(
      'X-Note is not printable',
    );
  });

  test('an idempotency key that the operation does not take, or an invalid one', () => {
    expect(fault(operation('getHealth'), [], 'k')).toContain('takes no idempotency key');
    for (const key of ['', ' k', 'k\n', 'é', 'x'.repeat(256)])
      expect(fault(operation('commitCanonicalTransaction'), ['tenantId=a'], key)).toContain('visible ASCII');
  });
});
