import { hash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { limits } from '../../../../contracts/generated/limits.ts';
import type { CanonicalTransactionRequest } from '../../../../contracts/generated/models.ts';
import { refusalOf } from '../../../../test/support/refusal.ts';
import { finished } from '../../../kernel/turns.ts';
import { readCommitRequest, requestHash, transactionId } from './commit-request.ts';

/** Rules for a transaction that the JSON Schema cannot express, each at its bound. */

type Request = Omit<CanonicalTransactionRequest, 'tenantId' | 'idempotencyKey'>;
const read = (request: Request) =>
  finished(readCommitRequest('t', { tenantId: 't', idempotencyKey: 'k', ...request }));

const document = { tenantId: 't', documentType: 'claim', id: 'a', schemaVersion: 'v1', data: {} };
const event = { topic: 'topic', key: 'key' };
const fence = { name: 'n', value: 'v', ownerDocumentType: 'claim', ownerDocumentId: 'a' };
const upsert = (more: object = {}, beside: object = {}): Request => ({
  mutations: [{ operation: 'upsert', document: { ...document, ...more }, ...beside }],
});
const indexed = (indexes: Record<string, string>) => upsert({ indexes });
const numbered = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`i${n}`, 'v']));
const outbox = (more: object) => ({ outbox: [{ ...event, ...more }] });

describe('what is left out is filled in, what is given is trimmed', () => {
  test('in mutations', () => {
    const { mutations } = read({
      mutations: [
        { document: { ...document, documentType: ' claim ', id: ' a ', schemaVersion: ' v1 ' } },
        { operation: 'delete', documentType: ' claim ', id: ' b ', precondition: { expectedRevision: 2 } },
      ],
    });
    expect(mutations).toEqual([
      {
        operation: 'upsert',
        documentType: 'claim',
        id: 'a',
        schemaVersion: 'v1',
        data: {},
        dataText: '{}',
        indexes: {},
        precondition: { expectedRevision: null, mustExist: false, mustNotExist: false },
      },
      {
        operation: 'delete',
        documentType: 'claim',
        id: 'b',
        precondition: { expectedRevision: 2, mustExist: false, mustNotExist: false },
      },
    ]);
  });

  test('in events', () => {
    expect(read({ outbox: [{ ...event, id: ' ', notBeforeUtc: null }] }).outbox).toEqual([
      {
        id: null,
        topic: 'topic',
        key: 'key',
        payload: null,
        payloadText: 'null',
        headers: {},
        notBeforeUtc: null,
        maxDeliveryAttempts: null,
      },
    ]);
    const given = { id: ' e ', payload: { b: 1, a: 2 }, headers: { h: ' v ' }, maxDeliveryAttempts: 3 };
    expect(read(outbox({ ...given, notBeforeUtc: '2026-01-02T04:04:05+01:00' })).outbox).toMatchObject([
      {
        ...given,
        id: 'e',
        payloadText: '{"a":2,"b":1}',
        notBeforeUtc: '2026-01-02T03:04:05.000Z',
      },
    ]);
  });

  test('in names, which may repeat those of the document', () => {
    for (const beside of [{ documentType: ' claim ', id: ' a ' }, { documentType: null, id: null }, {}])
      expect(() => read(upsert({}, beside))).not.toThrow();
  });

  test('in the request itself', () => {
    const rest = { actor: ' me ', correlationId: ' c ' };
    const request = { tenantId: 't', idempotencyKey: ' k ', ...outbox({}) };
    expect(finished(readCommitRequest('t', { ...request, ...rest }))).toMatchObject({
      tenantId: 't',
      idempotencyKey: 'k',
      actor: 'me',
      correlationId: 'c',
    });
    expect(finished(readCommitRequest('t', request))).toMatchObject({ actor: null, correlationId: null });
  });
});

