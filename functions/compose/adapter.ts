import { limits } from '../../contracts/generated/limits.ts';
import { type Settings, table } from '../config/table.ts';
import type { AdapterFacts } from '../groups/execution/dependencies.ts';
import { release } from '../release.ts';
import type { RuntimeOptions } from '../runs/runtime.ts';

/** Limits of the run engine and facts of the status document, from the settings. */

/** Counter records of active runs, by provider. Several share the count where one record would be contended. */
const COUNTER_SHARDS: Readonly<Record<string, number>> = { sqlite: 1, mysql: 1, postgresql: 8, firestore: 8 };

export function optionsOf({ service, execution, canonicalStore, quotas }: Settings): RuntimeOptions {
  return {
    ...namesOf(execution.adapter, canonicalStore.provider),
    activeRunsMax: execution.maxActiveRuns,
    activeJobsMax: execution.maxActiveJobs,
    runShareMax: Math.ceil((execution.maxActiveRuns * execution.runSharePercent) / 100),
    jobShareMax: Math.ceil((execution.maxActiveJobs * execution.jobSharePercent) / 100),
    ceilingSettings: {
      runs: table.execution.maxActiveRuns.key,
      runShare: table.execution.runSharePercent.key,
      jobs: table.execution.maxActiveJobs.key,
      jobShare: table.execution.jobSharePercent.key,
    },
    counterShards: COUNTER_SHARDS[canonicalStore.provider] ?? 1,
    retainedRunsMax: execution.maxRetainedTerminalRuns,
    retainedAgeMsMin: execution.minRetainedHours * 3_600_000,
    ...listLimits(execution),
    payloadBytesMax: execution.maxPayloadBytes,
    resultBytesMax: execution.maxResultBytes,
    artifactInlineBytesMax: limits.executionArtifactInlineBytesMax,
    leaseExpirationsMax: execution.maxLeaseExpirations,
    traceEventsPerRunMax: limits.executionTraceEventsPerRunMax,
    artifactsPerRunMax: limits.executionArtifactsPerRunMax,
    runArtifactBytes: { bytes: quotas.runArtifactBytesMax, setting: table.quotas.runArtifactBytesMax.key },
    concurrencyRetryDelayMs: execution.concurrencyRetryDelayMs,
    showsHandlerErrors: service.environment === 'Development',
  };
}

/** A setting may lower the maximum of the contract, and no default is above its maximum. */
function listLimits(execution: Settings['execution']) {
  const listLimitMax = Math.min(execution.maxListLimit, limits.executionListLimitMax);
  const historyLimitMax = Math.min(execution.maxHistoryLimit, limits.executionHistoryLimitMax);
  return {
    listLimitMax,
    listLimitDefault: Math.min(execution.defaultListLimit, listLimitMax),
    historyLimitMax,
    historyLimitDefault: Math.min(execution.defaultHistoryLimit, historyLimitMax),
  };
}

function namesOf(adapter: Settings['execution']['adapter'], provider: string) {
  return adapter === 'google'
    ? { adapterId: `google-${provider}-cloud-tasks`, runtimeKind: `google.${provider}-cloud-tasks` }
    : { adapterId: `local-${provider}`, runtimeKind: `local.${provider}` };
}

const CAPABILITIES = [
  'durable.runs',
  'cancellation',
  'retries',
  'artifacts',
  'trace.history',
  'idempotency',
  'in_process.handlers',
  'external.workers',
  'durable.timers',
  'external.events',
  'durable.waits',
  'leases',
  'restart.resume',
];

/** Without the address of a hosted worker, the service refuses the handlers of plugins. */
function cloudCapabilities({ workerUrl, workerRoutes }: Settings['cloudTasks']): readonly string[] {
  const hosted = workerUrl !== null || workerRoutes.some(({ WorkerUrl }) => WorkerUrl !== undefined);
  return hosted ? CAPABILITIES : CAPABILITIES.filter((id) => id !== 'in_process.handlers');
}

export function adapterOf({ execution, canonicalStore, cloudTasks }: Settings): AdapterFacts {
  const stateStore = canonicalStore.provider;
  const common = { version: release.version, concurrencyKeyPolicy: 'serialize_running_runs' };
  return execution.adapter === 'google'
    ? {
        ...common,
        displayName: 'Execution runtime over Cloud Tasks',
        capabilities: [...cloudCapabilities(cloudTasks), 'remote.orchestration'],
        metadata: { stateStore, dispatcher: 'cloud-tasks', workerTarget: 'http' },
        retentionScope: `run_owned_${stateStore}`,
      }
    : {
        ...common,
        displayName: 'Local execution runtime',
        capabilities: [...CAPABILITIES, 'local.dispatch'],
        metadata: { stateStore, dispatcher: 'local', workerTarget: 'process-or-lease' },
        retentionScope: 'run_owned',
      };
}
