import type { CallContext } from '../../../functions/http/handler.ts';
import type { OperationId, OperationTypes } from './generated/operations.ts';

/** One implementation for every operation of the group: a missing or a surplus one does not compile. */
export type NotesHandlers = {
  readonly [Id in OperationId]: (
    input: Pick<OperationTypes[Id], 'params' | 'query' | 'body'>,
    context: CallContext,
  ) => Promise<OperationTypes[Id]['response']>;
};
