import type { JsonMembers } from '../kernel/json-kinds.ts';
import type { TraceContext } from '../kernel/log.ts';
import type { StrictJsonLimits } from '../kernel/strict-json.ts';
import type { McpCaller } from './caller.ts';
import type { McpCapacity, McpContext } from './catalog.ts';
import {
  type McpCall,
  type RequestId,
  type RequestMeta,
  readMessage,
  SERVER_INFO,
  traceIn,
} from './envelope.ts';
import { ErrorCode, McpError } from './errors.ts';
import type { McpParts, Refusal } from './exchange.ts';
import { mirrorFieldsOf } from './header-fields.ts';
import { MessageQueue } from './message-queue.ts';
import { methodsOf } from './methods.ts';
import { checkMethodHeaders, checkVersion } from './mirrored.ts';
import { mcpErrorOf, refusalFor } from './refusals.ts';
import { readRound } from './request-state.ts';

/** One request to the endpoint, after the checks of HTTP and of the caller. */
interface McpRequest {
  /** Names and values in turn, as sent. */
  readonly rawHeaders: readonly string[];
  readonly body: Uint8Array;
  readonly caller: McpCaller;
  readonly correlationId: string;
  readonly trace?: TraceContext | undefined;
  readonly signal: AbortSignal;
  readonly draining?: AbortSignal;
  readonly capacity?: McpCapacity;
}

/** The answer: empty for a notification, one message, or several messages with the response last. */
export type McpReply = {
  readonly status: number;
  readonly method: string | null;
  /** Facts of the answer for the log. */
  readonly facts: ReplyFacts;
  readonly retryAfterSeconds?: number | undefined;
} & ({ readonly message: JsonMembers | null } | { readonly messages: AsyncIterable<JsonMembers> });

export interface ReplyFacts {
  /** The operation of the service that executed the call. */
  readonly operation?: string;
  readonly refusal?: Refusal;
  /** The trace that the call names. */
  readonly trace?: TraceContext | undefined;
}

/** Answers requests from the catalog, without state between requests. Never rejects. */
export type McpProtocol = (request: McpRequest) => Promise<McpReply>;

export function createProtocol(parts: McpParts, limits: StrictJsonLimits): McpProtocol {
  const methods = methodsOf(parts.catalog);

  /** The checks in the order of the revision, then the method. */
  const answer = async (
    call: McpCall,
    request: McpRequest,
    queue: MessageQueue,
    facts: Facts,
  ): Promise<JsonMembers> => {
    const fields = mirrorFieldsOf(request.rawHeaders);
    const meta = checkVersion(call, fields);
    checkMethodHeaders(call, fields);
    const method = methods.get(call.method);
    if (!method) throw new McpError(ErrorCode.unknownMethod, 'Method not found');
    const round = await readRound(parts, call, request.caller);
    const context: McpContext = {
      caller: request.caller,
      correlationId: request.correlationId,
      trace: facts.trace,
      signal: request.signal,
      argumentsText: call.argumentsText,
      longNumbers: call.longNumbers,
      capabilities: meta.capabilities,
      notifyProgress: progressOf(meta, queue),
      matched: (operation) => {
        facts.operation = operation;
      },
      ...(request.draining === undefined ? {} : { draining: request.draining }),
      ...(request.capacity === undefined ? {} : { capacity: request.capacity }),
      ...round,
    };
    const refused = (refusal: Refusal): void => {
      facts.refusal = refusal;
    };
    const notify = (message: JsonMembers): void => queue.push({ jsonrpc: '2.0', ...message });
    return method({ parts, call, fields, context, refused, notify });
  };

  return async (request) => {
    const read = readMessage(request.body, limits);
    if (read.kind === 'notification') return { status: 202, method: null, facts: {}, message: null };
    if (read.kind === 'refusal') {
      const facts = { refusal: refusalFor(read.error) };
      return { status: read.error.status, method: null, facts, message: errorMessage(read.id, read.error) };
    }
    const { call } = read;
    const method = methods.has(call.method) ? call.method : null;
    const queue = new MessageQueue();
    const facts: Facts = { trace: traceIn(call) ?? request.trace };
    const final = answer(call, request, queue, facts)
      .then((result) => ({ status: 200, message: resultMessage(call.id, result, parts) }))
      .catch((error: unknown) => {
        facts.refusal = refusalFor(error);
        const refusal = mcpErrorOf(error, parts, { ...request, ...facts });
        const { status, retryAfterSeconds } = refusal;
        return { status, retryAfterSeconds, message: errorMessage(call.id, refusal) };
      });
    await Promise.race([final, queue.begun]);
    if (!queue.hasBegun) return { method, facts, ...(await final) };
    void final.then(({ message }) => queue.end(message));
    // The first message sends the status, so a later error becomes the last message.
    return { status: 200, method, facts, messages: queue.messages() };
  };
}

type Facts = { -readonly [Name in keyof ReplyFacts]: ReplyFacts[Name] };

/** Notifies only a client that sent a progress token, and only of rising values. */
function progressOf({ progressToken }: RequestMeta, queue: MessageQueue): McpContext['notifyProgress'] {
  let reached = -Infinity;
  return (progress, total) => {
    if (progressToken === undefined || !(progress > reached)) return;
    reached = progress;
    const params = { progressToken, progress, ...(total === undefined ? {} : { total }) };
    queue.push({ jsonrpc: '2.0', method: 'notifications/progress', params });
  };
}

function resultMessage(id: RequestId, result: JsonMembers, { catalog }: McpParts): JsonMembers {
  const meta = { ...(result['_meta'] as object | undefined), [SERVER_INFO]: catalog.serverInfo };
  return { jsonrpc: '2.0', id, result: { ...result, _meta: meta } };
}

function errorMessage(id: RequestId | undefined, { code, message, data }: McpError): JsonMembers {
  return {
    jsonrpc: '2.0',
    ...(id === undefined ? {} : { id }),
    error: { code, message, ...(data === undefined ? {} : { data }) },
  };
}
