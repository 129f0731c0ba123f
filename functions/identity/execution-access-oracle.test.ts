import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { VerifiedCaller } from './authorizer.ts';
import {
  createExecutionAccess,
  type ExecutionAccess,
  type ExecutionGrant,
  type ExecutionRunRef,
} from './execution-access.ts';

const operations = ['start_run', 'read_run', 'cancel_run', 'raise_event', 'worker', 'maintenance'] as const;
const denied = expect.objectContaining({ code: 'permission_denied' });
const caller = (principal: string): VerifiedCaller => ({ kind: 'workload', principal });

const grant = (members: Partial<ExecutionGrant>): ExecutionGrant => ({
  principal: 'a@b',
  productId: 'p',
  workerId: null,
  tenantIds: [],
  handlerIds: [],
  operations: [...operations],
  ...members,
});

function allows(attempt: () => unknown): boolean {
  try {
    attempt();
    return true;
  } catch (error) {
    expect(error).toEqual(denied);
    return false;
  }
}

/** Everything that can be asked of one access about one caller, one worker and one run, answered together. */
interface Question {
  readonly principal: string;
  readonly workerId: string;
  readonly run: ExecutionRunRef;
  readonly others: readonly string[];
}

type Answers = Readonly<Record<string, boolean | string>>;
type Answer = (grants: readonly ExecutionGrant[], question: Question) => Answers;

const answersOf =
  (make: (grants: readonly ExecutionGrant[]) => ExecutionAccess): Answer =>
  (grants, { principal, workerId, run, others }) => {
    const access = make(grants);
    const who = caller(principal);
    const handlers = access.allowedHandlers(who, run.scope);
    return {
      start: allows(() => access.authorizeStart(who, run.scope, run.handlerId)),
      read: allows(() => access.authorizeRun(who, run, 'read_run')),
      cancel: allows(() => access.authorizeRun(who, run, 'cancel_run')),
      raise: allows(() => access.authorizeRun(who, run, 'raise_event')),
      see: access.maySee(who, run),
      lease: allows(() => access.authorizeLease(who, workerId, others)),
      leaseRun: access.mayLease(who, workerId, run),
      serves: access
        .servedTenants(who, workerId, new Set([run.handlerId]))
        .some(
          ({ productId, tenantId }) =>
            productId === run.scope?.productId && [null, run.scope.tenantId].includes(tenantId),
        ),
      worker: allows(() => access.authorizeWorker(who, workerId)),
      maintenance: allows(() => access.authorizeMaintenance(who)),
      handlers: handlers === null ? 'none' : String(handlers),
    };
  };

/** Independent of the access: every right of every grant is written down as a line, then looked up. */
const oracle: Answer = (grants, { principal, workerId, run, others }) => {
  const lines = new Set<string>();
  const mine = grants.filter((each) => each.principal.toLowerCase() === principal.toLowerCase());
  for (const each of mine) {
    for (const operation of each.operations) {
      const tenants = each.tenantIds.length === 0 ? ['ANY'] : each.tenantIds;
      const handlers = each.handlerIds.length === 0 ? ['ANY'] : each.handlerIds;
      lines.add(operation);
      if (operation === 'worker' && each.workerId !== null) lines.add(`worker ${each.workerId}`);
      for (const handler of handlers) {
        if (each.workerId !== null) lines.add(`${operation} ${each.workerId} ${handler}`);
        for (const tenant of tenants) {
          lines.add(`${operation} ${each.productId} ${tenant} ${handler}`);
          lines.add(`${operation} ${each.productId} ${tenant} ${handler} ${each.workerId ?? ''}`);
        }
      }
    }
  }
  const { scope, handlerId } = run;
  const onRun = (operation: string, suffix = '') =>
    scope !== null &&
    ['ANY', scope.tenantId].some((tenant) =>
      ['ANY', handlerId].some((handler) =>
        lines.has(`${operation} ${scope.productId} ${tenant} ${handler}${suffix}`),
      ),
    );
  const startable = ['ANY', 'g', 'h', '*'].filter(
    (handler) =>
      scope !== null &&
      ['ANY', scope.tenantId].some((tenant) =>
        lines.has(`start_run ${scope.productId} ${tenant} ${handler}`),
      ),
  );
  const named = startable.length === 0 ? 'none' : startable.sort().join(',');
  const inScope = startable.includes('ANY') ? 'all' : named;
  const withoutScope = lines.has('start_run') ? '' : 'none';
  return {
    start: onRun('start_run'),
    read: onRun('read_run'),
    cancel: onRun('cancel_run'),
    raise: onRun('raise_event'),
    see: onRun('read_run'),
    lease:
      lines.has(`worker ${workerId}`) &&
      others.every((id) => lines.has(`worker ${workerId} ANY`) || lines.has(`worker ${workerId} ${id}`)),
    leaseRun: onRun('worker', ` ${workerId}`),
    serves: onRun('worker', ` ${workerId}`),
    worker: lines.has(`worker ${workerId}`),
    maintenance: lines.has('maintenance'),
    handlers: scope === null ? withoutScope : inScope,
  };
};

