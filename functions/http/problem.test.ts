import { describe, expect, test } from 'vitest';
import { problems } from '../../contracts/generated/errors.ts';
import { ServiceError } from '../kernel/errors.ts';
import { createLog, describeFailure, type LogEvent } from '../kernel/log.ts';
import { StoreError } from '../store/port.ts';
import { correlationIdOf } from './correlation.ts';
import { createCors } from './cors.ts';
import { readHeaders } from './headers.ts';
import { problemOf } from './problem.ts';

const documentOf = (error: unknown): Record<string, unknown> =>
  JSON.parse(problemOf(error, 'c-1').response.body as string) as Record<string, unknown>;
const headersOf = (error: unknown): Record<string, string> =>
  Object.fromEntries(problemOf(error, 'c-1').response.headers);

describe('problem documents', () => {
  test('have the members that RFC 9457 and the contract require', () => {
    const error = new ServiceError('rate_limited', 'Later.', {
      retryAfterSeconds: 7,
      limit: 3,
      status: 200,
      code: 'x',
    });
    expect(documentOf(error)).toEqual({
      type: 'urn:svc:problem:rate_limited',
      title: 'Rate limited',
      status: 429,
      detail: 'Later.',
      instance: 'urn:svc:request:c-1',
      code: 'rate_limited',
      retryable: true,
      correlationId: 'c-1',
      retryAfterSeconds: 7,
      limit: 3,
    });
    expect(headersOf(error)).toEqual({ 'Content-Type': 'application/problem+json', 'Retry-After': '7' });
  });

  test.each(Object.entries(problems))('%s has its status', (code, { status }) => {
    expect(problemOf(new ServiceError(code as keyof typeof problems, 'x'), 'c').response.status).toBe(status);
  });

  test.each([
    ['contention', 503, 'store_contention'],
    ['unavailable', 503, 'unavailable'],
    ['too_large', 413, 'commit_too_large'],
    ['full', 503, 'storage_full'],
    ['corrupt', 500, 'internal_error'],
  ] as const)('a store that fails by %s is %i %s, without its message', (failure, status, code) => {
    const document = documentOf(new StoreError(failure, 's3cret table'));
    expect(document).toMatchObject({ status, code });
    expect(JSON.stringify(document)).not.toContain('s3cret');
  });

  test.each([new TypeError('s3cret'), 's3cret', null, { message: 's3cret' }])(
    '%o is 500 and tells nothing',
    (error) => {
      expect(documentOf(error)).toMatchObject({ status: 500, code: 'internal_error', retryable: false });
      expect(JSON.stringify(documentOf(error))).not.toContain('s3cret');
    },
  );

  test.each([
    ['store_contention', '1'],
    ['unavailable', '5'],
    ['search_index_building', '10'],
  ] as const)('%s names the seconds after which to retry', (code, seconds) => {
    expect(headersOf(new ServiceError(code, 'x'))).toHaveProperty('Retry-After', seconds);
  });

  test('401 names the authentication schemes, and 405 the allowed methods', () => {
    expect(headersOf(new ServiceError('unauthenticated', 'x'))).toHaveProperty('WWW-Authenticate');
    expect(headersOf(new ServiceError('method_not_allowed', 'x', { allow: ['GET', 'POST'] }))['Allow']).toBe(
      'GET, POST',
    );
  });
});

describe('correlation ids', () => {
  const random = { bytes: (size: number) => new Uint8Array(size).fill(171) };
  test.each(['a', 'A-z_0.9:x', '<a>', '"', '{0}/%41~', 'x'.repeat(128)])('%s is echoed', (id) => {
    expect(correlationIdOf(id, random)).toBe(id);
  });
  test.each([undefined, '', 'a b', 'a\r\nb', 'é', 'x'.repeat(129)])('%j is replaced', (id) => {
    expect(correlationIdOf(id, random)).toBe('ab'.repeat(16));
  });
});

