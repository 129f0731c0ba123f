import type { ExecutionAccess } from '../../identity/execution-access.ts';
import type { VerifyContext } from '../../identity/external-context.ts';
import type { RecordAccess } from '../../identity/record-access.ts';
import type { Jobs } from '../../jobs/admit-job.ts';
import type { JobPlugin } from '../../jobs/job-plugin.ts';
import type { ObjectParts } from '../../objects/parts.ts';

/** The parts that the operation of the group works with. */
export interface ArtifactsDependencies {
  /** The objects layer: the store, and the place of large bytes. */
  readonly objects: ObjectParts;
  /** Names the space of each caller. */
  readonly access: RecordAccess;
  /** `null` without policies of the execution runtime. */
  readonly executionAccess: ExecutionAccess | null;
  readonly jobs: Jobs;
  readonly plugin: JobPlugin;
  readonly externalContext: ExternalContext;
}

export interface ExternalContext {
  /** `null` if the service has no keys to verify proofs. It then refuses a request with a proof. */
  readonly verify: VerifyContext | null;
  readonly isRequired: boolean;
}
