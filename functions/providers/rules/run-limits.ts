import type { JsonObject } from '../../kernel/canonical-json.ts';

/** What one provider may be asked to do at a time. Guards enforce it; every caller who may read providers sees it. */
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

/** What the runtime keeps of jobs, and what a list of them shows. */
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
