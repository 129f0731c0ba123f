import type { OperationEntry } from '../../contracts/operation.ts';
import type { Caller } from '../identity/caller.ts';
import type { Json, JsonObject } from '../kernel/canonical-json.ts';
import { ServiceError } from '../kernel/errors.ts';
import { JsonText } from '../kernel/json-value-text.ts';
import type { TraceContext } from '../kernel/log.ts';
import { parseStrictJsonText, strictJsonLimits } from '../kernel/strict-json.ts';
import { type Answer, isByteIterable, writeAnswer } from './answer.ts';
import { bodyRefusal } from './body-reader.ts';
import { abandonStreams, byteBody, streamsOf } from './byte-stream.ts';
import { createPerformCall } from './call.ts';
import { correlationIdOf } from './correlation.ts';
import { FormParts, type SentBody, SentText } from './operation-input.ts';
import type { CallOptions } from './options.ts';
import { tooLarge } from './paced-chunks.ts';
import type { ParameterValue } from './parameters.ts';
import { checkPath } from './path-values.ts';
import { serviceErrorOf } from './problem.ts';
import { createValidators } from './validators.ts';

/** The input of a call from inside the process: values, where HTTP has text. */
export interface InProcessInput {
  /** Decoded. */
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, ParameterValue | null | undefined>>;
  /** A JSON value; a stream for an operation with a body of bytes; `FormParts` for one with a form. */
  readonly body?: unknown;
  /** By lower-case name, such as `idempotency-key`. */
  readonly headers?: Readonly<Record<string, string>>;
}

interface InProcessContext {
  /** Absent: a fresh one. */
  readonly correlationId?: string;
  readonly trace?: TraceContext | undefined;
  readonly signal?: AbortSignal;
  readonly draining?: AbortSignal;
  /** Counts bytes that the answer will hold; throws where too many are under way. */
  readonly hold?: (bytes: number) => void;
  readonly grow?: (bytes: number) => void;
}

/**
 * Calls an operation without HTTP, for a caller that another part of the service has authenticated. Authorization and
 * validation are those of an HTTP request, and so are the refusals: every rejection is a `ServiceError`.
 */
export type CallOperation = (
  operationId: string,
  input: InProcessInput,
  caller: Caller,
  context?: InProcessContext,
) => Promise<Answer>;

export function createCall(options: CallOptions): CallOperation {
  const validators = createValidators(options.validators);
  const perform = createPerformCall(options, validators);
  const call: CallOperation = async (operationId, input, caller, context = {}) => {
    const entry = Object.hasOwn(options.operations, operationId)
      ? options.operations[operationId]
      : undefined;
    const [route] = entry?.routes ?? [];
    if (!entry || !route) throw new ServiceError('route_not_found', 'No operation has this name.');
    const params = checkPath(route, input.params ?? {});
    let body: SentBody | undefined;
    const answer = await perform({
      entry,
      route,
      params,
      query: input.query ?? {},
      caller,
      read: async () => (body = bodyOf(entry, input.body)),
      context: {
        correlationId: correlationIdOf(context.correlationId, options.world.random),
        trace: context.trace,
        signal: context.signal ?? new AbortController().signal,
        header: (name) => input.headers?.[name],
        fields: () => Object.entries(input.headers ?? {}),
        ...(context.draining === undefined ? {} : { draining: context.draining }),
        ...(context.hold === undefined ? {} : { hold: context.hold }),
        ...(context.grow === undefined ? {} : { grow: context.grow }),
      },
    });
    // A stream of an answer may still read the body.
    if (!isByteIterable(answer.body)) abandonStreams(streamsOf(body));
    if (options.validateResponses === true)
      writeAnswer(entry, answer, await validators.response(entry, answer.status), undefined, () => undefined);
    return answer;
  };
  return (...given) =>
    call(...given).catch((error: unknown) => {
      options.sawFailure?.(error);
      throw serviceErrorOf(error);
    });
}

function bodyOf(entry: OperationEntry, body: unknown): SentBody | undefined {
  if (body === undefined) return undefined;
  if (entry.bodyLimitBytes === null)
    throw new ServiceError('malformed_request', 'The operation takes no request body.');
  if (body instanceof FormParts) {
    const values = jsonOf(entry, body.values);
    return values instanceof SentText
      ? new FormParts(values.value as JsonObject, body.streams, values.text)
      : new FormParts(values as JsonObject, body.streams);
  }
  if (typeof body === 'object' && body !== null && Symbol.asyncIterator in body) {
    const mediaType = entry.requestMediaType ?? 'application/octet-stream';
    return byteBody(limited(body as AsyncIterable<Uint8Array>, entry.bodyLimitBytes), { mediaType });
  }
  if (body instanceof JsonText) return sentText(entry, body.text);
  return jsonOf(entry, body);
}

/** The chunks, up to the limit that HTTP sets for the operation. */
async function* limited(
  chunks: AsyncIterable<Uint8Array>,
  limitBytes: number,
): AsyncGenerator<Uint8Array, void, undefined> {
  let received = 0;
  for await (const chunk of chunks) {
    received += chunk.length;
    if (received > limitBytes) throw tooLarge(limitBytes);
    yield chunk;
  }
}

/** A copy, as the wire would carry it: `undefined` members are absent, and the bounds of the operation hold. */
function jsonOf(entry: OperationEntry, body: unknown): Json | SentText {
  const text = JSON.stringify(body);
  if (text === undefined) throw new ServiceError('malformed_request', 'The body is not a JSON value.');
  return sentText(entry, text);
}

function sentText(entry: OperationEntry, text: string): Json | SentText {
  const limitBytes = entry.bodyLimitBytes ?? 0;
  if (Buffer.byteLength(text) > limitBytes) throw bodyRefusal(tooLarge(limitBytes), entry, limitBytes);
  const value = parseStrictJsonText(text, { ...strictJsonLimits, ...entry.json, floats: entry.floats ?? [] });
  return entry.keepsText === true ? new SentText(value, () => text) : value;
}
