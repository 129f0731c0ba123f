import { describe, expect, test } from 'vitest';
import { accessLines } from './access.ts';
import { apiOperations } from './catalog.ts';

const lines = (id: string, params: string[] = [], body: string | null = null) => {
  const operation = apiOperations.find((each) => each.id === id) ?? expect.fail(`no operation ${id}`);
  return accessLines(operation, { params, body: body === null ? null : Buffer.from(body) });
};

describe('a caller without the right', () => {
  test('learns which right is missing, and which settings grant it', () => {
    expect(lines('exportCanonicalTenant', ['tenantId=acme'])).toEqual([
      '  exportCanonicalTenant needs the right export for the tenant acme: a policy under Server:CanonicalAccess must grant it to this caller.',
    ]);
    expect(lines('pruneExecutionRuntimeMaintenance')).toEqual([
      '  pruneExecutionRuntimeMaintenance needs the right maintenance: a policy under Server:ExecutionAccess must grant it to this caller.',
    ]);
  });

  test('learns that a start names no scope', () => {
    expect(lines('startExecutionRun', [], '{"handlerId":"h"}')).toContainEqual(
      expect.stringContaining('The body names no scope'),
    );
    const scoped = '{"handlerId":"h","scope":{"productId":"p","tenantId":"t"}}';
    expect(lines('startExecutionRun', [], scoped)).toHaveLength(2);
    expect(lines('startExecutionRun', [], 'no JSON')).toHaveLength(2);
  });

  test('learns what else a grant bounds', () => {
    const worker = lines('leaseExternalExecutionRun');
    expect(worker).toContainEqual(expect.stringContaining('names a WorkerId'));
    expect(worker).toContainEqual(expect.stringContaining('tenants and handlers that it lists'));
    expect(lines('pruneExecutionRuntimeMaintenance')).toHaveLength(1);
  });

  test('learns that a run may have no scope', () => {
    expect(lines('cancelExecutionRun', ['runId=1'])[2]).toContain(
      'A run without a scope belongs to no policy',
    );
  });

  test('learns nothing of an operation that is open', () => {
    expect(lines('getHealth')).toEqual([]);
  });
});
