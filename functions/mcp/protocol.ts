import type { JsonMembers } from '../kernel/json-kinds.ts';
import type { TraceContext } from '../kernel/log.ts';
import type { StrictJsonLimits } from '../kernel/strict-json.ts';
import type { McpCaller } from './caller.ts';
import type { McpCapacity, McpContext } from './catalog.ts';
import { type McpCall, type RequestId, type RequestMeta, readMessage, traceIn } from './envelope.ts';
import { type Era, erasOf } from './eras.ts';
import { McpError, unknownMethod } from './errors.ts';
import type { McpParts, Refusal } from './exchange.ts';
import { type MirrorFields, mirrorFieldsOf } from './header-fields.ts';
import { MessageQueue } from './message-queue.ts';
import { checkMethodHeaders, type NamedMessage } from './mirrored.ts';
import { mcpErrorOf, refusalFor } from './refusals.ts';
import { checkNotification, type Revision, revisionOf } from './revisions.ts';

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
  const eraOf = erasOf(parts);
  const served = parts.settings.revisions;
  const methods = new Set(served.flatMap((revision) => [...eraOf(revision).methods.keys()]));

  const answer = async (
    call: McpCall,
    request: McpRequest,
    queue: MessageQueue,
    facts: Facts,
  ): Promise<JsonMembers> => {
    const fields = mirrorFieldsOf(request.rawHeaders);
    const revision = revisionOf(call, fields, served);
    const era = eraOf(revision);
    try {
      return era.result(await answerIn({ revision, era, call, fields, request, parts, queue, facts }));
    } catch (error) {
      throw era.error(error);
    }
  };

  return async (request) => {
    const read = readMessage(request.body, limits);
    if (read.kind === 'notification') return notified(read.notification, request, served);
    if (read.kind === 'refusal') return refusalReply(read.id, read.error);
    const { call } = read;
    const method = methods.has(call.method) ? call.method : null;
    const queue = new MessageQueue();
    const facts: Facts = { trace: traceIn(call) ?? request.trace };
    const final = answer(call, request, queue, facts)
      .then((result) => ({ status: 200, message: { jsonrpc: '2.0', id: call.id, result } }))
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

/** Accepts a notification and drops it: none of them changes anything here. */
function notified(
  notification: NamedMessage,
  { rawHeaders }: McpRequest,
  served: readonly Revision[],
): McpReply {
  try {
    const fields = mirrorFieldsOf(rawHeaders);
    const { isNewest } = checkNotification(fields, served);
    // 2026-07-28 accepts every notification of a revision that is served.
    if (!isNewest) checkMethodHeaders(notification, fields, true);
    return { status: 202, method: null, facts: {}, message: null };
  } catch (error) {
    if (error instanceof McpError) return refusalReply(undefined, error);
    throw error;
  }
}

function refusalReply(id: RequestId | undefined, error: McpError): McpReply {
  const facts = { refusal: refusalFor(error) };
  return { status: error.status, method: null, facts, message: errorMessage(id, error) };
}

/** A request whose revision is known. */
interface Opened {
  readonly revision: Revision;
  readonly era: Era;
  readonly call: McpCall;
  readonly fields: MirrorFields;
  readonly request: McpRequest;
  readonly parts: McpParts;
  readonly queue: MessageQueue;
  readonly facts: Facts;
}

/** The checks in the order of the revision, then the method. */
async function answerIn(opened: Opened): Promise<JsonMembers> {
  const { revision, era, call, fields, request, parts, queue, facts } = opened;
  const meta = era.readMeta(call, request.rawHeaders);
  checkMethodHeaders(call, fields, era.mayLackMirrors);
  const method = era.methods.get(call.method);
  if (!method) throw unknownMethod();
  const round = await era.readRound(call, request.caller);
  const context: McpContext = {
    caller: request.caller,
    revision,
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

function errorMessage(id: RequestId | undefined, { code, message, data }: McpError): JsonMembers {
  return {
    jsonrpc: '2.0',
    ...(id === undefined ? {} : { id }),
    error: { code, message, ...(data === undefined ? {} : { data }) },
  };
}
