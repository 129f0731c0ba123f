import { PageTokens } from '../../functions/kernel/page-token.ts';
import type { RuntimeOptions } from '../../functions/runs/runtime.ts';

/** Limits of the run engine for tests and the simulation. */
export const RUN_OPTIONS: RuntimeOptions = {
  adapterId: 'local-test',
  runtimeKind: 'local.test',
  activeRunsMax: 100_000,
  activeJobsMax: 100_000,
  jobShareMax: 25_000,
  runShareMax: 25_000,
  ceilingSettings: {
    runs: 'ExecutionRuntime:MaxActiveRuns',
    runShare: 'ExecutionRuntime:RunSharePercent',
    jobs: 'ExecutionRuntime:MaxActiveJobs',
    jobShare: 'ExecutionRuntime:JobSharePercent',
  },
  retainedAgeMsMin: 0,
  counterShards: 1,
  retainedRunsMax: 500,
  listLimitDefault: 50,
  listLimitMax: 200,
  historyLimitDefault: 50,
  historyLimitMax: 200,
  payloadBytesMax: 262_144,
  resultBytesMax: 262_144,
  artifactInlineBytesMax: 262_144,
  leaseExpirationsMax: 5,
  traceEventsPerRunMax: 10_000,
  artifactsPerRunMax: 1_000,
  runArtifactBytes: { bytes: 1024 ** 3, setting: 'Quotas:RunArtifactBytesMax' },
  concurrencyRetryDelayMs: 100,
  showsHandlerErrors: false,
};

/** The part of the status document that describes the runtime of a test. */
export const TEST_ADAPTER = {
  displayName: 'Test runtime',
  version: '0.0.0',
  capabilities: ['durable.runs'],
  metadata: {},
  concurrencyKeyPolicy: 'serialize_running_runs',
  retentionScope: 'run_owned',
};

/** Continuation tokens of tests whose instances share no store for a secret. */
export const TEST_PAGE_TOKENS = new PageTokens(() => Promise.resolve(Buffer.from('test')));
