import { limits } from '../../contracts/generated/limits.ts';
import { ServiceError } from '../kernel/errors.ts';
import type { LoadedRecords, Write } from '../store/port.ts';
import { announceChange } from './announcements.ts';
import { moveLongTrace, traceLimits } from './change-run.ts';
import { linkRecord, nameRecord } from './child-link.ts';
import { type Held, present } from './held.ts';
import { findRun } from './read-runs.ts';
import { childLinkKey, childNameKey, readRun, runKey, runRecord } from './records.ts';
import { outcomeOfRun } from './rules/child.ts';
import { withChild } from './rules/child-start.ts';
import { activeLease } from './rules/lease.ts';
import type { StartRequest } from './rules/start.ts';
import { isTerminal, type Run } from './run.ts';
import type { Runtime } from './runtime.ts';
import { type StartBeside, startRun } from './start-run.ts';
import { withTrace } from './trace.ts';

/** Names the child among those of its parent, over all leases of the parent. */
export interface ChildStart {
  readonly writeId: string;
  readonly requestHash: string;
  readonly cancelWithParent: boolean;
}

export interface StartedChild {
  readonly runId: string;
  /** An earlier call with the same name started it. It may have been removed since. */
  readonly replayed: boolean;
}

/** An earlier call has started the child. Thrown within the transaction, so that it writes nothing. */
class StartedBefore extends Error {
  readonly runId: string;

  constructor(runId: string) {
    super('the child was started before');
    this.runId = runId;
  }
}

/**
 * Starts a child of the leased run, in one transaction with its parent. `requestOf` makes the request from the parent, and may refuse
 * it. A used name answers its child if the request is the same, else throws `idempotency_conflict`.
 */
export async function startChild(
  runtime: Runtime,
  held: Held,
  child: ChildStart,
  requestOf: (parent: Run) => StartRequest,
  now: number,
): Promise<StartedChild> {
  const seen = await findRun(runtime, held.runId);
  activeLease(seen, held, now);
  const request: StartRequest = { ...requestOf(present(seen)), parentId: held.runId };
  const traceId = runtime.ids.next();
  const parent: { before: Run | null; after: Run | null } = { before: null, after: null };
  const beside: StartBeside = {
    gate: runKey(held.runId),
    keysOf: (runId) => [
      { key: runKey(held.runId), view: 'body' },
      { key: childNameKey(held.runId, child.writeId) },
      { key: childLinkKey(held.runId, runId), expectAbsent: true },
    ],
    writesOf(found, run, at) {
      const { before, after } = parentWith(runtime, { held, child, traceId }, found, run, at);
      Object.assign(parent, { before, after });
      return writesOf(after, child, run);
    },
  };
  try {
    const { run } = await startRun(runtime, request, null, beside);
    const { before, after } = parent;
    if (before !== null && after !== null) {
      await announceChange(runtime, before, after, now);
      await moveLongTrace(runtime, after, traceId);
    }
    return { runId: run.id, replayed: false };
  } catch (error) {
    if (error instanceof StartedBefore) return { runId: error.runId, replayed: true };
    throw error;
  }
}

interface Starting {
  readonly held: Held;
  readonly child: ChildStart;
  readonly traceId: string;
}

/** The parent before and after the start. Throws where it may not start the child, or has started it. */
function parentWith(
  runtime: Runtime,
  { held, child, traceId }: Starting,
  found: LoadedRecords,
  run: Run,
  at: number,
): { readonly before: Run; readonly after: Run } {
  const record = found.get(runKey(held.runId));
  const before = record === undefined ? undefined : readRun(record, held.runId);
  const { workerId } = activeLease(before, held, at);
  const name = found.get(childNameKey(held.runId, child.writeId));
  if (name !== undefined) {
    if (name.head.requestHash === child.requestHash) throw new StartedBefore(String(name.head.childId));
    throw new ServiceError('idempotency_conflict', 'The id was used for another child of this run');
  }
  const { id, handlerId } = run;
  const change = withChild(present(before), { id, handlerId, workerId }, limits.executionChildrenMax);
  const after = withTrace(change, traceId, at, traceLimits(runtime, change.run));
  return { before: present(before), after };
}

/** A rejected child takes no name: the same start succeeds once its handler is registered. */
function writesOf(parent: Run, { writeId, requestHash, cancelWithParent }: ChildStart, run: Run): Write[] {
  const { id: parentId } = parent;
  const link = { parentId, childId: run.id, waited: false, cancelWithParent, outcome: outcomeOfRun(run) };
  const writes: Write[] = [{ put: runRecord(parent) }, { put: linkRecord(link) }];
  if (isTerminal(run.status)) return writes;
  const name = { parentId, writeId, childId: run.id, requestHash };
  return [...writes, { put: nameRecord(name) }];
}
