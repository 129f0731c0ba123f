import { elapsedMs } from '../kernel/timestamp.ts';
import type { World } from '../kernel/world.ts';
import type { RecordStore } from '../store/port.ts';
import { answerOf, keepAdmitted, keptAnswer, type RunAnswer, wasAdmitted } from './answer-of-run.ts';
import { ProviderFailure } from './failure.ts';
import { keepQualification } from './qualifications.ts';
import type { RegisteredProvider } from './registered.ts';
import { outcomeOfFailure, type RunOutcome } from './rules/outcome.ts';
import { qualificationBy } from './rules/qualification.ts';
import type { RunLimits } from './rules/run-limits.ts';
import { isPlan, planRun, type RunPlan, type RunRequest } from './rules/run-request.ts';
import { type EndedRun, outputHashOf, type ProviderTrace, runTraceOf } from './rules/run-result.ts';
import { usageView } from './rules/usage.ts';
import { enterRun, leaveRun, type RunGuardParts } from './run-guard.ts';
import type { RunMemory } from './run-memory.ts';

/** Dependencies of runs of capabilities. */
export interface CapabilityParts {
  readonly world: Pick<World, 'clock' | 'timers' | 'random'>;
  readonly store: () => Promise<RecordStore>;
  readonly limits: RunLimits;
  /** Runs of one provider over the network that may be under way for all spaces. */
  readonly concurrentInAll: number;
  /** Writes the trace of a space; a second one with the same id is without effect. */
  readonly writeTrace: (space: string, trace: ProviderTrace) => Promise<unknown>;
}

export interface CapabilityRun {
  readonly request: RunRequest;
  readonly space: string;
  /** Equal in each execution of the run: the id of the job, or an id of the run's own. */
  readonly id: string;
  readonly isJob: boolean;
  readonly traceId: string;
  readonly correlationId: string;
  readonly signal: AbortSignal;
  readonly memory: RunMemory | null;
  /** Called for each outcome before it is final: `true` to try again. Absent: the first one is final. */
  readonly again?: (outcome: RunOutcome) => Promise<boolean>;
}

const HOLDER_BYTES = 8;
/** The time by which a lease outlives its run. */
const LEASE_MARGIN_MS = 5_000;

/**
 * Runs a capability: judges the request, takes a place, asks the provider within its limits, keeps the answer, and writes the
 * trace. Every refusal and failure is an outcome. Throws only where the run is interrupted, and for faults of the store.
 */
export async function runCapability(
  parts: CapabilityParts,
  provider: RegisteredProvider,
  run: CapabilityRun,
): Promise<EndedRun> {
  const { clock } = parts.world;
  const startedAt = clock.now();
  const plan = planRun(provider.target, run.request, parts.limits);
  const { outcome, usage } = isPlan(plan)
    ? await answeredAtLast(parts, provider, run, plan)
    : { outcome: plan, usage: null };
  const durationMs = elapsedMs(startedAt, clock.now());
  const prices = provider.live?.prices ?? { input: 0, output: 0 };
  const ended: EndedRun = {
    target: provider.target,
    request: run.request,
    outcome,
    traceId: run.traceId,
    correlationId: run.correlationId,
    jobId: run.isJob ? run.id : null,
    startedAt,
    durationMs,
    usage: usage === null ? null : usageView(usage, prices),
  };
  await parts.writeTrace(run.space, runTraceOf(ended));
  if (outcome.status === 'Succeeded' && isPlan(plan)) {
    const { inputHash } = plan;
    const { traceId } = run;
    const { status } = outcome;
    const proof = {
      status,
      traceId,
      inputHash,
      outputHash: outputHashOf(outcome),
      endedAt: startedAt + durationMs,
    };
    const next = qualificationBy(provider.target, plan.capability, proof);
    await keepQualification(parts.store, provider.target.id, next, 'run');
  }
  return ended;
}

async function answeredAtLast(
  parts: CapabilityParts,
  provider: RegisteredProvider,
  run: CapabilityRun,
  plan: RunPlan,
): Promise<RunAnswer> {
  for (;;) {
    const answer = await answered(parts, provider, run, plan);
    if (!((await run.again?.(answer.outcome)) ?? false)) return answer;
  }
}

async function answered(
  parts: CapabilityParts,
  provider: RegisteredProvider,
  run: CapabilityRun,
  plan: RunPlan,
): Promise<RunAnswer> {
  const { space, signal, memory } = run;
  const guard = guardOf(parts, provider, run.isJob);
  const holder = Buffer.from(parts.world.random.bytes(HOLDER_BYTES)).toString('hex');
  const place = { space, id: run.id, holder, leaseMs: plan.timeoutMs + LEASE_MARGIN_MS, signal };
  // A place that cannot be freed expires: the answer, or the error, is more important.
  const leave = (own: string | null) => leaveRun(guard, { ...place, holder: own }).catch(() => undefined);
  const kept = await keptAnswer(memory);
  if (kept !== null) {
    // The execution that kept it may have died with the place.
    await leave(null);
    return kept;
  }
  let isKnown = false;
  try {
    isKnown = await wasAdmitted(memory);
    await enterRun(guard, { ...place, wasAdmitted: isKnown });
  } catch (error) {
    if (signal.aborted || !(error instanceof ProviderFailure)) throw error;
    return { outcome: outcomeOfFailure(error), usage: null };
  }
  try {
    if (provider.live !== null && !isKnown) await keepAdmitted(memory);
    return await answerOf(parts.world, provider, { plan, space, signal, memory });
  } finally {
    // Another worker may have the run by now, and its place.
    await leave(holder);
  }
}

function guardOf(
  { world, store, limits, concurrentInAll }: CapabilityParts,
  { target, live }: RegisteredProvider,
  isJob: boolean,
): RunGuardParts {
  const { maxRunsPerWindow, rateLimitWindowSeconds, maxConcurrentRuns, queueTimeoutSeconds } = limits;
  const windowMs = rateLimitWindowSeconds * 1_000;
  return {
    store,
    world,
    provider: target.id,
    ofSpace: { runsPerWindow: maxRunsPerWindow, windowMs, concurrentRuns: maxConcurrentRuns },
    ofAll: live === null ? null : { runsPerWindow: null, windowMs, concurrentRuns: concurrentInAll },
    queueMs: ((isJob ? live?.queueSeconds : undefined) ?? queueTimeoutSeconds) * 1_000,
  };
}
