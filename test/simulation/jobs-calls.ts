import type { OperationId, OperationTypes } from '../notes/contracts/generated/operations.ts';

/** The deployment of one seed. */
export interface JobsShape {
  readonly counterShards: number;
  readonly activeJobsMax: number;
  readonly jobShareMax: number;
}

export const SPACES: Readonly<Record<string, string>> = { ada: 'space-a', bob: 'space-b' };

export type JobsOutcome =
  | { readonly kind: 'answer'; readonly body: OperationTypes[OperationId]['response']['body'] }
  | { readonly kind: 'refused'; readonly code: string }
  /** The effect of the call is unknown. */
  | { readonly kind: 'unknown' };
