import type { AuthenticatedOperation } from '../identity/authenticator.ts';
import type { Caller } from '../identity/caller.ts';

/** The caller of a request to the endpoint. */
export interface McpCaller extends Caller {
  /**
   * Who the caller is to an operation, proven by the settings of its authorization class; `null` where it is nobody there.
   * Absent: the same to all operations.
   */
  readonly to?: (operation: AuthenticatedOperation) => Promise<Caller | null>;
}

export function callerTo(caller: McpCaller, operation: AuthenticatedOperation): Promise<Caller | null> {
  return caller.to?.(operation) ?? Promise.resolve(caller);
}
