import { ServiceError } from '../kernel/errors.ts';
import type { AuthorizedOperation, ClassPolicy } from './authorizer.ts';
import type { Caller } from './caller.ts';
import { asciiLowerCase, permissionDenied } from './grants.ts';

/**
 * The identity policies of `Server:RecordAccess`: principals, their space and its operations. A principal has one space, so
 * no request can address the space of another tenant.
 */

/** The space of a deployment without policies, and of all its callers. */
export const DEFAULT_SPACE = 'default';

export type RecordAccessOperation = 'read' | 'write' | 'delete' | 'maintain';

/** @testonly */
export interface RecordGrant<Operation extends string = RecordAccessOperation> {
  readonly principal: string;
  readonly space: string;
  /** Product of the jobs that the principal starts without a product of its own; their tenant is the space. */
  readonly productId: string | null;
  readonly operations: readonly Operation[];
}

/** The members of a caller that a decision reads; jobs keep only these. */
export type RecordCaller = Pick<Caller, 'kind' | 'principal'>;

/** A product and tenant that own a job. */
interface RecordJobOwner {
  readonly productId: string;
  readonly tenantId: string;
}

/** A job of the record groups before its admission and before each execution. */
interface RecordJob<Operation extends string = RecordAccessOperation> {
  readonly caller: RecordCaller;
  readonly space: string;
  readonly operation: Operation;
}

/** Decides about the callers of one space. A refusal throws `permission_denied`, with a text that reveals nothing about targets. */
export interface RecordAccess<Operation extends string = RecordAccessOperation> {
  /** The caller's space. Throws if the caller lacks the right, or if the query names another tenant. */
  spaceOf(caller: RecordCaller, operation: Operation, tenantId?: string): string;
  /** Product and tenant of the caller's jobs, for a query that names none; `null` if its policy names no product. */
  ownerOf(caller: RecordCaller): RecordJobOwner | null;
  /** Throws if the caller of a job does not have, or no longer has, the right in the space of the job. */
  judgeRecordJob(job: RecordJob<Operation>): void;
}

export interface RecordAccessOptions<Operation extends string = RecordAccessOperation> {
  readonly grants: readonly RecordGrant<Operation>[];
  /** Whether principals are compared without regard to the case of ASCII letters; true unless set. */
  readonly caseInsensitive?: boolean;
}

/** Whether the caller may read in its space. A caller that may only cancel a job does not see its result. */
export function mayRead<Operation extends string>(
  access: Pick<RecordAccess<Operation | 'read'>, 'spaceOf'>,
  caller: RecordCaller,
): boolean {
  try {
    access.spaceOf(caller, 'read');
    return true;
  } catch (error) {
    if (error instanceof ServiceError) return false;
    throw error;
  }
}

/** Without grants all callers share one space. The configuration permits that in an open Development service only. */
export function createRecordAccess<Operation extends string = RecordAccessOperation>({
  grants,
  caseInsensitive = true,
}: RecordAccessOptions<Operation>): RecordAccess<Operation> {
  if (grants.length === 0) return openAccess;
  const members = membersOf(grants, caseInsensitive);
  const spaceOf = ({ kind, principal }: RecordCaller, operation: Operation, tenantId?: string) => {
    const member = kind === 'workload' && principal !== null ? members(principal) : undefined;
    const missing = { right: operation, tenantId };
    if (member === undefined || !member.operations.has(operation)) throw permissionDenied(missing);
    if (tenantId !== undefined && tenantId !== member.space) throw permissionDenied(missing);
    return member.space;
  };
  return {
    spaceOf,
    ownerOf({ kind, principal }) {
      const member = kind === 'workload' && principal !== null ? members(principal) : undefined;
      if (member === undefined || member.productId === null) return null;
      return { productId: member.productId, tenantId: member.space };
    },
    judgeRecordJob: ({ caller, space, operation }) => void spaceOf(caller, operation, space),
  };
}

const openAccess: RecordAccess<string> = {
  spaceOf: () => DEFAULT_SPACE,
  ownerOf: () => null,
  judgeRecordJob({ space }) {
    // The service admitted this job of a tenant while it had policies.
    if (space !== DEFAULT_SPACE) throw permissionDenied();
  },
};

/**
 * The right in the space that an operation of the record groups needs. For operations on jobs the catalog holds a right of the
 * execution runtime, so the right in the space follows from the job: a caller that may write records may start and cancel imports.
 */
export function recordRightOf({
  accessOperation,
}: Pick<AuthorizedOperation, 'accessOperation'>): RecordAccessOperation {
  if (isRecordOperation(accessOperation)) return accessOperation;
  if (accessOperation === 'read_run') return 'read';
  if (accessOperation === 'start_run' || accessOperation === 'cancel_run') return 'write';
  throw permissionDenied({ right: accessOperation });
}

/** The policy of the class `server-authenticated`. It runs before the query is read. */
export function createRecordPolicy(access: RecordAccess): ClassPolicy {
  return (caller, operation) => void access.spaceOf(caller, recordRightOf(operation));
}

interface Member<Operation> {
  readonly space: string;
  readonly productId: string | null;
  readonly operations: ReadonlySet<Operation>;
}

function membersOf<Operation extends string>(
  grants: readonly RecordGrant<Operation>[],
  caseInsensitive: boolean,
): (principal: string) => Member<Operation> | undefined {
  const spell = (principal: string) => (caseInsensitive ? asciiLowerCase(principal) : principal);
  const members = new Map<string, Member<Operation>>();
  for (const { principal, space, productId, operations } of grants) {
    const known = members.get(spell(principal));
    // The configuration refuses a second space; check again, so that a mistake there gives no access to a foreign space.
    if (known !== undefined && known.space !== space) throw new Error('a principal has two spaces');
    members.set(spell(principal), {
      space,
      productId: known?.productId ?? productId,
      operations: new Set([...(known?.operations ?? []), ...operations]),
    });
  }
  return (principal) => members.get(spell(principal));
}

const recordOperations: ReadonlySet<unknown> = new Set<RecordAccessOperation>([
  'read',
  'write',
  'delete',
  'maintain',
]);

function isRecordOperation(operation: string | null): operation is RecordAccessOperation {
  return recordOperations.has(operation);
}
