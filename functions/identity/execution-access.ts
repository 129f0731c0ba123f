import { invalidMember, ServiceError } from '../kernel/errors.ts';
import type { ClassPolicy, VerifiedCaller } from './authorizer.ts';
import type { Caller } from './caller.ts';
import { grantsByPrincipal, type MissingRight, permissionDenied } from './grants.ts';

/**
 * The identity policies of `Server:ExecutionAccess`: principals, operations and the scopes of runs. One single grant must
 * allow a decision. Principals are compared without regard to the case of ASCII letters, all other ids exactly.
 */

export type ExecutionAccessOperation =
  | 'start_run'
  | 'read_run'
  | 'cancel_run'
  | 'raise_event'
  | 'worker'
  | 'maintenance';

export interface ExecutionGrant {
  readonly principal: string;
  readonly productId: string;
  /** The worker id that the principal may use, for the operation `worker`. */
  readonly workerId: string | null;
  /** Empty for all tenants; `*` is an ordinary name. */
  readonly tenantIds: readonly string[];
  /** Empty for all handlers; `*` is an ordinary name. */
  readonly handlerIds: readonly string[];
  readonly operations: readonly ExecutionAccessOperation[];
}

/** The scope of a run. */
interface ExecutionScopeRef {
  readonly productId: string;
  readonly tenantId: string;
}

/** The members of a run that a decision reads. No caller may touch a run without a scope. */
export interface ExecutionRunRef {
  readonly scope: ExecutionScopeRef | null;
  readonly handlerId: string;
  readonly job?: { readonly family: string; readonly space: string };
}

/** Runs that a caller may read: all runs of a product, or only those of one tenant or one handler. */
interface VisibleRuns {
  readonly productId: string;
  /** `null`: of every tenant. */
  readonly tenantId: string | null;
  /** `null`: of every handler. */
  readonly handlerId: string | null;
}

/** A tenant of a product, or all tenants of it. */
export interface ServedTenant {
  readonly productId: string;
  /** `null`: every tenant. */
  readonly tenantId: string | null;
}

/** Decides about verified callers. A refusal throws `permission_denied`, with a text that reveals nothing about grants. */
export interface ExecutionAccess {
  /** Returns the service identity that the run is bound to: the verified principal. */
  authorizeStart(
    caller: VerifiedCaller,
    scope: ExecutionScopeRef | null,
    handlerId: string,
  ): { readonly serviceIdentity: string };
  authorizeRun(
    caller: VerifiedCaller,
    run: ExecutionRunRef,
    operation: 'read_run' | 'cancel_run' | 'raise_event',
  ): void;
  /** Whether the caller may see the run in a list. */
  maySee(caller: VerifiedCaller, run: ExecutionRunRef): boolean;
  /** Parts of all runs that together contain exactly the runs for which `maySee` is true. */
  visibleRuns(caller: VerifiedCaller): readonly VisibleRuns[];
  /** Throws unless the worker id is the caller's and a grant for this worker allows each handler. */
  authorizeLease(caller: VerifiedCaller, workerId: string, handlerIds: readonly string[]): void;
  /** Whether the caller's worker may lease the run: a grant for the worker must also cover the run. */
  mayLease(caller: VerifiedCaller, workerId: string, run: ExecutionRunRef): boolean;
  /** The tenants whose runs of these handlers the caller's worker may lease. An entry without a tenant is a whole product. */
  servedTenants(
    caller: VerifiedCaller,
    workerId: string,
    handlerIds: ReadonlySet<string>,
  ): readonly ServedTenant[];
  /** Checks calls of a worker that holds a lease. The check of the lease token does not replace this one. */
  authorizeWorker(caller: VerifiedCaller, workerId: string): void;
  /** Maintenance is not bound to a product: any grant of the operation suffices. */
  authorizeMaintenance(caller: VerifiedCaller): void;
  /**
   * The handlers that the caller may start in the scope, sorted; `null` if no grant allows a start there. Without a scope the list is
   * empty, or `null` if no grant allows any start.
   */
  allowedHandlers(caller: VerifiedCaller, scope: ExecutionScopeRef | null): readonly string[] | 'all' | null;
}

const WORKER = { right: 'worker' };

const SCOPE_MISSING =
  'Here a run needs a scope. Add "scope": { "productId": "…", "tenantId": "…" } with a product and a tenant of yours.';

export interface ExecutionAccessOptions {
  /** Whether principals are compared without regard to the case of ASCII letters; true unless set. */
  readonly caseInsensitive?: boolean;
}

