import { describe, expect, test } from 'vitest';
import { refusalOf } from '../../../../test/support/refusal.ts';
import type { RecordData } from '../../../store/port.ts';
import { fenceKey } from '../records.ts';
import { applyFence } from './fence.ts';
import { type FenceMutation, readFenceMutation } from './fence-request.ts';

const NOW = '2026-01-02T03:04:05.000Z';
const owner = { ownerDocumentType: 'claim', ownerDocumentId: 'c1' };
const claim: FenceMutation = { operation: 'claim', name: 'policy', value: 'P-1', ...owner };
const release: FenceMutation = { ...claim, operation: 'release' };
const key = fenceKey('policy', 'P-1');
const held = (head: object = {}): RecordData => ({
  key,
  head: { name: 'policy', value: 'P-1', ...owner, createdAtUtc: NOW, updatedAtUtc: NOW, ...head },
});

describe('a claim', () => {
  test('of a free fence writes its owner', () => {
    expect(applyFence(undefined, claim, '/fences/0', NOW)).toEqual({
      put: { ...held(), body: null, listing: null },
    });
  });

  test('by the owner writes nothing', () => {
    expect(applyFence(held(), claim, '/fences/0', NOW)).toBeNull();
  });

  test.each([{ ownerDocumentType: 'other' }, { ownerDocumentId: 'other' }])(
    'is refused where the owner differs by %o',
    (other) => {
      expect(refusalOf(() => applyFence(held(other), claim, '/fences/3', NOW))).toEqual({
        code: 'fence_conflict',
        message: expect.stringContaining('held by another document'),
        errors: [{ pointer: '/fences/3', detail: 'is held by another owner' }],
      });
    },
  );
});

describe('a release', () => {
  test('by the owner removes the fence', () => {
    expect(applyFence(held(), release, '/fences/0', NOW)).toEqual({ remove: key });
  });

  test.each([undefined, held({ ownerDocumentType: 'other' }), held({ ownerDocumentId: 'other' })])(
    'of what the document does not hold is refused',
    (record) => {
      expect(refusalOf(() => applyFence(record, release, '/fences/3', NOW))).toEqual({
        code: 'fence_not_owned',
        message: expect.stringContaining('does not hold the fence that it releases'),
        errors: [{ pointer: '/fences/3', detail: 'is not held by this owner' }],
      });
    },
  );
});

test.each([{ name: 'other' }, { value: 'other' }])(
  'a record of another fence (%o) is not believed',
  (head) => {
    for (const fence of [claim, release]) {
      expect(() => applyFence(held(head), fence, '/fences/0', NOW)).toThrow(
        expect.objectContaining({
          failure: 'corrupt',
          message: expect.stringContaining('does not hold the fence'),
        }),
      );
    }
  },
);

describe('the request', () => {
  const wire = { name: ' policy ', value: ' P-1 ', ownerDocumentType: ' claim ', ownerDocumentId: ' c1 ' };

  test('claims unless it says otherwise, with everything trimmed', () => {
    expect(readFenceMutation(wire, '/fences/0')).toEqual(claim);
    expect(readFenceMutation({ ...wire, operation: 'release' }, '/fences/0')).toEqual(release);
  });

  test.each(Object.keys(wire))('names %s where it is not an identifier', (member) => {
    const refusal = refusalOf(() => readFenceMutation({ ...wire, [member]: ' ' }, '/fences/3'));
    expect(refusal.errors?.[0]?.pointer).toBe(`/fences/3/${member}`);
  });
});
