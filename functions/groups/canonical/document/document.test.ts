import { describe, expect, test } from 'vitest';
import { refusalOf } from '../../../../test/support/refusal.ts';
import type { Delete, Mutation, Precondition, Upsert } from '../commit/mutation-request.ts';
import { documentKey } from '../records.ts';
import {
  applyMutation,
  checkMutation,
  type DocumentState,
  documentJson,
  documentState,
  readDocument,
} from './document.ts';

const BEFORE = '2026-01-01T00:00:00.000Z';
const NOW = '2026-01-02T03:04:05.000Z';
const name = { documentType: 'claim', id: 'a' };
const none: Precondition = { expectedRevision: null, mustExist: false, mustNotExist: false };
const upsert: Upsert = {
  operation: 'upsert',
  ...name,
  schemaVersion: 'v2',
  data: { n: 1 },
  dataText: '{"n":1}',
  indexes: { s: 'x' },
  precondition: none,
};
const remove: Delete = { operation: 'delete', ...name, precondition: none };
const live: DocumentState = {
  revision: 3,
  deleted: false,
  schemaVersion: 'v1',
  createdAtUtc: BEFORE,
};
const tombstone: DocumentState = { ...live, deleted: true };

function head(more: object = {}) {
  return {
    ...name,
    schemaVersion: 'v1',
    revision: 3,
    deleted: false,
    createdAtUtc: BEFORE,
    ...more,
  };
}

describe('the state of a document', () => {
  const key = documentKey('claim', 'a');

  test('is what its record says', () => {
    expect(documentState(undefined, name)).toBeUndefined();
    expect(documentState({ key, head: head() }, name)).toEqual(live);
    expect(documentState({ key, head: head({ deleted: true }) }, name)).toEqual(tombstone);
  });

  test.each([{ documentType: 'other' }, { id: 'other' }])('is not read from a record of %o', (other) => {
    expect(() => documentState({ key, head: head(other) }, name)).toThrow(
      expect.objectContaining({
        failure: 'corrupt',
        message: expect.stringContaining('does not hold the document'),
      }),
    );
  });
});

describe('a precondition', () => {
  const expected = { ...none, expectedRevision: 3 };
  const cases: [Precondition, DocumentState | undefined, string | null][] = [
    [none, undefined, null],
    [none, live, null],
    [none, tombstone, null],
    [{ ...none, mustNotExist: true }, undefined, null],
    [{ ...none, mustNotExist: true }, live, 'the document exists'],
    [{ ...none, mustNotExist: true }, tombstone, 'the document exists as a tombstone'],
    [{ ...none, mustExist: true }, undefined, 'the document does not exist'],
    [{ ...none, mustExist: true }, live, null],
    [{ ...none, mustExist: true }, tombstone, null],
    [expected, undefined, 'the document does not exist'],
    [expected, live, null],
    [expected, tombstone, null],
    [{ ...expected, expectedRevision: 2 }, live, 'the document has another revision'],
    [{ ...expected, expectedRevision: 4 }, live, 'the document has another revision'],
    [{ ...expected, mustExist: true }, live, null],
  ];
  test.each(cases)('%o on %o: %s', (precondition, current, unmet) => {
    const check = () => checkMutation(current, { ...upsert, precondition }, '/mutations/2');
    if (unmet === null) {
      expect(check).not.toThrow();
      return;
    }
    expect(refusalOf(check)).toEqual({
      code: 'precondition_failed',
      message: `Precondition failed: ${unmet}`,
      errors: [{ pointer: '/mutations/2/precondition', detail: unmet }],
      currentRevision: current?.revision ?? null,
    });
  });
});

describe('a delete', () => {
  test.each([
    [undefined, 'the document does not exist'],
    [tombstone, 'the document is deleted already'],
  ])('of %o is refused', (current, detail) => {
    expect(refusalOf(() => checkMutation(current, remove, '/mutations/2'))).toEqual({
      code: 'document_missing',
      message: expect.stringContaining(detail),
      errors: [{ pointer: '/mutations/2', detail }],
      currentRevision: current?.revision ?? null,
    });
  });

  test('of a live document is allowed', () => {
    expect(() => checkMutation(live, remove, '/mutations/2')).not.toThrow();
  });
});

describe('the next revision', () => {
  const cases: [string, Mutation, DocumentState | undefined, object][] = [
    ['of a new document', upsert, undefined, { revision: 1, createdAtUtc: NOW }],
    ['of a live document', upsert, live, { revision: 4, createdAtUtc: BEFORE }],
    ['of a tombstone that is written again', upsert, tombstone, { revision: 4, createdAtUtc: BEFORE }],
  ];
  test.each(cases)('%s carries what was sent', (_, mutation, current, written) => {
    const { document, record } = applyMutation('t', current, mutation, NOW);
    expect(document).toEqual({
      tenantId: 't',
      ...name,
      schemaVersion: 'v2',
      data: { n: 1 },
      indexes: { s: 'x' },
      etag: `rev:${document.revision}`,
      deleted: false,
      updatedAtUtc: NOW,
      ...written,
    });
    expect(readDocument('t', record)).toEqual(document);
    expect(documentJson('t', record)).toBe(JSON.stringify(document));
  });

  test('of a delete has neither data nor indexes, and is hidden', () => {
    const { document, record } = applyMutation('t', live, remove, NOW);
    expect(document).toMatchObject({
      schemaVersion: 'v1',
      data: null,
      indexes: {},
      deleted: true,
      revision: 4,
    });
    expect(record).toMatchObject({
      body: null,
      listing: { group: 'claim', id: 'a', hidden: true, indexes: {} },
    });
    expect(readDocument('t', record)).toEqual(document);
    expect(documentJson('t', record)).toBe(JSON.stringify(document));
  });

  test('is read from a record whose body or listing was not loaded as one without', () => {
    const { record } = applyMutation('t', undefined, upsert, NOW);
    const { key, head: facts } = record;
    expect(readDocument('t', { key, head: facts })).toMatchObject({
      data: null,
      indexes: {},
      deleted: false,
    });
  });
});