describe('log lines', () => {
  test('J03: are one line of JSON of the listed fields, also with line breaks and markup in their values', () => {
    const lines: string[] = [];
    const event = {
      severity: 'INFO',
      message: 'a\r\nb\u2028c\u001b[31m","severity":"ERROR',
      operation: 'x'.repeat(1_000_000),
      authorization: 'Bearer s3cret',
      body: { token: 's3cret' },
    } as LogEvent;
    createLog((line) => lines.push(line))(event);
    expect(lines).toHaveLength(1);
    expect(lines[0]).not.toMatch(/[\p{Cc}\u2028]|s3cret/u);
    expect(JSON.parse(lines[0] ?? '')).toEqual({
      severity: 'INFO',
      message: event.message,
      operation: 'x'.repeat(1024),
    });
  });

  test('names that callers choose cannot hide or reverse the text around them', () => {
    const lines: string[] = [];
    const event = { severity: 'WARNING', message: 'x', tenantId: 'a\u202eb\u0007', topic: 'ü' } as const;
    createLog((line) => lines.push(line))(event);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ tenantId: 'a%E2%80%AEb%07', topic: 'ü' });
  });

  test('C05, J01: no API key and no token is written, wherever it got to', () => {
    const lines: string[] = [];
    const key = `svc_live_${'k'.repeat(49)}`;
    const token = `eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiIxIn0.${'s'.repeat(40)}`;
    const event = { correlationId: `x:${key}`, principal: token, failure: `Error\nat ${key}:1:2` } as const;
    createLog((line) => lines.push(line))({ severity: 'INFO', message: `a ${token} b`, ...event });
    expect(lines[0]).not.toMatch(/svc_live_|eyJ/);
    expect(JSON.parse(lines[0] ?? '')).toEqual({
      severity: 'INFO',
      message: 'a [redacted] b',
      correlationId: 'x:[redacted]',
      principal: '[redacted]',
      failure: 'Error\nat [redacted]:1:2',
    });
  });

  test('an unforeseen error is described by its class and its frames', () => {
    const error = Object.assign(new RangeError('s3cret\n    at s3cret (x)'), { code: 'ECONNREFUSED' });
    const text = describeFailure(error);
    expect(text).toMatch(/^RangeError ECONNREFUSED\nat .*problem\.test\.ts/);
    expect(text).not.toContain('s3cret');
    expect(describeFailure('s3cret')).toBe('a thrown string');
  });
});

describe('cross-origin access', () => {
  const cors = createCors({ allowedOrigins: ['http://localhost:5173'] });
  const headers = (fields: Record<string, string>) => readHeaders(Object.entries(fields).flat());

  test('is granted to the exact origin only', () => {
    const granted = Object.fromEntries(cors.answered(headers({ origin: 'http://localhost:5173' }), []));
    expect(granted).toMatchObject({ 'Access-Control-Allow-Origin': 'http://localhost:5173', Vary: 'Origin' });
    for (const origin of [
      'http://localhost:5174',
      'https://localhost:5173',
      'null',
      'http://localhost:5173.evil.example',
    ]) {
      expect(Object.fromEntries(cors.answered(headers({ origin }), []))).toEqual({ Vary: 'Origin' });
    }
    expect(
      createCors({ allowedOrigins: [] }).answered(headers({ origin: 'http://localhost:5173' }), []),
    ).toEqual([]);
  });

  test('a preflight is answered to that origin only', () => {
    const asked = {
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'content-type, x-a, a b',
    };
    const answer = cors.preflight('OPTIONS', headers({ ...asked, origin: 'http://localhost:5173' }));
    expect(answer?.status).toBe(204);
    expect(Object.fromEntries(answer?.headers ?? [])['Access-Control-Allow-Headers']).toBe(
      'content-type, x-a',
    );
    expect(cors.preflight('OPTIONS', headers({ ...asked, origin: 'http://evil.example' }))).toBeNull();
  });
});
