import type { ExecutionAccess } from '../../identity/execution-access.ts';
import type { PageTokens } from '../../kernel/page-token.ts';
import type { Upkeep } from '../../runs/maintenance/automatic-upkeep.ts';
import type { Runtime } from '../../runs/runtime.ts';
import type { ReserveSlot } from '../../runs/start-here.ts';

/** The parts that the execution operations use. */
export interface ExecutionDependencies {
  readonly runtime: Runtime;
  /** `null` without identity policies: every caller may use all runs. */
  readonly access: ExecutionAccess | null;
  /** Upkeep of the groups with jobs, for the scheduled functions. */
  readonly upkeep?: readonly Upkeep[];
  readonly adapter: AdapterFacts;
  readonly pageTokens: PageTokens;
  /** Reserves a slot of the engine for a run; absent if this process executes none. */
  readonly reserve?: ReserveSlot;
}

/** Facts of the adapter for the status document. No rule depends on them. */
export interface AdapterFacts {
  readonly displayName: string;
  readonly version: string;
  readonly capabilities: readonly string[];
  readonly metadata: Readonly<Record<string, string>>;
  readonly concurrencyKeyPolicy: string;
  readonly retentionScope: string;
}