describe('a request is refused', () => {
  const bad: readonly (readonly [Request | CanonicalTransactionRequest, string, string, string])[] = [
    [{}, '', 'validation_failed', 'at least one mutation, fence or outbox event'],
    [{ ...outbox({}), idempotencyKey: ' ' }, '/idempotencyKey', 'validation_failed', 'blank'],
    [{ ...outbox({}), correlationId: ' ' }, '/correlationId', 'validation_failed', 'blank'],
    [{ ...outbox({}), actor: ' ' }, '/actor', 'validation_failed', 'blank'],
    [{ fences: [fence, { ...fence, value: ' ' }] }, '/fences/1/value', 'validation_failed', 'blank'],
    [{ fences: [fence, fence] }, '/fences/1', 'duplicate_in_request', 'the same fence occurs twice'],
    [
      { mutations: [...(upsert().mutations ?? []), ...(upsert().mutations ?? [])] },
      '/mutations/1',
      'duplicate_in_request',
      'the same document occurs twice',
    ],
    [
      { mutations: [{ document: null }] },
      '/mutations/0/document',
      'validation_failed',
      'is needed for an upsert',
    ],
    [
      { mutations: [{ operation: 'delete', document }] },
      '/mutations/0/document',
      'validation_failed',
      'needs documentType and id',
    ],
    [
      { mutations: [{ operation: 'delete', id: 'a' }] },
      '/mutations/0/documentType',
      'validation_failed',
      'blank',
    ],
    [
      { mutations: [{ operation: 'delete', documentType: 'claim' }] },
      '/mutations/0/id',
      'validation_failed',
      'blank',
    ],
    [upsert({}, { documentType: 'b' }), '/mutations/0/documentType', 'validation_failed', 'contradicts'],
    [upsert({}, { id: 'b' }), '/mutations/0/id', 'validation_failed', 'contradicts'],
    [upsert({ tenantId: 'T' }), '/mutations/0/document/tenantId', 'tenant_mismatch', 'the tenant of'],
    [upsert({ deleted: true }), '/mutations/0/document/deleted', 'validation_failed', 'a tombstone'],
    [upsert({ documentType: ' ' }), '/mutations/0/document/documentType', 'validation_failed', 'blank'],
    [upsert({ id: ' ' }), '/mutations/0/document/id', 'validation_failed', 'blank'],
    [upsert({ schemaVersion: ' ' }), '/mutations/0/document/schemaVersion', 'validation_failed', 'blank'],
    [
      upsert({ data: { x: 'x'.repeat(limits.documentDataBytesMax - 7) } }),
      '/mutations/0/document/data',
      'limit_exceeded',
      `${limits.documentDataBytesMax} bytes`,
    ],
    [
      upsert({}, { precondition: { mustExist: true, mustNotExist: true } }),
      '/mutations/0/precondition',
      'validation_failed',
      'exclude each other',
    ],
    [indexed(numbered(17)), '/mutations/0/document/indexes', 'limit_exceeded', 'at most 16 indexes'],
    [indexed({ 'a\u0000': 'v' }), '/mutations/0/document/indexes/a\u0000', 'validation_failed', 'control'],
    [indexed({ a: 'v\u0000' }), '/mutations/0/document/indexes/a', 'validation_failed', 'control'],
    [
      indexed({ ['n'.repeat(65)]: 'v' }),
      `/mutations/0/document/indexes/${'n'.repeat(65)}`,
      'limit_exceeded',
      '64 bytes',
    ],
    [indexed({ a: 'x'.repeat(901) }), '/mutations/0/document/indexes/a', 'limit_exceeded', '900 bytes'],
    [indexed({ ' ': 'v' }), '/mutations/0/document/indexes/ ', 'validation_failed', 'blank'],
    [indexed({ a: ' ' }), '/mutations/0/document/indexes/a', 'validation_failed', 'blank'],
    [outbox({ topic: ' ' }), '/outbox/0/topic', 'validation_failed', 'blank'],
    [outbox({ key: ' ' }), '/outbox/0/key', 'validation_failed', 'blank'],
    [outbox({ id: 'a/b' }), '/outbox/0/id', 'invalid_path_segment', 'path segment'],
    [
      outbox({ notBeforeUtc: 'soon' }),
      '/outbox/0/notBeforeUtc',
      'validation_failed',
      'a moment of the years',
    ],
    [
      outbox({ payload: 'x'.repeat(limits.outboxPayloadBytesMax - 1) }),
      '/outbox/0/payload',
      'limit_exceeded',
      `${limits.outboxPayloadBytesMax} bytes`,
    ],
    [outbox({ headers: { '\u0000': 'v' } }), '/outbox/0/headers/\u0000', 'validation_failed', 'control'],
    [outbox({ headers: { ' ': 'v' } }), '/outbox/0/headers/ ', 'validation_failed', 'blank'],
    [outbox({ headers: { h: 'a\r\nb' } }), '/outbox/0/headers/h', 'validation_failed', 'control'],
    [outbox({ headers: { h: ' ' } }), '/outbox/0/headers/h', 'validation_failed', 'blank'],
    [
      outbox({ headers: { h: 'x'.repeat(limits.outboxHeaderValueLengthMax + 1) } }),
      '/outbox/0/headers/h',
      'limit_exceeded',
      `${limits.outboxHeaderValueLengthMax} characters`,
    ],
  ];
  test.each(bad.map((each, n) => [n, each[1], each[2], each] as const))(
    '(%i) at %j with %s',
    (_n, pointer, code, [request, , , words]) => {
      const refusal = refusalOf(() => read(request));
      expect(refusal).toMatchObject({
        code,
        message: expect.stringContaining(words),
        errors: [{ pointer, detail: expect.stringContaining(words) }],
      });
    },
  );

  test('a little less is accepted', () => {
    const accepted = [
      indexed(numbered(16)),
      indexed({ ['n'.repeat(64)]: 'x'.repeat(900) }),
      indexed({ ' a': ' v ' }),
      upsert({ data: { x: 'x'.repeat(limits.documentDataBytesMax - 8) } }),
      outbox({ payload: 'x'.repeat(limits.outboxPayloadBytesMax - 2) }),
      outbox({ headers: { h: 'x'.repeat(limits.outboxHeaderValueLengthMax) } }),
      { fences: [fence, { ...fence, value: 'other' }, { ...fence, name: 'other' }] },
    ];
    for (const request of accepted) expect(() => read(request)).not.toThrow();
  });

  test('over all documents and payloads together, and not at the very limit', () => {
    const most = limits.commitBytesMax;
    // Four texts with their quotes and the member around two of them.
    const filled = (length: number): Request => ({
      mutations: ['a', 'b'].map((id) => ({
        document: { ...document, id, data: { x: 'x'.repeat(780_000) } },
      })),
      outbox: [
        { ...event, payload: 'x'.repeat(780_000) },
        { ...event, payload: 'x'.repeat(length) },
      ],
    });
    const rest = most - 3 * 780_000 - 2 * 8 - 2 * 2;
    expect(() => read(filled(rest))).not.toThrow();
    expect(refusalOf(() => read(filled(rest + 1)))).toEqual({
      code: 'commit_too_large',
      message: expect.stringContaining(`${most} bytes together`),
      contentBytes: most + 1,
      contentBytesMax: most,
    });
  });
});

