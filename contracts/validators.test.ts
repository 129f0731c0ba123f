import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readSource } from './generate/source.ts';
import { operations } from './generated/operations.ts';
import { requestValidators, responseValidators } from './generated/validators/canonical.js';
import { loadValidators } from './generated/validators/load.ts';
import type { Validator } from './validator.ts';

const source = readSource(process.cwd());
const example = (model: string): unknown => structuredClone(source.models.get(model)?.schema.examples?.[0]);

/** Keyword and place of the first fault, or nothing if the value is valid. */
function fault(validator: Validator, value: unknown): string | undefined {
  if (validator(value)) return undefined;
  const [first] = validator.errors ?? [];
  return `${first?.keyword} ${first?.instancePath}`;
}

const document = { tenantId: 'acme', documentType: 'order', id: 'a/b', schemaVersion: '1', data: {} };
const fence = { name: 'n', value: 'v', ownerDocumentType: 't', ownerDocumentId: 'i' };
const commit = (mutation: object) => ({ idempotencyKey: 'k', mutations: [mutation] });
const upsert = (members: object) => commit({ operation: 'upsert', document: { ...document, ...members } });

describe('the validators', () => {
  it.each(Object.keys(operations) as (keyof typeof operations)[])('cover %s', async (id) => {
    const { group, requestSchema, responses } = operations[id];
    const { requestValidators: requests, responseValidators: answers } = await loadValidators[group]();
    expect(Object.hasOwn(requests, id)).toBe(requestSchema !== null);
    if (requestSchema !== null)
      expect(fault(requests[id] as Validator, example(requestSchema))).toBeUndefined();
    for (const { status, schema } of responses) {
      expect(Object.hasOwn(answers, `${id}:${status}`)).toBe(schema !== null);
      if (schema !== null)
        expect(fault(answers[`${id}:${status}`] as Validator, example(schema))).toBeUndefined();
    }
  });

  it.each(Object.keys(loadValidators))(
    'H03: of %s stand alone, without code made at run time and without $data',
    (group) => {
      const text = readFileSync(`contracts/generated/validators/${group}.js`, 'utf8');
      expect(text).not.toMatch(/(?<!")\bimport\b|\bFunction\(|\beval\(|[^"'`]require\(/);
      expect(text).not.toContain('$data');
    },
  );
});

describe('a commit request', () => {
  const validator = requestValidators.commitCanonicalTransaction;

  it('holds at most 100 mutations and 100 events', () => {
    const mutation = { operation: 'upsert', document };
    const event = { topic: 't', key: 'k', payload: {} };
    const request = (mutations: number, events: number) => ({
      idempotencyKey: 'k',
      mutations: Array.from({ length: mutations }, () => mutation),
      outbox: Array.from({ length: events }, () => event),
    });
    expect(fault(validator, request(100, 100))).toBeUndefined();
    expect(fault(validator, request(101, 0))).toBe('maxItems /mutations');
    expect(fault(validator, request(0, 101))).toBe('maxItems /outbox');
  });

  it.each([
    ['nothing but its key', { idempotencyKey: 'k' }],
    [
      'null for everything optional',
      {
        tenantId: null,
        idempotencyKey: 'k',
        correlationId: null,
        actor: null,
        mutations: null,
        fences: null,
        outbox: null,
      },
    ],
    [
      'what the server owns',
      upsert({
        revision: 3,
        etag: 'rev:3',
        deleted: false,
        createdAtUtc: '2026-01-02T03:04:05Z',
        updatedAtUtc: null,
      }),
    ],
    ['an absent precondition', commit({ operation: 'upsert', document, precondition: null })],
    [
      'a delete',
      commit({
        operation: 'delete',
        documentType: 'order',
        id: 'a',
        precondition: { expectedRevision: 1, mustExist: true },
      }),
    ],
    [
      '16 indexes',
      upsert({ indexes: Object.fromEntries(Array.from({ length: 16 }, (_, n) => [`i${n}`, 'v'])) }),
    ],
    [
      'any payload',
      {
        idempotencyKey: 'k',
        outbox: [
          { topic: 't', key: 'k' },
          { topic: 't', key: 'k', payload: null },
          { topic: 't', key: 'k', payload: [1, 'a', false] },
        ],
      },
    ],
    [
      'identifiers with white space around 160 characters',
      { idempotencyKey: `${' '.repeat(120)}${'😀'.repeat(160)}${' '.repeat(120)}` },
    ],
    ['a mutation that leaves its operation out: an upsert', commit({ document })],
    ['a mutation whose operation is null', commit({ operation: null, document })],
    ['a fence that leaves its operation out: a claim', { idempotencyKey: 'k', fences: [fence] }],
    ['a fence whose operation is null', { idempotencyKey: 'k', fences: [{ ...fence, operation: null }] }],
  ])('may hold %s', (_, value) => expect(fault(validator, value)).toBeUndefined());

  it.each([
    ['type ', 'no object', 'x'],
    ['type ', 'an array', []],
    ['required ', 'no key', {}],
    ['minLength /idempotencyKey', 'a blank key', { idempotencyKey: '' }],
    ['maxLength /idempotencyKey', 'a long key', { idempotencyKey: 'k'.repeat(401) }],
    ['type /idempotencyKey', 'a number as key', { idempotencyKey: 5 }],
    ['type /idempotencyKey', 'null as key', { idempotencyKey: null }],
    ['additionalProperties ', 'an unknown member', { idempotencyKey: 'k', mutation: [] }],
    ['required ', 'an inherited key', Object.create({ idempotencyKey: 'k' })],
    [
      'maxItems /mutations',
      '101 mutations',
      { idempotencyKey: 'k', mutations: Array.from({ length: 101 }, () => ({ operation: 'delete' })) },
    ],
    ['enum /mutations/0/operation', 'another operation', commit({ operation: 'insert' })],
    [
      'additionalProperties /mutations/0/precondition',
      'a misspelt precondition',
      commit({ operation: 'upsert', document, precondition: { expectedRevison: 1 } }),
    ],
    [
      'type /mutations/0/precondition/expectedRevision',
      'a revision as text',
      commit({ operation: 'upsert', document, precondition: { expectedRevision: '1' } }),
    ],
    [
      'type /mutations/0/precondition/expectedRevision',
      'a broken revision',
      commit({ operation: 'upsert', document, precondition: { expectedRevision: 1.5 } }),
    ],
    [
      'minimum /mutations/0/precondition/expectedRevision',
      'a negative revision',
      commit({ operation: 'upsert', document, precondition: { expectedRevision: -1 } }),
    ],
    ['type /mutations/0/document/data', 'data that is no object', upsert({ data: [] })],
    ['type /mutations/0/document/data', 'data of null', upsert({ data: null })],
    ['additionalProperties /mutations/0/document', 'an unknown document member', upsert({ version: 1 })],
    [
      'maxProperties /mutations/0/document/indexes',
      '17 indexes',
      upsert({ indexes: Object.fromEntries(Array.from({ length: 17 }, (_, n) => [`i${n}`, 'v'])) }),
    ],
    [
      'maxLength /mutations/0/document/indexes/i',
      'a long index',
      upsert({ indexes: { i: 'v'.repeat(901) } }),
    ],
    ['type /mutations/0/document/indexes/i', 'a number as index', upsert({ indexes: { i: 5 } })],
    [
      'format /mutations/0/document/createdAtUtc',
      'a time without zone',
      upsert({ createdAtUtc: '2026-01-02T03:04:05' }),
    ],
    [
      'enum /fences/0/operation',
      'another fence operation',
      {
        idempotencyKey: 'k',
        fences: [{ ...fence, operation: 'take' }],
      },
    ],
    [
      'maximum /outbox/0/maxDeliveryAttempts',
      'too many attempts',
      { idempotencyKey: 'k', outbox: [{ topic: 't', key: 'k', maxDeliveryAttempts: 100_001 }] },
    ],
    [
      'maxLength /outbox/0/headers/h',
      'a long header',
      { idempotencyKey: 'k', outbox: [{ topic: 't', key: 'k', headers: { h: 'v'.repeat(4097) } }] },
    ],
  ])('is refused as %j for %s', (expected, _, value) => expect(fault(validator, value)).toBe(expected));
});

describe('the outbox requests', () => {
  it.each(['ready', 'leased', 'scheduled', 'delivered', 'dead-letter', 'dead-lettered', null])(
    'know the state %s',
    (state) => {
      expect(fault(requestValidators.queryCanonicalOutbox, { state })).toBeUndefined();
    },
  );

  it('know no other state', () =>
    expect(fault(requestValidators.queryCanonicalOutbox, { state: 'dead' })).toBe('enum /state'));

  it.each([
    [0.5, undefined],
    [86_400, undefined],
    [0, 'exclusiveMinimum /leaseSeconds'],
    [86_400.5, 'maximum /leaseSeconds'],
    ['60', 'type /leaseSeconds'],
  ])('take a lease of %j seconds: %j', (leaseSeconds, expected) => {
    expect(fault(requestValidators.leaseCanonicalOutbox, { consumerId: 'c', leaseSeconds })).toBe(expected);
  });

  it('fill tenant and event from the route', () => {
    expect(fault(requestValidators.renewCanonicalOutboxLease, { leaseToken: 't' })).toBeUndefined();
    expect(fault(requestValidators.replayCanonicalOutbox, {})).toBeUndefined();
  });
});

describe('answers', () => {
  const tombstone = { ...(example('CanonicalDocument') as object), data: null, indexes: {}, deleted: true };

  it('may hold a tombstone and members to come', () => {
    expect(
      fault(responseValidators['readCanonicalDocument:200'], { ...tombstone, later: 1 }),
    ).toBeUndefined();
  });

  it('write every member', () => {
    const { etag: _, ...without } = tombstone as Record<string, unknown>;
    expect(fault(responseValidators['readCanonicalDocument:200'], without)).toBe('required ');
  });
});
