import type { ExecutionChildRunRequest } from '../../contracts/generated/models.ts';
import { canonicalJson, sha256 } from '../kernel/canonical-json.ts';
import { ServiceError } from '../kernel/errors.ts';
import { payloadLimit } from './checks.ts';
import type { StartRequest } from './rules/start.ts';
import type { Run } from './run.ts';
import type { Runtime } from './runtime.ts';
import type { StartAccess } from './start-access.ts';
import type { ChildStart } from './start-child.ts';
import { readStartRequest } from './start-request.ts';

/** The name of the child among those of its parent, with the hash that a repeat must have. */
export function childStartOf(writeId: string, child: ExecutionChildRunRequest): ChildStart {
  const requestHash = sha256(canonicalJson(child));
  return { writeId, requestHash, cancelWithParent: child.cancelWithParent === true };
}

/**
 * Makes the request from the parent: the child has its scope, principal and correlation id. It starts for the principal that
 * started the parent, and starts nothing that this one could not.
 */
export function childRequest(
  { options }: Pick<Runtime, 'options'>,
  child: ExecutionChildRunRequest,
  { now, access, pointer = '' }: ChildFacts,
): (parent: Run) => StartRequest {
  const { cancelWithParent: _, ...body } = child;
  const payloadBytesMax = payloadLimit(options.payloadBytesMax);
  const operationId = 'startExternalExecutionLeaseChild';
  // A body with a fault is refused before the lease is looked at.
  const facts = { now, payloadBytesMax, serviceIdentity: null, operationId, pointer };
  const request = readStartRequest(body, facts);
  return ({ scope, correlationId }) => {
    if (access !== null) {
      const principal = scope?.serviceIdentity ?? null;
      if (principal === null)
        throw new ServiceError('permission_denied', 'The run has no verified principal');
      access.authorizeStart({ kind: 'workload', principal }, scope, request.handlerId);
    }
    return { ...request, scope, correlationId };
  };
}

interface ChildFacts {
  readonly now: number;
  /** `null` where no identity policies exist. */
  readonly access: StartAccess | null;
  /** Where the child is in the body. */
  readonly pointer?: string;
}
