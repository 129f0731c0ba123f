import { SvcError } from '../../errors.ts';
import type { JsonValue } from '../../generated/models.ts';
import { isSettled } from './entries.ts';
import type { Execution, Operation } from './execution.ts';
import { StepFailed } from './faults.ts';
import type { ChildOutcome, ChildPort, ChildRequest } from './ports.ts';
import { jsonCopy } from './values.ts';
import { noEntry } from './waits.ts';

export interface ChildOptions {
  /** Whether a cancellation of this run also cancels the child. */
  readonly cancelWithParent?: boolean;
}

/** Starts a run, and gives its id. A repeat starts no second one. */
export function startChild(
  execution: Execution,
  name: string,
  handlerId: string,
  input: unknown,
  options: ChildOptions,
): Promise<string> {
  const request = { ...options, handlerId, payload: jsonCopy(input) };
  return execution.operate('start', name, async ({ key, found }) => {
    if (found !== undefined) return (await execution.valueOf(found)) as string;
    return (await started(execution, key, request, 'start')).id;
  });
}

/** Starts a run, waits for its end and gives its result. */
export function invokeChild(
  execution: Execution,
  name: string,
  handlerId: string,
  input: unknown,
  options: ChildOptions,
): Promise<JsonValue> {
  const request = { ...options, handlerId, payload: jsonCopy(input) };
  return execution.operate('child', name, async (its) => {
    const { key, found } = its;
    if (found?.e !== undefined) throw new StepFailed(key, found.e);
    if (isSettled(found)) return execution.valueOf(found);
    const open = found ?? (await started(execution, key, request, 'child'));
    const id = open.id ?? '';
    const outcome = await ended(execution, its, { id, startedAt: open.at ?? 0 });
    const entry = { k: key, t: 'child', id, at: execution.now() } as const;
    return execution.scheduler.work(async () => {
      if (outcome.status === 'succeeded') {
        const { result = null } = outcome;
        await execution.writer.putValue(entry, result);
        return jsonCopy(result);
      }
      const e = errorOf(handlerId, outcome);
      await execution.writer.put({ ...entry, e });
      throw new StepFailed(key, e);
    });
  });
}

function started(
  execution: Execution,
  key: string,
  request: Omit<ChildRequest, 'idempotencyKey'>,
  t: 'start' | 'child',
) {
  return execution.scheduler.work(async () => {
    const idempotencyKey = execution.serverKey(key);
    const id = await portOf(execution).start({ ...request, idempotencyKey });
    const at = execution.now();
    await execution.writer.put({ k: key, t, ...(t === 'start' ? { v: id } : { id }), at });
    return { id, at };
  });
}

const POLL_MS_MIN = 5_000;
const POLL_MS_MAX = 600_000;

/**
 * Waits for the end of the child. Where the run waits for more than the child, or the server knows no such wait, the kit asks for
 * the end, and in between the run is parked, the longer the older the child is.
 */
async function ended(
  execution: Execution,
  { key, branch }: Operation,
  { id, startedAt }: { readonly id: string; readonly startedAt: number },
): Promise<ChildOutcome> {
  const { scheduler } = execution;
  const { wait, outcome: look } = portOf(execution);
  const name = `@child:${key}`;
  let isOwn = wait !== undefined;
  for (let asks = !isOwn; ; asks = true) {
    let outcome = asks
      ? await scheduler.work(() => (isOwn && wait !== undefined ? wait(id, name, 0) : look(id)))
      : null;
    if (outcome === null) {
      const age = execution.now() - startedAt;
      const dueAt = Math.round(execution.now() + Math.min(Math.max(age / 2, POLL_MS_MIN), POLL_MS_MAX));
      const request = {
        kind: isOwn ? 'run' : 'timer',
        name,
        id,
        dueAt,
        open: null,
        settled: noEntry,
      } as const;
      outcome = ((await scheduler.wait(request, branch))?.payload ?? null) as ChildOutcome | null;
    }
    // A kit or a server of an earlier release started it by another way.
    if (isOwn && outcome?.status === 'unknown') isOwn = false;
    else if (outcome !== null) return outcome;
  }
}

function errorOf(handlerId: string, outcome: ChildOutcome) {
  const { failureClass = null, error = null } = outcome;
  const message = `${handlerId} ended as ${outcome.status}${error === null ? '' : `: ${error}`}`.slice(
    0,
    1_000,
  );
  return {
    name: 'RunFailed',
    message,
    ...(failureClass === null ? {} : { code: failureClass.slice(0, 100) }),
  };
}

function portOf(execution: Execution): ChildPort {
  const { children } = execution.port;
  if (children === undefined) throw new SvcError('Child runs need the client of a worker.');
  return children;
}