const handlerId = fc.constantFrom('g', 'h', '*');
const grants = fc.array(
  fc.record({
    principal: fc.constantFrom('a@b', 'A@B', 'c@d'),
    productId: fc.constantFrom('p', 'q'),
    workerId: fc.constantFrom('v', 'w', null),
    tenantIds: fc.subarray(['t', 'u', '*']),
    handlerIds: fc.subarray(['g', 'h', '*']),
    operations: fc.subarray([...operations], { minLength: 1 }),
  }),
  { maxLength: 4 },
);
const scope = fc.option(
  fc.record({ productId: fc.constantFrom('p', 'q', 'P'), tenantId: fc.constantFrom('t', 'u', 'T') }),
  { freq: 8 },
);
const question = fc.record({
  principal: fc.constantFrom('a@b', 'a@B', 'c@d', 'e@f'),
  workerId: fc.constantFrom('v', 'w', 'W'),
  run: fc.record({ scope, handlerId }),
  others: fc.subarray(['g', 'h', '*']),
});

const compare = (subject: Answer) =>
  fc.check(
    fc.property(grants, question, (given, asked) => {
      const wanted = oracle(given, asked);
      const got = subject(given, asked);
      return Object.keys(wanted).every((name) => wanted[name] === got[name]);
    }),
    { numRuns: 10_000, seed: 22 },
  );

