import type { JsonObject } from '../../kernel/canonical-json.ts';

/** The limits of one provider's runs. Guards enforce them; every caller who may read providers sees them. */
export interface RunLimits {
  readonly maxConcurrentRuns: number;
  readonly queueTimeoutSeconds: number;
  readonly maxRunsPerWindow: number;
  readonly rateLimitWindowSeconds: number;
  readonly defaultTimeoutSeconds: number;
  readonly maxTimeoutSeconds: number;
  readonly maxOutputBytes: number;
}

export const RUN_LIMITS: RunLimits = {
  maxConcurrentRuns: 1,
  queueTimeoutSeconds: 5,
  maxRunsPerWindow: 60,
  rateLimitWindowSeconds: 60,
  defaultTimeoutSeconds: 120,
  maxTimeoutSeconds: 300,
  maxOutputBytes: 131_072,
};

/** The limits as callers see them. */
export function operationalLimits(limits: RunLimits, authRequired: boolean): JsonObject {
  return {
    authRequired,
    ...limits,
    longJobPolicy: 'use_async_jobs',
    asyncJobPolicy: 'durable_runs',
  };
}

/** The limits on active and retained jobs, and on a list of them. */
export interface JobBounds {
  readonly maxActiveJobs: number;
  readonly maxRetainedTerminalJobs: number;
  readonly defaultJobListLimit: number;
  readonly maxJobListLimit: number;
}

/** The limits with those of jobs, as health and readiness show them. */
export function limitsWithJobs(limits: RunLimits, authRequired: boolean, jobs: JobBounds): JsonObject {
  return { ...operationalLimits(limits, authRequired), ...jobs, jobPersistence: 'durable' };
}
