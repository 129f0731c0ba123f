import { describe, expect, test } from 'vitest';
import { ServiceError } from '../kernel/errors.ts';
import type { VerifiedCaller } from './authorizer.ts';
import {
  createRecordAccess,
  createRecordPolicy,
  DEFAULT_SPACE,
  type RecordAccessOperation,
  type RecordGrant,
  recordRightOf,
} from './record-access.ts';

const ada: VerifiedCaller = { kind: 'workload', principal: 'ada@a.example' };
const bob: VerifiedCaller = { kind: 'workload', principal: 'bob@a.example' };

function grant(principal: string, space: string, ...operations: RecordAccessOperation[]): RecordGrant {
  return { principal, space, productId: null, operations };
}

function refusal(call: () => unknown): string {
  try {
    call();
  } catch (error) {
    if (error instanceof ServiceError) return `${error.code}: ${error.message}`;
    throw error;
  }
  return 'allowed';
}

const DENIED = 'permission_denied: The caller may not do this.';

describe('with policies', () => {
  const access = createRecordAccess({
    grants: [
      grant('ada@a.example', 'acme', 'read', 'write'),
      { ...grant('Ada@A.example', 'acme', 'delete'), productId: 'shop' },
      grant('bob@a.example', 'globex', 'read'),
    ],
  });

  test('the policy of the principal names its space', () => {
    expect(access.spaceOf(ada, 'read')).toBe('acme');
    expect(access.spaceOf(bob, 'read')).toBe('globex');
  });

  test('the grants of one principal add up, in upper and lower case', () => {
    for (const operation of ['read', 'write', 'delete'] as const)
      expect(access.spaceOf(ada, operation)).toBe('acme');
    expect(refusal(() => access.spaceOf(ada, 'maintain'))).toBe(DENIED);
    expect(refusal(() => access.spaceOf(bob, 'write'))).toBe(DENIED);
  });

  test('a tenant in the query must be the space, and no refusal tells one reason from another', () => {
    expect(access.spaceOf(ada, 'write', 'acme')).toBe('acme');
    const refused = [
      () => access.spaceOf(ada, 'write', 'globex'),
      () => access.spaceOf(ada, 'write', 'ACME'),
      () => access.spaceOf(ada, 'write', ''),
      () => access.spaceOf(ada, 'maintain', 'acme'),
      () => access.spaceOf({ kind: 'workload', principal: 'eve@a.example' }, 'read'),
      () => access.spaceOf({ kind: 'development', principal: null }, 'read'),
      () => access.spaceOf({ kind: 'api-key', principal: null }, 'read'),
      () => access.spaceOf({ kind: 'anonymous', principal: 'ada@a.example' }, 'read'),
    ];
    expect(refused.map(refusal)).toEqual(refused.map(() => DENIED));
  });

  test('the space is the tenant of jobs whose query names none, and the policy names their product', () => {
    expect(access.ownerOf(ada)).toEqual({ productId: 'shop', tenantId: 'acme' });
    expect(access.ownerOf(bob)).toBeNull();
    expect(access.ownerOf({ kind: 'development', principal: null })).toBeNull();
  });

  test('a job needs the right in its own space when it runs', () => {
    const judge = (caller: VerifiedCaller, space: string, operation: RecordAccessOperation) =>
      refusal(() => access.judgeRecordJob({ caller, space, operation }));
    expect(judge(ada, 'acme', 'write')).toBe('allowed');
    expect(judge(ada, DEFAULT_SPACE, 'write')).toBe(DENIED);
    expect(judge(ada, 'globex', 'write')).toBe(DENIED);
    expect(judge(bob, 'globex', 'write')).toBe(DENIED);
  });

  test('subjects are compared exactly', () => {
    const exact = createRecordAccess({ grants: [grant('ada', 'acme', 'read')], caseInsensitive: false });
    expect(exact.spaceOf({ kind: 'workload', principal: 'ada' }, 'read')).toBe('acme');
    expect(refusal(() => exact.spaceOf({ kind: 'workload', principal: 'Ada' }, 'read'))).toBe(DENIED);
  });

  test('a principal with two spaces is no access at all', () => {
    const grants = [grant('ada@a.example', 'acme', 'read'), grant('ADA@a.example', 'globex', 'read')];
    expect(() => createRecordAccess({ grants })).toThrow('a principal has two spaces');
  });
});

describe('without policies', () => {
  const access = createRecordAccess({ grants: [] });

  test('all callers share one space, and a tenant in the query names none', () => {
    const caller = { kind: 'development', principal: null } as const;
    expect(access.spaceOf(caller, 'maintain')).toBe(DEFAULT_SPACE);
    expect(access.spaceOf(caller, 'write', 'acme')).toBe(DEFAULT_SPACE);
    expect(access.ownerOf(caller)).toBeNull();
  });

  test('a job of a tenant does not run once the policies are gone', () => {
    const caller = { kind: 'development', principal: null } as const;
    access.judgeRecordJob({ caller, space: DEFAULT_SPACE, operation: 'write' });
    expect(refusal(() => access.judgeRecordJob({ caller, space: 'acme', operation: 'write' }))).toBe(DENIED);
  });
});

test('the class policy asks for the right of the catalog, and for jobs for the right of the space', () => {
  const right = (accessOperation: string | null) => {
    try {
      return recordRightOf({ accessOperation });
    } catch {
      return 'refused';
    }
  };
  const given = ['read', 'write', 'delete', 'maintain', 'read_run', 'start_run', 'cancel_run'];
  expect(given.map(right)).toEqual(['read', 'write', 'delete', 'maintain', 'read', 'write', 'write']);
  expect(['worker', 'admin', 'export', null].map(right)).toEqual(Array(4).fill('refused'));
  const policy = createRecordPolicy(createRecordAccess({ grants: [grant('ada@a.example', 'acme', 'read')] }));
  const ask = (accessOperation: string) =>
    refusal(() =>
      policy(
        ada,
        { id: 'x', authorizationClass: 'server-authenticated', accessOperation },
        { params: {}, now: 0 },
      ),
    );
  expect([ask('read'), ask('read_run'), ask('write'), ask('start_run')]).toEqual([
    'allowed',
    'allowed',
    DENIED,
    DENIED,
  ]);
});
