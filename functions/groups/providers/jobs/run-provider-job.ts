import type { JobContext } from '../../../jobs/job-plugin.ts';
import { type Json, sha256 } from '../../../kernel/canonical-json.ts';
import { ServiceError } from '../../../kernel/errors.ts';
import { isDraining } from '../../../kernel/paid-calls.ts';
import { ProviderPatience } from '../../../providers/patience.ts';
import { PROVIDER_GONE, type RunOutcome, UNHANDLED } from '../../../providers/rules/outcome.ts';
import { failureWaitedFor } from '../../../providers/rules/patience.ts';
import type { RunRequest } from '../../../providers/rules/run-request.ts';
import { type EndedRun, endOf, resultOf, runTraceOf } from '../../../providers/rules/run-result.ts';
import { goneTarget } from '../../../providers/rules/target.ts';
import { runCapability } from '../../../providers/run-capability.ts';
import type { RunMemory } from '../../../providers/run-memory.ts';
import { isSuspension, RunFailure } from '../../../runs/plugin.ts';
import { StoreError } from '../../../store/port.ts';
import { type ProviderLayers, RESULT_KEY } from './job-view.ts';

interface ProviderJobPayload {
  readonly provider: string;
  readonly request: RunRequest;
}

/** Executes a job, and continues the work of earlier executions. Stores an unsuccessful result in a checkpoint, then fails the run. */
export async function runProviderJob(parts: ProviderLayers, context: JobContext): Promise<Json> {
  const ended = await endedRun(parts, context);
  const result = resultOf(ended);
  const { status, failureClass, providerStatus, error } = result;
  const statusDetails = { status, failureClass, providerStatus, traceId: ended.traceId };
  if (status === 'Succeeded') {
    await context.report({ statusDetails });
    return result;
  }
  await context.writeCheckpoint(RESULT_KEY, result);
  await context.report({ statusDetails });
  throw new RunFailure(failureClass ?? 'unknown', error ?? 'The run did not succeed.', {
    status: endOf(status),
  });
}

async function endedRun(parts: ProviderLayers, context: JobContext): Promise<EndedRun> {
  const { provider: id, request } = context.payload as unknown as ProviderJobPayload;
  const provider = parts.provider(id);
  const without = async (outcome: RunOutcome): Promise<EndedRun> => {
    const ended = {
      target: provider?.target ?? goneTarget(id),
      request,
      outcome,
      traceId: traceIdOf(context.runId),
      correlationId: context.correlationId,
      jobId: context.runId,
      startedAt: Date.parse(context.createdAt),
      durationMs: 0,
      usage: null,
    };
    await leaveTrace(parts, context, ended);
    return ended;
  };
  if (provider === undefined) return without(PROVIDER_GONE);
  const patience = new ProviderPatience(parts.patience, context);
  try {
    return await runCapability(parts.capabilities, provider, {
      request,
      space: context.job.space,
      id: context.runId,
      isJob: true,
      traceId: traceIdOf(context.runId),
      correlationId: context.correlationId,
      signal: context.signal,
      memory: memoryOf(context),
      again: (outcome) => isTriedAgain(patience, outcome),
    });
  } catch (error) {
    if (isInterruption(context, error)) throw error;
    return without(UNHANDLED);
  }
}

async function isTriedAgain(patience: ProviderPatience, outcome: RunOutcome): Promise<boolean> {
  if (outcome.failureClass === null) {
    await patience.answered();
    return false;
  }
  const failure = failureWaitedFor(outcome, (await patience.waits()) > 0);
  return failure !== null && patience.waitAfter(failure);
}

/** Whether the error only interrupts the job: lost lease, cancellation, wait, unavailable store, or draining process. */
function isInterruption({ signal }: JobContext, error: unknown): boolean {
  if (signal.aborted || isSuspension(error) || isDraining(error)) return true;
  return error instanceof ServiceError || error instanceof StoreError;
}

/** Stores the trace. A failure of the trace store must not lose the result. */
async function leaveTrace(parts: ProviderLayers, context: JobContext, ended: EndedRun): Promise<void> {
  try {
    await parts.capabilities.writeTrace(context.job.space, runTraceOf(ended));
  } catch (error) {
    if (isInterruption(context, error)) throw error;
  }
}

function memoryOf(context: JobContext): RunMemory {
  return {
    read: async (key) => (await context.readCheckpoint(key))?.content ?? null,
    write: async (key, value) => void (await context.writeCheckpoint(key, value)),
  };
}

/** A trace id that is the same in each execution, so that a repeated run has one trace. */
function traceIdOf(runId: string): string {
  const digest = sha256(`provider.run ${runId}`);
  return `trace-${digest.slice('sha256:'.length, 'sha256:'.length + 32)}`;
}
