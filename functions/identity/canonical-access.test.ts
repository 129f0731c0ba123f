import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ServiceError } from '../kernel/errors.ts';
import type { AuthorizationTarget, VerifiedCaller } from './authorizer.ts';
import {
  type CanonicalAccessOperation,
  type CanonicalAccessOptions,
  type CanonicalGrant,
  createCanonicalPolicy,
} from './canonical-access.ts';

const all = ['read', 'write', 'dispatch', 'export', 'restore', 'admin'] as const;
const now = Date.UTC(2026, 0, 1);
const denied = expect.objectContaining({ code: 'permission_denied' });
const unauthenticated = expect.objectContaining({ code: 'unauthenticated' });

interface Question {
  readonly principal: string;
  readonly operation: CanonicalAccessOperation;
  readonly tenantId: string | undefined;
}

const workload = (principal: string, issuedAt?: number | null): VerifiedCaller => ({
  kind: 'workload',
  principal,
  ...(issuedAt === undefined ? {} : { issuedAt }),
});

const targetOf = (tenantId: string | undefined): AuthorizationTarget =>
  tenantId === undefined ? { params: {}, now } : { params: { tenantId }, now };

function ask(
  options: CanonicalAccessOptions,
  caller: VerifiedCaller,
  operation: string | null,
  tenantId?: string,
) {
  const entry = { id: 'anyOperation', authorizationClass: 'canonical-policy', accessOperation: operation };
  createCanonicalPolicy(options)(caller, entry, targetOf(tenantId));
}

const grant = (
  principal: string,
  tenantIds: readonly string[],
  ...operations: readonly CanonicalAccessOperation[]
): CanonicalGrant => ({ principal, tenantIds, operations });

type Decide = (grants: readonly CanonicalGrant[], question: Question) => boolean;

const decide: Decide = (grants, { principal, operation, tenantId }) => {
  try {
    ask({ grants }, workload(principal, now), operation, tenantId);
    return true;
  } catch (error) {
    expect(error).toEqual(denied);
    return false;
  }
};

/** Independent of the policy: every right that the grants give is written down, then looked up. */
const oracle: Decide = (grants, { principal, operation, tenantId }) => {
  const rights = new Set<string>();
  for (const { principal: name, tenantIds, operations } of grants) {
    for (const tenant of tenantIds)
      for (const right of operations) rights.add(`${name.toLowerCase()} ${right} ${tenant}`);
  }
  const may = (right: string, tenant: string) =>
    rights.has(`${principal.toLowerCase()} ${right} *`) ||
    (right !== 'admin' && rights.has(`${principal.toLowerCase()} ${right} ${tenant}`));
  const itself = may(operation, tenantId ?? '*');
  return operation === 'restore' ? itself && may('admin', '*') : itself;
};

const tenantIds = fc.subarray(['t', 'u', '*'], { minLength: 1 });
const principals = fc.constantFrom('a@b', 'A@B', 'c@d');
const grants = fc.array(
  fc.record({ principal: principals, tenantIds, operations: fc.subarray([...all], { minLength: 1 }) }),
  { maxLength: 4 },
);
const question = fc.record({
  principal: fc.constantFrom('a@b', 'a@B', 'c@d', 'e@f'),
  operation: fc.constantFrom(...all),
  tenantId: fc.constantFrom('t', 'u', 'v', undefined),
});

const compare = (subject: Decide) =>
  fc.check(
    fc.property(grants, question, (given, asked) => subject(given, asked) === oracle(given, asked)),
    { numRuns: 10_000, seed: 14 },
  );

describe('the canonical policy against an independent reading of the grants', () => {
  test('D07: they agree about random grants and questions', () => {
    expect(compare(decide).counterexample).toBeNull();
  });

  const own = (given: readonly CanonicalGrant[], { principal }: Question) =>
    given.filter((each) => each.principal.toLowerCase() === principal.toLowerCase());
  const holds = (each: CanonicalGrant, operation: CanonicalAccessOperation, tenant?: string) =>
    each.operations.includes(operation) &&
    (each.tenantIds.includes('*') ||
      (operation !== 'admin' && tenant !== undefined && each.tenantIds.includes(tenant)));
  /** The right rule, with one right replaced. */
  const flawed =
    (instead: Partial<{ own: typeof own; holds: typeof holds; restoreNeedsAdmin: boolean }>): Decide =>
    (given, asked) => {
      const rule = { own, holds, restoreNeedsAdmin: true, ...instead };
      const mine = rule.own(given, asked);
      const itself = mine.some((each) => rule.holds(each, asked.operation, asked.tenantId));
      const admin = mine.some((each) => rule.holds(each, 'admin'));
      return itself && (asked.operation !== 'restore' || !rule.restoreNeedsAdmin || admin);
    };

  const planted: Readonly<Record<string, Decide>> = {
    'the operation of one grant with the tenant of another': (given, asked) =>
      flawed({
        own: (...of) => {
          const mine = own(...of);
          const operations = mine.flatMap((each) => each.operations);
          return [{ principal: '', tenantIds: mine.flatMap((each) => each.tenantIds), operations }];
        },
      })(given, asked),
    'the star as a name': flawed({
      holds: (each, operation, tenant) =>
        each.operations.includes(operation) && each.tenantIds.includes(tenant ?? '*'),
    }),
    'admin that implies all': flawed({
      holds: (each, operation, tenant) => holds(each, operation, tenant) || holds(each, 'admin'),
    }),
    'admin for a named tenant': flawed({
      holds: (each, operation, tenant) =>
        holds(each, operation, tenant) || (operation === 'admin' && each.operations.includes('admin')),
    }),
    'restore without admin': flawed({ restoreNeedsAdmin: false }),
    'restore by admin alone': (given, asked) =>
      flawed({})(given, asked.operation === 'restore' ? { ...asked, operation: 'admin' } : asked),
    'the admin of somebody else': (given, asked) =>
      asked.operation === 'restore'
        ? own(given, asked).some((each) => holds(each, 'restore', asked.tenantId)) &&
          given.some((each) => holds(each, 'admin'))
        : flawed({})(given, asked),
    'write that implies read': flawed({
      holds: (each, operation, tenant) =>
        holds(each, operation, tenant) || (operation === 'read' && holds(each, 'write', tenant)),
    }),
    'any grant for an operation without a tenant': flawed({
      holds: (each, operation, tenant) =>
        holds(each, operation, tenant) || (tenant === undefined && each.operations.includes(operation)),
    }),
    'principals by their exact case': flawed({
      own: (given, asked) => given.filter((each) => each.principal === asked.principal),
    }),
    'the first grant of a principal only': flawed({ own: (...of) => own(...of).slice(0, 1) }),
  };
  test.each(Object.entries(planted))('%s would be found', (_, flaw) => {
    expect(compare(flaw).failed).toBe(true);
  });

  test('the rule that the flaws are planted in is right without them', () => {
    expect(compare(flawed({})).counterexample).toBeNull();
  });
});