describe('the hash of a request', () => {
  const request: Request = {
    mutations: [
      { document: { ...document, data: { b: 1, a: [1.0, 'é'] }, indexes: { z: '1', a: '2' } } },
      { operation: 'delete', documentType: 'claim', id: 'gone' },
    ],
    fences: [fence],
    outbox: [{ ...event, payload: { y: null, x: true } }],
  };

  test('is the same on every deployment and in every release', () => {
    const none = '{"expectedRevision":null,"mustExist":false,"mustNotExist":false}';
    const canonical =
      '{"fences":[{"name":"n","operation":"claim","ownerDocumentId":"a","ownerDocumentType":"claim","value":"v"}],' +
      '"idempotencyKey":"k","mutations":[{"data":{"a":[1,"é"],"b":1},"documentType":"claim","id":"a",' +
      `"indexes":{"a":"2","z":"1"},"operation":"upsert","precondition":${none},"schemaVersion":"v1"},` +
      `{"documentType":"claim","id":"gone","operation":"delete","precondition":${none}}],` +
      '"outbox":[{"headers":{},"id":null,"key":"key","maxDeliveryAttempts":null,"notBeforeUtc":null,' +
      '"payload":{"x":true,"y":null},"topic":"topic"}],"tenantId":"t"}';
    expect(requestHash(read(request))).toBe(`sha256:${hash('sha256', canonical)}`);
    expect(transactionId(read(request))).toBe(`ctx_${hash('sha256', 't\nk').slice(0, 32)}`);
  });

  test('does not know actor and correlation id', () => {
    const plain = requestHash(read(request));
    expect(requestHash(read({ ...request, actor: 'me', correlationId: 'c' }))).toBe(plain);
    expect(requestHash(read({ ...request, fences: [] }))).not.toBe(plain);
    expect(requestHash(read({ ...request, outbox: [{ ...event, payload: {} }] }))).not.toBe(plain);
  });

  test('does not depend on the order of indexes, in which they are kept sorted', () => {
    const sorted = read(indexed({ b: '1', a: '2' }));
    expect(JSON.stringify(sorted.mutations[0])).toContain('"indexes":{"a":"2","b":"1"}');
    expect(requestHash(sorted)).toBe(requestHash(read(indexed({ a: '2', b: '1' }))));
  });
});
