import type { CallContext } from '../../../http/handler.ts';
import { beforeDeadline } from '../../../kernel/deadline.ts';
import { describeFailure } from '../../../kernel/log.ts';
import type { Timers } from '../../../kernel/world.ts';
import type { CanonicalDependencies } from '../dependencies.ts';
import type { ProbeFindings } from './preflight.ts';
import { emptyTenant } from './preflight-copy.ts';
import { ProbeTenant } from './preflight-tenant.ts';
import { NOTHING_PROVED, type TrialFindings, tryOut } from './preflight-trial.ts';

const TRIAL_MS_MAX = 60_000;
const CLEANUP_MS_MAX = 60_000;

/** Time that the cleanup waits for the last call of an aborted trial, which may still write. */
const STRAGGLER_MS_MAX = 5_000;

const ID_BYTES = 16;

/** Runs the trial, then empties both tenants in every case. Never rejects. */
export async function probeDataPlane(
  dependencies: CanonicalDependencies,
  context: CallContext,
): Promise<ProbeFindings> {
  const { timers, random } = dependencies.world;
  const hex = () => Buffer.from(random.bytes(ID_BYTES)).toString('hex');
  const pair = `svc-preflight-${hex()}`;
  const tenantIds = [`${pair}-a`, `${pair}-b`] as const;
  const report = failureReporter(dependencies, context);
  const stopping = new AbortController();
  const own = trialDependencies(dependencies, stopping.signal);
  const [first, second] = tenantIds;
  const trial = tryOut(
    new ProbeTenant(first, hex(), own, context),
    new ProbeTenant(second, hex(), own, context),
    // An abort of the trial is no failure of the store.
    (error) => stopping.signal.aborted || report(error),
  );
  const given = givenUp(context.signal, stopping.signal);
  const findings = await within(timers, TRIAL_MS_MAX, Promise.race([trial, given]), NOTHING_PROVED);
  stopping.abort();
  const cleaned = await within(
    timers,
    CLEANUP_MS_MAX,
    cleanUp(dependencies, tenantIds, trial, report),
    false,
  );
  return { ...findings, cleaned };
}

/**
 * The dependencies of the trial. Each step opens the store again, so `stop` ends the trial before the next step. No call waits for
 * events of these tenants, and no event is delivered.
 */
function trialDependencies(dependencies: CanonicalDependencies, stop: AbortSignal): CanonicalDependencies {
  const { world, pageTokens, log, configuration } = dependencies;
  const store = async () => {
    stop.throwIfAborted();
    return dependencies.store();
  };
  return { store, world, pageTokens, log, configuration };
}

/** Settles when the client disconnects. */
function givenUp(gone: AbortSignal, done: AbortSignal): Promise<TrialFindings> {
  return new Promise((resolve) => {
    gone.addEventListener('abort', () => resolve(NOTHING_PROVED), { once: true, signal: done });
  });
}

/**
 * Empties both tenants, and checks that they are empty. A failed cleanup is tried once more, because their names are lost afterwards;
 * the check has failed even if the second attempt succeeds.
 */
async function cleanUp(
  dependencies: CanonicalDependencies,
  tenantIds: readonly string[],
  trial: Promise<TrialFindings>,
  report: (error: unknown) => void,
): Promise<boolean> {
  const empty = async (): Promise<boolean> => {
    const outcomes = await Promise.all(tenantIds.map((tenantId) => emptied(dependencies, tenantId, report)));
    return outcomes.every(Boolean);
  };
  const ended = trial.then(() => true);
  const over = await within(dependencies.world.timers, STRAGGLER_MS_MAX, ended, false);
  const cleaned = await empty();
  if (!cleaned) await empty();
  if (!over) void ended.then(empty);
  return over && cleaned;
}

async function emptied(
  dependencies: CanonicalDependencies,
  tenantId: string,
  report: (error: unknown) => void,
): Promise<boolean> {
  try {
    return await emptyTenant(await dependencies.store(), tenantId);
  } catch (error) {
    report(error);
    return false;
  }
}

/** The result of `work`, or `otherwise` if it takes too long. */
function within<T>(timers: Timers, delayMs: number, work: Promise<T>, otherwise: T): Promise<T> {
  const late = new Error('too late');
  return beforeDeadline(timers, delayMs, work, () => late).catch((error: unknown) => {
    if (error === late) return otherwise;
    throw error;
  });
}

/** Logs the class of an error and its place, never its message: the message may name a tenant or quote a payload. */
function failureReporter({ log }: CanonicalDependencies, { correlationId, trace }: CallContext) {
  return (error: unknown): void => {
    log({
      severity: 'ERROR',
      message: 'the probe of the canonical store met a failure',
      operation: 'probeCanonicalStoreDataPlane',
      correlationId,
      trace,
      failure: describeFailure(error),
    });
  };
}