describe('the execution access against an independent reading of the grants', () => {
  test('D10: they agree about random grants, callers, workers and runs', () => {
    expect(compare(answersOf(createExecutionAccess)).counterexample).toBeNull();
  });

  /** The real access over grants that were changed first, or with some of its answers replaced. */
  const over = (change: (grants: readonly ExecutionGrant[]) => readonly ExecutionGrant[]) =>
    answersOf((given) => createExecutionAccess(change(given)));
  const each = (change: (grant: ExecutionGrant) => Partial<ExecutionGrant>) =>
    over((given) => given.map((one) => ({ ...one, ...change(one) })));
  const replaced = (
    make: (access: ExecutionAccess, given: readonly ExecutionGrant[]) => Partial<ExecutionAccess>,
  ) =>
    answersOf((given) => {
      const access = createExecutionAccess(given);
      return { ...access, ...make(access, given) };
    });
  const mine = (given: readonly ExecutionGrant[], { principal }: VerifiedCaller) =>
    given.filter((one) => one.principal.toLowerCase() === principal.toLowerCase());

  const planted: Readonly<Record<string, Answer>> = {
    'the operation of one grant with the tenant of another': over((given) =>
      given.map((one) => ({
        ...one,
        operations: given
          .filter((other) => other.principal === one.principal)
          .flatMap((other) => other.operations),
      })),
    ),
    'an empty list of tenants as none': each(({ tenantIds }) => ({
      tenantIds: tenantIds.length === 0 ? ['nothing'] : tenantIds,
    })),
    'an empty list of handlers as none': each(({ handlerIds }) => ({
      handlerIds: handlerIds.length === 0 ? ['nothing'] : handlerIds,
    })),
    'the star as all': each(({ tenantIds, handlerIds }) => ({
      tenantIds: tenantIds.includes('*') ? [] : tenantIds,
      handlerIds: handlerIds.includes('*') ? [] : handlerIds,
    })),
    'a run without a scope for those who may read a product': replaced((access, given) => ({
      maySee: (who, run) =>
        access.maySee(who, run) ||
        (run.scope === null && mine(given, who).some((one) => one.operations.includes('read_run'))),
    })),
    'a list that shows what another product has': replaced((access) => ({
      maySee: (who, run) =>
        access.maySee(who, run) ||
        (run.scope !== null && access.maySee(who, { ...run, scope: { ...run.scope, productId: 'p' } })),
    })),
    'a worker id that is not bound to the principal': replaced((access, given) => ({
      authorizeWorker: (who, workerId) => {
        if (!given.some((one) => one.workerId === workerId)) access.authorizeWorker(who, workerId);
      },
    })),
    'a worker id of a grant without the operation': replaced((access, given) => ({
      authorizeWorker: (who, workerId) => {
        if (!mine(given, who).some((one) => one.workerId === workerId)) access.authorizeWorker(who, workerId);
      },
    })),
    'a lease by any worker of the principal': replaced((access, given) => ({
      authorizeLease: (who, workerId, handlerIds) => {
        access.authorizeWorker(who, workerId);
        const workers = ['v', 'w'].filter((id) => mine(given, who).some((one) => one.workerId === id));
        for (const id of handlerIds) {
          if (!workers.some((own) => allows(() => access.authorizeLease(who, own, [id])))) {
            access.authorizeLease(who, workerId, handlerIds);
          }
        }
      },
    })),
    'a lease that checks the first handler only': replaced((access) => ({
      authorizeLease: (who, workerId, handlerIds) =>
        access.authorizeLease(who, workerId, handlerIds.slice(0, 1)),
    })),
    'a lease of runs in every tenant': replaced((_, given) => {
      const wide = createExecutionAccess(given.map((one) => ({ ...one, tenantIds: [] })));
      return { mayLease: (who, workerId, run) => wide.mayLease(who, workerId, run) };
    }),
    'tenants that no grant lets the worker serve': replaced((_, given) => {
      const wide = createExecutionAccess(given.map((one) => ({ ...one, tenantIds: [] })));
      return { servedTenants: (...asked) => wide.servedTenants(...asked) };
    }),
    'handlers that other operations allow': replaced((_, given) => {
      const wide = createExecutionAccess(
        given.map((one) => ({ ...one, operations: [...one.operations, 'start_run'] })),
      );
      return { allowedHandlers: (who, of) => wide.allowedHandlers(who, of) };
    }),
    'principals by their exact case': answersOf((given) => {
      const access = createExecutionAccess(given);
      return {
        ...access,
        maySee: (who, run) => given.some((one) => one.principal === who.principal) && access.maySee(who, run),
      };
    }),
  };
  test.each(Object.entries(planted))('%s would be found', (_, flaw) => {
    expect(compare(flaw).failed).toBe(true);
  });
});

test('D12: of 10,000 random runs a list shows those of the grants, and no foreign one', () => {
  const given = [
    grant({ productId: 'p1', tenantIds: ['t1', 't2'], handlerIds: ['h1'], operations: ['read_run'] }),
    grant({ productId: 'p2', tenantIds: ['t3'], operations: ['read_run', 'start_run'] }),
    grant({ productId: 'p3', operations: ['start_run', 'cancel_run'] }),
    grant({ principal: 'other@b', productId: 'p1' }),
  ];
  const access = createExecutionAccess(given);
  const id = (letter: string) => fc.integer({ min: 1, max: 4 }).map((number) => letter + number);
  const runs = fc.sample(
    fc.record({
      scope: fc.option(fc.record({ productId: id('p'), tenantId: id('t') }), { freq: 10 }),
      handlerId: id('h'),
    }),
    { numRuns: 10_000, seed: 12 },
  );
  const visible = /^(p1 t[12] h1|p2 t3 h.)$/;
  const nameOf = ({ scope: of, handlerId: handler }: ExecutionRunRef) =>
    of === null ? 'none' : `${of.productId} ${of.tenantId} ${handler}`;
  const shown = runs.filter((run) => access.maySee(caller('A@b'), run)).map(nameOf);
  expect(shown).toEqual(runs.map(nameOf).filter((name) => visible.test(name)));
  expect(new Set(shown).size).toBe(6);
  expect(runs.filter((run) => access.maySee(caller('nobody@b'), run))).toEqual([]);
});
