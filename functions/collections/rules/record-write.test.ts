import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ServiceError } from '../../kernel/errors.ts';
import { checkBatch } from './batch.ts';
import { etagOf } from './record-stamp.ts';
import { checkPrecondition, decideUpsert, type WritePrecondition } from './record-write.ts';

const failed = (text: string) =>
  expect.objectContaining({ code: 'precondition_failed', message: expect.stringContaining(text) });
const fault = (pointer: string, code: string) =>
  expect.objectContaining({ code, extensions: { errors: [expect.objectContaining({ pointer })] } });

describe('an upsert', () => {
  const now = Date.UTC(2026, 0, 2, 3, 4, 5, 678);
  const at = '2026-01-02T03:04:05.678Z';

  test('of a new record has revision 1', () => {
    expect(decideUpsert(null, null, null, now)).toEqual({
      revision: 1,
      etag: 'rev:1',
      createdAt: at,
      updatedAt: at,
    });
    expect(decideUpsert(null, null, 0, now).createdAt).toBe('1970-01-01T00:00:00.000Z');
  });

  test('of a stored record counts on and keeps its creation', () => {
    const stored = {
      revision: 7,
      createdAt: '2025-01-01T00:00:00.000Z',
      updatedAt: '2025-06-01T00:00:00.000Z',
    };
    expect(decideUpsert(stored, { ifMatch: '"rev:7"' }, 0, now)).toEqual({
      revision: 8,
      etag: 'rev:8',
      createdAt: stored.createdAt,
      updatedAt: at,
    });
    expect(() => decideUpsert(stored, { ifNoneMatch: '*' }, null, now)).toThrow(
      failed('precondition failed'),
    );
  });
});

test('an upsert after the clock was set back keeps the later moment', () => {
  const stored = {
    revision: 1,
    createdAt: '2026-01-01T00:00:00.000Z',
    updatedAt: '2026-01-02T00:00:00.000Z',
  };
  expect(decideUpsert(stored, null, null, Date.UTC(2026, 0, 1, 23))).toMatchObject({
    updatedAt: stored.updatedAt,
  });
});

describe('a write precondition', () => {
  test.each<[number | null, WritePrecondition]>([
    [null, {}],
    [1, { ifMatch: null, ifNoneMatch: null, expectedEtag: null, expectedRevision: null }],
    [2, { ifMatch: '*' }],
    [2, { ifMatch: ' "rev:2" ' }],
    [2, { ifMatch: '"rev:1", "rev:2"' }],
    [2, { ifMatch: 'rev:2', expectedEtag: '"rev:2"', expectedRevision: 2 }],
    [2, { expectedEtag: 'rev:2' }],
    [null, { ifNoneMatch: '*' }],
    [null, { ifNoneMatch: 'rev:1' }],
    [2, { ifNoneMatch: 'rev:1' }],
    [2, { ifNoneMatch: 'rev:1', expectedEtag: 'rev:2' }],
  ])('at revision %j holds: %j', (revision, precondition) => {
    expect(() => checkPrecondition(revision, precondition)).not.toThrow();
  });

  test.each<[number | null, WritePrecondition, string]>([
    [2, { ifMatch: 'rev:2', ifNoneMatch: 'rev:1' }, 'exclude each other'],
    [2, { ifMatch: 'rev:2', expectedEtag: 'rev:1' }, 'differ'],
    [2, { ifMatch: '*', expectedEtag: 'rev:2' }, 'differ'],
    [null, { ifMatch: '*' }, 'etag does not match'],
    [null, { ifMatch: 'rev:1' }, 'etag does not match'],
    [2, { ifMatch: 'rev:1' }, 'etag does not match'],
    [2, { ifMatch: 'REV:2' }, 'etag does not match'],
    [2, { ifMatch: 'W/"rev:2"' }, 'etag does not match'],
    [2, { ifMatch: '""rev:2""' }, 'etag does not match'],
    [2, { ifMatch: '"rev:2' }, 'etag does not match'],
    [2, { ifMatch: '' }, 'etag does not match'],
    [2, { ifMatch: '"' }, 'etag does not match'],
    [2, { expectedEtag: ' ' }, 'etag does not match'],
    [null, { expectedRevision: 0 }, 'current revision does not match'],
    [null, { expectedRevision: 1 }, 'current revision does not match'],
    [2, { expectedRevision: 1 }, 'current revision does not match'],
    [2, { ifNoneMatch: '*' }, 'exists'],
    [2, { ifNoneMatch: '"rev:2"' }, 'exists'],
    [2, { ifNoneMatch: 'W/"rev:2"' }, 'exists'],
    [2, { ifNoneMatch: '"rev:1", "rev:2"' }, 'exists'],
  ])('at revision %j fails: %j', (revision, precondition, text) => {
    expect(() => checkPrecondition(revision, precondition)).toThrow(failed(text));
    expect(() => checkPrecondition(revision, precondition)).toThrow(failed('precondition failed'));
  });

  test('agrees with a list of its sentences in every combination', () => {
    const etags = fc.constantFrom(undefined, null, '*', 'rev:1', '"rev:2"', ' rev:2 ', '');
    const property = fc.property(
      fc.constantFrom(null, 1, 2),
      fc.record({
        ifMatch: etags,
        ifNoneMatch: etags,
        expectedEtag: etags,
        expectedRevision: fc.constantFrom(undefined, null, 0, 1, 2),
      }),
      (revision, given) => {
        const bare = (text: string | null | undefined) => text?.trim().replaceAll('"', '');
        const { ifMatch, ifNoneMatch, expectedEtag } = {
          ifMatch: bare(given.ifMatch),
          ifNoneMatch: bare(given.ifNoneMatch),
          expectedEtag: bare(given.expectedEtag),
        };
        const current = revision === null ? undefined : etagOf(revision);
        const met = (etag: string) => (etag === '*' ? current !== undefined : etag === current);
        const faults = [
          ifMatch !== undefined && ifNoneMatch !== undefined,
          ifMatch !== undefined && expectedEtag !== undefined && ifMatch !== expectedEtag,
          ifMatch !== undefined && !met(ifMatch),
          expectedEtag !== undefined && !met(expectedEtag),
          typeof given.expectedRevision === 'number' && given.expectedRevision !== revision,
          ifNoneMatch !== undefined && met(ifNoneMatch),
        ];
        let refused = false;
        try {
          checkPrecondition(revision, given as WritePrecondition);
        } catch (error) {
          refused = error instanceof ServiceError;
        }
        expect(refused).toBe(faults.includes(true));
      },
    );
    fc.assert(property, { numRuns: 6_000 });
  });
});

describe('a batch', () => {
  test('has 1 to 1000 records and as many preconditions', () => {
    const records = (length: number) => Array.from({ length }, () => ({}));
    expect(() => checkBatch(records(1000), records(1000))).not.toThrow();
    expect(() => checkBatch(records(1), null)).not.toThrow();
    expect(() => checkBatch([])).toThrow(fault('/records', 'validation_failed'));
    expect(() => checkBatch([])).toThrow('at least one record');
    expect(() => checkBatch(records(1001))).toThrow(fault('/records', 'limit_exceeded'));
    for (const length of [0, 1, 3]) {
      expect(() => checkBatch(records(2), records(length))).toThrow(
        fault('/preconditions', 'validation_failed'),
      );
    }
  });
});
