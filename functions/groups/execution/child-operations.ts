import type { Handler } from '../../http/handler.ts';
import { identifier } from '../../kernel/identifiers.ts';
import { childRequest, childStartOf } from '../../runs/child-request.ts';
import { startChild } from '../../runs/start-child.ts';
import type { ExecutionDependencies } from './dependencies.ts';
import { heldBy } from './lease-proof.ts';

/** The operation with which a worker starts children of its run. */

export function startExternalExecutionLeaseChild(
  dependencies: ExecutionDependencies,
): Handler<'startExternalExecutionLeaseChild'> {
  return async ({ body }, { caller, now }) => {
    const writeId = identifier(body.writeId, '/writeId');
    const held = heldBy(dependencies, caller, body);
    const start = childStartOf(writeId, body.child);
    const { runtime, access } = dependencies;
    const requestOf = childRequest(runtime, body.child, { now, access, pointer: '/child' });
    const { runId, replayed } = await startChild(runtime, held, start, requestOf, now);
    return { status: 200, body: { runId, parentRunId: held.runId, replayed } };
  };
}
