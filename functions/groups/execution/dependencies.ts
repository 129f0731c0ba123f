import type { ExecutionAccess } from '../../identity/execution-access.ts';
import type { Reservation } from '../../runs/engine.ts';
import type { Runtime } from '../../runs/runtime.ts';

/** What the execution operations are given. */
export interface ExecutionDependencies {
  readonly runtime: Runtime;
  /** `null` where no identity policies are configured: whoever may call at all may do everything. */
  readonly access: ExecutionAccess | null;
  readonly adapter: AdapterFacts;
  /** Room for a run that this process would execute itself; absent where it executes none. */
  readonly reserve?: (handlerId: string) => Reservation | null;
}

/** What the status document says of the adapter; nothing of it decides anything. */
export interface AdapterFacts {
  readonly displayName: string;
  readonly version: string;
  readonly capabilities: readonly string[];
  readonly metadata: Readonly<Record<string, string>>;
  readonly concurrencyKeyPolicy: string;
  readonly retentionScope: string;
}
