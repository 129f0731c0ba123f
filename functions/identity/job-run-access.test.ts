import { describe, expect, test } from 'vitest';
import type { VerifiedCaller } from './authorizer.ts';
import { createExecutionAccess } from './execution-access.ts';
import { withSpaceRights } from './job-run-access.ts';
import { createRecordAccess, type RecordAccessOperation } from './record-access.ts';

const scope = { productId: 'shop', tenantId: 'acme' };
const caller: VerifiedCaller = {
  kind: 'workload',
  principal: 'ada@example.test',
};

function accessWith(space: string, operations: readonly RecordAccessOperation[]) {
  const runs = createExecutionAccess([
    {
      principal: caller.principal,
      productId: 'shop',
      workerId: null,
      tenantIds: ['acme'],
      handlerIds: [],
      operations: ['read_run', 'cancel_run'],
    },
  ]);
  const records = createRecordAccess({
    grants: [
      { principal: 'other@example.test', space: 'acme', productId: null, operations: ['read'] },
      ...(operations.length === 0
        ? []
        : [{ principal: caller.principal, space, productId: null, operations }]),
    ],
  });
  return withSpaceRights(runs, records, (family) => family === 'record-import');
}

function run(family: string | null) {
  const job = family === null ? {} : { job: { family, space: 'acme' } };
  return { scope, handlerId: 'svc.records.batch-upsert', ...job };
}

describe('a run that carries records of a space', () => {
  test.each([
    ['no right of the space', 'acme', [], false, false],
    ['the right to read', 'acme', ['read'], true, false],
    ['the right to write', 'acme', ['write'], false, true],
    ['both rights in another space', 'globex', ['read', 'write'], false, false],
  ] as const)('%s', (_title, space, operations, reads, cancels) => {
    const access = accessWith(space, operations);
    const may = (operation: 'read_run' | 'cancel_run') => {
      try {
        access.authorizeRun(caller, run('record-import'), operation);
        return true;
      } catch (error) {
        expect(error).toMatchObject({ code: 'permission_denied' });
        return false;
      }
    };
    expect([may('read_run'), may('cancel_run')]).toEqual([reads, cancels]);
    expect(access.maySee(caller, run('record-import'))).toBe(reads);
  });

  test('other runs, and other jobs, need the rights of runs alone', () => {
    const access = accessWith('acme', []);
    for (const family of [null, 'collection-management']) {
      access.authorizeRun(caller, run(family), 'cancel_run');
      expect(access.maySee(caller, run(family))).toBe(true);
    }
  });

  test('the right of the space gives no right of runs', () => {
    const access = accessWith('acme', ['read', 'write']);
    const foreign = { ...run('record-import'), scope: { productId: 'shop', tenantId: 'globex' } };
    expect(() => access.authorizeRun(caller, foreign, 'read_run')).toThrow();
    expect(access.maySee(caller, foreign)).toBe(false);
  });
});
