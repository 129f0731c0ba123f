import type { GroupOperations, OperationId, OperationTypes } from '../../contracts/generated/operations.ts';
import type { Caller } from '../identity/caller.ts';
import type { JsonText } from '../kernel/json-value-text.ts';
import type { TraceContext } from '../kernel/log.ts';
import type { StoredBytes } from './byte-answer.ts';
import type { ByteBody } from './byte-body.ts';

/** The facts of a call beside its input. */
export interface CallContext {
  readonly caller: Caller;
  readonly correlationId: string;
  /** For log lines. */
  readonly trace?: TraceContext | undefined;
  /** When the request had arrived in full, in milliseconds since 1970: the one `now` of the call. */
  readonly now: number;
  /** Aborted when the client has gone or the server is stopping. */
  readonly signal: AbortSignal;
  /** Aborted when the server begins to stop: a handler that only waits should answer now. */
  readonly draining?: AbortSignal;
  /** A header field of the request by its lower-case name. */
  readonly header?: (name: string) => string | undefined;
  /** The method of the request: `HEAD` where only the fields of the answer are asked for. */
  readonly method?: string;
  /** All header fields of the request with lower-case names; a repeated field is repeated here. */
  readonly fields?: () => Iterable<readonly [name: string, value: string]>;
  /** Runs `end` when the server no longer holds the answer: it was sent, refused or abandoned. */
  readonly settled?: (end: () => void) => void;
  /** Counts bytes that the answer will hold, before the handler reads them; throws where too many are under way. */
  readonly hold?: (bytes: number) => void;
  /** The call only waits from now on: its place at work is free for another request. */
  readonly aside?: () => void;
  /**
   * Whether a usual request of the source would be refused now: then a call skips work that its caller may request
   * later.
   */
  readonly crowded?: () => boolean;
  /** As `hold`, for bytes that a handler gathers in turns with other calls, and not in one go. */
  readonly grow?: (bytes: number) => void;
}

type Bytes = AsyncIterable<Uint8Array>;

/** A handler sees the size and the hash of a stream beside its bytes. */
type ReceivedBody<Body> = Body extends Bytes ? ByteBody : Body extends object ? ReceivedParts<Body> : Body;

type ReceivedParts<Body> = true extends {
  [Part in keyof Body]: Body[Part] extends Bytes ? true : never;
}[keyof Body]
  ? { readonly [Part in keyof Body]: Body[Part] extends Bytes ? ByteBody : Body[Part] }
  : Body;

/** A handler may answer bytes with their size and tag, so that clients can ask for a range. */
type Answered<Response> = Response extends { readonly body: Bytes }
  ? Omit<Response, 'body'> & { readonly body: Bytes | StoredBytes }
  : Response;

/** Some operations answer their JSON value as the text that the client gets. */
type AsText<Types> = Types extends { readonly answersText: true; readonly response: infer Response }
  ? Omit<Response, 'body'> & { readonly body: JsonText }
  : never;

export type OperationInput<Id extends OperationId> = {
  readonly params: OperationTypes[Id]['params'];
  readonly query: OperationTypes[Id]['query'];
  readonly body: ReceivedBody<OperationTypes[Id]['body']>;
} & FurtherInput<OperationTypes[Id]>;

/** Members of some operations alone: the text of the body, and an idempotency key that no member of the body repeats. */
type FurtherInput<Types> = Pick<Types, Extract<keyof Types, 'text' | 'idempotencyKey'>>;

export type Handler<Id extends OperationId> = (
  input: OperationInput<Id>,
  context: CallContext,
) => Promise<Answered<OperationTypes[Id]['response']> | AsText<OperationTypes[Id]>>;

/** A handler may judge large bodies. */
export interface JudgesBodies {
  readonly judgeBody?: BodyJudge;
}

/**
 * Judges a large JSON body by its beginning, before the server reads and keeps the rest. Throws to refuse; returns whether
 * the beginning was enough, otherwise the judge sees a longer one.
 */
export type BodyJudge = (
  beginning: Uint8Array,
  context: Pick<CallContext, 'caller' | 'now'>,
) => Promise<boolean>;

/** One implementation for every operation of the group: a missing or a surplus one does not compile. */
export type GroupHandlers<G extends keyof GroupOperations> = {
  readonly [Id in GroupOperations[G] & OperationId]: Handler<Id>;
};
