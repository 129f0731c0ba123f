import { ServiceError } from '../../kernel/errors.ts';
import type { Change, Run } from '../run.ts';

/** The parent after the start of a child. Throws `limit_exceeded` at the most children of a run. */
export function withChild(
  parent: Run,
  child: { readonly id: string; readonly handlerId: string; readonly workerId: string },
  childrenMax: number,
): Change {
  const children = parent.children ?? 0;
  if (children >= childrenMax)
    throw new ServiceError('limit_exceeded', `The run has started ${childrenMax} child runs`, {
      limit: childrenMax,
    });
  const { id: runId, handlerId, workerId } = child;
  const details = { runId, handlerId };
  return {
    run: { ...parent, children: children + 1 },
    events: [{ type: 'run.child_started', details, workerId }],
  };
}