export function createExecutionAccess(
  grants: readonly ExecutionGrant[],
  { caseInsensitive = true }: ExecutionAccessOptions = {},
): ExecutionAccess {
  const grantsOf = grantsByPrincipal(grants, prepare, caseInsensitive);
  const granting = (caller: VerifiedCaller, operation: ExecutionAccessOperation) =>
    grantsOf(caller.principal).filter((grant) => grant.operations.has(operation));
  const asWorker = (caller: VerifiedCaller, workerId: string) =>
    granting(caller, 'worker').filter((grant) => grant.workerId === workerId);
  const mayTouch = (caller: VerifiedCaller, run: ExecutionRunRef, operation: ExecutionAccessOperation) =>
    granting(caller, operation).some((grant) => coversRun(grant, run));

  return {
    authorizeStart(caller, scope, handlerId) {
      // No grant covers a run without a scope, so the message reveals none of them.
      if (scope === null) throw new ServiceError('permission_denied', SCOPE_MISSING);
      demand(mayTouch(caller, { scope, handlerId }, 'start_run'), { right: 'start_run', ...scope });
      return { serviceIdentity: caller.principal };
    },
    authorizeRun: (caller, run, operation) =>
      demand(mayTouch(caller, run, operation), { right: operation, ...run.scope }),
    maySee: (caller, run) => mayTouch(caller, run, 'read_run'),
    visibleRuns: (caller) => granting(caller, 'read_run').flatMap(partsOf),
    authorizeLease(caller, workerId, handlerIds) {
      const own = asWorker(caller, workerId);
      demand(own.length > 0, WORKER);
      demand(
        handlerIds.every((handlerId) => own.some((grant) => admits(grant.handlers, handlerId))),
        WORKER,
      );
    },
    mayLease: (caller, workerId, run) => asWorker(caller, workerId).some((grant) => coversRun(grant, run)),
    servedTenants: (caller, workerId, handlerIds) =>
      asWorker(caller, workerId)
        .filter(({ handlers }) => [...handlerIds].some((id) => admits(handlers, id)))
        .flatMap(tenantsOf),
    authorizeWorker: (caller, workerId) => demand(asWorker(caller, workerId).length > 0, WORKER),
    authorizeMaintenance: (caller) =>
      demand(granting(caller, 'maintenance').length > 0, { right: 'maintenance' }),
    allowedHandlers(caller, scope) {
      const starting = granting(caller, 'start_run');
      const there = scope === null ? starting : starting.filter((grant) => coversScope(grant, scope));
      if (there.length === 0) return null;
      if (scope === null) return [];
      if (there.some((grant) => grant.handlers.size === 0)) return 'all';
      return [...new Set(there.flatMap((grant) => [...grant.handlers]))].sort();
    },
  };
}

/**
 * The policy of the class `execution-policy`: any grant of the principal must hold the access operation. It runs before any read;
 * `ExecutionAccess` decides about the single run, after the service has read it.
 */
export function createExecutionPolicy(
  grants: readonly ExecutionGrant[],
  { caseInsensitive = true }: ExecutionAccessOptions = {},
): ClassPolicy {
  const operationsOf = ({ operations }: ExecutionGrant): ReadonlySet<unknown> => new Set(operations);
  const grantsOf = grantsByPrincipal(grants, operationsOf, caseInsensitive);
  return (caller, { accessOperation }) => {
    const known = isAccessOperation(accessOperation);
    const held = known && grantsOf(caller.principal).some((operations) => operations.has(accessOperation));
    demand(held, { right: accessOperation });
  };
}

/**
 * The service identity of a run: the verified principal, or `null` without one. Throws `validation_failed` if the body names an
 * identity: a silently ignored member would mislead its sender.
 */
export function serviceIdentityOf(caller: Caller, supplied: string | null | undefined): string | null {
  if (supplied !== undefined && supplied !== null) {
    throw invalidMember('/scope/serviceIdentity', 'must be left out: it is the verified caller');
  }
  return caller.principal;
}

interface ReadyGrant {
  readonly productId: string;
  readonly workerId: string | null;
  readonly tenants: ReadonlySet<string>;
  readonly handlers: ReadonlySet<string>;
  readonly operations: ReadonlySet<ExecutionAccessOperation>;
}

function prepare({ productId, workerId, tenantIds, handlerIds, operations }: ExecutionGrant): ReadyGrant {
  return {
    productId,
    workerId,
    tenants: new Set(tenantIds),
    handlers: new Set(handlerIds),
    operations: new Set(operations),
  };
}

function tenantsOf({ productId, tenants }: ReadyGrant): ServedTenant[] {
  const tenantIds = tenants.size === 0 ? [null] : [...tenants];
  return tenantIds.map((tenantId) => ({ productId, tenantId }));
}

function partsOf(grant: ReadyGrant): VisibleRuns[] {
  const handlerIds = grant.handlers.size === 0 ? [null] : [...grant.handlers];
  return tenantsOf(grant).flatMap((part) => handlerIds.map((handlerId) => ({ ...part, handlerId })));
}

/** An empty list restricts nothing. */
function admits(list: ReadonlySet<string>, id: string): boolean {
  return list.size === 0 || list.has(id);
}

function coversScope(grant: ReadyGrant, { productId, tenantId }: ExecutionScopeRef): boolean {
  return grant.productId === productId && admits(grant.tenants, tenantId);
}

function coversRun(grant: ReadyGrant, { scope, handlerId }: ExecutionRunRef): boolean {
  return scope !== null && coversScope(grant, scope) && admits(grant.handlers, handlerId);
}

function demand(allowed: boolean, { right = null, tenantId = null }: MissingRight): void {
  if (!allowed) throw permissionDenied({ right, tenantId });
}

const accessOperations: ReadonlySet<unknown> = new Set<ExecutionAccessOperation>([
  'start_run',
  'read_run',
  'cancel_run',
  'raise_event',
  'worker',
  'maintenance',
]);

function isAccessOperation(operation: string | null): operation is ExecutionAccessOperation {
  return accessOperations.has(operation);
}
