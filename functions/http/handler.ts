import type { GroupOperations, OperationId, OperationTypes } from '../../contracts/generated/operations.ts';
import type { Caller } from '../identity/caller.ts';

/** What an operation knows of the call beside its input. */
export interface CallContext {
  readonly caller: Caller;
  readonly correlationId: string;
  /** When the request had arrived in full, in milliseconds since 1970: the one `now` of the call. */
  readonly now: number;
  /** Aborted when the client has gone or the server is stopping. */
  readonly signal: AbortSignal;
  /** Aborted when the server begins to stop: what only waits answers now. */
  readonly draining?: AbortSignal;
  /** A field of the request's header by its name in lower case, for what is served beside the contract. */
  readonly header?: (name: string) => string | undefined;
}

export type OperationInput<Id extends OperationId> = Pick<OperationTypes[Id], 'params' | 'query' | 'body'>;

export type Handler<Id extends OperationId> = (
  input: OperationInput<Id>,
  context: CallContext,
) => Promise<OperationTypes[Id]['response']>;

/** One implementation for every operation of the group: a missing or a surplus one does not compile. */
export type GroupHandlers<G extends keyof GroupOperations> = {
  readonly [Id in GroupOperations[G] & OperationId]: Handler<Id>;
};