describe('the canonical policy', () => {
  const options = {
    grants: [
      grant('a@b', ['t'], 'read', 'restore'),
      grant('a@b', ['u'], 'write'),
      grant('a@b', ['*'], 'admin'),
    ],
  };

  test('D11: a refusal is the same for every reason and every tenant', () => {
    const refusals = [
      ['nobody@b', 'read', 't'],
      ['a@b', 'read', 'u'],
      ['a@b', 'write', 't'],
      ['a@b', 'write', 'that-does-not-exist'],
      ['a@b', 'export', 't'],
      ['a@b', 'read', undefined],
      ['a@b', 'restore', 'u'],
    ] as const;
    const texts = refusals.map(([principal, operation, tenantId]) => {
      try {
        ask(options, workload(principal), operation, tenantId);
      } catch (error) {
        const { code, message, extensions } = error as ServiceError;
        return JSON.stringify({ code, message, extensions });
      }
      return 'allowed';
    });
    expect(new Set(texts)).toEqual(
      new Set(['{"code":"permission_denied","message":"The caller may not do this.","extensions":{}}']),
    );
  });

  test.each([null, '', 'delete', 'READ', 'toString', '__proto__'])(
    'the access operation %j of the catalog admits no caller',
    (operation) => {
      const everything = { grants: [grant('a@b', ['*'], ...all)] };
      expect(() => ask(everything, workload('a@b'), operation, 't')).toThrow(denied);
    },
  );

  test('an operation outside the catalog admits no caller, even if a grant names it', () => {
    const odd = { grants: [grant('a@b', ['*'], 'delete' as CanonicalAccessOperation)] };
    expect(() => ask(odd, workload('a@b'), 'delete', 't')).toThrow(denied);
  });

  test('A14: only ASCII letters are compared without case, and that can be switched off', () => {
    const mixed = [grant('Kim@B', ['t'], 'read')];
    ask({ grants: mixed }, workload('kIM@b'), 'read', 't');
    // The Kelvin sign is a `k` in lower case.
    for (const principal of ['\u212aim@b', 'kim@b ', 'kim', 'k\u0131m@b']) {
      expect(() => ask({ grants: mixed }, workload(principal), 'read', 't'), principal).toThrow(denied);
    }
    const exact = { grants: mixed, caseInsensitive: false };
    ask(exact, workload('Kim@B'), 'read', 't');
    expect(() => ask(exact, workload('kim@b'), 'read', 't')).toThrow(denied);
  });

  test('tenants are compared exactly', () => {
    for (const tenantId of ['T', ' t', 't ', 't\u0000', '']) {
      expect(() => ask(options, workload('a@b'), 'read', tenantId), tenantId).toThrow(denied);
    }
    ask(options, workload('a@b'), 'read', 't');
  });
});

describe('A22: a restore needs a proof as young as the setting says', () => {
  const minutes = (count: number) => now - count * 60_000;
  const granted = [grant('a@b', ['t'], 'restore', 'read'), grant('a@b', ['*'], 'admin')];
  const options = { grants: granted, restoreTokenMaxAgeSeconds: 600 };
  const restore = (issuedAt: number | null | undefined, tenantId = 't') =>
    ask(options, workload('a@b', issuedAt), 'restore', tenantId);

  test.each([minutes(0), minutes(9), minutes(10), minutes(-1), null, undefined])(
    '%o is accepted',
    (issuedAt) => {
      expect(() => restore(issuedAt)).not.toThrow();
    },
  );

  test.each([minutes(10) - 1, minutes(60), 0, Number.NaN, Number.NEGATIVE_INFINITY])(
    '%o is refused as a credential, and the text says what is needed',
    (issuedAt) => {
      expect(() => restore(issuedAt)).toThrow(unauthenticated);
      expect(() => restore(issuedAt)).toThrow('issued in the last 600 seconds');
    },
  );

  test('a caller that may not restore is refused for that reason, also with an old proof', () => {
    expect(() => restore(0, 'u')).toThrow(denied);
  });

  test.each([minutes(60), 0, Number.NaN])('without the setting any valid proof will do: %o', (issuedAt) => {
    expect(() => ask({ grants: granted }, workload('a@b', issuedAt), 'restore', 't')).not.toThrow();
  });

  test('nothing else needs a young proof', () => {
    ask(options, workload('a@b', 0), 'read', 't');
    ask(options, workload('a@b', 0), 'admin');
  });
});
