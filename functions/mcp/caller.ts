import type { AuthenticatedOperation } from '../identity/authenticator.ts';
import type { Caller } from '../identity/caller.ts';

/** The caller of a request to the endpoint. */
export interface McpCaller extends Caller {
  /**
   * The caller as the authentication of an operation's authorization class proves it; `null` if that class refuses the credential.
   * Absent: the caller is the same for all operations.
   */
  readonly to?: (operation: AuthenticatedOperation) => Promise<Caller | null>;
}

export function callerTo(caller: McpCaller, operation: AuthenticatedOperation): Promise<Caller | null> {
  return caller.to?.(operation) ?? Promise.resolve(caller);
}
