import type { RecordParts } from '../collections/parts.ts';
import type { StagedPayloads } from '../collections/staged-payloads.ts';
import type { Caller } from '../identity/caller.ts';
import type { RecordAccess } from '../identity/record-access.ts';
import type { PageTokens } from '../kernel/page-token.ts';
import type { JobRequest, Jobs } from './admit-job.ts';
import type { JobPlugin } from './job-plugin.ts';
import { jobScope, type ProductTenant } from './job-scope.ts';

/** The layers that the handlers of every family of jobs work with. A family adds layers of its own. */
export interface JobLayers {
  readonly records: RecordParts;
  /** Requests that are too large for a run. The upkeep of the record jobs removes what a crash leaves. */
  readonly payloads: StagedPayloads;
  readonly access: RecordAccess;
  /** A larger result lies beside its run. */
  readonly resultBytesMax: number;
}

/** A family of jobs in a process that admits and shows them: its layers, its plugin, the runtime and the tokens of its list. */
export type JobFamily<Layers = JobLayers> = Layers & {
  readonly jobs: Jobs;
  readonly plugin: JobPlugin;
  readonly pageTokens: PageTokens;
};

/** The members that the requests of all families have in common. */
export interface JobCall {
  readonly caller: Caller;
  readonly query: ProductTenant;
  readonly idempotencyKey: string | null;
  readonly correlationId: string;
}

/** Whose a new job is: in a space that the caller may start it in, and of the product and tenant that the query or the policy names. */
export function ownerOf(
  access: Pick<RecordAccess, 'ownerOf'>,
  { caller, query }: Pick<JobCall, 'caller' | 'query'>,
  space: string,
): Pick<JobRequest, 'caller' | 'scope' | 'space'> {
  return { caller, scope: jobScope(query, access.ownerOf(caller), caller.principal), space };
}
