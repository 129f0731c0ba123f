import type { ExecutionExternalEvent, ExecutionWaitResult } from '../../contracts/generated/models.ts';
import { formatUtc } from '../kernel/timestamp.ts';
import { loadValues } from './read-runs.ts';
import type { InboxEvent, WaitOutcome } from './run.ts';
import type { Runtime } from './runtime.ts';

/** The outcome of a wait in the form of the models, for handlers in this process and for workers. */

export async function eventResult(
  runtime: Runtime,
  runId: string,
  event: InboxEvent,
): Promise<ExecutionExternalEvent> {
  const [payload = null] = await loadValues(runtime, [event.payload]);
  return { id: event.id, name: event.name, runId, raisedAtUtc: formatUtc(event.raisedAt), payload };
}

export async function waitResult(
  runtime: Runtime,
  runId: string,
  outcome: WaitOutcome,
): Promise<ExecutionWaitResult> {
  const { name, event, timer } = outcome;
  return {
    name,
    outcome: outcome.outcome,
    event: event === null ? null : await eventResult(runtime, runId, event),
    timer:
      timer === null
        ? null
        : {
            id: timer.id,
            name: timer.name,
            runId,
            fireAtUtc: formatUtc(timer.fireAt),
            createdAtUtc: formatUtc(timer.createdAt),
            payload: (await loadValues(runtime, [timer.payload]))[0] ?? null,
          },
  };
}
