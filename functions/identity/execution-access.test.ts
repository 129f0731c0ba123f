import { describe, expect, test } from 'vitest';
import type { ServiceError } from '../kernel/errors.ts';
import type { VerifiedCaller } from './authorizer.ts';
import {
  createExecutionAccess,
  createExecutionPolicy,
  type ExecutionAccessOperation,
  type ExecutionGrant,
  serviceIdentityOf,
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

describe('the execution access', () => {
  const access = createExecutionAccess([
    grant({ tenantIds: ['t'], handlerIds: ['h', 'g'], operations: ['start_run'] }),
    grant({ tenantIds: ['t'], handlerIds: ['a', 'h'], operations: ['start_run'] }),
    grant({ workerId: 'w', handlerIds: ['h'], operations: ['worker'] }),
    grant({ workerId: 'w', handlerIds: ['g'], operations: ['worker'] }),
    grant({ principal: 'other@b', workerId: 'v' }),
  ]);
  const scopeOf = (productId: string, tenantId: string) => ({ productId, tenantId });

  test('D09: the service identity of a run is the principal that was verified', () => {
    const started = access.authorizeStart(caller('A@b'), scopeOf('p', 't'), 'h');
    expect(started).toEqual({ serviceIdentity: 'A@b' });
    expect(serviceIdentityOf(caller('a@b'), undefined)).toBe('a@b');
    expect(serviceIdentityOf(caller('a@b'), null)).toBe('a@b');
    expect(serviceIdentityOf({ kind: 'development', principal: null }, null)).toBeNull();
  });

  test.each(['other@b', 'a@b', ''])('D09: the service identity %j of a body is refused', (supplied) => {
    for (const who of [caller('a@b'), { kind: 'development', principal: null } as const]) {
      expect(() => serviceIdentityOf(who, supplied)).toThrow(
        expect.objectContaining({
          code: 'validation_failed',
          extensions: { errors: [expect.objectContaining({ pointer: '/scope/serviceIdentity' })] },
        }),
      );
    }
  });

  test('principals are compared by their exact case if the settings ask for it', () => {
    const exact = { caseInsensitive: false };
    const strict = createExecutionAccess([grant({})], exact);
    expect(allows(() => strict.authorizeMaintenance(caller('a@b')))).toBe(true);
    expect(allows(() => strict.authorizeMaintenance(caller('A@b')))).toBe(false);
    const policy = createExecutionPolicy([grant({})], exact);
    const operation = { id: 'x', authorizationClass: 'execution-policy', accessOperation: 'read_run' };
    expect(allows(() => policy(caller('a@b'), operation, { params: {}, now: 0 }))).toBe(true);
    expect(allows(() => policy(caller('A@b'), operation, { params: {}, now: 0 }))).toBe(false);
  });

  test('D10: a worker leases by any of its own grants, and only as itself', () => {
    access.authorizeLease(caller('a@b'), 'w', ['h', 'g']);
    for (const [workerId, handlers] of [
      ['v', ['h']],
      ['W', ['h']],
      ['', []],
      ['w', ['h', 'g', 'a']],
    ] as const) {
      expect(
        allows(() => access.authorizeLease(caller('a@b'), workerId, handlers)),
        workerId,
      ).toBe(false);
    }
  });

  test('a worker serves the tenants of the grants for its handlers, and of no other worker or operation', () => {
    const served = createExecutionAccess([
      grant({ workerId: 'w', tenantIds: ['t', 'u'], handlerIds: ['h', 'g'], operations: ['worker'] }),
      grant({ workerId: 'w', productId: 'q', handlerIds: ['g'], operations: ['worker'] }),
      grant({ workerId: 'w', tenantIds: ['other operation'], operations: ['start_run'] }),
      grant({ workerId: 'v', tenantIds: ['other worker'], operations: ['worker'] }),
      grant({ principal: 'other@b', workerId: 'w', tenantIds: ['other caller'], operations: ['worker'] }),
    ]);
    const of = (...handlers: string[]) => served.servedTenants(caller('A@b'), 'w', new Set(handlers));
    const inP = ['t', 'u'].map((tenantId) => ({ productId: 'p', tenantId }));
    expect(of('h')).toEqual(inP);
    expect(of('h', 'g')).toEqual([...inP, { productId: 'q', tenantId: null }]);
    expect(of('unknown')).toEqual([]);
  });

  test('D10: a worker grant without a worker id allows no worker', () => {
    const unbound = createExecutionAccess([grant({ workerId: null, operations: ['worker'] })]);
    for (const workerId of ['w', '', 'null']) {
      expect(
        allows(() => unbound.authorizeWorker(caller('a@b'), workerId)),
        workerId,
      ).toBe(false);
      expect(
        allows(() => unbound.authorizeLease(caller('a@b'), workerId, [])),
        workerId,
      ).toBe(false);
    }
  });

  test('the handlers of a scope are those of all its grants, once and sorted', () => {
    expect(access.allowedHandlers(caller('a@b'), scopeOf('p', 't'))).toEqual(['a', 'g', 'h']);
    expect(access.allowedHandlers(caller('a@b'), scopeOf('p', 'u'))).toBeNull();
    expect(access.allowedHandlers(caller('a@b'), null)).toEqual([]);
    expect(access.allowedHandlers(caller('nobody@b'), null)).toBeNull();
    expect(access.allowedHandlers(caller('other@b'), scopeOf('p', 'u'))).toBe('all');
  });

  test('D11: a refusal is the same for every reason', () => {
    const run = { scope: scopeOf('p', 't'), handlerId: 'h' };
    const attempts = [
      () => access.authorizeStart(caller('a@b'), scopeOf('p', 'u'), 'h'),
      () => access.authorizeStart(caller('nobody@b'), run.scope, 'h'),
      () => access.authorizeRun(caller('a@b'), run, 'read_run'),
      () => access.authorizeRun(caller('other@b'), { ...run, scope: null }, 'read_run'),
      () => access.authorizeLease(caller('a@b'), 'v', ['h']),
      () => access.authorizeLease(caller('a@b'), 'w', ['x']),
      () => access.authorizeWorker(caller('a@b'), 'x'),
      () => access.authorizeMaintenance(caller('a@b')),
    ];
    for (const attempt of attempts) {
      const refusal = { code: 'permission_denied', message: 'The caller may not do this.', extensions: {} };
      expect(attempt).toThrow(expect.objectContaining(refusal));
    }
  });
});

test('a start without a scope is refused with a message that says so, the same for every caller', () => {
  const access = createExecutionAccess([grant({ operations: ['start_run'] })]);
  for (const principal of ['a@b', 'nobody@b']) {
    expect(() => access.authorizeStart(caller(principal), null, 'h')).toThrow(
      expect.objectContaining({
        code: 'permission_denied',
        message: expect.stringMatching(/needs a scope.*productId.*tenantId/),
        extensions: {},
      }),
    );
  }
});

describe('the execution policy', () => {
  const policy = createExecutionPolicy([
    grant({ operations: ['start_run'] }),
    grant({ operations: ['read_run'], productId: 'q' }),
    grant({ principal: 'odd@b', operations: ['delete_run' as ExecutionAccessOperation] }),
  ]);
  const ask = (principal: string, accessOperation: string | null) =>
    allows(() => {
      const entry = { id: 'anyOperation', authorizationClass: 'execution-policy', accessOperation };
      policy(caller(principal), entry, { params: {}, now: 0 });
    });

  test('it admits a caller if any of its grants holds the access operation of the catalog', () => {
    expect(operations.filter((operation) => ask('A@B', operation))).toEqual(['start_run', 'read_run']);
    expect(operations.filter((operation) => ask('nobody@b', operation))).toEqual([]);
  });

  test.each(operations)('the grant of %s admits for this operation and for no other', (operation) => {
    const alone = createExecutionPolicy([grant({ operations: [operation] })]);
    const admitted = operations.filter((accessOperation) =>
      allows(() => {
        const entry = { id: 'anyOperation', authorizationClass: 'execution-policy', accessOperation };
        alone(caller('a@b'), entry, { params: {}, now: 0 });
      }),
    );
    expect(admitted).toEqual([operation]);
  });

  test.each([null, '', 'delete_run', 'START_RUN', 'constructor'])(
    'the access operation %j of the catalog admits no caller',
    (operation) => {
      expect([ask('a@b', operation), ask('odd@b', operation)]).toEqual([false, false]);
    },
  );

  test('it refuses with the text of every other refusal', () => {
    const entry = { id: 'x', authorizationClass: 'execution-policy', accessOperation: 'worker' };
    const message = (attempt: () => void) => {
      try {
        attempt();
      } catch (error) {
        return (error as ServiceError).message;
      }
      return 'allowed';
    };
    expect(message(() => policy(caller('a@b'), entry, { params: {}, now: 0 }))).toBe(
      'The caller may not do this.',
    );
  });
});
