import { SvcError } from '../../errors.ts';
import type { JsonValue } from '../../generated/models.ts';
import { isSettled } from './entries.ts';
import type { Execution, Operation } from './execution.ts';
import { StepFailed } from './faults.ts';
import type { ChildOutcome, ChildPort } from './ports.ts';
import { jsonCopy } from './values.ts';
import { noEntry } from './waits.ts';

/** Starts a run, and gives its id. A repeat starts no second one. */
export function startChild(
  execution: Execution,
  name: string,
  handlerId: string,
  input: unknown,
): Promise<string> {
  const payload = jsonCopy(input);
  return execution.operate('start', name, async ({ key, found }) => {
    if (found !== undefined) return (await execution.valueOf(found)) as string;
    return execution.scheduler.work(async () => {
      const id = await portOf(execution).start({ handlerId, payload, idempotencyKey: keyOf(execution, key) });
      await execution.writer.put({ k: key, t: 'start', v: id, at: execution.now() });
      return id;
    });
  });
}

/** Starts a run, waits for its end and gives its result. */
export function invokeChild(
  execution: Execution,
  name: string,
  handlerId: string,
  input: unknown,
): Promise<JsonValue> {
  const payload = jsonCopy(input);
  return execution.operate('child', name, async (its) => {
    const { key, found } = its;
    if (found?.e !== undefined) throw new StepFailed(key, found.e);
    if (found !== undefined && isSettled(found)) return execution.valueOf(found);
    const open = found ?? (await started(execution, key, { handlerId, payload }));
    const id = open.id ?? '';
    const outcome = await ended(execution, its, { id, startedAt: open.at ?? 0 });
    const entry = { k: key, t: 'child', id, at: execution.now() } as const;
    return execution.scheduler.work(async () => {
      if (outcome.status === 'succeeded' && 'result' in outcome) {
        await execution.writer.putValue(entry, outcome.result);
        return jsonCopy(outcome.result);
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
  { handlerId, payload }: { readonly handlerId: string; readonly payload: JsonValue },
) {
  return execution.scheduler.work(async () => {
    const id = await portOf(execution).start({ handlerId, payload, idempotencyKey: keyOf(execution, key) });
    const entry = { k: key, t: 'child', id, at: execution.now() } as const;
    await execution.writer.put(entry);
    return entry;
  });
}

const POLL_MS_MIN = 5_000;
const POLL_MS_MAX = 600_000;

/** Asks for the end of the child. In between the run is parked, the longer the older the child is. */
async function ended(
  execution: Execution,
  { key, branch }: Operation,
  { id, startedAt }: { readonly id: string; readonly startedAt: number },
): Promise<ChildOutcome> {
  for (;;) {
    const outcome = await execution.scheduler.work(() => portOf(execution).outcome(id));
    if (outcome !== null) return outcome;
    const age = execution.now() - startedAt;
    const dueAt = execution.now() + Math.min(Math.max(age / 2, POLL_MS_MIN), POLL_MS_MAX);
    await execution.scheduler.wait(
      { kind: 'timer', name: `@child:${key}`, dueAt, open: null, settled: noEntry },
      branch,
    );
  }
}

function errorOf(handlerId: string, outcome: ChildOutcome) {
  const { failureClass, error } = 'result' in outcome ? { failureClass: null, error: null } : outcome;
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

function keyOf(execution: Execution, key: string): string {
  return `${execution.port.run.id}/${key}`;
}

function portOf(execution: Execution): ChildPort {
  const { children } = execution.port;
  if (children === undefined) throw new SvcError('Child runs need the client of a worker.');
  return children;
}
