import { describe, expect, it } from 'vitest';
import { refused, TenantClient } from '../support/canonical.ts';
import type { Conformance } from './canonical-suite.ts';

type State = 'absent' | 'live' | 'tombstone';
type MutationKind = 'upsert' | 'delete';

const PRECONDITIONS = {
  none: null,
  mustNotExist: { mustNotExist: true },
  mustExist: { mustExist: true },
  expectedZero: { expectedRevision: 0 },
  /** The current revision: 1 for the live document, 2 for the tombstone. */
  expectedCurrent: { expectedRevision: 'current' },
  expectedOther: { expectedRevision: 7 },
  currentAndMustExist: { expectedRevision: 'current', mustExist: true },
} as const;

type Row = readonly [
  State,
  MutationKind,
  keyof typeof PRECONDITIONS,
  number | 'precondition_failed' | 'document_missing',
];

/** State, operation, precondition, and the revision it leads to or the code that refuses it. */
const ROWS: readonly Row[] = [
  ['absent', 'upsert', 'none', 1],
  ['absent', 'upsert', 'mustNotExist', 1],
  ['absent', 'upsert', 'mustExist', 'precondition_failed'],
  ['absent', 'upsert', 'expectedZero', 'precondition_failed'],
  ['absent', 'upsert', 'expectedOther', 'precondition_failed'],
  ['live', 'upsert', 'none', 2],
  ['live', 'upsert', 'mustNotExist', 'precondition_failed'],
  ['live', 'upsert', 'mustExist', 2],
  ['live', 'upsert', 'expectedCurrent', 2],
  ['live', 'upsert', 'expectedOther', 'precondition_failed'],
  ['live', 'upsert', 'currentAndMustExist', 2],
  ['tombstone', 'upsert', 'none', 3],
  ['tombstone', 'upsert', 'mustNotExist', 'precondition_failed'],
  ['tombstone', 'upsert', 'mustExist', 3],
  ['tombstone', 'upsert', 'expectedCurrent', 3],
  ['tombstone', 'upsert', 'expectedOther', 'precondition_failed'],
  ['absent', 'delete', 'none', 'document_missing'],
  ['absent', 'delete', 'mustNotExist', 'document_missing'],
  ['absent', 'delete', 'mustExist', 'precondition_failed'],
  ['absent', 'delete', 'expectedOther', 'precondition_failed'],
  ['live', 'delete', 'none', 2],
  ['live', 'delete', 'mustNotExist', 'precondition_failed'],
  ['live', 'delete', 'mustExist', 2],
  ['live', 'delete', 'expectedCurrent', 2],
  ['live', 'delete', 'expectedOther', 'precondition_failed'],
  ['tombstone', 'delete', 'none', 'document_missing'],
  ['tombstone', 'delete', 'mustNotExist', 'precondition_failed'],
  ['tombstone', 'delete', 'mustExist', 'document_missing'],
  ['tombstone', 'delete', 'expectedCurrent', 'document_missing'],
  ['tombstone', 'delete', 'expectedOther', 'precondition_failed'],
];

const REVISION: Readonly<Record<State, number>> = { absent: 0, live: 1, tombstone: 2 };

export function describePreconditions({ store, rivals }: Conformance): void {
  describe('preconditions and tombstones', () => {
    it.each(ROWS)('%s document, %s, precondition %s: %s', async (state, operation, name, expected) => {
      const tenant = new TenantClient(store());
      await bring(tenant, state);
      const before = await snapshot(tenant);
      const precondition = resolve(PRECONDITIONS[name], REVISION[state]);
      const mutation =
        operation === 'upsert'
          ? tenant.upsert('a', { n: 2 }, { precondition })
          : tenant.remove('a', precondition);
      const call = tenant.commit({ mutations: [mutation] });
      if (typeof expected === 'string') {
        await refused(expected, call);
        expect(await snapshot(tenant)).toEqual(before);
        return;
      }
      const [document] = (await call).documents;
      expect(document).toMatchObject({
        revision: expected,
        etag: `rev:${expected}`,
        deleted: operation === 'delete',
        data: operation === 'delete' ? null : { n: 2 },
      });
      expect(await tenant.read('claim', 'a', true)).toEqual(document);
    });

    it('keeps the day of creation through deletion and revival', async () => {
      const tenant = new TenantClient(store());
      const created = (await tenant.commit({ mutations: [tenant.upsert('a')] })).committedAtUtc;
      tenant.advance(1000);
      await tenant.commit({ mutations: [tenant.remove('a')] });
      tenant.advance(1000);
      const revived = (await tenant.commit({ mutations: [tenant.upsert('a')] })).documents[0];
      expect(revived).toMatchObject({ revision: 3, createdAtUtc: created, deleted: false });
      expect(revived?.updatedAtUtc).not.toBe(created);
    });

    it('lets one of several rivals for a revision through, and no other', async () => {
      const tenant = new TenantClient(store());
      await tenant.commit({ mutations: [tenant.upsert('a')] });
      const attempts = Array.from({ length: rivals }, (_, n) =>
        tenant.commit({ mutations: [tenant.upsert('a', { n }, { precondition: { expectedRevision: 1 } })] }),
      );
      const settled = await Promise.allSettled(attempts);
      expect(settled.filter((s) => s.status === 'fulfilled')).toHaveLength(1);
      expect((await tenant.read('claim', 'a')).revision).toBe(2);
    });
  });
}

async function bring(tenant: TenantClient, state: State): Promise<void> {
  if (state === 'absent') return;
  await tenant.commit({ mutations: [tenant.upsert('a', { n: 1 }, { indexes: { status: 'open' } })] });
  if (state === 'tombstone') await tenant.commit({ mutations: [tenant.remove('a')] });
}

async function snapshot(tenant: TenantClient) {
  return {
    document: await tenant.read('claim', 'a', true).catch((error: unknown) => String(error)),
    revisions: await tenant.revisions('claim', 'a'),
  };
}

function resolve(precondition: (typeof PRECONDITIONS)[keyof typeof PRECONDITIONS], current: number) {
  if (precondition === null || !('expectedRevision' in precondition)) return precondition;
  const expected = precondition.expectedRevision;
  return { ...precondition, expectedRevision: expected === 'current' ? current : expected };
}
