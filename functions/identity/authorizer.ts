import type { OperationEntry } from '../../contracts/operation.ts';
import { ServiceError } from '../kernel/errors.ts';
import type { Caller } from './caller.ts';
import { permissionDenied } from './grants.ts';

/**
 * The target of a call, read from its path.
 * @testonly
 */
export interface AuthorizationTarget {
  /** The path parameters by name. */
  readonly params: Readonly<Record<string, string>>;
  /** The service's time, in milliseconds of the Unix epoch. */
  readonly now: number;
}

/** Decides whether a known caller may call the operation for the tenant; throws `permission_denied` or `unauthenticated`. */
export interface Authorizer {
  authorize(caller: Caller, operation: AuthorizedOperation, target: AuthorizationTarget): void;
}

export type AuthorizedOperation = Pick<OperationEntry, 'id' | 'authorizationClass' | 'accessOperation'> &
  Partial<Pick<OperationEntry, 'group'>>;

/** A caller whose principal was verified. */
export type VerifiedCaller = Caller & { readonly principal: string };

/** The policy of one authorization class for callers whose principal was verified. */
export type ClassPolicy = (
  caller: VerifiedCaller,
  operation: AuthorizedOperation,
  target: AuthorizationTarget,
) => void;

/** The class of deliveries by the queue. It is not in the contract and needs only a proof of the delivering identity. */
export const DELIVERY_CLASS = 'execution-delivery';

export interface AuthorizerOptions {
  /** By authorization class. A class without a policy refuses every workload. */
  readonly policies?: Readonly<Record<string, ClassPolicy>>;
}

/**
 * Refuses by default. Admits anonymous operations, the development identity, and verified workloads that a policy allows.
 * A refusal is the same whether or not its target exists.
 */
export function createAuthorizer({ policies = {} }: AuthorizerOptions = {}): Authorizer {
  return {
    authorize(caller, operation, target) {
      if (operation.authorizationClass === 'anonymous' || caller.kind === 'development') return;
      if (caller.kind === 'anonymous')
        throw new ServiceError('unauthenticated', 'The operation needs a credential.');
      const policy = Object.hasOwn(policies, operation.authorizationClass)
        ? policies[operation.authorizationClass]
        : undefined;
      if (caller.kind === 'workload' && caller.principal !== null && policy) {
        policy({ ...caller, principal: caller.principal }, operation, target);
        return;
      }
      // An API key alone names no tenant.
      const { tenantId } = target.params;
      throw permissionDenied({ right: operation.accessOperation, tenantId });
    },
  };
}
